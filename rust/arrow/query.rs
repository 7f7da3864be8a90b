//! A query: a spec resolved against the schema of its input.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

use super::function::{Resolved, resolve};
use super::keys::{Keys, float, unpacked};
use super::limits::Limits;
use super::spec::{Named, Spec, Windows};
use super::values;
use crate::aggregate::column::Column;
use crate::aggregate::{Aggregate, Lowered};
use crate::error::{Error, Result};
use crate::sliding::plan::Sliding;
use crate::time::{Span, Time};
use crate::window::Window;

/// A checked query. Everything that can be wrong before data arrives is wrong here.
pub struct Query {
    /// Number of shards.
    pub shards: u32,
    /// The kind of windows, in ticks of the time column.
    pub windows: Kind,
    /// The key columns.
    pub keys: Vec<Field>,
    /// The time column.
    pub time: Field,
    /// The tick column.
    pub tick: Option<String>,
    /// The distinct columns that aggregates take.
    pub inputs: Vec<Taken>,
    /// The aggregates, in order.
    pub aggregates: Vec<Planned>,
    /// Whether rows with equal times must be told apart.
    pub minds_arrival: bool,
    /// Key columns, `window`, aggregates, `op`.
    pub output: SchemaRef,
    /// When rows, blocks and windows move on.
    pub limits: Limits,
    op: bool,
}

/// The kind of windows, in ticks.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Session windows of this gap.
    Session(Span),
    /// Sliding windows.
    Sliding(Sliding),
}

/// A column that aggregates take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The column.
    pub field: Field,
    /// Whether floats inside its values are brought to one NaN and one zero first, since row bytes are compared.
    pub canonical_floats: bool,
}

/// An aggregate of a query.
pub struct Planned {
    /// Name of its result column.
    pub name: String,
    /// Which of the query's inputs it takes.
    pub inputs: Vec<usize>,
    resolved: Resolved,
}

impl Query {
    /// Resolves a spec against the input's schema.
    pub fn new(spec: &Spec, input: &Schema) -> Result<Self> {
        let keys = spec.keys.iter().map(|name| find(input, "keys", name).cloned()).collect::<Result<Vec<_>>>()?;
        let output_keys = Keys::new(&keys)?.output_fields();
        let time = find(input, "time", &spec.time)?.clone();
        let DataType::Timestamp(unit, _) = time.data_type() else {
            return Err(Error::ColumnType {
                argument: "time".into(),
                column: spec.time.clone(),
                got: time.data_type().to_string(),
                allowed: "a timestamp".into(),
            });
        };
        let windows = Kind::in_ticks(spec.windows, *unit)?;
        if let Some(tick) = &spec.tick {
            let field = find(input, "tick", tick)?;
            if unpacked(field.data_type()) != DataType::Boolean {
                return Err(Error::ColumnType {
                    argument: "tick".into(),
                    column: tick.clone(),
                    got: field.data_type().to_string(),
                    allowed: "a boolean".into(),
                });
            }
        }
        let mut inputs: Vec<Taken> = Vec::new();
        let aggregates = spec.aggregates.iter().map(|named| Planned::new(named, input, &mut inputs)).collect::<Result<Vec<_>>>()?;

        let bound = |name| Field::new(name, time.data_type().clone(), false);
        let window = DataType::Struct(Fields::from(vec![bound("start"), bound("end")]));
        let mut fields = output_keys;
        fields.push(Field::new("window", window, false));
        fields.extend(aggregates.iter().map(|planned| planned.resolved.field.clone()));
        if spec.op {
            fields.push(Field::new("op", DataType::Utf8, false));
        }
        Ok(Self {
            shards: spec.shards.max(1),
            windows,
            keys,
            tick: spec.tick.clone(),
            time,
            inputs,
            aggregates,
            minds_arrival: spec.aggregates.iter().any(|named| named.function.minds_arrival()),
            output: Arc::new(Schema::new(fields)),
            limits: Limits::default(),
            op: spec.op,
        })
    }

    /// Empty states of all aggregates.
    pub fn states(&self) -> Vec<Box<dyn Aggregate>> {
        self.aggregates.iter().map(|planned| planned.resolved.states.fresh()).collect()
    }

    /// A batch of the result.
    pub fn result(&self, keys: Vec<ArrayRef>, windows: &[Window], lowered: Vec<Lowered>) -> Result<RecordBatch> {
        let bounds = |bound: fn(&Window) -> Time| {
            let ticks: Vec<i64> = windows.iter().map(|window| bound(window).0).collect();
            values::result(Column::new(values_of(ticks)), self.time.data_type())
        };
        let [start, end] = [bounds(|window| window.start)?, bounds(|window| window.end)?];
        let bound = |name: &str| Field::new(name, self.time.data_type().clone(), false);
        let window = StructArray::try_new(Fields::from(vec![bound("start"), bound("end")]), vec![start, end], None)?;

        let mut columns = keys;
        columns.push(Arc::new(window));
        for (planned, lowered) in self.aggregates.iter().zip(lowered) {
            let column = lowered.map_err(|error| Error::Overflow {
                column: planned.name.clone(),
                reason: match windows.get(error.window) {
                    Some(window) => format!("{} in window [{}, {}]", error.reason, self.show(window.start), self.show(window.end)),
                    None => error.reason.to_string(),
                },
            })?;
            columns.push(values::result(column, planned.resolved.field.data_type())?);
        }
        if self.op {
            columns.push(Arc::new(StringArray::from_iter_values(windows.iter().map(|_| "upsert"))));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.output), columns)?)
    }

    /// A time as text, for errors; with a zone, in UTC.
    pub fn show(&self, time: Time) -> String {
        let (local, mark) = match self.time.data_type() {
            DataType::Timestamp(unit, Some(_)) => (&DataType::Timestamp(*unit, None), "Z"),
            other => (other, ""),
        };
        let text = values::result(Column::new(values_of(vec![time.0])), local)
            .and_then(|array| values::cast(&array, &DataType::Utf8))
            .map(|array| format!("{}{mark}", arrow_array::cast::AsArray::as_string::<i32>(&array).value(0)));
        text.unwrap_or_else(|_| format!("{} ticks", time.0))
    }

    /// The error of a window bound beyond the representable times.
    pub fn beyond(&self, time: Time) -> Error {
        Error::Overflow {
            column: self.time.name().clone(),
            reason: format!("the window of the record at {} has a bound beyond the range of {}", self.show(time), self.time.data_type()),
        }
    }
}

fn values_of(ticks: Vec<i64>) -> crate::aggregate::column::Values<'static> {
    crate::aggregate::column::Values::Int(ticks.into())
}

/// A column by its exact name.
fn find<'a>(input: &'a Schema, argument: &str, name: &str) -> Result<&'a Field> {
    input.field_with_name(name).map_err(|_| Error::Argument {
        argument: argument.into(),
        got: format!("column {name:?}"),
        allowed: format!("one of {:?}", input.fields().iter().map(|field| field.name()).collect::<Vec<_>>()),
    })
}

impl Planned {
    fn new(named: &Named, input: &Schema, inputs: &mut Vec<Taken>) -> Result<Self> {
        let mut positions = Vec::with_capacity(named.columns.len());
        for (place, name) in named.columns.iter().enumerate() {
            let field = find(input, &format!("aggregate {:?}", named.name), name)?.clone();
            let data_type = unpacked(field.data_type());
            let compared = named.function.compared() == Some(place) && values::kind(&data_type) == Some(values::Kind::Rows);
            let taken = Taken { canonical_floats: compared && float::within(&data_type), field };
            let position = inputs.iter().position(|known| *known == taken).unwrap_or_else(|| {
                inputs.push(taken);
                inputs.len() - 1
            });
            positions.push(position);
        }
        let taken = positions.iter().filter_map(|&position| inputs.get(position));
        let types: Vec<DataType> = taken.map(|taken| unpacked(taken.field.data_type())).collect();
        Ok(Self { name: named.name.clone(), resolved: resolve(named, &types.iter().collect::<Vec<_>>())?, inputs: positions })
    }
}

impl Kind {
    /// Microseconds to ticks of the time column.
    fn in_ticks(windows: Windows, unit: TimeUnit) -> Result<Self> {
        let wrong = |argument: &str, got: i64, allowed: &str| Error::Argument {
            argument: argument.into(),
            got: format!("{got} microseconds"),
            allowed: format!("{allowed}, as the time column counts in {unit:?}s"),
        };
        let exact = |argument: &str, micros: i64| {
            let ticks = to_ticks(micros, unit).filter(|ticks| ticks.0 > 0);
            ticks
                .filter(|&ticks| to_micros(ticks, unit) == Some(micros))
                .ok_or_else(|| wrong(argument, micros, "a positive multiple of the unit"))
        };
        match windows {
            Windows::Session { gap } if gap > 0 => {
                Ok(Self::Session(to_ticks(gap, unit).ok_or_else(|| wrong("gap", gap, "at most the representable range"))?))
            }
            Windows::Session { gap } => Err(wrong("gap", gap, "a positive duration")),
            Windows::Sliding { difference, resolution } => {
                let sliding = Sliding { difference: exact("difference", difference)?, resolution: exact("resolution", resolution)? };
                match sliding.difference.0 % sliding.resolution.0 {
                    0 => Ok(Self::Sliding(sliding)),
                    _ => Err(wrong("difference", difference, "a multiple of the resolution")),
                }
            }
        }
    }
}

/// Ticks of a unit in one second, against microseconds.
fn per_second(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Whole ticks in so many microseconds; none beyond the range of 64 bits.
fn to_ticks(micros: i64, unit: TimeUnit) -> Option<Span> {
    let ticks = i128::from(micros) * per_second(unit) / per_second(TimeUnit::Microsecond);
    i64::try_from(ticks).ok().and_then(|ticks| u64::try_from(ticks).ok()).map(Span)
}

fn to_micros(ticks: Span, unit: TimeUnit) -> Option<i64> {
    i64::try_from(i128::from(ticks.0) * per_second(TimeUnit::Microsecond) / per_second(unit)).ok()
}

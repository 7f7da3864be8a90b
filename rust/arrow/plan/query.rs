//! A query: a spec resolved against the schema of its input.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::aggregate::AggregatePlan;
use super::cogroup::Cogroup;
use super::input_column::InputColumn;
use super::limits::Limits;
use super::spec::{InvalidGap, Spec, WindowSpec};
use super::window_lengths::WindowLengths;
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::column::{Column, Values};
use crate::arrow::array::dictionary::unpacked;
use crate::arrow::array::named::find;
use crate::arrow::array::{convert, type_name};
use crate::arrow::keys::KeyInterner;
use crate::error::{Error, Result};
use crate::time::Time;
use crate::window::Window;

/// A checked query. Everything that can be wrong before data arrives is wrong here.
pub struct Query {
    /// Number of shards.
    pub shards: u32,
    /// The kind of windows, in ticks of the time column.
    pub windows: WindowLengths,
    /// The key columns.
    pub keys: Vec<Field>,
    /// The time column.
    pub time: Field,
    /// The tick column.
    pub tick: Option<String>,
    /// The column of each record's own gap, and what happens to a bad one.
    pub gap: Option<(String, InvalidGap)>,
    /// The distinct columns that aggregates take.
    pub inputs: Vec<InputColumn>,
    /// Of a cogroup: which of these columns tells the input of each row.
    pub origin: Option<Cogroup>,
    /// The aggregates, in order.
    pub aggregates: Vec<AggregatePlan>,
    /// Whether rows with equal times must be told apart.
    pub needs_seq_no: bool,
    /// Whether rows leave, as they are and in the order of time, in place of windows.
    pub rows: bool,
    /// Key columns, `window`, aggregates, `op`; of a query for rows, the columns of the input.
    pub output: SchemaRef,
    /// When rows, blocks and windows move on.
    pub limits: Limits,
    op: bool,
}

impl Query {
    /// Resolves a spec against the input's schema. All aggregates are built in.
    pub fn new(spec: &Spec, input: &Schema) -> Result<Self> {
        Self::with_python(spec, input, &[])
    }

    /// Resolves a spec as a query for its rows, which leave for record operators: its aggregates do
    /// not count.
    pub fn of_rows(spec: &Spec, input: &Schema) -> Result<Self> {
        let bare = Spec {
            aggregates: Vec::new(),
            ..spec.clone()
        };
        Ok(Self {
            rows: true,
            needs_seq_no: true,
            output: Arc::new(Schema::new(input.fields().clone())),
            ..Self::new(&bare, input)?
        })
    }

    /// Resolves a spec whose Python functions, in their order, have results as these fields say.
    pub fn with_python(spec: &Spec, input: &Schema, python: &[Field]) -> Result<Self> {
        let keys = spec
            .keys
            .iter()
            .map(|name| find(input, "keys", name).cloned())
            .collect::<Result<Vec<_>>>()?;
        let output_keys = KeyInterner::new(&keys)?.output_fields();
        let time = find(input, "time", &spec.time)?.clone();
        let DataType::Timestamp(unit, _) = time.data_type() else {
            return Err(Error::ColumnType {
                argument: "time".into(),
                column: spec.time.clone(),
                got: type_name::of(&time),
                allowed: "a timestamp".into(),
            });
        };
        let windows = WindowLengths::in_ticks(&spec.windows, *unit)?;
        let gap = gap_column(&spec.windows, input)?;
        if let Some(tick) = &spec.tick {
            let field = find(input, "tick", tick)?;
            if unpacked(field.data_type()) != DataType::Boolean {
                return Err(Error::ColumnType {
                    argument: "tick".into(),
                    column: tick.clone(),
                    got: type_name::of(field),
                    allowed: "a boolean".into(),
                });
            }
        }
        let mut inputs: Vec<InputColumn> = Vec::new();
        let origin = spec
            .inputs
            .as_ref()
            .map(|asked| Cogroup::new(asked, input, &mut inputs))
            .transpose()?;
        spec.aggregates
            .iter()
            .try_for_each(|named| Cogroup::check_aggregate(origin.as_ref(), named))?;
        let mut python = python.iter();
        let planned = |named| AggregatePlan::new(named, input, &mut inputs, &mut python);
        let aggregates = spec
            .aggregates
            .iter()
            .map(planned)
            .collect::<Result<Vec<_>>>()?;

        let bound = |name| Field::new(name, time.data_type().clone(), false);
        let window = DataType::Struct(Fields::from(vec![bound("start"), bound("end")]));
        let mut fields = output_keys;
        fields.push(Field::new("window", window, false));
        fields.extend(aggregates.iter().map(|planned| planned.field().clone()));
        if spec.op {
            fields.push(Field::new("op", DataType::Utf8, false));
        }
        Ok(Self {
            shards: spec.shards.max(1),
            windows,
            keys,
            tick: spec.tick.clone(),
            gap,
            time,
            inputs,
            origin,
            aggregates,
            // Sliding rows are moved as they are, with all that the next one may ask of them.
            needs_seq_no: matches!(windows, WindowLengths::Sliding(_))
                || spec
                    .aggregates
                    .iter()
                    .any(|named| named.function.needs_seq_no()),
            rows: false,
            output: Arc::new(Schema::new(fields)),
            limits: Limits::default(),
            op: spec.op,
        })
    }

    /// Empty states of all built-in aggregates, which take the columns of [`Self::taken`].
    pub fn accumulators(&self) -> Accumulators {
        let mut from = 0;
        let parts = self.aggregates.iter().filter_map(|planned| {
            let range = from..from + planned.inputs.len();
            from = range.end;
            planned.states().map(|states| (states, range, planned.only))
        });
        Accumulators::cogrouped(parts.collect::<Vec<_>>())
    }

    /// Which of the query's inputs a bank takes: those of one aggregate after the other, then the
    /// one that tells each row's input.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        let origin = self.origin.as_ref().map(|origin| origin.position);
        self.aggregates
            .iter()
            .flat_map(|planned| planned.inputs.iter().copied())
            .chain(origin)
    }

    /// The columns that a bank takes, of the query's inputs.
    pub fn taken<'a>(&self, inputs: &'a [Column<'_>]) -> Vec<Column<'a>> {
        self.positions()
            .filter_map(|position| inputs.get(position))
            .map(Column::borrowed)
            .collect()
    }

    /// A batch of the result.
    pub fn result(
        &self,
        keys: Vec<ArrayRef>,
        windows: &[Window],
        lowered: Result<Vec<Column<'static>>>,
    ) -> Result<RecordBatch> {
        let mut columns = keys;
        columns.push(self.window(windows)?);
        let lowered = lowered.map_err(|error| self.name_overflow(error, windows))?;
        for (planned, column) in self.aggregates.iter().zip(lowered) {
            let column = convert::result(column, planned.field().data_type());
            columns.push(column.map_err(|error| match error {
                Error::Crowded { reason, .. } => Error::Crowded {
                    column: planned.name.clone(),
                    reason,
                },
                other => other,
            })?);
        }
        if self.op {
            columns.push(Arc::new(StringArray::from_iter_values(
                windows.iter().map(|_| "upsert"),
            )));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.output), columns)?)
    }

    /// The column of windows.
    pub fn window(&self, windows: &[Window]) -> Result<ArrayRef> {
        let [start, end] = [
            self.times(windows.iter().map(|window| window.start))?,
            self.times(windows.iter().map(|window| window.end))?,
        ];
        let bound = |name: &str| Field::new(name, self.time.data_type().clone(), false);
        Ok(Arc::new(StructArray::try_new(
            Fields::from(vec![bound("start"), bound("end")]),
            vec![start, end],
            None,
        )?))
    }

    /// Times as an array of the time column's type.
    pub fn times(&self, times: impl Iterator<Item = Time>) -> Result<ArrayRef> {
        convert::result(
            Column::new(Values::Int(times.map(|time| time.0).collect())),
            self.time.data_type(),
        )
    }

    /// The same error; an overflow names its column and, of `windows`, the one that it is in.
    pub fn name_overflow(&self, error: Error, windows: &[Window]) -> Error {
        match error {
            Error::ResultOverflow {
                aggregate,
                window,
                reason,
            } => {
                let built_in = |planned: &&AggregatePlan| planned.states().is_some();
                let Some(planned) = self.aggregates.iter().filter(built_in).nth(aggregate) else {
                    return Error::Internal("a result belongs to an aggregate");
                };
                Error::Overflow {
                    column: planned.name.clone(),
                    reason: match windows.get(window) {
                        Some(window) => format!("{reason} in window {}", self.show_window(window)),
                        None => reason.to_string(),
                    },
                }
            }
            Error::TimeOverflow { ticks } => self.beyond(Time(ticks)),
            other => other,
        }
    }

    /// A window as text, for errors.
    pub fn show_window(&self, window: &Window) -> String {
        format!("[{}, {}]", self.show(window.start), self.show(window.end))
    }

    /// A time as text, for errors; with a zone, in UTC.
    pub fn show(&self, time: Time) -> String {
        let (local, mark) = match self.time.data_type() {
            DataType::Timestamp(unit, Some(_)) => (&DataType::Timestamp(*unit, None), "Z"),
            other => (other, ""),
        };
        let text = convert::result(Column::new(Values::Int(vec![time.0].into())), local)
            .and_then(|array| convert::cast(&array, &DataType::Utf8))
            .map(|array| {
                format!(
                    "{}{mark}",
                    arrow_array::cast::AsArray::as_string::<i32>(&array).value(0)
                )
            });
        text.unwrap_or_else(|_| format!("{} ticks", time.0))
    }

    /// The error of a window bound beyond the representable times.
    pub fn beyond(&self, time: Time) -> Error {
        Error::Overflow {
            column: self.time.name().clone(),
            reason: format!(
                "the window of the record at {} has a bound beyond the range of {}",
                self.show(time),
                type_name::of(&self.time)
            ),
        }
    }
}

/// The column of each record's own gap.
fn gap_column(windows: &WindowSpec, input: &Schema) -> Result<Option<(String, InvalidGap)>> {
    let WindowSpec::Session {
        gap_column: Some(name),
        invalid_gap,
        ..
    } = windows
    else {
        return Ok(None);
    };
    let field = find(input, "gap", name)?;
    match unpacked(field.data_type()) {
        DataType::Duration(_) => Ok(Some((name.clone(), *invalid_gap))),
        _ => Err(Error::ColumnType {
            argument: "gap".into(),
            column: name.clone(),
            got: type_name::of(field),
            allowed: "a duration (a day-time interval)".into(),
        }),
    }
}

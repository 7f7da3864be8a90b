//! Batches of a query's results, and its times and windows as text for errors.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Int64Array, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::aggregate::AggregatePlan;
use super::query::{Query, QueryOutput};
use super::window_id;
use crate::array::result_array::typed;
use crate::array::{convert, type_name};
use crate::core::aggregate::window_results::{Overflow, WindowResults};
use crate::core::error::{Error, Result};
use crate::core::operator::session_end::{EndedBy, SessionEnd};
use crate::core::time::Time;
use crate::core::window::Window;

impl Query {
    /// A batch of the result; all aggregates are built in.
    pub fn result(
        &self,
        keys: Vec<ArrayRef>,
        windows: &[Window],
        ends: &[SessionEnd],
        lowered: Result<WindowResults>,
    ) -> Result<RecordBatch> {
        self.result_with(keys, windows, ends, lowered, Vec::new())
    }

    /// A batch of the result; `functions` has the values of the user's functions.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] for a result that does not fit its type, [`Error::ArrayCapacity`] for a column
    /// that does not fit one batch. With [`Overflow::Null`] the result of a single window always fits.
    pub fn result_with(
        &self,
        keys: Vec<ArrayRef>,
        windows: &[Window],
        ends: &[SessionEnd],
        lowered: Result<WindowResults>,
        functions: Vec<ArrayRef>,
    ) -> Result<RecordBatch> {
        let mut functions = functions.into_iter().map(Ok);
        let (results, overflows) = self.results(&keys, windows, ends, lowered, &mut functions)?;
        self.count_overflows(overflows);
        let mut columns = keys;
        columns.push(self.window(windows)?);
        columns.extend(results);
        if let QueryOutput::Windows { op: true } = self.output_kind {
            columns.push(Arc::new(StringArray::from_iter_values(
                windows.iter().map(|_| "upsert"),
            )));
        }
        Ok(RecordBatch::try_new(self.output_of(&columns), columns)?)
    }

    /// The schema of these columns of the output. A result may be unknown, also of an aggregate that is
    /// never null otherwise.
    fn output_of(&self, columns: &[ArrayRef]) -> SchemaRef {
        let fields = self.output.fields().iter().zip(columns);
        let is_null = |(field, column): (&Arc<Field>, &ArrayRef)| {
            !field.is_nullable() && column.null_count() > 0
        };
        if !fields.clone().any(is_null) {
            return Arc::clone(&self.output);
        }
        let fields = fields.map(|(field, column)| {
            let nullable = field.is_nullable() || column.null_count() > 0;
            field.as_ref().clone().with_nullable(nullable)
        });
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// The results of all aggregates, in order, and how many of them are null because they do not fit
    /// their type. `keys` are the key columns of `windows`, `ends` how these sessions ended (empty for
    /// windows without rules), `lowered` has the built-in aggregates, and
    /// `functions` the values of the user's functions.
    pub fn results(
        &self,
        keys: &[ArrayRef],
        windows: &[Window],
        ends: &[SessionEnd],
        lowered: Result<WindowResults>,
        functions: &mut dyn Iterator<Item = Result<ArrayRef>>,
    ) -> Result<(Vec<ArrayRef>, u64)> {
        let WindowResults {
            columns,
            mut overflows,
        } = lowered.map_err(|error| self.name_overflow(error, keys, windows))?;
        let mut lowered = columns.into_iter();
        let missing = || Error::Internal("an aggregate has no column of results");
        let mut column = |aggregate: &AggregatePlan| {
            if aggregate.is_window_id() {
                return window_id::of(keys, windows, ends, self.time.data_type());
            }
            if aggregate.is_session_number() {
                // `SessionNumbers` has the numbers.
                return Ok(Arc::new(Int64Array::from(vec![0; windows.len()])) as ArrayRef);
            }
            if aggregate.is_ended_by() {
                let name = |end: &SessionEnd| end.ended_by.map(EndedBy::name);
                let names: StringArray = ends.iter().map(name).collect();
                return Ok(Arc::new(names) as ArrayRef);
            }
            if aggregate.is_function() {
                return functions.next().ok_or_else(missing)?;
            }
            let column = lowered.next().ok_or_else(missing)?;
            typed(&column, aggregate.field().data_type())
        };
        let columns = self.aggregates.iter().map(|aggregate| {
            column(aggregate).or_else(|error| match error {
                Error::ArrayCapacity { reason, .. } => {
                    let null = self.null_beyond_capacity(aggregate, reason, keys, windows)?;
                    overflows += 1;
                    Ok(null)
                }
                other => Err(other),
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok((columns, overflows))
    }

    /// The null of a single window whose result does not fit one array, if such results are null.
    fn null_beyond_capacity(
        &self,
        aggregate: &AggregatePlan,
        reason: String,
        keys: &[ArrayRef],
        windows: &[Window],
    ) -> Result<ArrayRef> {
        let is_alone = windows.len() == 1;
        if is_alone && self.overflow == Overflow::Null && !aggregate.is_of_operator() {
            return Ok(new_null_array(aggregate.field().data_type(), 1));
        }
        let place = windows.first().filter(|_| is_alone);
        let place = place.map(|window| self.place(window, keys, 0));
        Err(Error::ArrayCapacity {
            column: aggregate.name.clone(),
            reason: reason + &place.unwrap_or_default(),
        })
    }

    /// Where a result does not fit, and what allows it, for errors. The key is in `row` of `keys`.
    fn place(&self, window: &Window, keys: &[ArrayRef], row: usize) -> String {
        format!(
            " in window {} of key {}; overflow(\"null\") makes it null and counts it",
            self.show_window(window),
            show_key(keys, row),
        )
    }

    /// The column of windows.
    ///
    /// # Errors
    ///
    /// None for times of the time column.
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
    ///
    /// # Errors
    ///
    /// None for times of the time column.
    pub fn times(&self, times: impl Iterator<Item = Time>) -> Result<ArrayRef> {
        let ticks: ArrayRef = Arc::new(Int64Array::from_iter_values(times.map(|time| time.0)));
        typed(&ticks, self.time.data_type())
    }

    /// The same error. An overflow gets the name of its column, and its key and window: those of the
    /// row of `keys` and `windows`.
    pub fn name_overflow(&self, error: Error, keys: &[ArrayRef], windows: &[Window]) -> Error {
        match error {
            Error::ResultOverflow {
                aggregate,
                window,
                reason,
            } => {
                let built_in = |aggregate: &&AggregatePlan| aggregate.states().is_some();
                let Some(plan) = self.aggregates.iter().filter(built_in).nth(aggregate) else {
                    return Error::Internal("a result belongs to no aggregate");
                };
                Error::Overflow {
                    column: plan.name.clone(),
                    reason: match windows.get(window) {
                        Some(bounds) => reason.to_owned() + &self.place(bounds, keys, window),
                        None => reason.to_owned(),
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
        let ticks: ArrayRef = Arc::new(Int64Array::from(vec![time.0]));
        let text = typed(&ticks, local)
            .and_then(|array| convert::cast(&array, &DataType::Utf8))
            .map(|array| format!("{}{mark}", array.as_string::<i32>().value(0)));
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

/// A key as text, for errors.
fn show_key(keys: &[ArrayRef], row: usize) -> String {
    let shown = keys.iter().filter(|column| row < column.len());
    let shown = shown.map(|column| array_value_to_string(column, row).unwrap_or_default());
    shown.collect::<Vec<_>>().join(", ")
}

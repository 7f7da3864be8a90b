//! Which stream time decides whether a record is late (rules 1.2 and 1.3).

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch};

use super::changes::Changes;
use crate::core::error::{Error, Result};
use crate::core::operator::record::{Fault, Record};
use crate::core::operator::stream_time::StreamTimes;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::time::Time;
use crate::input::events::SOURCE;

/// Which stream time decides whether a record of a batch is late.
#[derive(Clone)]
pub(crate) enum Judgement {
    /// The stream time of the operator up to and including the record, as in the driver.
    Arrival,
    /// The stream time before the batch, for all records (rules 1.2).
    Start,
    /// The times of all records of the source up to the record, in any shard (rules 1.3).
    Order {
        /// A column per input, with the largest time so far in the micro-batch.
        times: Vec<Int64Array>,
        /// Whether windows close after each record, and not only at the end (rules 1.6).
        closes: bool,
    },
}

impl Judgement {
    /// Judges by `times`, which must have `rows` rows and a column per input.
    pub(crate) fn order(
        times: &RecordBatch,
        rows: usize,
        inputs: usize,
        closes: bool,
    ) -> Result<Self> {
        let columns: Option<Vec<Int64Array>> = times
            .columns()
            .iter()
            .map(|column| column.as_primitive_opt::<Int64Type>().cloned())
            .collect();
        columns
            .filter(|columns| columns.len() == inputs && times.num_rows() == rows)
            .map(|times| Self::Order { times, closes })
            .ok_or_else(|| Error::Argument {
                argument: "times".into(),
                got: format!("{} rows of {:?}", times.num_rows(), times.schema().fields()),
                allowed: format!("{rows} rows, as the batch has, of {inputs} columns of int64"),
            })
    }

    /// The judgement for a range of rows.
    pub(crate) fn slice(&self, from: usize, length: usize) -> Self {
        match self {
            Self::Order { times, closes } => Self::Order {
                times: times.iter().map(|time| time.slice(from, length)).collect(),
                closes: *closes,
            },
            Self::Arrival | Self::Start => self.clone(),
        }
    }

    /// Whether windows close between records, and not only at the end of a micro-batch.
    pub(crate) fn closes(&self) -> bool {
        match self {
            Self::Arrival => true,
            Self::Start => false,
            Self::Order { closes, .. } => *closes,
        }
    }

    /// Counts a record and returns the times that judge it. Also moves stream time, except for
    /// [`Self::Start`].
    pub(crate) fn admit<K: WindowKind>(
        &self,
        operator: &mut WindowOperator<K>,
        record: &Record<'_, u32>,
    ) -> StreamTimes {
        match self {
            Self::Arrival => operator.admit(record),
            Self::Start => operator.admit_at_start(record),
            Self::Order { .. } => {
                self.observe(operator, record.row as usize);
                operator.admit(record)
            }
        }
    }

    /// Counts a record with a fault. It does not move stream time itself.
    pub(crate) fn leave_out<K: WindowKind>(
        &self,
        operator: &mut WindowOperator<K>,
        (row, fault): (usize, Fault),
        out: &mut Changes,
    ) {
        self.observe(operator, row);
        *operator.counters.of(fault) += 1;
        out.keep(row, fault.name());
    }

    /// Moves stream time to the times of a row.
    pub(crate) fn observe<K: WindowKind>(&self, operator: &mut WindowOperator<K>, row: usize) {
        let Self::Order { times, .. } = self else {
            return;
        };
        for (input, times) in times.iter().enumerate() {
            if row < times.len() && times.is_valid(row) {
                operator.observe(input, SOURCE, Time(times.value(row)));
            }
        }
    }
}

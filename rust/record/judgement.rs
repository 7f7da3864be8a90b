//! By which stream time the records of a batch are judged (rules 1.2 and 1.3).

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch};

use crate::core::error::{Error, Result};
use crate::core::operator::record::{Record, RecordOutcome, ValidRecord};
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::time::Time;
use crate::input::events::SOURCE;

/// By which stream time the records of a batch are judged.
#[derive(Clone)]
pub(crate) enum Judgement {
    /// Each by what it and those before it in the same operator have reached, as in the driver.
    Arrival,
    /// All by what was reached before the batch (rules 1.2).
    Start,
    /// Each by what all records of its source up to it have reached, those of other shards too
    /// (rules 1.3).
    Order {
        /// A column for each input, with the largest time so far in the micro-batch.
        times: Vec<Int64Array>,
        /// Whether windows close after each record, and not at the end (rules 1.6).
        closes: bool,
    },
}

impl Judgement {
    /// Of the columns of a batch, parallel to `rows` rows.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] unless there is one column of 64-bit integers for each input.
    pub fn order(times: &RecordBatch, rows: usize, inputs: usize, closes: bool) -> Result<Self> {
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

    /// The same for some rows.
    pub fn slice(&self, from: usize, length: usize) -> Self {
        match self {
            Self::Order { times, closes } => Self::Order {
                times: times.iter().map(|time| time.slice(from, length)).collect(),
                closes: *closes,
            },
            Self::Arrival | Self::Start => self.clone(),
        }
    }

    /// Whether windows close between records, and not only at the end of a micro-batch.
    pub fn closes(&self) -> bool {
        match self {
            Self::Arrival => true,
            Self::Start => false,
            Self::Order { closes, .. } => *closes,
        }
    }

    /// Counts a record, which has the times that it is judged by. Stream time moves, unless all
    /// records are judged by its start.
    pub fn admit<'a, K: WindowKind>(
        &self,
        operator: &mut WindowOperator<K>,
        record: Record<'a, u32>,
    ) -> std::result::Result<ValidRecord<'a, u32>, RecordOutcome> {
        match self {
            Self::Arrival => operator.admit(record),
            Self::Start => operator.admit_at_start(record),
            Self::Order { .. } => {
                self.observe(operator, record.row as usize);
                operator.admit(record)
            }
        }
    }

    /// Moves stream time to what was reached at a row.
    pub fn observe<K: WindowKind>(&self, operator: &mut WindowOperator<K>, row: usize) {
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

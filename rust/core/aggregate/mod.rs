//! Aggregates: identity, lift, combine, lower.
//!
//! An aggregate is a vector of states, one per [`Slot`]. A state keeps the time and the arrival of
//! its rows if they matter, so every `merge` is associative and commutative: the result does not
//! depend on how rows were cut into batches, splits or shards.
//!
//! | files | hold |
//! |---|---|
//! | [`functions`] | the functions that a user calls, with their states |
//! | [`function`], [`value_type`], [`result_type`] | what a function says about itself; the types that it takes and gives |
//! | [`state`] | the state of one slot, and the aggregate that follows from it |
//! | [`argument`] | what an aggregate takes from a row |
//! | [`column`](mod@column), [`scalar`] | values in columns, which are Arrow arrays |
//! | [`numeric`], [`total`], [`distance`], [`moments`], `double_double`, `power_of_two`, [`float_order`] | arithmetic on values |
//! | `value_counts`, `code_counts`, `value_dictionary`, `distinct_values`, [`composite`] | distinct values and their counts |
//! | `row_value` | the value of one row |
//! | [`funnel_steps`], [`funnel_chains`] | which rows are steps of a funnel, and how far they get |
//! | `sweep`, [`row_spans`], [`two_stacks`], [`list_values`] | sliding windows in one pass |
//! | [`slot`], [`accumulators`], `bound_aggregate`, [`row_filter`] | all aggregates of a query over shared slots |
//! | [`window_results`], [`unknown_results`] | the results of windows; some do not fit their type, and some are unknown because their records came before the aggregate |
//! | [`states`], [`batch_states`] | what record-by-record operators update |

pub(crate) mod function;
pub mod functions;
pub(crate) mod result_type;
pub(crate) mod value_type;

pub(crate) mod argument;
pub(crate) mod column;
pub(crate) mod scalar;
pub(crate) mod slot;
pub(crate) mod state;
pub(crate) mod states;

pub(crate) mod composite;
pub(crate) mod distance;
pub(crate) mod float_order;
pub(crate) mod funnel_chains;
pub(crate) mod funnel_steps;
pub(crate) mod list_values;
pub(crate) mod moments;
pub(crate) mod numeric;
pub(crate) mod row_spans;
pub(crate) mod total;

pub mod accumulators;
pub mod batch_states;
pub(crate) mod row_filter;
pub(crate) mod two_stacks;
pub(crate) mod unknown_results;
pub(crate) mod window_results;

mod bound_aggregate;
mod code_counts;
mod distinct_values;
mod double_double;
mod power_of_two;
mod row_value;
mod sweep;
mod value_counts;
mod value_dictionary;

#[cfg(test)]
pub(crate) mod tests;

use std::any::Any;

use arrow_array::{Array, ArrayRef};

use crate::core::error::{Error, Result};
use crate::core::time::Time;
use list_values::ListValues;
use row_spans::RowSpans;
use scalar::Scalar;
use slot::Slot;

/// Rows to aggregate: parallel slices.
#[derive(Clone, Copy, Debug)]
pub struct InputRows<'a> {
    /// Event times, in full resolution.
    pub times: &'a [Time],
    /// What orders rows of one time.
    pub seq_nos: &'a [SeqNo],
    /// The columns that the aggregate takes, in its own order.
    pub inputs: &'a [ArrayRef],
}

impl<'a> InputRows<'a> {
    /// A number of rows. `seq_nos` may be empty if no aggregate needs them.
    #[inline]
    fn new(
        rows: usize,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        inputs: &'a [ArrayRef],
    ) -> Result<Self> {
        let has_seq_nos = seq_nos.is_empty() || seq_nos.len() >= rows;
        if times.len() < rows || !has_seq_nos || inputs.iter().any(|input| input.len() < rows) {
            return Err(Error::Internal("a row to aggregate is out of range"));
        }
        Ok(Self {
            times,
            seq_nos,
            inputs,
        })
    }

    /// The position of a row.
    #[inline]
    fn position(&self, row: usize) -> RowPosition {
        (
            self.times.get(row).copied().unwrap_or_default(),
            self.seq_nos.get(row).copied().unwrap_or_default(),
        )
    }
}

/// What orders rows of one time: the tie of a row, or without ties its place in the order of
/// arrival.
pub type SeqNo = u64;

/// The position of a row among all rows.
pub type RowPosition = (Time, SeqNo);

/// A span of sorted rows that makes up one sliding window: `from` inclusive, `to` exclusive.
///
/// In a list of spans both bounds never go back, so a sweep is one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowSpan {
    /// First row.
    pub from: u32,
    /// One past the last row.
    pub to: u32,
}

impl RowSpan {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.to.saturating_sub(self.from) as usize
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A vector of states, one per slot.
pub trait Aggregate: Any + Send + Sync {
    /// An empty vector of the same kind.
    fn fresh(&self) -> Box<dyn Aggregate>;

    /// The largest number of values in the list of a window; none if the result is not a list.
    fn longest_list(&self) -> Option<usize> {
        None
    }

    /// The number of rows up to which a state may have a value of each, so that it is no smaller than
    /// the rows.
    fn kept_rows(&self) -> usize {
        0
    }

    /// The total size of the lists that [`Self::sweep`] makes of these rows.
    ///
    /// # Errors
    ///
    /// The aggregate does not take these columns.
    fn list_values(&self, _rows: InputRows<'_>, _runs: RowSpans<'_>) -> Result<ListValues> {
        Ok(ListValues::default())
    }

    /// Grows to `slots` slots. New ones hold the identity: the state of no rows.
    fn resize(&mut self, slots: usize);

    /// Lifts each row and combines it into its slot; `slots` is parallel to the rows.
    ///
    /// # Errors
    ///
    /// The aggregate does not take these columns.
    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()>;

    /// Lifts one row and combines it into a slot: one step of [`Self::update`].
    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()>;

    /// Combines state `from[i]` of `other` into slot `into[i]`. `other` is of the same kind.
    ///
    /// # Errors
    ///
    /// `other` is another aggregate.
    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()>;

    /// Adds the rows of slot `from` to slot `into`, after its own.
    fn absorb(&mut self, into: Slot, from: Slot);

    /// Overwrites slot `to` with a copy of slot `from`.
    fn copy(&mut self, to: Slot, from: Slot);

    /// Puts the identity back into a slot.
    fn clear(&mut self, slot: Slot);

    /// The results of `slots`, one row each.
    ///
    /// # Errors
    ///
    /// [`Error::ResultOverflow`] names the first of `slots` whose result does not fit.
    fn lower(&self, slots: &[Slot]) -> Result<ArrayRef>;

    /// The states of `slots` as columns, one row per slot, for blocks and pages.
    fn save(&self, slots: &[Slot]) -> Vec<ArrayRef>;

    /// Reads what `save` wrote: a vector with one slot per row.
    ///
    /// # Errors
    ///
    /// The columns are not what `save` writes.
    fn load(&self, states: &[ArrayRef]) -> Result<Box<dyn Aggregate>>;

    /// The results of sliding windows over rows sorted by (key, time, arrival), one row per span.
    ///
    /// # Errors
    ///
    /// As [`Self::lower`], and if the aggregate does not take these columns.
    fn sweep(&self, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef>;
}

/// The number of rows that all of the state columns have.
fn common_len(states: &[ArrayRef]) -> Result<usize> {
    let len = states.first().map_or(0, Array::len);
    if states.iter().all(|column| column.len() == len) {
        Ok(len)
    } else {
        Err(Error::Internal(
            "the state columns of an aggregate differ in length",
        ))
    }
}

/// The `N` state columns, which have one number of rows.
fn state_columns<const N: usize>(states: &[ArrayRef]) -> Result<&[ArrayRef; N]> {
    common_len(states)?;
    states
        .try_into()
        .map_err(|_| Error::Internal("an aggregate got the wrong number of state columns"))
}

/// The numbers of rows in a state column. A number that no query reaches is damage, and might
/// overflow later.
fn row_counts(column: &ArrayRef) -> Result<Vec<i64>> {
    let counts = i64::view(column)?.values();
    if counts.iter().all(|count| (0..1 << 48).contains(count)) {
        Ok(counts.to_vec())
    } else {
        Err(Error::Internal(
            "a state holds an impossible number of rows",
        ))
    }
}

/// The error of a result that does not fit. [`accumulators`] fills in which aggregate it is.
fn overflow(window: usize, reason: &'static str) -> Error {
    Error::ResultOverflow {
        aggregate: 0,
        window,
        reason,
    }
}

/// The other vector of states, which must be of the same kind.
fn downcast<T: Aggregate>(other: &dyn Aggregate) -> Result<&T> {
    let other: &dyn Any = other;
    other
        .downcast_ref()
        .ok_or(Error::Internal("states of different aggregates are merged"))
}

//! A record that arrives at an operator, and its outcome.

use super::stream_time::{Source, StreamTimes};
use crate::core::store::StoreKey;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;

/// The outcome of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordOutcome {
    /// It is in a window.
    Accepted,
    /// It came too late, by this much.
    Late(Span),
    /// It is in no window: its own one closed this long ago, and no other one takes it. Only
    /// sliding windows.
    Refused(Span),
    /// It has no key. Stream time does not move.
    NullKey,
    /// It has no time.
    NullTime,
    /// It has no tie. Stream time does not move.
    NullTie,
    /// Its gap is null, negative, or a zero that the query does not take. Stream time does not move.
    BadGap,
    /// Its end is null or before its time. Stream time does not move.
    BadEnd,
}

/// A record as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a, R> {
    /// Its key. `None` if every key column is null.
    pub key: Option<&'a [u8]>,
    /// Its time.
    pub time: Option<Time>,
    /// Its end, which is its time if the query has no ends.
    pub end: Option<Time>,
    /// The value of its gap column. Fixed gaps ignore it.
    pub gap: Option<i64>,
    /// The input of a cogroup, or 0.
    pub input: usize,
    /// The source partition.
    pub source: Source,
    /// What it says about the sessions around it, in a query with such rules. `None` if its tie is
    /// null.
    pub rule: Option<RecordRule>,
    /// The row that updates the states.
    pub row: R,
}

/// What a record says about the sessions around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordRule {
    /// Orders records of one time.
    pub tie: u64,
    /// Whether it begins a session, in the lowest bit, and a hash of the values whose change ends
    /// one.
    pub mark: u64,
    /// Whether its session ends with it.
    pub ends: bool,
}

impl RecordRule {
    /// The mark of a record.
    pub fn mark(begins: bool, values: u64) -> u64 {
        values & !1 | u64::from(begins)
    }
}

/// The effective gap of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectiveGap {
    /// The gap of the record or the query.
    Valid(Span),
    /// Cut to the longest gap.
    Clamped(Span),
    /// Null, negative, or a zero that the query does not take.
    Bad,
}

/// A record with a key, a time, an end and a valid gap. It is already counted.
#[derive(Clone, Copy, Debug)]
pub struct ValidRecord<'a, R> {
    /// Its key.
    pub name: &'a [u8],
    /// Its time, its end, and how far its gap reaches.
    pub extent: Extent,
    /// The times that decide whether it is late.
    pub now: StreamTimes,
    /// What it says about the sessions around it.
    pub rule: RecordRule,
    /// The row that updates the states.
    pub row: R,
}

impl<R> ValidRecord<'_, R> {
    /// Whether it is before the close time of its input. It may then be late or meet a closed
    /// window (rules 2.6).
    pub fn is_behind(&self) -> bool {
        self.extent.start < self.now.late
    }
}

/// A record with its key's number in the store.
#[derive(Clone, Copy, Debug)]
pub struct KeyedRecord<R> {
    /// The number of its key in the store.
    pub key: StoreKey,
    /// Its time, its end, and how far its gap reaches.
    pub extent: Extent,
    /// The close time of its input. Windows before it are late.
    pub late: Time,
    /// What it says about the sessions around it.
    pub rule: RecordRule,
    /// The row that updates the states.
    pub row: R,
}

impl<R> KeyedRecord<R> {
    /// Its time.
    pub fn time(&self) -> Time {
        self.extent.start
    }

    /// Whether it is before the close time of its input.
    pub fn is_behind(&self) -> bool {
        self.time() < self.late
    }
}

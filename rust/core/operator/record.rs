//! A record that arrives at an operator, and its outcome; why a record is in no window at any time.

use super::stream_time::Source;
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
}

/// Why a record is in no window, whatever the stream time. If several hold, the first one counts. Stream
/// time does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Every key column is null.
    NullKey,
    /// Its value is null, and the query drops such records like Kafka does.
    NullValue,
    /// Its time is null.
    NullTime,
    /// Its tie is null, if the query has ties.
    NullTie,
    /// Its gap is null, negative, or a zero that the query does not take.
    BadGap,
    /// Its end is null or before its time.
    BadEnd,
}

impl Fault {
    /// Its name in the rows of records that are left out (rules 6.13).
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NullKey => "null_key",
            Self::NullValue => "null_value",
            Self::NullTime => "null_time",
            Self::NullTie => "null_tie",
            Self::BadGap => "bad_gap",
            Self::BadEnd => "bad_end",
        }
    }
}

/// A record without a fault, as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a, R> {
    /// Its key.
    pub name: &'a [u8],
    /// Its time, its end, and how far its gap reaches.
    pub extent: Extent,
    /// Whether its gap was cut to the longest gap.
    pub is_clamped: bool,
    /// The input of a cogroup, or 0.
    pub input: usize,
    /// The source partition.
    pub source: Source,
    /// What it says about the sessions around it.
    pub rule: RecordRule,
    /// The row that updates the states.
    pub row: R,
}

#[cfg(any(test, feature = "bench"))]
impl<'a, R> Record<'a, R> {
    /// A record of the only source, in a query without rules for sessions.
    pub fn of(name: &'a [u8], extent: Extent, row: R) -> Self {
        Self {
            name,
            extent,
            is_clamped: false,
            input: 0,
            source: Source(0),
            rule: RecordRule::default(),
            row,
        }
    }
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

/// A record with its key's number in the store.
#[derive(Clone, Copy, Debug)]
pub struct KeyedRecord<R> {
    /// The number of its key in the store.
    pub key: StoreKey,
    /// Its time, its end, and how far its gap reaches.
    pub extent: Extent,
    /// The close time of its input. Windows before it are late.
    pub input_close: Time,
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
        self.time() < self.input_close
    }
}

//! A record as it arrives at an operator, and what becomes of it.

use super::stream_time::Source;
use crate::store::StoreKey;
use crate::time::{Span, Time};

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is in a session.
    Kept,
    /// It came too late.
    Late,
    /// It has no key; stream time does not move.
    NullKey,
    /// It has no time.
    NullTime,
    /// Its gap is null, zero or negative; stream time does not move.
    BadGap,
}

/// A record as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a, R> {
    /// Its key; none where every key column is null.
    pub key: Option<&'a [u8]>,
    /// Its time.
    pub time: Option<Time>,
    /// What its gap column holds; fixed gaps do not look at it.
    pub gap: Option<i64>,
    /// The input of a cogroup; 0 otherwise.
    pub input: usize,
    /// The source partition.
    pub source: Source,
    /// What the states are updated from.
    pub row: R,
}

/// A record's gap in effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effective {
    /// As asked.
    StoreQuery(Span),
    /// Cut to the longest gap.
    Clamped(Span),
    /// Null, zero or negative.
    Bad,
}

/// A record at work.
#[derive(Clone, Copy, Debug)]
pub struct KeyedRecord<R> {
    /// The number of its key in the store.
    pub key: StoreKey,
    /// Its time.
    pub time: Time,
    /// Its gap in effect.
    pub gap: Span,
    /// What is behind this is late.
    pub late: Time,
    /// What the states are updated from.
    pub row: R,
}

//! Queries of an operator's store, as Arrow batches.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use super::changes;
use super::operator::Operator;
use super::states::lower;
use super::windows::Windows;
use crate::aggregate::slot::Slot;
use crate::error::Result;
use crate::store::{SessionEntry, WindowEntry};
use crate::time::{Span, Time};
use crate::window::Window;

/// Which windows are asked for. Time bounds are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreQuery {
    /// Of a range of keys: sessions that end at `from` or later and start at `to` or earlier;
    /// sliding windows that start from `from` to `to`.
    Between {
        /// Earliest end of a session, earliest start of a sliding window.
        from: Time,
        /// Latest start.
        to: Time,
    },
    /// Of all keys, by time before key: sessions that reach, and sliding windows that start, from
    /// one time to another.
    Due {
        /// Earliest.
        from: Time,
        /// Latest.
        to: Time,
    },
}

/// The bounds of a range of keys, inclusive: the key columns of one row each; none leaves a side
/// open.
pub type KeyRange = (Option<Vec<ArrayRef>>, Option<Vec<ArrayRef>>);

struct StoredWindow<'a> {
    name: &'a [u8],
    window: Window,
    largest: Time,
    slot: Slot,
}

fn session<'a>((name, entry): (&'a [u8], &SessionEntry)) -> StoredWindow<'a> {
    StoredWindow {
        name,
        window: entry.window(),
        largest: entry.extent.end,
        slot: entry.slot,
    }
}

fn sliding(
    difference: Span,
) -> impl for<'a, 'e> Fn((&'a [u8], &'e WindowEntry)) -> StoredWindow<'a> {
    move |(name, entry)| StoredWindow {
        name,
        window: Window::sliding(entry.start, difference),
        largest: entry.largest,
        slot: entry.slot,
    }
}

impl Operator {
    /// The schema of found windows: keys, `window`, aggregates, and `time`, the largest time of a
    /// window's records.
    pub fn found_schema(&self) -> SchemaRef {
        let changes = changes::schema(&self.query);
        let shown = self.query.keys.len() + 1 + self.query.aggregates.len();
        Arc::new(Schema::new(
            changes
                .fields()
                .iter()
                .take(shown)
                .chain(changes.fields().last())
                .cloned()
                .collect::<Vec<_>>(),
        ))
    }

    /// The visible windows that are asked for, in the order of rules 6.9, or in its reverse.
    pub fn select(
        &self,
        asked: StoreQuery,
        keys: &KeyRange,
        backward: bool,
    ) -> Result<RecordBatch> {
        self.check_whole()?;
        let named = |bound: &Option<Vec<ArrayRef>>| {
            bound
                .as_ref()
                .map(|columns| self.names.of(columns))
                .transpose()
        };
        let (first, last) = (named(&keys.0)?, named(&keys.1)?);
        let (first, last) = (
            first.as_ref().and_then(|named| named.get(0)),
            last.as_ref().and_then(|named| named.get(0)),
        );
        let mut found: Vec<StoredWindow<'_>> = match (&self.windows, asked) {
            (Windows::Sessions(sessions), StoreQuery::Between { from, to }) => sessions
                .store()
                .find_sessions_of(first, last, from, to)
                .map(session)
                .collect(),
            (Windows::Sessions(sessions), StoreQuery::Due { from, to }) => sessions
                .store()
                .find_closed(from, to)
                .map(session)
                .collect(),
            (Windows::SlidingOperator(slides), StoreQuery::Between { from, to }) => slides
                .store()
                .fetch_range((first, last), from, to)
                .map(sliding(self.difference()))
                .collect(),
            (Windows::SlidingOperator(slides), StoreQuery::Due { from, to }) => slides
                .store()
                .find_closed(from, to)
                .map(sliding(self.difference()))
                .collect(),
        };
        if backward {
            found.reverse();
        }
        let windows: Vec<Window> = found.iter().map(|found| found.window).collect();
        if !self.saturates() {
            changes::check(&self.query, &windows)?;
        }
        let slots: Vec<Slot> = found.iter().map(|found| found.slot).collect();
        let mut columns = self.names.columns(found.iter().map(|found| found.name))?;
        columns.push(self.query.window(&windows)?);
        columns.extend(lower(
            &self.query,
            self.accumulators.lower(&slots),
            &self.functions,
            &slots,
            &windows,
        )?);
        columns.push(self.query.times(found.iter().map(|found| found.largest))?);
        Ok(RecordBatch::try_new(self.found_schema(), columns)?)
    }
}

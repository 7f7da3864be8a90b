//! Stream time and counters of a shard. They decide which sessions close.

use crate::core::aggregate::SeqNo;
use crate::core::operator::counters::Counters;
use crate::core::operator::pace::last_due;
use crate::core::operator::stream_time::{Source, StreamTime, StreamTimes};
use crate::core::operator::window_operator::WindowKind;
use crate::core::session::session_windows::SessionWindows;
use crate::core::store::segment_width;
use crate::core::time::{Span, Time};
use crate::core::window::{Extent, Horizon};
use crate::state::head::Clock;

/// Stream time and counters of a shard.
pub(super) struct ShardClock {
    pub windows: SessionWindows,
    pub counters: Counters,
    /// How far stream time moves between two updates of a session, at least. `None` if updates
    /// have no pace.
    pub every: Option<Span>,
    time: StreamTime,
    /// Sessions due before this are closed and emitted.
    closed: Time,
    seq_nos: SeqNo,
}

impl ShardClock {
    /// Starts before any record.
    pub(super) fn new(windows: SessionWindows, every: Option<Span>) -> Self {
        Self {
            counters: Counters::default(),
            time: StreamTime::new(1, windows.grace, Span(1)),
            closed: Time::MIN,
            seq_nos: 0,
            every,
            windows,
        }
    }

    /// Resumes from a saved clock.
    pub(super) fn resume(&mut self, saved: Clock) {
        self.time.resume(saved.progress);
        self.closed = saved.closed;
        self.seq_nos = saved.seq_nos;
        self.counters = saved.counters;
    }

    /// The clock in the form that the head saves.
    pub(super) fn saved(&self) -> Clock {
        Clock {
            progress: self.time.progress().to_vec(),
            closed: self.closed,
            seq_nos: self.seq_nos,
            counters: self.counters,
        }
    }

    /// Stream time.
    pub(super) fn time(&self) -> Option<Time> {
        self.time.slowest().time
    }

    /// The times that judge the records of the next micro-batch.
    pub(super) fn now(&self) -> StreamTimes {
        self.time.slowest()
    }

    /// What was emitted at this time or before may be emitted again, if updates have a pace.
    pub(super) fn last_due(&self) -> Option<Time> {
        last_due(self.time(), self.every?)
    }

    /// Length of a segment.
    pub(super) fn segment_width(&self) -> i64 {
        segment_width(self.windows.segment())
    }

    /// Applies the current grace, which may be smaller than before a restart. Returns whether the
    /// close time has moved.
    pub(super) fn catch_up(&mut self) -> bool {
        self.time.catch_up();
        self.horizon().close > self.closed
    }

    /// Moves stream time.
    pub(super) fn observe(&mut self, seen: impl Iterator<Item = (usize, Source, Time)>) {
        self.time.observe_together(seen);
    }

    /// The current horizon: which sessions are closed, and which are hidden.
    pub(super) fn horizon(&self) -> Horizon {
        let now = self.time.slowest();
        Horizon::of_sessions(now.time, now.close, self.windows.until)
    }

    /// Whether a session closes now.
    pub(super) fn closes(&self, extent: &Extent) -> bool {
        !extent.closed_before(self.closed) && extent.closed_before(self.horizon().close)
    }

    /// Counts late records. `before_close` records were before the close time, and these are among
    /// them. With ends the others count as behind.
    pub(super) fn count_late(&mut self, late: u64, before_close: u64) {
        self.counters.late += late;
        if self.windows.has_ends {
            self.counters.behind += before_close.saturating_sub(late);
        }
    }

    /// Marks all due sessions as closed.
    pub(super) fn close(&mut self) {
        self.closed = self.closed.max(self.horizon().close);
    }

    /// Sessions due before this are closed.
    pub(super) fn closed(&self) -> Time {
        self.closed
    }
}

//! The clock row of a table of open windows: how far time is, the query, and a count and a checksum of
//! the other rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::row::{OpenRow, OpenState, RowKind, seal};
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::plan::state_query::with_layouts;

/// The error for a table of open windows that cannot be read.
pub(crate) fn unreadable(reason: impl Into<String>) -> Error {
    Error::Format {
        what: "open",
        reason: reason.into(),
    }
}

/// The progress of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenInput {
    /// Its stream time.
    pub time: Option<i64>,
    /// The close time.
    pub close: i64,
    /// The name and the largest time of each source.
    pub sources: BTreeMap<String, i64>,
}

/// The clock row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenClock {
    /// Stream time as the caller set it, in ticks of the time column.
    pub to: i64,
    /// The same at the time when the other rows were written. All of them have it.
    pub written: i64,
    /// The number of runs before this one; of a stream the number of its last micro-batch.
    pub batch: u64,
    /// The progress of each input.
    pub inputs: Vec<OpenInput>,
    /// Windows due before this are closed and emitted.
    pub closed: i64,
    /// After a move back, the time that decides which windows are closed, in place of `closed` and of
    /// the close times of inputs.
    pub close_by: Option<i64>,
    /// The number of rows read so far.
    pub seq_nos: SeqNo,
    /// The number of rows, without the clock row.
    pub rows: u64,
    /// The sum of their checksums.
    pub checksum: u64,
    /// The hash of the specification.
    pub fingerprint: String,
    /// The specification, JSON.
    pub specification: String,
    /// The layouts of its nested columns.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub layouts: Map<String, Value>,
}

impl OpenClock {
    /// The bytes of the clock row.
    pub(crate) fn seal(&self) -> Result<Vec<u8>> {
        let text = self.to_json()?;
        Ok(seal(RowKind::Clock, columns(Some(self.to)), text.as_bytes()).1)
    }

    /// The clock row as JSON.
    pub(crate) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|_| Error::Internal("a clock row is not JSON"))
    }

    /// The table loses some rows: their number, and the sum of their checksums.
    pub(crate) fn remove(&mut self, rows: u64, checksum: u64) -> Result<()> {
        let left = self.rows.checked_sub(rows);
        self.rows = left.ok_or_else(|| {
            unreadable(format!(
                "the table has at least {rows} rows besides the clock row, which says {}",
                self.rows
            ))
        })?;
        self.checksum = self.checksum.wrapping_sub(checksum);
        Ok(())
    }

    /// The specification with the layouts.
    pub(crate) fn query(&self) -> String {
        with_layouts(&self.specification, &self.layouts)
    }

    /// Reads the bytes of a clock row.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        let named = |reason: String| unreadable(format!("the clock row cannot be read: {reason}"));
        let state = OpenState::read(bytes).map_err(named)?;
        let clock = serde_json::from_slice::<Self>(state.unchecked());
        let time = clock.as_ref().ok().map(|clock| clock.to);
        state.payload(columns(time)).map_err(named)?;
        clock.map_err(|error| named(error.to_string()))
    }

    /// Checks the column `stream_time` of the clock row.
    pub(crate) fn check_time(&self, time: Option<i64>) -> Result<()> {
        if time == Some(self.to) {
            return Ok(());
        }
        Err(unreadable(
            "the clock row cannot be read: its `stream_time` was changed",
        ))
    }

    /// Sets the time of the table. After a move back, windows that are not closed by then are open
    /// again. After a move forward, windows that it closes are emitted by the next run.
    pub(crate) fn set(&mut self, to: i64) {
        let is_back = to < self.to;
        let moved = |time: i64| if is_back { to.min(time) } else { to.max(time) };
        for input in &mut self.inputs {
            input.time = Some(input.time.map_or(to, moved));
            let sources = input.sources.values_mut();
            sources.for_each(|time| *time = moved(*time));
        }
        if is_back {
            self.close_by = Some(to);
        }
        self.to = to;
    }

    /// The clock of a table whose rows have these clocks, one of each shard.
    pub(crate) fn of_shards(clocks: &[Self]) -> Result<Self> {
        let (first, others) = clocks
            .split_first()
            .ok_or_else(|| unreadable("no shard has a clock row"))?;
        let mut whole = first.clone();
        for clock in others {
            let same = (clock.to, clock.batch, &clock.fingerprint);
            if same != (whole.to, whole.batch, &whole.fingerprint) {
                return Err(unreadable("the shards belong to different runs"));
            }
            if clock.inputs.len() != whole.inputs.len() {
                return Err(unreadable("the shards have different numbers of inputs"));
            }
            for (own, other) in whole.inputs.iter_mut().zip(&clock.inputs) {
                own.time = own.time.max(other.time);
                own.close = own.close.max(other.close);
                for (source, &time) in &other.sources {
                    let own = own.sources.entry(source.clone()).or_insert(time);
                    *own = time.max(*own);
                }
            }
            whole.closed = whole.closed.max(clock.closed);
            whole.seq_nos = whole.seq_nos.max(clock.seq_nos);
            whole.rows += clock.rows;
            whole.checksum = whole.checksum.wrapping_add(clock.checksum);
        }
        Ok(whole)
    }
}

fn columns(time: Option<i64>) -> OpenRow<'static> {
    OpenRow {
        key: b"",
        start: time,
        end: None,
    }
}

/// What the column `state` says about a table, without the other columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenTally {
    /// The positions of clock rows.
    pub clocks: Vec<usize>,
    /// The number of other rows.
    pub rows: u64,
    /// The sum of their checksums.
    pub checksum: u64,
}

impl OpenTally {
    /// Counts the rows of a table.
    pub(crate) fn of<'s>(
        states: impl Iterator<Item = Option<&'s [u8]>>,
    ) -> std::result::Result<Self, (usize, String)> {
        let mut tally = Self::default();
        for (row, bytes) in states.enumerate() {
            let bytes = bytes.ok_or_else(|| {
                let reason = "it has no `state`: a closed window, or a row that is not of windrow";
                (row, reason.to_owned())
            })?;
            let state = OpenState::read(bytes).map_err(|reason| (row, reason))?;
            match state.kind {
                RowKind::Clock => tally.clocks.push(row),
                RowKind::Window => {
                    tally.rows += 1;
                    tally.checksum = tally.checksum.wrapping_add(state.checksum);
                }
            }
        }
        Ok(tally)
    }
}

//! The clock row of a table of open windows: how far time is, the query, and a count and a checksum of
//! the other rows.

use serde::{Deserialize, Serialize};

use super::open_state::{OpenRow, OpenState, RowKind, seal};
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};

/// The error for a table of open windows that cannot be read.
pub(crate) fn unreadable(reason: impl Into<String>) -> Error {
    Error::Format {
        what: "open",
        reason: reason.into(),
    }
}

/// The clock row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenClock {
    /// Stream time as the caller set it, in ticks of the time column.
    pub to: i64,
    /// The number of runs before this one.
    pub batch: u64,
    /// Stream time of the operator: floored to the resolution of sliding windows.
    pub time: Option<i64>,
    /// The close time.
    pub close: i64,
    /// Windows due before this are closed and emitted.
    pub closed: i64,
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
}

impl OpenClock {
    /// The bytes of the clock row.
    ///
    /// # Errors
    ///
    /// None of a clock that is JSON.
    pub(crate) fn seal(&self) -> Result<Vec<u8>> {
        let text =
            serde_json::to_vec(self).map_err(|_| Error::Internal("a clock row is not JSON"))?;
        Ok(seal(RowKind::Clock, columns(Some(self.to)), &text).1)
    }

    /// Reads the bytes of a clock row whose column `stream_time` is `time`.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for bytes that are damaged or of another row.
    pub(crate) fn read(bytes: &[u8], time: Option<i64>) -> Result<Self> {
        let named = |reason: String| unreadable(format!("the clock row cannot be read: {reason}"));
        let state = OpenState::read(bytes).map_err(named)?;
        let text = state.payload(columns(time)).map_err(named)?;
        serde_json::from_slice(text).map_err(|error| named(error.to_string()))
    }

    /// The clock of a table whose rows have these clocks, one of each shard.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for no clock, and for clocks of different runs.
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
            whole.time = whole.time.max(clock.time);
            whole.close = whole.close.max(clock.close);
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
    ///
    /// # Errors
    ///
    /// The position of a row that has no state, and the reason.
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

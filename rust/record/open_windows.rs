//! The windows of an operator as the rows of a table, and back. One run of a daily job writes the
//! table, and the next run reads it.
//!
//! | row | `window`, aggregates | `state` |
//! |---|---|---|
//! | an open window | for people to read | times, states, values of functions |
//! | a closed sliding window that later windows need | null | the same |
//! | the clock row | null, as the key is | stream time, the query, a count and a checksum of the rows |
//!
//! The payload of a window is the hash of the specification, the time of the run, and the values in
//! Arrow's row format.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::display::array_value_to_string;

use super::open_rows::{self, STAMP, converter, stamp};
use super::operator::{Operator, RESTORE};
use super::state_store::StateStore;
use super::window_pages;
use super::windows::Windows;
use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::operator::stream_time::Progress;
use crate::core::time::Time;
use crate::core::window::Window;
use crate::input::events::SOURCE;
use crate::plan::query::Query;
use crate::state::head::Clock;
use crate::state::open_clock::{OpenClock, OpenTally, unreadable};
use crate::state::open_state::{OpenRow, OpenState};
use crate::state::page::PageKind;
use crate::state::stored_windows::StoredWindows;

impl Operator {
    /// Loads a table of open windows into an operator that has seen nothing. `rows` are key columns,
    /// the start and the end of each window as `Int64`, and `state`. `tally` counts all rows of the
    /// table, of which `rows` may be a part.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for a table that is damaged, incomplete or of another query.
    pub(crate) fn resume_open(
        &mut self,
        clock: &OpenClock,
        tally: &OpenTally,
        rows: &[RecordBatch],
    ) -> Result<()> {
        self.check_whole()?;
        self.state.check_unused()?;
        if clock.fingerprint != self.snapshot.fingerprint.hash {
            let difference = self.snapshot.fingerprint.difference(&clock.specification);
            return Err(unreadable(format!(
                "the open windows are of another query: {difference}; allowed: the open windows of this query, or \
                 None to begin anew"
            )));
        }
        self.run(RESTORE, |operator| operator.load_open(clock, tally, rows))
    }

    fn load_open(
        &mut self,
        clock: &OpenClock,
        tally: &OpenTally,
        rows: &[RecordBatch],
    ) -> Result<()> {
        let state = &mut self.state;
        state.resume(Clock {
            progress: vec![Progress {
                sources: vec![(SOURCE, Time(clock.to))],
                time: clock.time.map(Time),
                close: Time(clock.close),
            }],
            closed: Time(clock.closed),
            seq_nos: clock.seq_nos,
            counters: Counters::default(),
        });
        let stamp = stamp(clock)?;
        let mut checksums = HashSet::new();
        for batch in rows {
            let page = read(state, batch, stamp, clock, &mut checksums)?;
            window_pages::read(state, &page)?;
        }
        if tally.rows != clock.rows {
            let (difference, wrong) = match tally.rows.checked_sub(clock.rows) {
                Some(more) => (more, "too many"),
                None => (clock.rows - tally.rows, "missing"),
            };
            return Err(unreadable(format!(
                "the table has {} rows besides the clock row, which says {}: {difference} are {wrong}",
                tally.rows, clock.rows
            )));
        }
        if tally.checksum != clock.checksum {
            return Err(unreadable(
                "the rows are not those that the clock row counts: some are of another table",
            ));
        }
        Ok(())
    }

    /// The windows to keep, as key columns, `window`, aggregates and `state`, and the clock of a run
    /// up to `to`. A row without a window is of a closed one that later windows need.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] after a failed call. Errors of results that do not fit their types.
    pub(crate) fn open_windows(
        &mut self,
        to: Time,
        batch: u64,
    ) -> Result<(Vec<RecordBatch>, OpenClock)> {
        self.check_whole()?;
        let (windows, mut states) = self.state.at_rest();
        windows.drop_hidden(&mut states);
        let fingerprint = &self.snapshot.fingerprint;
        let state = &self.state;
        let saved = state.clock();
        let progress = saved.progress.first();
        let mut clock = OpenClock {
            to: to.0,
            batch,
            time: progress.and_then(|progress| progress.time.map(|time| time.0)),
            close: progress.map_or(i64::MIN, |progress| progress.close.0),
            closed: saved.closed.0,
            seq_nos: saved.seq_nos,
            rows: 0,
            checksum: 0,
            fingerprint: fingerprint.hash.clone(),
            specification: fingerprint.text.clone(),
        };
        let batches = match &state.windows {
            Windows::Sessions(sessions) => open_rows::write(state, sessions.store(), &mut clock)?,
            Windows::Sliding(sliding) => open_rows::write(state, sliding.store(), &mut clock)?,
            Windows::Cut(sessions) => open_rows::write(state, sessions.store(), &mut clock)?,
        };
        Ok((batches, clock))
    }
}

/// Reads rows of a table.
fn read(
    state: &StateStore,
    batch: &RecordBatch,
    stamp: [u8; STAMP],
    clock: &OpenClock,
    checksums: &mut HashSet<u64>,
) -> Result<StoredWindows> {
    let query = &state.query;
    let (keys, rest) = batch
        .columns()
        .split_at_checked(query.keys.len())
        .ok_or(Error::Internal("a table of open windows lacks a key"))?;
    let [starts, ends, states] = rest else {
        return Err(Error::Internal("a table of open windows lacks a column"));
    };
    let names = state.sort_keys.of(keys)?;
    let (starts, ends) = (
        starts.as_primitive_opt::<Int64Type>(),
        ends.as_primitive_opt::<Int64Type>(),
    );
    let (Some(starts), Some(ends), Some(states)) = (starts, ends, states.as_binary_opt::<i32>())
    else {
        return Err(Error::Internal("a column of open windows has another type"));
    };
    let kind = match &state.windows {
        Windows::Sessions(_) => PageKind::Sessions,
        Windows::Sliding(_) => PageKind::Windows,
        Windows::Cut(_) => PageKind::CutSessions,
    };
    let converter = converter(state, kind)?;
    let parser = converter.parser();
    let mut rows = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let at = |column: &Int64Array| column.is_valid(row).then(|| column.value(row));
        let columns = OpenRow {
            key: names.get(row).unwrap_or_default(),
            start: at(starts),
            end: at(ends),
        };
        let payload = OpenState::read(states.value(row)).and_then(|open| {
            let payload = open.payload(columns)?;
            if !checksums.insert(open.checksum) {
                return Err("it is there twice".into());
            }
            Ok(payload)
        });
        let payload = payload.and_then(|payload| values(query, payload, stamp, clock));
        let values = payload.map_err(|reason| {
            unreadable(format!("{}: {reason}", shown(query, keys, columns, row)))
        })?;
        rows.push(parser.parse(values));
    }
    let decoded = converter.convert_rows(rows)?;
    let (times, states) = decoded
        .split_at_checked(kind.times().len())
        .ok_or(Error::Internal("a payload has too few values"))?;
    let source: ArrayRef = Arc::new(Int64Array::from(vec![0; batch.num_rows()]));
    let columns = keys.iter().chain(times).cloned();
    let columns = columns.chain([source]).chain(states.iter().cloned());
    let columns = columns.enumerate();
    let columns = columns.map(|(number, column)| (number.to_string(), column, true));
    let rows = RecordBatch::try_from_iter_with_nullable(columns)?;
    Ok(StoredWindows::of(kind, rows, query.keys.len()))
}

/// The values of a payload of this run.
fn values<'p>(
    query: &Query,
    payload: &'p [u8],
    stamp: [u8; STAMP],
    clock: &OpenClock,
) -> std::result::Result<&'p [u8], String> {
    let (own, values) = payload
        .split_first_chunk::<STAMP>()
        .ok_or("its `state` is cut off")?;
    if *own == stamp {
        return Ok(values);
    }
    let [hash, to] = [own.first_chunk::<8>(), own.last_chunk::<8>()];
    if hash != stamp.first_chunk::<8>() {
        return Err("it is of another query than the clock row".into());
    }
    let to = Time(i64::from_le_bytes(to.copied().unwrap_or_default()));
    Err(format!(
        "it is of the run up to {}, but the clock row of the run up to {}",
        query.show(to),
        query.show(Time(clock.to))
    ))
}

/// A row as text, for errors.
fn shown(query: &Query, keys: &[ArrayRef], columns: OpenRow<'_>, row: usize) -> String {
    let named = query.keys.iter().zip(keys).map(|(field, column)| {
        let value = array_value_to_string(column, row).unwrap_or_default();
        format!("{} = {value}", field.name())
    });
    let key = named.collect::<Vec<_>>().join(", ");
    match (columns.start, columns.end) {
        (Some(start), Some(end)) => {
            let window = Window {
                start: Time(start),
                end: Time(end),
            };
            format!("the row of {key}, window {}", query.show_window(&window))
        }
        _ => format!("a row of {key} without a window"),
    }
}

//! The two ways of a batch into windows: the records of most keys together, those of the others one
//! by one.
//!
//! ```text
//!   records ─▶ admitted, each ─┬▶ keys without a record behind ─▶ sessions: partial ones, joined ──────────┐
//!              judged by its   │                                  sliding: each window's records, merged ─┼▶ close
//!              own time        └▶ keys with a record behind ───▶ add, in their order ─────────────────────┘
//! ```
//!
//! A record is behind before the close time of its input: only then its order matters
//! (`session/join.rs`, `sliding/join.rs`).

use super::changes::Changes;
use super::states::OperatorStates;
use crate::aggregate::Run;
use crate::aggregate::slot::Slot;
use crate::arrow::plan::query::Query;
use crate::arrow::read::events::{Event, EventBatch, SOURCE};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::key::KeyId;
use crate::operator::window_operator::{AdmittedRecord, WindowKind, WindowOperator};
use crate::session::batch;
use crate::session::bulk::Partial;
use crate::session::record::SessionOperator;
use crate::session::windows::SessionWindows;
use crate::sliding::record::SlidingOperator;
use crate::sliding::windows::SlidingWindows;
use crate::sort::Sorted;
use crate::time::{Span, Time};

/// A record that came in, and the number of its key.
pub(crate) type Numbered<'a> = (KeyId, AdmittedRecord<'a, u32>);

/// Windows into which records may be joined many at once.
pub(crate) trait Joins: WindowKind {
    /// Joins the records of the keys that are not among `alone`, and adds to these the keys that
    /// have to go one by one.
    fn join(
        windows: &mut WindowOperator<Self>,
        events: &EventBatch,
        records: &[Numbered<'_>],
        alone: &mut SerialKeys,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()>;
}

/// The keys whose records go one by one.
pub(crate) struct SerialKeys(Vec<bool>);

impl SerialKeys {
    fn add(&mut self, key: KeyId) {
        if let Some(alone) = self.0.get_mut(key.0 as usize) {
            *alone = true;
        }
    }

    fn has(&self, key: KeyId) -> bool {
        self.0.get(key.0 as usize).copied().unwrap_or_default()
    }
}

/// Takes the rows of a batch whose keys are numbered.
pub(crate) fn take<K: Joins>(
    windows: &mut WindowOperator<K>,
    events: &EventBatch,
    query: &Query,
    states: &mut OperatorStates<'_>,
    out: &mut Changes,
) -> Result<()> {
    let mut records: Vec<Numbered<'_>> = Vec::with_capacity(events.rows());
    let mut alone = SerialKeys(vec![false; events.ids().len()]);
    for (row, &key) in events.ids().iter().enumerate() {
        match events.event(row, query)? {
            Event::Tick { input, time } => windows.hear(input, Some(SOURCE), time),
            Event::Record(record) => {
                if let Ok(record) = windows.admit(record) {
                    if record.is_behind() {
                        alone.add(key);
                    }
                    records.push((key, record));
                }
            }
        }
    }
    K::join(windows, events, &records, &mut alone, states, out)?;
    // What the joined records' windows hold already does not matter: they close when they would
    // have closed.
    for &(_, record) in records.iter().filter(|(key, _)| alone.has(*key)) {
        // The time of a record that is behind had come before it. Any other meets nothing that its
        // own time closes.
        windows.close(record.now, states, out)?;
        windows.add(record, states, out)?;
    }
    windows.close(windows.time().slowest(), states, out)
}

impl Joins for SlidingWindows {
    fn join(
        slides: &mut SlidingOperator,
        events: &EventBatch,
        records: &[Numbered<'_>],
        alone: &mut SerialKeys,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        let joined = || {
            records
                .iter()
                .filter(|(key, _)| !alone.has(*key))
                .map(|&(key, record)| (key, record))
        };
        let (keys, times): (Vec<KeyId>, Vec<Time>) =
            joined().map(|(key, record)| (key, record.time)).unzip();
        let numbers: Vec<u32> = joined().map(|(_, record)| record.row).collect();
        let (mut rows, mut taking) = (Vec::with_capacity(keys.len()), Vec::new());
        for (number, records) in Sorted::new(&keys, &times, &Interrupt::never())?.by_key() {
            let key = slides
                .store_mut()
                .intern(events.name_of(number).unwrap_or_default())?;
            if slides.join(key, records, rows.len() as u32, states, &mut taking)? {
                rows.extend(
                    records
                        .iter()
                        .filter_map(|&(_, record)| numbers.get(record as usize).copied()),
                );
            } else {
                alone.add(number);
            }
        }
        let into: Vec<Slot> = taking.iter().map(|taking| taking.into).collect();
        let runs: Vec<Run> = taking.iter().map(|taking| taking.run).collect();
        states.batch_states().merge_runs(&rows, &runs, &into)?;
        slides.tell(taking, states, out)
    }
}

impl Joins for SessionWindows {
    fn join(
        sessions: &mut SessionOperator,
        events: &EventBatch,
        records: &[Numbered<'_>],
        alone: &mut SerialKeys,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        join_sessions(
            sessions,
            events,
            records.iter().filter(|(key, _)| !alone.has(*key)),
            states,
            out,
        )
    }
}

/// Joins records, none of them behind, with the stored sessions.
fn join_sessions<'r, 'a: 'r>(
    sessions: &mut SessionOperator,
    events: &EventBatch,
    records: impl Iterator<Item = &'r Numbered<'a>> + Clone,
    states: &mut OperatorStates<'_>,
    out: &mut Changes,
) -> Result<()> {
    let keys: Vec<KeyId> = records.clone().map(|(key, _)| *key).collect();
    if keys.is_empty() {
        return Ok(());
    }
    let mut groups = batch::OpenSessions::default();
    let (times, gaps): (Vec<Time>, Vec<Span>) = records
        .clone()
        .map(|(_, record)| (record.time, record.gap))
        .unzip();
    let assigned = groups.assign_own(&keys, &times, &gaps, &Interrupt::never())?;
    // Rows that are not of this way go into one more slot, which nobody reads.
    let count = groups.len();
    let mut slots = vec![Slot(count as u32); events.rows()];
    for ((_, record), assigned) in records.clone().zip(assigned) {
        if let Some(slot) = slots.get_mut(record.row as usize) {
            *slot = assigned;
        }
    }
    let grouped = states.batch_states().group(&slots, count + 1)?;
    let coalesced = groups.coalesce(&Interrupt::never())?;

    let starts: Vec<Time> = coalesced
        .extents
        .iter()
        .map(|extent| extent.start)
        .collect();
    let sorted = Sorted::new(&coalesced.keys, &starts, &Interrupt::never())?;
    let mut partials = Vec::with_capacity(starts.len());
    for (key, rows) in sorted.by_key() {
        let key = sessions
            .store_mut()
            .intern(events.name_of(key).unwrap_or_default())?;
        let extents = rows
            .iter()
            .filter_map(|&(_, row)| coalesced.extents.get(row as usize));
        partials.extend(extents.map(|&extent| Partial { key, extent }));
    }
    let joined = sessions.join(&partials, states)?;

    let mut into = vec![Slot(0); partials.len()];
    for (row, &slot) in sorted.rows().zip(&joined.into) {
        if let Some(into) = into.get_mut(row as usize) {
            *into = slot;
        }
    }
    let from: Vec<Slot> = (0..count as u32).map(Slot).collect();
    let moves = coalesced.moves.as_deref().unwrap_or(&from);
    let into: Vec<Slot> = moves
        .iter()
        .filter_map(|moved| into.get(moved.0 as usize).copied())
        .collect();
    states
        .batch_states()
        .merge_grouped(&into, &grouped, &from)?;
    sessions.tell(joined, states, out)
}

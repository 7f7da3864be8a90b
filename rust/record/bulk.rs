//! Adds the rows of a batch to windows. Records of most keys are added in bulk, the others one by
//! one.
//!
//! ```text
//!   records ─▶ admitted, ───┬▶ keys without a record behind ─▶ sessions: partial ones, joined ──────────┐
//!              judged by    │                                  sliding: each window's records, merged ─┼▶ close
//!              stream time  └▶ keys with a record behind ───▶ added one by one ────────────────────────┘
//! ```
//!
//! A record is behind if it is before the close time of its input. Only then does its order matter
//! to sessions. To sliding windows it also matters after a refusal.

use std::cmp::Reverse;

use super::changes::Changes;
use super::judgement::Judgement;
use super::operator_states::{CurrentRecord, OperatorStates};
use crate::core::aggregate::RowSpan;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::operator::record::Record;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::session::batch::OpenSessions;
use crate::core::session::cut_operator::{CutOperator, CutWindows};
use crate::core::session::pending_changes::PendingChanges;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows::SessionWindows;
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows::SlidingWindows;
use crate::core::sort::SortedRows;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use crate::input::events::{Event, EventBatch};
use crate::plan::query::Query;

/// Records added one by one between two checks of the interrupt. Each may change thousands of
/// windows.
pub(crate) const RECORDS_PER_CHECK: usize = 64;

const NO_KEY: Error = Error::Internal("the key of a record has no name");
const NO_ROW: Error = Error::Internal("a record has no row in its batch");
const NO_PARTIAL: Error = Error::Internal("a group of records has no session");

/// A record, after its key number in the batch and before the times that judge it.
pub(crate) type NumberedRecord<'a> = (KeyId, Record<'a, u32>, StreamTimes);

/// The context in which the records of a batch are added.
pub(crate) struct BatchContext<'c, 's> {
    /// The batch.
    pub events: &'c EventBatch,
    /// The states of the windows.
    pub states: &'c mut OperatorStates<'s>,
    /// Receives the changes.
    pub out: &'c mut Changes,
    /// Decides which stream time judges a record.
    pub judgement: &'c Judgement,
    /// Stops long work.
    pub interrupt: &'c Interrupt,
}

impl<'c, 's> BatchContext<'c, 's> {
    fn parts(
        &mut self,
    ) -> (
        &'c EventBatch,
        &mut OperatorStates<'s>,
        &mut Changes,
        &'c Interrupt,
    ) {
        (self.events, self.states, self.out, self.interrupt)
    }
}

/// Windows that can take many records at once.
pub(crate) trait BulkWindows: WindowKind {
    /// Adds the records of keys outside `ordered`. Inserts keys into `ordered` whose records must
    /// be added in order.
    fn add_all(
        operator: &mut WindowOperator<Self>,
        records: &[NumberedRecord<'_>],
        ordered: &mut OrderedKeys,
        context: &mut BatchContext<'_, '_>,
    ) -> Result<()>;
}

/// The keys whose records are added one by one, in order.
pub(crate) struct OrderedKeys(Vec<bool>);

impl OrderedKeys {
    fn insert(&mut self, key: KeyId) {
        if let Some(ordered) = self.0.get_mut(key.0 as usize) {
            *ordered = true;
        }
    }

    fn contains(&self, key: KeyId) -> bool {
        self.0.get(key.0 as usize).copied().unwrap_or_default()
    }

    /// The records of the other keys.
    fn others<'r, 'a>(
        &self,
        records: &'r [NumberedRecord<'a>],
    ) -> impl Iterator<Item = &'r NumberedRecord<'a>> {
        records.iter().filter(|(key, ..)| !self.contains(*key))
    }
}

/// Adds the rows of a batch with numbered keys, and closes windows.
pub(crate) fn add<K: BulkWindows>(
    operator: &mut WindowOperator<K>,
    query: &Query,
    context: &mut BatchContext<'_, '_>,
) -> Result<()> {
    let (events, judgement) = (context.events, context.judgement);
    let mut records: Vec<NumberedRecord<'_>> = Vec::with_capacity(events.rows());
    let mut ordered = OrderedKeys(vec![false; events.ids().len()]);
    for (row, &key) in events.ids().iter().enumerate() {
        match events.event(row, query)? {
            Event::Tick {
                input,
                source,
                time,
            } => {
                context.out.note_tick(row, time);
                operator.observe_tick(input, source, time);
            }
            Event::Bad(fault) => judgement.leave_out(operator, (row, fault), context.out),
            Event::Record(record) => {
                let now = judgement.admit(operator, &record);
                if now.is_behind(record.extent.start) {
                    ordered.insert(key);
                }
                records.push((key, record, now));
            }
        }
    }
    if context.states.has_functions() {
        // Functions see records one by one, in their order. None of these records is late.
        let others: Vec<_> = ordered.others(&records).copied().collect();
        add_each(operator, &others, context)?;
    } else {
        K::add_all(operator, &records, &mut ordered, context)?;
    }
    records.retain(|(key, ..)| ordered.contains(*key));
    if let Judgement::Start = judgement {
        // Records of a group are late only together. The furthest reach of a group comes first, so
        // that each other record joins an earlier one (rules 1.2). Sliding windows have no gap.
        records.sort_by_key(|(_, record, _)| Reverse(record.extent.reach));
    }
    add_each(operator, &records, context)?;
    if judgement.closes() {
        operator.close(operator.time().slowest(), context.states, context.out)?;
    }
    Ok(())
}

/// Adds records one by one.
fn add_each<K: BulkWindows>(
    operator: &mut WindowOperator<K>,
    records: &[NumberedRecord<'_>],
    context: &mut BatchContext<'_, '_>,
) -> Result<()> {
    let judgement = context.judgement;
    let (events, states, out, interrupt) = context.parts();
    for (nth, &(_, record, now)) in records.iter().enumerate() {
        if nth.is_multiple_of(RECORDS_PER_CHECK) {
            interrupt.check()?;
        }
        let row = record.row as usize;
        states.at = CurrentRecord {
            row,
            input: events.input(row)?.unwrap_or_default(),
            time: Some(record.extent.start),
        };
        // Windows of other keys close as if all records were added in order, even if they have
        // later records by now. They close up to the stream time before a record that is behind.
        // Any other record meets no window that its own time closes.
        if judgement.closes() {
            operator.close(now, states, out)?;
        }
        let outcome = operator.add(record, now, states, out)?;
        out.note(row, outcome, now);
    }
    states.at = CurrentRecord::default();
    Ok(())
}

impl BulkWindows for SlidingWindows {
    fn add_all(
        operator: &mut SlidingOperator,
        records: &[NumberedRecord<'_>],
        ordered: &mut OrderedKeys,
        context: &mut BatchContext<'_, '_>,
    ) -> Result<()> {
        let latest_first = matches!(context.judgement, Judgement::Start); // rules 1.2
        let (events, states, out, interrupt) = context.parts();
        let (keys, times, batch_rows): (Vec<KeyId>, Vec<Time>, Vec<u32>) = ordered
            .others(records)
            .map(|(key, record, _)| (*key, record.extent.start, record.row))
            .collect();
        let (mut rows, mut pending) = (Vec::with_capacity(keys.len()), Vec::new());
        for (number, records) in SortedRows::new(&keys, &times, interrupt)?.by_key() {
            let name = events.name_of(number).ok_or(NO_KEY)?;
            let key = operator.store_mut().intern(name)?;
            let first = rows.len() as u32;
            if operator.join(key, records, latest_first, first, states, &mut pending)? {
                for &(_, nth) in records {
                    rows.push(*batch_rows.get(nth as usize).ok_or(NO_ROW)?);
                }
            } else {
                ordered.insert(number);
            }
        }
        let (into, spans): (Vec<Slot>, Vec<RowSpan>) =
            pending.iter().map(|merge| (merge.into, merge.span)).unzip();
        states.batch_states().merge_spans(&rows, &spans, &into)?;
        operator.emit_updates(pending, states, out)
    }
}

impl BulkWindows for CutWindows {
    /// Adds no record: each waits on its own.
    fn add_all(
        _operator: &mut CutOperator,
        records: &[NumberedRecord<'_>],
        ordered: &mut OrderedKeys,
        _context: &mut BatchContext<'_, '_>,
    ) -> Result<()> {
        records.iter().for_each(|(key, ..)| ordered.insert(*key));
        Ok(())
    }
}

impl BulkWindows for SessionWindows {
    /// Rows become groups, and groups become partial sessions. Each partial session is joined with
    /// stored sessions. Then the states of each group are merged into the stored session.
    fn add_all(
        operator: &mut SessionOperator,
        records: &[NumberedRecord<'_>],
        ordered: &mut OrderedKeys,
        context: &mut BatchContext<'_, '_>,
    ) -> Result<()> {
        let (events, states, out, interrupt) = context.parts();
        let (keys, times, extents, rows): (Vec<KeyId>, Vec<Time>, Vec<Extent>, Vec<u32>) = ordered
            .others(records)
            .map(|(key, record, _)| (*key, record.extent.start, record.extent, record.row))
            .collect();
        if keys.is_empty() {
            return Ok(());
        }
        let mut open = OpenSessions::default();
        let extent = |row: usize, time: Time| {
            let own = extents.get(row).copied();
            own.unwrap_or_else(|| Extent::of(time, Span(0)))
        };
        let groups = open.assign_each(&keys, &times, extent, interrupt)?;
        // Rows of ordered keys go into an extra group, which is never read.
        let count = open.len();
        let mut group_of_row = vec![Slot(count as u32); events.rows()];
        for (row, group) in rows.into_iter().zip(groups) {
            *group_of_row.get_mut(row as usize).ok_or(NO_ROW)? = group;
        }
        let grouped = states.batch_states().group(&group_of_row, count + 1)?;

        let partials = open.coalesce(interrupt)?;
        let mut pending = PendingChanges::default();
        let mut stored = vec![None; partials.extents.len()];
        let starts: Vec<Time> = partials.extents.iter().map(|extent| extent.start).collect();
        for (number, sorted) in SortedRows::new(&partials.keys, &starts, interrupt)?.by_key() {
            let name = events.name_of(number).ok_or(NO_KEY)?;
            let key = operator.store_mut().intern(name)?;
            for &(_, partial) in sorted {
                let partial = partial as usize;
                let (Some(&extent), Some(slot)) =
                    (partials.extents.get(partial), stored.get_mut(partial))
                else {
                    return Err(NO_PARTIAL);
                };
                *slot = Some(operator.join(key, extent, states, &mut pending, out)?);
            }
        }

        let groups: Vec<Slot> = (0..count as u32).map(Slot).collect();
        let partial_of_group = partials.moves.as_deref().unwrap_or(&groups);
        let stored_in = |partial: &Slot| stored.get(partial.0 as usize).copied().flatten();
        let into = partial_of_group
            .iter()
            .map(|partial| stored_in(partial).ok_or(NO_PARTIAL))
            .collect::<Result<Vec<Slot>>>()?;
        states
            .batch_states()
            .merge_grouped(&into, &grouped, &groups)?;
        operator.emit_updates(pending, states, out)
    }
}

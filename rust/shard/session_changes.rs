//! The changes of a micro-batch in update mode. Deletes of the old windows of changed sessions come
//! first, then upserts of their new windows.

use std::iter;
use std::ops::Range;

use arrow_array::RecordBatch;

use crate::array::halves::in_halves;
use crate::batch::batch_operator::RESULT_ROWS;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::operator::change::WindowChange;
use crate::core::sort::pick;
use crate::core::window::Window;
use crate::plan::query::Query;
use crate::record::change_batch;

/// The changes of sessions: all deletes, then all upserts.
pub(super) struct SessionChanges {
    /// The session of each change.
    sessions: Vec<u32>,
    changes: Vec<WindowChange>,
}

impl SessionChanges {
    /// Finds the changes of changed sessions. `stored` has the old windows of each session.
    pub(super) fn new(
        sessions: &SessionColumns,
        is_changed: &[bool],
        stored: impl Iterator<Item = (Slot, Window)>,
    ) -> Self {
        let window = |slot: u32| {
            sessions
                .extents
                .get(slot as usize)
                .map(|extent| extent.window())
        };
        let is_gone = |&(slot, before): &(Slot, Window)| {
            is_changed.get(slot.0 as usize) == Some(&true) && window(slot.0) != Some(before)
        };
        let changed = (0..).zip(is_changed).filter(|(_, is_changed)| **is_changed);
        let changed = changed.map(|(session, _)| Slot(session));
        Self::of(sessions, stored.filter(is_gone).collect(), changed)
    }

    /// The changes that delete the windows in `gone`, and upsert the sessions in `changed`.
    pub(super) fn of(
        sessions: &SessionColumns,
        mut gone: Vec<(Slot, Window)>,
        changed: impl Iterator<Item = Slot>,
    ) -> Self {
        let mut changes = Self {
            sessions: Vec::new(),
            changes: Vec::new(),
        };
        gone.sort(); // nearly sorted
        for (slot, window) in gone {
            changes.push(slot.0, WindowChange::delete(window, window.end, true));
        }
        for slot in changed {
            if let Some(extent) = sessions.extents.get(slot.0 as usize) {
                let window = extent.window();
                // An upsert is written without asking whether its window was stored.
                let upsert = WindowChange::upsert(window, window.end, slot, false);
                changes.push(slot.0, upsert);
            }
        }
        changes
    }

    fn push(&mut self, session: u32, change: WindowChange) {
        self.sessions.push(session);
        self.changes.push(change);
    }

    /// The number of changes.
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    /// Writes the changes as rows, in batches.
    pub(super) fn write(
        &self,
        query: &Query,
        keys: &SessionTable,
        sessions: &SessionColumns,
        interrupt: &Interrupt,
    ) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        let mut from = 0;
        // Each batch has a single op, so its aggregate columns have no nulls or only nulls.
        let same_op = self.changes.chunk_by(|one, next| one.op == next.op);
        for changes in same_op.flat_map(|changes| changes.chunks(RESULT_ROWS)) {
            let range = from..from + changes.len();
            from = range.end;
            let mut batch = |range: Range<usize>| {
                interrupt.check()?;
                let own = self.sessions.get(range.clone()).unwrap_or_default();
                let own = pick(&sessions.keys, own)?;
                let changes = self.changes.get(range).unwrap_or_default();
                change_batch::batch(
                    query,
                    keys.key_columns(&own)?,
                    changes,
                    |keys, slots, windows| {
                        let lowered = sessions.states.lower(slots);
                        let (results, overflows) =
                            query.results(keys, windows, &[], lowered, &mut iter::empty())?;
                        query.count_overflows(overflows);
                        Ok(results)
                    },
                )
            };
            batches.extend(in_halves(range, &mut batch)?);
        }
        Ok(batches)
    }
}

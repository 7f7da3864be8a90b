//! A micro-batch of sessions as partial ones, which its records were made of before they came here:
//! all of them are judged by the stream time before it (rules 1.2).

use std::cmp::Reverse;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::changes::Changes;
use super::operator::Operator;
use super::source_time::SourceTime;
use super::states::OperatorStates;
use super::windows::Windows;
use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::interrupt::STRETCH;
use crate::core::session::pending_updates::PendingUpdates;
use crate::core::session::session_operator::SessionOperator;
use crate::core::store::StoreKey;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::format::partial_sessions::PartialSessions;
use crate::plan::window_lengths::WindowLengths;

/// The partial sessions of a micro-batch, with their states.
struct Partials {
    extents: Vec<Extent>,
    states: Accumulators,
    /// How many records each is of.
    records: Vec<u64>,
    /// States that are still to be merged: from where, and into what.
    merges: (Vec<Slot>, Vec<Slot>),
    updates: PendingUpdates,
}

impl Operator {
    /// Pushes the partial sessions of a micro-batch, as [`crate::batch::combiner`] gives them
    /// for the same plan with one more aggregate, the last one: how many records each is of. Then
    /// moves stream time by `progress` and closes sessions, as [`Self::push_micro_batch`] does.
    ///
    /// # Errors
    ///
    /// As [`Self::push_micro_batch`]; [`Error::Format`] for other columns, and for a plan that needs
    /// the records themselves: other windows, several inputs, functions of the user, late records that
    /// are emitted, changes by each record.
    pub fn push_partials(
        &mut self,
        partials: &RecordBatch,
        progress: &[SourceTime],
    ) -> Result<Vec<RecordBatch>> {
        if !self.spec.takes_partials() {
            return Err(Error::Format {
                what: "micro-batch",
                reason: "this plan needs records, and not partial sessions".into(),
            });
        }
        self.check_progress(progress)?;
        self.run_micro_batch(|operator| {
            let mut changes = operator.begin_micro_batch();
            operator.add_partials(partials, &mut changes)?;
            operator.end_micro_batch(progress, changes)
        })
    }

    fn add_partials(&mut self, batch: &RecordBatch, changes: &mut Changes) -> Result<()> {
        let query = &self.state.query;
        let WindowLengths::Session(gap) = query.windows else {
            return Err(Error::Format {
                what: "micro-batch",
                reason: "partial sessions, for sliding windows".into(),
            });
        };
        let read = PartialSessions::read(query, gap, batch)?;
        let records = batch.columns().last();
        let records = records.and_then(|array| array.as_primitive_opt::<Int64Type>());
        let (Some((_, states)), Some(records)) = (read.states.split_last(), records) else {
            return Err(Error::Format {
                what: "micro-batch",
                reason: format!("unexpected columns {:?}", batch.schema().fields()),
            });
        };
        let mut partials = Partials {
            extents: read.extents,
            states: query.accumulators().load(states)?,
            records: records
                .values()
                .iter()
                .map(|count| count.unsigned_abs())
                .collect(),
            merges: Default::default(),
            updates: PendingUpdates::default(),
        };
        let names = self.state.sort_keys.of(&read.keys)?;
        let interrupt = &self.interrupt;
        let (windows, mut states) = self.state.at_rest();
        let Windows::Sessions(operator) = windows else {
            return Err(Error::Internal("a session query has sessions"));
        };
        let rows = partials.extents.len();
        let mut from = 0;
        let mut checked = 0;
        while from < rows {
            let name = names.get(from);
            let to = (from..rows)
                .find(|&row| names.get(row) != name)
                .unwrap_or(rows);
            if checked + STRETCH < to {
                interrupt.check()?;
                checked = to;
            }
            let name = name.ok_or(Error::Internal("a partial session has a key"))?;
            let key = operator.store_mut().intern(name)?;
            partials.add_key(operator, key, from..to, &mut states, changes)?;
            from = to;
        }
        let (from, into) = &partials.merges;
        states
            .batch_states()
            .merge_grouped(into, &partials.states, from)?;
        let updates = partials.updates;
        changes.add_distinct(|changes| operator.emit_updates(updates, &mut states, changes))
    }
}

impl Partials {
    /// Adds the partial sessions of a key.
    fn add_key(
        &mut self,
        operator: &mut SessionOperator,
        key: StoreKey,
        rows: Range<usize>,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        let close = operator.time().now(0).late;
        let own = self.extents.get(rows.clone()).unwrap_or_default();
        if own.iter().any(|extent| extent.start < close) {
            return self.add_behind(operator, key, rows, close, states, out);
        }
        for (row, &extent) in rows.zip(own) {
            let slot = operator.join(key, extent, states, &mut self.updates, out)?;
            self.merges.0.push(Slot(row as u32));
            self.merges.1.push(slot);
            operator.counters.records += self.records.get(row).copied().unwrap_or_default();
        }
        Ok(())
    }

    /// The same where a record may be late. The furthest reach comes first, so that each of a group
    /// that is not late joins one that came before it.
    fn add_behind(
        &mut self,
        operator: &mut SessionOperator,
        key: StoreKey,
        rows: Range<usize>,
        close: Time,
        states: &mut OperatorStates<'_>,
        out: &mut Changes,
    ) -> Result<()> {
        let own = self.extents.get(rows.clone()).unwrap_or_default();
        let mut sorted: Vec<(usize, Extent)> = rows.zip(own.iter().copied()).collect();
        sorted.sort_by_key(|(_, extent)| Reverse(extent.reach));
        for (row, extent) in sorted {
            let records = self.records.get(row).copied().unwrap_or_default();
            operator.counters.records += records;
            if operator.is_late(key, extent, close) {
                operator.counters.late += records;
                continue;
            }
            let mut updates = PendingUpdates::default();
            let slot = operator.join(key, extent, states, &mut updates, out)?;
            states
                .batch_states()
                .merge_grouped(&[slot], &self.states, &[Slot(row as u32)])?;
            operator.emit_updates(updates, states, out)?;
        }
        Ok(())
    }
}

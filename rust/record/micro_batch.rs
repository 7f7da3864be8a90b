//! A micro-batch of Structured Streaming. The stream time before it judges its records together, or
//! they are judged one by one in source order. Then stream time moves to the largest times that any
//! shard has seen, and windows close (rules 1.2, 1.3 and 1.6).

use arrow_array::RecordBatch;

use super::change_batch;
use super::changes::Changes;
use super::judgement::Judgement;
use super::operator::Operator;
use super::state_part::StatePart;
use super::windows::dispatch_windows;
use crate::core::error::{Error, Result};
use crate::core::time::Time;
use crate::input::columns::QueryColumns;
use crate::state::source_time::{SourceTime, seen};

impl Operator {
    /// Pushes the records of a micro-batch, moves stream time by `progress`, and closes windows.
    /// `progress` has the times that records and ticks of all shards have reached.
    ///
    /// Without `times`, the stream time before this call judges all records (rules 1.2). With
    /// `times`, each record is judged by its own row: the largest time so far of each input. Rows
    /// must then be in source order (rules 1.3). Returns changes like [`Self::push`].
    ///
    /// # Errors
    ///
    /// As [`Self::push`]. Also [`Error::Argument`] for `times` that do not match the batch, for
    /// missing `times` if every record counts, and for progress of an unknown input.
    pub fn push_micro_batch(
        &mut self,
        batch: &RecordBatch,
        times: Option<&RecordBatch>,
        progress: &[SourceTime],
    ) -> Result<Vec<RecordBatch>> {
        let inputs = self.state.windows.time().progress().len();
        let judgement = match times {
            Some(times) => {
                Judgement::order(times, batch.num_rows(), inputs, self.spec.every_record)?
            }
            None if self.spec.every_record => {
                return Err(Error::Argument {
                    argument: "times".into(),
                    got: "none".into(),
                    allowed: "a time for each record, because the query emits every change".into(),
                });
            }
            None => Judgement::Start,
        };
        self.check_progress(progress)?;
        self.run_micro_batch(|operator| {
            let mut changes = operator.begin_micro_batch();
            match &judgement {
                // If one record of a key is behind, all records of the key are judged together. So
                // the batch is not divided into steps.
                Judgement::Start
                    if !operator.state.functions.is_empty() || operator.has_behind(batch)? =>
                {
                    operator.add_together(batch, &judgement, &mut changes)?;
                }
                _ => operator.add_rows(batch, &judgement, &mut changes)?,
            }
            operator.end_micro_batch(progress, changes)
        })
    }

    /// Checks that progress only has inputs of the query.
    pub(super) fn check_progress(&self, progress: &[SourceTime]) -> Result<()> {
        let inputs = self.state.windows.time().progress().len();
        match progress.iter().find(|known| known.input >= inputs) {
            Some(unknown) => Err(Error::Argument {
                argument: "progress".into(),
                got: format!("input {}", unknown.input),
                allowed: format!("0 to {}", inputs.saturating_sub(1)),
            }),
            None => Ok(()),
        }
    }

    /// Runs a micro-batch. An operator restored for a single micro-batch takes no other.
    pub(super) fn run_micro_batch<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.part != StatePart::Runs {
            self.check_whole()?;
        }
        let result = self.run("micro-batch", work)?;
        if self.part == StatePart::Runs {
            self.part = StatePart::Changed;
        }
        Ok(result)
    }

    /// Starts a micro-batch. The close times follow the current grace.
    pub(super) fn begin_micro_batch(&mut self) -> Changes {
        dispatch_windows!(&mut self.state.windows, |own| own.catch_up_time());
        self.new_changes()
    }

    /// Moves stream time, closes windows and writes the changes.
    pub(super) fn end_micro_batch(
        &mut self,
        progress: &[SourceTime],
        mut changes: Changes,
    ) -> Result<Vec<RecordBatch>> {
        self.close_due(progress, &mut changes)?;
        self.left_out = changes.left_out.take();
        change_batch::write(changes, &mut self.state)
    }

    /// Moves stream time and closes windows.
    pub(super) fn close_due(
        &mut self,
        progress: &[SourceTime],
        changes: &mut Changes,
    ) -> Result<()> {
        let (windows, mut states) = self.state.at_rest();
        dispatch_windows!(windows, |own| {
            own.observe_together(seen(progress));
            own.close(own.time().slowest(), &mut states, changes)?;
            own.emit_due(&mut states, changes)?;
        });
        self.state.updates += changes.updates();
        Ok(())
    }

    /// Whether a row of a batch is before the close time of an input.
    fn has_behind(&self, batch: &RecordBatch) -> Result<bool> {
        let close = self.state.windows.time().progress().iter();
        let Some(close) = close.map(|input| input.close).max() else {
            return Ok(false);
        };
        let columns = QueryColumns::read(&self.state.query, batch)?;
        Ok(columns.time.iter().flatten().any(|time| Time(time) < close))
    }
}

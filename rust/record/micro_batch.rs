//! A micro-batch of Structured Streaming: its records are judged together by the stream time before
//! it, or one by one in the order of their source; then stream time moves to what all shards have
//! seen, and windows close (rules 1.2, 1.3 and 1.6).

use arrow_array::RecordBatch;

use super::change_batch;
use super::changes::Changes;
use super::judgement::Judgement;
use super::operator::Operator;
use super::state_part::StatePart;
use crate::core::error::{Error, Result};
use crate::core::time::Time;
use crate::input::columns::QueryColumns;
use crate::state::source_time::SourceTime;

impl Operator {
    /// Pushes the records of a micro-batch, then moves stream time by `progress`, what the records
    /// and ticks of all shards have reached in it, and closes windows.
    ///
    /// Without `times` the records are judged by the stream time before this call (rules 1.2). With
    /// them each is judged by its own row of `times`, the largest time so far of each input, and the
    /// rows are in the order of their source (rules 1.3). Returns and fails as [`Self::push`] does.
    ///
    /// # Errors
    ///
    /// As [`Self::push`]; and [`Error::Argument`] for `times` that do not go with the batch, missing
    /// ones where each record counts, or progress of an input that the query does not have.
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
                    allowed: "those of each record, as each record's changes are asked for".into(),
                });
            }
            None => Judgement::Start,
        };
        self.check_progress(progress)?;
        self.run_micro_batch(|operator| {
            let mut changes = operator.begin_micro_batch();
            match &judgement {
                // The records of a key are judged together where one is behind: all of them at once.
                Judgement::Start
                    if !operator.state.functions.is_empty() || operator.has_behind(batch)? =>
                {
                    operator.add_in_bulk(batch, &judgement, &mut changes)?;
                }
                _ => operator.add_rows(batch, &judgement, &mut changes)?,
            }
            operator.end_micro_batch(progress, changes)
        })
    }

    /// Progress is of inputs that the query has.
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

    /// Takes a micro-batch. An operator that has what one touches takes no other.
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

    /// The changes of a micro-batch, before its records. The close times go with the grace.
    pub(super) fn begin_micro_batch(&mut self) -> Changes {
        self.state.windows.catch_up_time();
        Changes::new(self.spec.every_record)
    }

    /// Moves stream time, closes windows and writes the changes.
    pub(super) fn end_micro_batch(
        &mut self,
        progress: &[SourceTime],
        mut changes: Changes,
    ) -> Result<Vec<RecordBatch>> {
        let (windows, mut states) = self.state.at_rest();
        windows.observe(progress);
        windows.close(&mut states, &mut changes)?;
        self.state.updates += changes.updates();
        change_batch::write(changes, &mut self.state)
    }

    /// Whether a row of a batch is before the close time of an input.
    fn has_behind(&self, batch: &RecordBatch) -> Result<bool> {
        let close = self.state.windows.time().progress().iter();
        let Some(close) = close.map(|input| input.close).max() else {
            return Ok(false);
        };
        let columns = QueryColumns::read(&self.state.query, batch)?;
        let times = QueryColumns::times(&columns.time)?;
        Ok(times.iter().flatten().any(|time| Time(time) < close))
    }
}

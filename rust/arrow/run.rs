//! A query over batches in one process, on one thread or several.
//!
//! ```text
//!   rows ─┬▶ stretch 1, 3, ... ─▶ job ─┐
//!         └▶ stretch 2, 4, ... ─▶ job ─┴▶ first job takes the others' partial sessions in ─▶ windows
//! ```

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use arrow_array::RecordBatch;

use super::input::{Counters, Input};
use super::job::Job;
use super::query::{Kind, Query};
use crate::aggregate::Arrival;
use crate::error::{Error, Result};

/// Stretches that may wait for a thread.
const WAITING: usize = 2;

impl Query {
    /// Runs the query over batches on up to `threads` threads: all windows, and what was counted.
    pub fn run(
        self: &Arc<Self>,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        threads: usize,
    ) -> Result<(Vec<RecordBatch>, Counters)> {
        let stretches = Stretches { batches, rest: None, arrival: 0, rows: self.limits.stretch_rows };
        let (mut job, counters) = match self.windows {
            Kind::Session(_) if threads > 1 => self.share(stretches, threads)?,
            // Rows of sliding windows would only be moved from one thread's hands to another's.
            _ => self.work(stretches)?,
        };
        let mut results = Vec::new();
        job.close(None, &mut |batch| results.push(batch))?;
        Ok((results, counters))
    }

    /// The work of one thread.
    fn work(self: &Arc<Self>, stretches: impl Iterator<Item = Result<Stretch>>) -> Result<(Box<dyn Job>, Counters)> {
        let mut job = self.job()?;
        let mut counters = Counters::default();
        let step = self.limits.step_rows;
        for stretch in stretches {
            let Stretch { batches, mut arrival } = stretch?;
            for batch in &batches {
                for from in (0..batch.num_rows()).step_by(step) {
                    let rows = step.min(batch.num_rows() - from);
                    job.add(Input::read(self, &batch.slice(from, rows), &mut counters)?, arrival)?;
                    job.settle(self.limits.run_rows)?;
                    arrival += rows as Arrival;
                }
            }
        }
        job.settle(0)?;
        Ok((job, counters))
    }

    /// The work of several threads, brought together.
    fn share(self: &Arc<Self>, stretches: impl Iterator<Item = Result<Stretch>>, threads: usize) -> Result<(Box<dyn Job>, Counters)> {
        thread::scope(|scope| {
            let (senders, workers): (Vec<_>, Vec<_>) = (0..threads)
                .map(|_| {
                    let (sender, receiver) = sync_channel(WAITING);
                    (sender, scope.spawn(|| self.work(receiver.into_iter())))
                })
                .unzip();
            for (stretch, sender) in stretches.zip(senders.iter().cycle()) {
                let last = stretch.is_err();
                // A thread that takes nothing any more has failed, and says how when it is joined.
                if sender.send(stretch).is_err() || last {
                    break;
                }
            }
            drop(senders);
            let panicked = |_| Err(Error::Internal("a thread panicked"));
            let done = workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect::<Result<Vec<_>>>()?;
            let mut done = done.into_iter();
            let (mut job, mut counters) = done.next().ok_or(Error::Internal("no thread was started"))?;
            for (mut other, counted) in done {
                job.add_block(&other.take()?.rows)?;
                counters += counted;
            }
            Ok((job, counters))
        })
    }
}

/// Consecutive rows.
struct Stretch {
    batches: Vec<RecordBatch>,
    /// The arrival of the first row.
    arrival: Arrival,
}

/// Batches cut into stretches.
struct Stretches<B> {
    batches: B,
    rest: Option<RecordBatch>,
    arrival: Arrival,
    /// Rows of a stretch.
    rows: usize,
}

impl<B: Iterator<Item = Result<RecordBatch>>> Iterator for Stretches<B> {
    type Item = Result<Stretch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut stretch = Stretch { batches: Vec::new(), arrival: self.arrival };
        let mut missing = self.rows;
        while missing > 0 {
            let batch = match self.rest.take().map(Ok).or_else(|| self.batches.next()) {
                Some(Ok(batch)) => batch,
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            };
            let taken = batch.num_rows().min(missing);
            if taken < batch.num_rows() {
                self.rest = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            stretch.batches.push(batch.slice(0, taken));
            missing -= taken;
        }
        self.arrival += (self.rows - missing) as Arrival;
        (!stretch.batches.is_empty()).then_some(Ok(stretch))
    }
}

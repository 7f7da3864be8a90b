//! A query over batches in one process, on one thread or several.
//!
//! ```text
//!   rows ─▶ steps ─▶ parts of the keys ─┬▶ parts 0, 2, 4, ... ─▶ windows
//!                                       └▶ parts 1, 3, 5, ... ─▶ windows
//! ```

use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;

use super::input::{Counters, Input};
use super::job::Job;
use super::keys::mixed::Mixed;
use super::limits::Limits;
use super::parts::{PARTS, Parted};
use super::query::Query;
use crate::aggregate::Arrival;
use crate::error::{Error, Result};

/// Just below the 32 MiB up to which glibc minds what it sees.
const LARGE_BLOCK: usize = (32 << 20) - (64 << 10);

/// Steps that may wait for a thread.
const WAITING: usize = 16;

impl Query {
    /// Runs the query over batches on `threads` threads: all windows, and what was counted.
    pub fn run(
        self: &Arc<Self>,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        threads: usize,
    ) -> Result<(Vec<RecordBatch>, Counters)> {
        let mut counters = Counters::default();
        let mut steps = Steps { batches, limits: self.limits, rest: None }.peekable();
        let first = steps.next().transpose()?;
        let few = steps.peek().is_none();
        let inputs = self.inputs(first.map(Ok).into_iter().chain(steps), &mut counters);
        let results = if few || self.rows { self.run_whole(inputs) } else { self.run_parts(inputs, threads) };
        Ok((results?, counters))
    }

    /// What is read of each step.
    fn inputs<'a>(
        &'a self,
        steps: impl Iterator<Item = Result<RecordBatch>> + 'a,
        counters: &'a mut Counters,
    ) -> impl Iterator<Item = Result<Input>> + 'a {
        let mut arrival = 0;
        steps.map(move |step| {
            let step = step?;
            let input = Input::read(self, &step, arrival, counters)?;
            arrival += step.num_rows() as Arrival;
            Ok(input)
        })
    }

    /// Few rows, or rows that leave in one order: all keys are one part.
    fn run_whole(self: &Arc<Self>, mut inputs: impl Iterator<Item = Result<Input>>) -> Result<Vec<RecordBatch>> {
        let mut job = self.job()?;
        inputs.try_for_each(|input| job.add(input?))?;
        closed([job])
    }

    /// Many rows: this thread splits them into parts; it works on all of these, or each other thread on its share.
    fn run_parts(self: &Arc<Self>, inputs: impl Iterator<Item = Result<Input>>, threads: usize) -> Result<Vec<RecordBatch>> {
        show_large_block();
        if threads <= 1 {
            let mut share = Share::new(self, 0, 1)?;
            self.split(inputs, |rows| share.add(&rows).map(|()| true))?;
            return closed(share.jobs);
        }
        thread::scope(|scope| {
            let shares = (0..threads.min(PARTS)).map(|number| Share::new(self, number, threads.min(PARTS)));
            let (mut senders, mut workers) = (Vec::new(), Vec::new());
            for share in shares.collect::<Result<Vec<_>>>()? {
                let (sender, receiver) = sync_channel(WAITING);
                senders.push(sender);
                workers.push(scope.spawn(move || share.work(&receiver)));
            }
            self.split(inputs, |rows| {
                let rows = Arc::new(rows);
                // A thread that takes nothing any more has failed, and says how when it is joined.
                Ok(senders.iter().all(|sender| sender.send(Arc::clone(&rows)).is_ok()))
            })?;
            drop(senders);
            let panicked = |_| Err(Error::Internal("a thread panicked"));
            let windows = workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect::<Result<Vec<_>>>()?;
            Ok(windows.into_iter().flatten().collect())
        })
    }

    /// Splits all rows into parts and hands them on, step by step, as long as `take` wants more.
    fn split(&self, inputs: impl Iterator<Item = Result<Input>>, mut take: impl FnMut(Parted) -> Result<bool>) -> Result<()> {
        let (mixed, mut hashes) = (Mixed::new(&self.keys)?, Vec::new());
        for input in inputs {
            let input = input?;
            mixed.hash(&input.keys, &mut hashes)?;
            if !take(Parted::new(&input, &hashes)?)? {
                break;
            }
        }
        Ok(())
    }
}

/// The parts of one thread: those whose numbers leave `number` when they are divided by the number of threads.
struct Share {
    number: usize,
    threads: usize,
    jobs: Vec<Box<dyn Job>>,
    most: usize,
}

impl Share {
    fn new(query: &Arc<Query>, number: usize, threads: usize) -> Result<Self> {
        let jobs = (number..PARTS).step_by(threads).map(|_| query.job()).collect::<Result<_>>()?;
        Ok(Self { number, threads, jobs, most: query.limits.run_rows / PARTS })
    }

    /// Takes in what is its own.
    fn add(&mut self, rows: &Parted) -> Result<()> {
        let parts = (self.number..).step_by(self.threads);
        for (part, job) in parts.zip(&mut self.jobs) {
            if let Some(input) = rows.of(part) {
                job.add(input)?;
                job.settle(self.most)?;
            }
        }
        Ok(())
    }

    fn work(mut self, steps: &Receiver<Arc<Parted>>) -> Result<Vec<RecordBatch>> {
        steps.iter().try_for_each(|rows| self.add(&rows))?;
        closed(self.jobs)
    }
}

/// Has the allocator see a large block come and go. The one of glibc gives memory of blocks up to the largest that it saw freed
/// not back at once: otherwise each step asks the system for the same pages again, a tenth of all time.
fn show_large_block() {
    drop(black_box(Vec::<u8>::with_capacity(LARGE_BLOCK)));
}

/// The windows of all jobs.
fn closed(jobs: impl IntoIterator<Item = Box<dyn Job>>) -> Result<Vec<RecordBatch>> {
    let mut windows = Vec::new();
    jobs.into_iter().try_for_each(|mut job| job.close(None, &mut |batch| windows.push(batch)))?;
    Ok(windows)
}

/// Batches in steps of few enough rows to stay in the caches: long batches are cut, short ones joined.
struct Steps<I> {
    batches: I,
    limits: Limits,
    /// What is left of a long batch.
    rest: Option<RecordBatch>,
}

impl<I: Iterator<Item = Result<RecordBatch>>> Steps<I> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let mut short: Vec<RecordBatch> = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        while rows < self.limits.step_rows && bytes < self.limits.step_bytes {
            let Some(batch) = self.rest.take().map(Ok).or_else(|| self.batches.next()).transpose()? else { break };
            let taken = batch.num_rows().min(self.limits.step_rows - rows);
            if taken < batch.num_rows() {
                self.rest = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            let taken = batch.slice(0, taken);
            rows += taken.num_rows();
            bytes += taken.columns().iter().try_fold(0, |sum, column| Ok::<_, Error>(sum + column.to_data().get_slice_memory_size()?))?;
            short.push(taken);
        }
        match short.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            [first, ..] => Ok(Some(concat_batches(&first.schema(), &short)?)),
        }
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Steps<I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

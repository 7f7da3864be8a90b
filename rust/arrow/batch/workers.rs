//! The shares of threads in a run: each splits some of the steps into parts, and works on some of
//! the parts of all.
//!
//! ```text
//!   step 0 ─▶ thread 0 splits ─┬▶ thread 0: parts 0, 2, 4, ... ─▶ windows
//!   step 1 ─▶ thread 1 splits ─┴▶ thread 1: parts 1, 3, 5, ... ─▶ windows
//!   step 2 ─▶ thread 0 ...        (each takes the parts of steps 0, 1, 2, ... in this order)
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::RecordBatch;

use super::operator::{BatchOperator, closed};
use super::partition::{PARTS, Partitions};
use crate::arrow::keys::partition_hash::PartitionHash;
use crate::arrow::plan::query::Query;
use crate::arrow::read::records::Records;
use crate::error::{Error, Result};

/// Steps that may wait for the thread that splits them.
const WAITING: usize = 1;

/// The parts of one thread: those whose numbers leave `number` when they are divided by the number
/// of threads.
struct WorkerPartitions {
    number: usize,
    threads: usize,
    jobs: Vec<Box<dyn BatchOperator>>,
    most: usize,
}

impl WorkerPartitions {
    fn new(query: &Arc<Query>, number: usize, threads: usize) -> Result<Self> {
        let jobs = (number..PARTS)
            .step_by(threads)
            .map(|_| query.job())
            .collect::<Result<_>>()?;
        Ok(Self {
            number,
            threads,
            jobs,
            most: query.limits.run_rows / PARTS,
        })
    }

    /// Takes in what is its own.
    fn add(&mut self, rows: &Partitions) -> Result<()> {
        let parts = (self.number..).step_by(self.threads);
        for (part, job) in parts.zip(&mut self.jobs) {
            if let Some(input) = rows.of(part)? {
                job.add(input)?;
                job.process(self.most)?;
            }
        }
        Ok(())
    }
}

/// Splits steps into parts.
struct Partitioner {
    mixed: PartitionHash,
    hashes: Vec<u64>,
}

impl Partitioner {
    fn new(query: &Query) -> Result<Self> {
        Ok(Self {
            mixed: PartitionHash::new(&query.keys)?,
            hashes: Vec::new(),
        })
    }

    fn split(&mut self, step: Records) -> Result<Partitions> {
        self.mixed.hash(&step.keys, &mut self.hashes)?;
        Partitions::new(&step, &self.hashes)
    }
}

/// One of several threads.
struct Worker<'a> {
    splitter: Partitioner,
    share: WorkerPartitions,
    /// The steps that it splits.
    steps: Receiver<Records>,
    /// Where they go: to each thread.
    to: Vec<SyncSender<Arc<Partitions>>>,
    /// Where the steps of each thread come from.
    from: Vec<Receiver<Arc<Partitions>>>,
    /// Whether something failed, and no windows are wanted any more.
    failed: &'a AtomicBool,
}

impl Worker<'_> {
    fn work(mut self) -> Result<Vec<RecordBatch>> {
        let added = self.add();
        if added.is_err() {
            self.failed.store(true, Ordering::Release); // before the channels end, so that the others know why
        }
        added?;
        if self.failed.load(Ordering::Acquire) {
            Ok(Vec::new())
        } else {
            closed(self.share.jobs)
        }
    }

    /// Takes in steps until a thread has no more: they are dealt in turn, so none has more after
    /// that.
    fn add(&mut self) -> Result<()> {
        loop {
            match self.steps.recv() {
                Ok(step) => {
                    let rows = Arc::new(self.splitter.split(step)?);
                    // A thread that takes nothing any more has seen the end, or a failure that is
                    // told when all are joined.
                    self.to
                        .iter()
                        .for_each(|to| drop(to.send(Arc::clone(&rows))));
                }
                Err(_) => self.to.clear(),
            }
            for from in &self.from {
                match from.recv() {
                    Ok(rows) => self.share.add(&rows)?,
                    Err(_) => return Ok(()),
                }
            }
        }
    }
}

/// All windows of the steps, worked on by this thread alone.
pub(crate) fn alone(
    query: &Arc<Query>,
    mut steps: impl Iterator<Item = Result<Records>>,
) -> Result<Vec<RecordBatch>> {
    let (mut splitter, mut share) = (
        Partitioner::new(query)?,
        WorkerPartitions::new(query, 0, 1)?,
    );
    steps.try_for_each(|step| share.add(&splitter.split(step?)?))?;
    closed(share.jobs)
}

/// The same on so many threads; this one reads the steps and deals them.
pub(crate) fn together(
    query: &Arc<Query>,
    steps: impl Iterator<Item = Result<Records>>,
    threads: usize,
) -> Result<Vec<RecordBatch>> {
    let mut froms: Vec<Vec<Receiver<Arc<Partitions>>>> = (0..threads).map(|_| Vec::new()).collect();
    let tos: Vec<Vec<SyncSender<Arc<Partitions>>>> = (0..threads)
        .map(|_| {
            let connect = |from: &mut Vec<_>| {
                let (to, receiver) = sync_channel(1);
                from.push(receiver);
                to
            };
            froms.iter_mut().map(connect).collect()
        })
        .collect();
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        let (mut dealt, mut workers) = (Vec::new(), Vec::new());
        for (number, (to, from)) in tos.into_iter().zip(froms).enumerate() {
            let (sender, steps) = sync_channel(WAITING);
            let (splitter, share) = (
                Partitioner::new(query)?,
                WorkerPartitions::new(query, number, threads)?,
            );
            let worker = Worker {
                splitter,
                share,
                steps,
                to,
                from,
                failed: &failed,
            };
            dealt.push(sender);
            workers.push(scope.spawn(move || worker.work()));
        }
        let read = deal(steps, &dealt);
        if read.is_err() {
            failed.store(true, Ordering::Release);
        }
        drop(dealt);
        let panicked = |_| Err(Error::Internal("a thread panicked"));
        let windows: Vec<Result<_>> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(panicked))
            .collect();
        read?;
        Ok(windows
            .into_iter()
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    })
}

/// Deals steps in turn, as long as they are taken.
fn deal(steps: impl Iterator<Item = Result<Records>>, to: &[SyncSender<Records>]) -> Result<()> {
    for (step, to) in steps.zip(to.iter().cycle()) {
        if to.send(step?).is_err() {
            break;
        }
    }
    Ok(())
}

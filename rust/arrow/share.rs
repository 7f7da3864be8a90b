//! The shares of threads in a run: each splits some of the steps into parts, and works on some of the parts of all.
//!
//! ```text
//!   step 0 ─▶ thread 0 splits ─┬▶ thread 0: parts 0, 2, 4, ... ─▶ windows
//!   step 1 ─▶ thread 1 splits ─┴▶ thread 1: parts 1, 3, 5, ... ─▶ windows
//!   step 2 ─▶ thread 0 ...        (each takes the parts of steps 0, 1, 2, ... in this order)
//! ```

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::RecordBatch;

use super::input::Input;
use super::job::Job;
use super::keys::mixed::Mixed;
use super::parts::{PARTS, Parted};
use super::query::Query;
use crate::error::{Error, Result};

/// Steps that may wait for the thread that splits them.
const WAITING: usize = 4;

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
}

/// Splits steps into parts.
struct Splitter {
    mixed: Mixed,
    hashes: Vec<u64>,
}

impl Splitter {
    fn new(query: &Query) -> Result<Self> {
        Ok(Self { mixed: Mixed::new(&query.keys)?, hashes: Vec::new() })
    }

    fn split(&mut self, step: &Input) -> Result<Parted> {
        self.mixed.hash(&step.keys, &mut self.hashes)?;
        Parted::new(step, &self.hashes)
    }
}

/// One of several threads.
struct Worker {
    splitter: Splitter,
    share: Share,
    /// The steps that it splits.
    steps: Receiver<Input>,
    /// Where they go: to each thread.
    to: Vec<SyncSender<Arc<Parted>>>,
    /// Where the steps of each thread come from.
    from: Vec<Receiver<Arc<Parted>>>,
}

impl Worker {
    /// Works until a thread has no more steps: steps are dealt in turn, so none has more after that.
    fn work(mut self) -> Result<Vec<RecordBatch>> {
        loop {
            match self.steps.recv() {
                Ok(step) => {
                    let rows = Arc::new(self.splitter.split(&step)?);
                    // A thread that takes nothing any more has failed, and says how when it is joined.
                    self.to.iter().for_each(|to| drop(to.send(Arc::clone(&rows))));
                }
                Err(_) => self.to.clear(),
            }
            for from in &self.from {
                match from.recv() {
                    Ok(rows) => self.share.add(&rows)?,
                    Err(_) => return closed(self.share.jobs),
                }
            }
        }
    }
}

/// All windows of the steps, worked on by this thread alone.
pub(super) fn alone(query: &Arc<Query>, mut steps: impl Iterator<Item = Result<Input>>) -> Result<Vec<RecordBatch>> {
    let (mut splitter, mut share) = (Splitter::new(query)?, Share::new(query, 0, 1)?);
    steps.try_for_each(|step| share.add(&splitter.split(&step?)?))?;
    closed(share.jobs)
}

/// The same on so many threads; this one reads the steps and deals them.
pub(super) fn together(query: &Arc<Query>, steps: impl Iterator<Item = Result<Input>>, threads: usize) -> Result<Vec<RecordBatch>> {
    let mut froms: Vec<Vec<Receiver<Arc<Parted>>>> = (0..threads).map(|_| Vec::new()).collect();
    let tos: Vec<Vec<SyncSender<Arc<Parted>>>> = (0..threads)
        .map(|_| {
            let connect = |from: &mut Vec<_>| {
                let (to, receiver) = sync_channel(1);
                from.push(receiver);
                to
            };
            froms.iter_mut().map(connect).collect()
        })
        .collect();
    thread::scope(|scope| {
        let (mut dealt, mut workers) = (Vec::new(), Vec::new());
        for (number, (to, from)) in tos.into_iter().zip(froms).enumerate() {
            let (sender, steps) = sync_channel(WAITING);
            let worker = Worker { splitter: Splitter::new(query)?, share: Share::new(query, number, threads)?, steps, to, from };
            dealt.push(sender);
            workers.push(scope.spawn(move || worker.work()));
        }
        for (step, sender) in steps.zip(dealt.iter().cycle()) {
            if sender.send(step?).is_err() {
                break;
            }
        }
        drop(dealt);
        let panicked = |_| Err(Error::Internal("a thread panicked"));
        let windows = workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect::<Result<Vec<_>>>()?;
        Ok(windows.into_iter().flatten().collect())
    })
}

/// The windows of all jobs.
pub(super) fn closed(jobs: impl IntoIterator<Item = Box<dyn Job>>) -> Result<Vec<RecordBatch>> {
    let mut windows = Vec::new();
    jobs.into_iter().try_for_each(|mut job| job.close(None, &mut |batch| windows.push(batch)))?;
    Ok(windows)
}

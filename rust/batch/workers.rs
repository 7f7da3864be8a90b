//! The threads of a run: each splits some of the steps into partitions of the keys, and works on
//! some of the partitions of all steps.
//!
//! ```text
//!   step 0 ─▶ thread 0 splits ─┬▶ thread 0: partitions 0, 2, 4, ... ─▶ windows
//!   step 1 ─▶ thread 1 splits ─┴▶ thread 1: partitions 1, 3, 5, ... ─▶ windows
//!   step 2 ─▶ thread 0 ...        (each receives those of steps 0, 1, 2, ... in this order)
//! ```
//!
//! The calling thread reads the steps, deals them, and asks the interrupt.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::sync::mpsc::{channel, sync_channel};
use std::thread::{self, Thread};

use arrow_array::RecordBatch;

use super::batch_operator::{BatchOperator, close_all};
use super::list_room::ListRoom;
use super::partition::{PARTITIONS, Partitions};
use crate::core::error::{Error, Result};
use crate::core::interrupt::{INTERVAL, Interrupt};
use crate::core::memory;
use crate::input::records::Records;
use crate::keys::partition_hash::PartitionHash;
use crate::plan::query::Query;

/// Steps that may wait for the thread that splits them.
const WAITING: usize = 1;

/// The partitions of one thread: those whose numbers leave `number` when they are divided by the
/// number of threads.
struct WorkerPartitions {
    number: usize,
    threads: usize,
    operators: Vec<Box<dyn BatchOperator>>,
    most: usize,
}

impl WorkerPartitions {
    fn new(query: &Arc<Query>, number: usize, threads: usize) -> Result<Self> {
        let operators = (number..PARTITIONS)
            .step_by(threads)
            .map(|_| query.batch_operator())
            .collect::<Result<_>>()?;
        Ok(Self {
            number,
            threads,
            operators,
            most: query.limits.run_rows / PARTITIONS,
        })
    }

    /// Adds the rows of its own partitions.
    fn add(&mut self, rows: &Partitions, interrupt: &Interrupt) -> Result<()> {
        interrupt.check()?;
        memory::headroom()?;
        let partitions = (self.number..).step_by(self.threads);
        for (partition, operator) in partitions.zip(&mut self.operators) {
            if let Some(input) = rows.rows_of(partition)? {
                operator.add(input)?;
                operator.process(self.most, interrupt)?;
            }
        }
        Ok(())
    }
}

/// Splits steps into partitions.
struct Partitioner {
    hash: PartitionHash,
    hashes: Vec<u64>,
}

impl Partitioner {
    fn new(query: &Query) -> Result<Self> {
        Ok(Self {
            hash: PartitionHash::new(&query.keys)?,
            hashes: Vec::new(),
        })
    }

    fn split(&mut self, step: Records) -> Result<Partitions> {
        self.hash.hash(&step.keys, &mut self.hashes)?;
        Partitions::new(&step, &self.hashes)
    }
}

/// One of several threads.
struct Worker<'r> {
    partitioner: Partitioner,
    partitions: WorkerPartitions,
    /// The steps that it splits.
    steps: Receiver<Records>,
    /// The thread that waits while too many of them are there.
    reader: Thread,
    /// Where split steps go: to each thread.
    to: Vec<SyncSender<Arc<Partitions>>>,
    /// Where the split steps of each thread come from.
    from: Vec<Receiver<Arc<Partitions>>>,
    room: &'r ListRoom,
    interrupt: Interrupt,
    /// Ends with this thread.
    _alive: Sender<()>,
}

impl Worker<'_> {
    fn work(mut self) -> Result<Vec<RecordBatch>> {
        let added = self.add();
        if added.is_err() {
            self.interrupt.stop(); // before the channels end, so that the others close nothing
        }
        added?;
        self.interrupt.check()?;
        let windows = close_all(self.partitions.operators, self.room, &self.interrupt);
        if windows.is_err() {
            self.interrupt.stop();
        }
        windows
    }

    /// Adds steps until a thread has no more: they are dealt in turn, so none has more after that.
    fn add(&mut self) -> Result<()> {
        loop {
            match self.steps.recv() {
                Ok(step) => {
                    self.reader.unpark();
                    let rows = Arc::new(self.partitioner.split(step)?);
                    // A thread that receives no more has ended or failed, which joining it shows.
                    self.to
                        .iter()
                        .for_each(|to| drop(to.send(Arc::clone(&rows))));
                }
                Err(_) => self.to.clear(),
            }
            for from in &self.from {
                match from.recv() {
                    Ok(rows) => self.partitions.add(&rows, &self.interrupt)?,
                    Err(_) => return Ok(()),
                }
            }
        }
    }
}

/// All windows of the steps, on the calling thread.
pub(super) fn run_on_one_thread(
    query: &Arc<Query>,
    mut steps: impl Iterator<Item = Result<Records>>,
    room: &ListRoom,
    interrupt: &Interrupt,
) -> Result<Vec<RecordBatch>> {
    let mut partitioner = Partitioner::new(query)?;
    let mut partitions = WorkerPartitions::new(query, 0, 1)?;
    steps.try_for_each(|step| partitions.add(&partitioner.split(step?)?, interrupt))?;
    close_all(partitions.operators, room, interrupt)
}

/// The same on so many threads beside the calling one.
pub(super) fn run_on_threads(
    query: &Arc<Query>,
    steps: impl Iterator<Item = Result<Records>>,
    threads: usize,
    room: &ListRoom,
    interrupt: &Interrupt,
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
    let (alive, ended) = channel();
    thread::scope(|scope| {
        let (mut dealt, mut workers) = (Vec::new(), Vec::new());
        for (number, (to, from)) in tos.into_iter().zip(froms).enumerate() {
            let (sender, steps) = sync_channel(WAITING);
            let worker = Worker {
                partitioner: Partitioner::new(query)?,
                partitions: WorkerPartitions::new(query, number, threads)?,
                steps,
                reader: thread::current(),
                to,
                from,
                room,
                interrupt: interrupt.for_worker(),
                _alive: alive.clone(),
            };
            dealt.push(sender);
            workers.push(scope.spawn(move || worker.work()));
        }
        drop(alive);
        let read = deal(steps, &dealt, interrupt).and_then(|()| {
            dealt.clear();
            wait(&ended, interrupt)
        });
        if read.is_err() {
            interrupt.stop();
        }
        drop(dealt);
        let panicked = |_| Err(Error::Internal("a thread panicked"));
        let windows: Vec<Result<_>> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(panicked))
            .collect();
        let windows = first_failure(read.map(|()| Vec::new()), windows)?;
        Ok(windows.into_iter().flatten().collect())
    })
}

/// The results of all threads, or the error that stopped the others.
fn first_failure<T>(reader: Result<T>, workers: Vec<Result<T>>) -> Result<Vec<T>> {
    let (mut results, mut stopped) = (Vec::new(), false);
    for result in std::iter::once(reader).chain(workers) {
        match result {
            Ok(result) => results.push(result),
            Err(Error::Stopped) => stopped = true,
            Err(error) => return Err(error),
        }
    }
    if stopped {
        Err(Error::Stopped)
    } else {
        Ok(results)
    }
}

/// Deals steps in turn, as long as they are taken.
fn deal(
    steps: impl Iterator<Item = Result<Records>>,
    to: &[SyncSender<Records>],
    interrupt: &Interrupt,
) -> Result<()> {
    for (step, to) in steps.zip(to.iter().cycle()) {
        let mut step = step?;
        loop {
            match to.try_send(step) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) => step = back,
                Err(TrySendError::Disconnected(_)) => return Ok(()),
            }
            thread::park_timeout(INTERVAL);
            interrupt.check()?;
        }
    }
    Ok(())
}

/// Waits until all threads have ended.
fn wait(ended: &Receiver<()>, interrupt: &Interrupt) -> Result<()> {
    while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        interrupt.check()?;
    }
    Ok(())
}

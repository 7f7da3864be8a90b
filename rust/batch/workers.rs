//! The threads of a run. Each thread splits some of the steps into key partitions. It then
//! processes its own partitions of all steps.
//!
//! ```text
//!   step 0 ─▶ thread 0 splits ─┬▶ thread 0: partitions 0, 2, 4, ... ─▶ windows
//!   step 1 ─▶ thread 1 splits ─┴▶ thread 1: partitions 1, 3, 5, ... ─▶ windows
//!   step 2 ─▶ thread 0 ...        (each thread receives the steps in order: 0, 1, 2, ...)
//! ```
//!
//! The calling thread reads the steps, deals them out, and checks the interrupt.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::sync::mpsc::{channel, sync_channel};
use std::thread::{self, Thread};

use arrow_array::RecordBatch;

use super::key_partition::KeyPartition;
use super::list_room::ListRoom;
use super::partition::{PartitionBits, Partitioner, Partitions};
use crate::core::error::{Error, PANICKED, Result};
use crate::core::interrupt::{INTERVAL, Interrupt};
use crate::core::memory;
use crate::input::records::Records;
use crate::plan::query::Query;

/// How many steps may wait for the thread that splits them.
const WAITING: usize = 1;

/// The partitions of one thread: every partition with `partition % threads == number`.
struct WorkerPartitions {
    number: usize,
    threads: usize,
    partitioner: Partitioner,
    partitions: Vec<KeyPartition>,
}

impl WorkerPartitions {
    fn new(query: &Arc<Query>, number: usize, threads: usize) -> Result<Self> {
        let all = PartitionBits::RUN.partitions();
        let most = query.limits.run_rows / all;
        let own = (number..all).step_by(threads);
        Ok(Self {
            number,
            threads,
            partitioner: Partitioner::new(query)?,
            partitions: own.map(|_| KeyPartition::new(query, most)).collect(),
        })
    }

    fn split(&mut self, step: Records) -> Result<Partitions> {
        self.partitioner.split(step, PartitionBits::RUN)
    }

    /// Adds the rows of this thread's partitions.
    fn add(&mut self, rows: &Partitions, interrupt: &Interrupt) -> Result<()> {
        interrupt.check()?;
        memory::headroom()?;
        let numbers = (self.number..).step_by(self.threads);
        for (number, partition) in numbers.zip(&mut self.partitions) {
            if let Some(rows) = rows.rows_of(number)? {
                partition.add(rows, &mut self.partitioner, interrupt)?;
            }
        }
        Ok(())
    }

    /// Closes all windows. First checks that all their lists fit.
    fn close(mut self, room: &ListRoom, interrupt: &Interrupt) -> Result<Vec<RecordBatch>> {
        for partition in &mut self.partitions {
            room.ask(|| partition.list_sizes(interrupt))?;
        }
        let mut windows = Vec::new();
        for partition in self.partitions {
            let emit = &mut |batch| windows.push(batch);
            partition.close(&mut self.partitioner, emit, interrupt)?;
            interrupt.part_is_done();
        }
        Ok(windows)
    }
}

/// One of several threads.
struct Worker<'r> {
    partitions: WorkerPartitions,
    /// The steps that this thread splits.
    steps: Receiver<Records>,
    /// The reading thread. It waits while `steps` is full.
    reader: Thread,
    /// Channels that send split steps to each thread.
    to: Vec<SyncSender<Arc<Partitions>>>,
    /// Channels that receive split steps from each thread.
    from: Vec<Receiver<Arc<Partitions>>>,
    room: &'r ListRoom,
    interrupt: Interrupt,
    /// Dropped when this thread ends.
    _alive: Sender<()>,
}

impl Worker<'_> {
    fn work(mut self) -> Result<Vec<RecordBatch>> {
        let added = self.add();
        if added.is_err() {
            self.interrupt.stop(); // before the channels end, so that other threads close nothing
        }
        added?;
        self.interrupt.check()?;
        let windows = self.partitions.close(self.room, &self.interrupt);
        if windows.is_err() {
            self.interrupt.stop();
        }
        windows
    }

    /// Adds steps until one thread has no more. Steps are dealt in turn, so then no thread has
    /// more.
    fn add(&mut self) -> Result<()> {
        loop {
            match self.steps.recv() {
                Ok(step) => {
                    self.reader.unpark();
                    let rows = Arc::new(self.partitions.split(step)?);
                    // A failed send means that the receiver has ended or failed. Joining it reports
                    // that.
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

/// Computes all windows of the steps on the calling thread.
pub(super) fn run_on_one_thread(
    query: &Arc<Query>,
    mut steps: impl Iterator<Item = Result<Records>>,
    room: &ListRoom,
    interrupt: &Interrupt,
) -> Result<Vec<RecordBatch>> {
    let mut partitions = WorkerPartitions::new(query, 0, 1)?;
    steps.try_for_each(|step| {
        let rows = partitions.split(step?)?;
        partitions.add(&rows, interrupt)
    })?;
    partitions.close(room, interrupt)
}

/// Like [`run_on_one_thread`], but on `threads` threads in addition to the calling one.
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
        let panicked = |_| Err(PANICKED);
        let windows: Vec<Result<_>> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(panicked))
            .collect();
        let windows = first_failure(read.map(|()| Vec::new()), windows)?;
        Ok(windows.into_iter().flatten().collect())
    })
}

/// The results of all threads, or the error that made the others stop.
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

/// Deals steps in turn, until a thread no longer accepts them.
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

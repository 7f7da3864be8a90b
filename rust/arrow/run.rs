//! A query over batches in one process, on one thread or several.
//!
//! ```text
//!   rows ─▶ keys to numbers ─┬▶ keys 0, 2, 4, ... ─▶ sessions ─┬▶ windows
//!                            └▶ keys 1, 3, 5, ... ─▶ sessions ─┘
//! ```

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::{RecordBatch, UInt32Array};

use super::grouping::{Grouping, of};
use super::input::{Counters, Input};
use super::job::{RESULT_ROWS, slots};
use super::keys::Keys;
use super::query::{Kind, Query};
use crate::aggregate::Arrival;
use crate::aggregate::bank::LoweredAll;
use crate::error::{Error, Result};
use crate::key::KeyId;
use crate::session::rule::Gap;
use crate::window::Window;

/// Numbered rows that may wait for a thread.
const WAITING: usize = 4;

/// Rows whose keys are numbered.
struct Numbered {
    keys: Vec<KeyId>,
    input: Input,
    /// The arrival of the first row.
    arrival: Arrival,
}

/// The keys of one thread: those whose numbers end in these bits.
#[derive(Clone, Copy)]
struct Share {
    bits: u32,
    number: u32,
}

impl Share {
    /// The rows of this share, and their keys numbered within it.
    fn pick(self, keys: &[KeyId]) -> (Vec<u32>, Vec<KeyId>) {
        let (mut rows, mut own) = (vec![0; keys.len()], vec![KeyId::NULL; keys.len()]);
        let mut count = 0;
        for (number, &key) in (0..).zip(keys) {
            // Written in any case and counted if it is one: whose key comes next cannot be predicted.
            if let (Some(row), Some(slot)) = (rows.get_mut(count), own.get_mut(count)) {
                (*row, *slot) = (number, KeyId(key.0 >> self.bits));
            }
            count += usize::from(key.0 & ((1 << self.bits) - 1) == self.number);
        }
        rows.truncate(count);
        own.truncate(count);
        (rows, own)
    }

    /// The number of a key among all.
    fn whole(self, own: KeyId) -> KeyId {
        KeyId(own.0 << self.bits | self.number)
    }
}

/// Some windows of one thread.
struct Done {
    keys: Vec<KeyId>,
    windows: Vec<Window>,
    lowered: LoweredAll,
}

impl Query {
    /// Runs the query over batches on `threads` threads, rounded down to a power of two: all windows, and what was counted.
    pub fn run(
        self: &Arc<Self>,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        threads: usize,
    ) -> Result<(Vec<RecordBatch>, Counters)> {
        match self.windows {
            Kind::Session(gap) if threads > 1 => self.run_shared(batches, gap, threads),
            _ => self.run_alone(batches),
        }
    }

    /// A batch in steps: few enough rows to stay in the caches.
    fn steps(&self, batch: RecordBatch) -> impl Iterator<Item = RecordBatch> {
        let (step, rows) = (self.limits.step_rows, batch.num_rows());
        (0..rows).step_by(step).map(move |from| batch.slice(from, step.min(rows - from)))
    }

    fn run_alone(self: &Arc<Self>, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<(Vec<RecordBatch>, Counters)> {
        let (mut job, mut counters, mut results) = (self.job()?, Counters::default(), Vec::new());
        let mut arrival = 0;
        for batch in batches {
            for step in self.steps(batch?) {
                job.add(Input::read(self, &step, &mut counters)?, arrival)?;
                job.settle(self.limits.run_rows)?;
                arrival += step.num_rows() as Arrival;
            }
        }
        job.close(None, &mut |batch| results.push(batch))?;
        Ok((results, counters))
    }

    /// Sessions: this thread numbers the keys, each other thread has its share of the keys.
    fn run_shared(
        self: &Arc<Self>,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        gap: Gap,
        threads: usize,
    ) -> Result<(Vec<RecordBatch>, Counters)> {
        let (mut keys, mut counters) = (Keys::new(&self.keys)?, Counters::default());
        let bits = threads.ilog2();
        let done = thread::scope(|scope| {
            let (senders, workers): (Vec<SyncSender<Arc<Numbered>>>, Vec<_>) = (0..1 << bits)
                .map(|number| {
                    let (sender, receiver) = sync_channel(WAITING);
                    (sender, scope.spawn(move || self.work(&receiver, gap, Share { bits, number })))
                })
                .unzip();
            let mut arrival = 0;
            'reading: for batch in batches {
                for step in self.steps(batch?) {
                    let input = Input::read(self, &step, &mut counters)?;
                    let mut numbers = Vec::with_capacity(input.rows());
                    keys.intern(&input.keys, &mut numbers)?;
                    let numbered = Arc::new(Numbered { keys: numbers, input, arrival });
                    // A thread that takes nothing any more has failed, and says how when it is joined.
                    if senders.iter().any(|sender| sender.send(Arc::clone(&numbered)).is_err()) {
                        break 'reading;
                    }
                    arrival += step.num_rows() as Arrival;
                }
            }
            drop(senders);
            let panicked = |_| Err(Error::Internal("a thread panicked"));
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(panicked)).collect::<Result<Vec<_>>>()
        })?;
        let windows = done.into_iter().flatten();
        let results = windows.map(|Done { keys: numbers, windows, lowered }| self.result(keys.columns(&numbers)?, &windows, lowered));
        Ok((results.collect::<Result<_>>()?, counters))
    }

    /// The work of one thread.
    fn work(self: &Arc<Self>, rows: &Receiver<Arc<Numbered>>, gap: Gap, share: Share) -> Result<Vec<Done>> {
        let mut grouping = Grouping::new(Arc::clone(self), gap);
        for numbered in rows {
            let Numbered { keys, input, arrival } = numbered.as_ref();
            let (own, keys) = share.pick(keys);
            let arrivals = if self.minds_arrival { own.iter().map(|&row| arrival + Arrival::from(row)).collect() } else { Vec::new() };
            grouping.add(&keys, input.pick(&UInt32Array::from(own))?, arrivals);
            grouping.settle(self.limits.run_rows)?;
        }
        let taken = grouping.coalesce()?;
        let windows = slots(taken.keys.len());
        let done = windows.chunks(RESULT_ROWS).map(|slots| Done {
            keys: of(slots, &taken.keys).iter().map(|key| share.whole(*key)).collect(),
            windows: taken.windows(slots),
            lowered: taken.states.lower(slots),
        });
        Ok(done.collect())
    }
}

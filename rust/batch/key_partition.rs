//! The rows of one key partition of a run. If keys hardly repeat, their sessions take more memory
//! than their rows, and more than a core's caches hold. Then the rows wait and are split again. One
//! part after the other becomes windows.
//!
//! ```text
//!   first rows wait ─┬─ keys repeat ──────▶ one operator
//!                    └─ they hardly do ───▶ all rows wait ─┬──▶ part 0 ──▶ windows
//!                                                          ├──▶ part 1 ──▶ windows
//!                       too many rows wait:                └──▶ ...
//!                       an operator for each part
//! ```
//!
//! Only counts of rows and of distinct keys decide. So the rows of a partition leave in the same order
//! in each run.

use std::sync::Arc;

use super::batch_operator::{BatchOperator, BatchSink};
use super::list_room::ListSizes;
use super::partition::{PartitionBits, Partitioner, Partitions};
use super::pending::PendingRows;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::memory;
use crate::input::records::Records;
use crate::keys::bloom::BloomFilter;
use crate::plan::query::{Query, QueryOutput};
use crate::plan::window_lengths::WindowLengths;

/// Log2 of the most parts of a partition.
const MOST_PART_BITS: u32 = 6;

/// The rows of one key partition.
pub(super) struct KeyPartition {
    query: Arc<Query>,
    /// About how many rows wait in an operator of this partition at most.
    most: usize,
    waiting: PendingRows,
    /// The bytes of all rows that waited before there was an operator.
    bytes: usize,
    /// Whether keys hardly repeat. They do repeat as long as too few rows are known.
    hardly_repeat: bool,
    /// None as long as all rows wait; one, or one for each part.
    operators: Vec<Box<dyn BatchOperator>>,
}

impl KeyPartition {
    /// Starts without rows. At most about `most` rows wait in its operators.
    pub(super) fn new(query: &Arc<Query>, most: usize) -> Self {
        Self {
            query: Arc::clone(query),
            most,
            waiting: PendingRows::default(),
            bytes: 0,
            hardly_repeat: false,
            operators: Vec::new(),
        }
    }

    /// Adds rows.
    pub(super) fn add(
        &mut self,
        rows: Records,
        partitioner: &mut Partitioner,
        interrupt: &Interrupt,
    ) -> Result<()> {
        if let [operator] = self.operators.as_mut_slice() {
            operator.add(rows)?;
            return operator.process(self.most, interrupt);
        }
        self.bytes += rows.bytes();
        self.waiting.add(rows);
        let limits = self.query.limits;
        if self.operators.is_empty() && !self.hardly_repeat {
            if self.waiting.rows() < limits.pack_loose.min(self.most) {
                return Ok(());
            }
            self.hardly_repeat = self.has_disjoint_windows()
                && 2 * distinct_keys(&self.waiting, partitioner)? > self.waiting.rows();
            if !self.hardly_repeat {
                return self.start_one(interrupt);
            }
        }
        let may_wait = match self.operators.as_slice() {
            [] => self.bytes < limits.waiting_bytes,
            _ => self.waiting.rows() < limits.step_rows.min(self.most),
        };
        if may_wait {
            return Ok(());
        }
        if self.operators.is_empty() {
            let operators = (0..1 << MOST_PART_BITS).map(|_| self.query.batch_operator());
            self.operators = operators.collect::<Result<_>>()?;
        }
        self.split(partitioner, interrupt)
    }

    /// The size of the lists of all windows, if windows overlap.
    pub(super) fn list_sizes(&mut self, interrupt: &Interrupt) -> Result<ListSizes> {
        if self.operators.is_empty() && !self.hardly_repeat {
            self.start_one(interrupt)?;
        }
        match self.operators.as_mut_slice() {
            [operator] => operator.list_sizes(interrupt),
            // Rows are split only for sessions, which do not overlap.
            _ => Ok(ListSizes::default()),
        }
    }

    /// Emits all windows.
    pub(super) fn close(
        mut self,
        partitioner: &mut Partitioner,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        if self.operators.is_empty() {
            let mut operator = self.query.batch_operator()?;
            return close_parts(
                &self.query,
                operator.as_mut(),
                &mut self.waiting,
                partitioner,
                emit,
                interrupt,
            );
        }
        self.split(partitioner, interrupt)?;
        let mut operators = self.operators.into_iter();
        operators.try_for_each(|mut operator| operator.close(None, emit, interrupt))
    }

    /// Whether a record is in one window only, so that a window takes no more than its records.
    fn has_disjoint_windows(&self) -> bool {
        matches!(
            (&self.query.output_kind, self.query.windows),
            (QueryOutput::Windows { .. }, WindowLengths::Session(_))
        )
    }

    /// Gives the waiting rows to one operator, and all rows that follow.
    fn start_one(&mut self, interrupt: &Interrupt) -> Result<()> {
        let mut operator = self.query.batch_operator()?;
        for rows in self.waiting.take() {
            operator.add(rows)?;
            operator.process(self.most, interrupt)?;
        }
        self.operators.push(operator);
        Ok(())
    }

    /// Gives the waiting rows to the operators of their parts.
    fn split(&mut self, partitioner: &mut Partitioner, interrupt: &Interrupt) -> Result<()> {
        if self.waiting.rows() == 0 {
            return Ok(());
        }
        let by = PartitionBits::of_part(MOST_PART_BITS);
        let most = self.most / by.partitions();
        let parts = split(&mut self.waiting, by, partitioner)?;
        for (part, operator) in self.operators.iter_mut().enumerate() {
            interrupt.check()?;
            if let Some(rows) = parts.rows_of(part)? {
                operator.add(rows)?;
                operator.process(most, interrupt)?;
            }
        }
        Ok(())
    }
}

/// Emits all windows of rows that wait for an operator, one part after the other.
pub(super) fn close_parts(
    query: &Query,
    operator: &mut dyn BatchOperator,
    waiting: &mut PendingRows,
    partitioner: &mut Partitioner,
    emit: &mut BatchSink<'_>,
    interrupt: &Interrupt,
) -> Result<()> {
    let parts = waiting.rows() / query.limits.part_rows;
    let bits = parts.checked_ilog2().unwrap_or_default();
    if bits == 0 {
        waiting
            .take()
            .into_iter()
            .try_for_each(|rows| operator.add(rows))?;
        return operator.close(None, emit, interrupt);
    }
    let by = PartitionBits::of_part(bits.min(MOST_PART_BITS));
    if let Some(keys) = operator.keys() {
        keys.reserve(waiting.rows() / by.partitions());
    }
    let parts = split(waiting, by, partitioner)?;
    for part in 0..by.partitions() {
        interrupt.check()?;
        if let Some(rows) = parts.rows_of(part)? {
            operator.add(rows)?;
            operator.close(None, emit, interrupt)?;
        }
    }
    Ok(())
}

/// Takes waiting rows, by part.
fn split(
    waiting: &mut PendingRows,
    by: PartitionBits,
    partitioner: &mut Partitioner,
) -> Result<Partitions> {
    memory::headroom()?;
    partitioner.split(Records::concat(&waiting.take())?, by)
}

/// About how many distinct keys the rows have.
pub(super) fn distinct_keys(rows: &PendingRows, partitioner: &mut Partitioner) -> Result<usize> {
    let (mut seen, mut distinct) = (BloomFilter::new(rows.rows()), 0);
    for input in rows.inputs() {
        let hashes = partitioner.hashes(input)?.iter();
        distinct += hashes.filter(|&&hash| seen.insert(hash)).count();
    }
    Ok(distinct)
}

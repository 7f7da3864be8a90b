//! The first step of a query on Spark: rows of one split to packed rows.
//!
//! ```text
//!   rows ─▶ Packer ─▶ packed rows ─▶ (shuffle, sort by shard and first) ─▶ Merger ─▶ windows
//! ```

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::batch_operator::{BatchOperator, ShardRows};
use crate::array::value_bytes::batch_bytes;
use crate::core::aggregate::SeqNo;
use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::memory;
use crate::core::time::Time;
use crate::format::packed;
use crate::input::read_counters::ReadCounters;
use crate::input::records::Records;
use crate::plan::cogroup::Cogroup;
use crate::plan::query::Query;

/// Bits of an arrival that number the rows of one split; those above are the split's own number.
const ARRIVAL_BITS: u32 = 40;

/// Rows of one split to packed rows.
pub struct Packer {
    query: Arc<Query>,
    operator: Box<dyn BatchOperator>,
    counters: ReadCounters,
    /// The largest time of the records of each input.
    latest: Vec<Option<Time>>,
    split: SeqNo,
    rows: usize,
    bytes: usize,
    interrupt: Interrupt,
}

impl Packer {
    /// A packer for one split of the input.
    ///
    /// # Errors
    ///
    /// Key columns of a type that cannot be one.
    pub fn new(query: Arc<Query>, split: u32) -> Result<Self> {
        memory::keep_freed();
        let (split, counters) = (SeqNo::from(split) << ARRIVAL_BITS, ReadCounters::default());
        Ok(Self {
            operator: query.batch_operator()?,
            latest: vec![None; query.cogroup.as_ref().map_or(1, Cogroup::inputs)],
            query,
            counters,
            split,
            rows: 0,
            bytes: 0,
            interrupt: Interrupt::never(),
        })
    }

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Adds rows; gives packed rows when enough have come together.
    ///
    /// # Errors
    ///
    /// A column of another type than the query's, a record that it does not allow, or those of the
    /// interrupt.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        self.push_beside(batch, 1)
    }

    /// The same for one of so many packers that share the memory in which rows wait.
    ///
    /// # Errors
    ///
    /// As [`Self::push`].
    pub fn push_beside(&mut self, batch: &RecordBatch, packers: usize) -> Result<Vec<RecordBatch>> {
        let seq_no = self.split + self.counters.records + self.counters.ticks;
        let input = Records::read(&self.query, batch, seq_no, &mut self.counters)?;
        self.observe(&input)?;
        self.rows += input.rows();
        self.bytes += batch_bytes(batch)?;
        self.operator.add(input)?;
        let limits = &self.query.limits;
        if self.rows >= limits.pack_rows || self.bytes >= limits.pack_bytes {
            return self.finish();
        }
        let (operator, interrupt) = (&mut self.operator, &self.interrupt);
        if self.bytes < limits.buffer_bytes / packers.max(1) {
            operator.buffer(limits.pack_rows, interrupt)?;
        } else {
            operator.process(limits.pack_rows, interrupt)?;
        }
        Ok(Vec::new())
    }

    /// Packs all rows that there are.
    ///
    /// # Errors
    ///
    /// Those of the interrupt.
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        (self.rows, self.bytes) = (0, 0);
        let mut packed = Vec::new();
        for ShardRows {
            kind,
            rows,
            shards,
            times,
        } in self.operator.take(&self.interrupt)?
        {
            packed.extend(packed::pack(
                kind,
                &rows,
                &shards,
                &times,
                self.query.limits.block_bytes,
            )?);
        }
        if self.operator.keys().len() > self.query.limits.pack_keys {
            self.operator.keys().clear();
        }
        Ok(packed)
    }

    fn observe(&mut self, input: &Records) -> Result<()> {
        let Some(cogroup) = &self.query.cogroup else {
            let latest = input.times().iter().max().copied();
            self.latest
                .iter_mut()
                .for_each(|of_all| *of_all = latest.max(*of_all));
            return Ok(());
        };
        let numbers = cogroup.numbers(input.arrays())?;
        for (row, &time) in input.times().iter().enumerate() {
            if let Some(latest) = self.latest.get_mut(cogroup.number(numbers, row)?) {
                *latest = Some(time).max(*latest);
            }
        }
        Ok(())
    }

    /// The largest time of the records of each input so far.
    pub fn latest(&self) -> &[Option<Time>] {
        &self.latest
    }

    /// What was counted so far.
    pub fn counters(&self) -> ReadCounters {
        self.counters
    }
}

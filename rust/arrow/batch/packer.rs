//! The first of the two ways through Spark: rows of one split to packed rows.
//!
//! ```text
//!   rows ─▶ Packer ─▶ packed rows ─▶ (shuffle, sort by shard and first) ─▶ Merger ─▶ windows
//! ```

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::operator::{Job, Partials};
use crate::aggregate::Arrival;
use crate::arrow::format::packed;
use crate::arrow::plan::query::Query;
use crate::arrow::read::counters::Counters;
use crate::arrow::read::records::Input;
use crate::error::Result;

/// Arrivals of one split are numbered within this many bits, the split above them.
const ARRIVAL_BITS: u32 = 40;

/// Rows of one split to packed rows.
pub struct Packer {
    query: Arc<Query>,
    job: Box<dyn Job>,
    counters: Counters,
    split: Arrival,
    rows: usize,
    bytes: usize,
}

impl Packer {
    /// A packer for one split of the input.
    pub fn new(query: Arc<Query>, split: u32) -> Result<Self> {
        let (split, counters) = (Arrival::from(split) << ARRIVAL_BITS, Counters::default());
        Ok(Self { job: query.job()?, query, counters, split, rows: 0, bytes: 0 })
    }

    /// Takes rows in; gives packed rows when enough have come together.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let arrival = self.split + self.counters.records;
        let input = Input::read(&self.query, batch, arrival, &mut self.counters)?;
        self.rows += input.rows();
        self.bytes += batch.get_array_memory_size();
        self.job.add(input)?;
        if self.rows < self.query.limits.pack_rows && self.bytes < self.query.limits.pack_bytes {
            self.job.settle(self.query.limits.pack_rows)?;
            return Ok(Vec::new());
        }
        self.finish()
    }

    /// Packs what there is.
    pub fn finish(&mut self) -> Result<Vec<RecordBatch>> {
        (self.rows, self.bytes) = (0, 0);
        let mut packed = Vec::new();
        for Partials { form, rows, shards, times } in self.job.take()? {
            packed.extend(packed::pack(form, &rows, &shards, &times, self.query.limits.block_bytes)?);
        }
        if self.job.keys().len() > self.query.limits.pack_keys {
            self.job.keys().clear();
        }
        Ok(packed)
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

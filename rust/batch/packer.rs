//! The first step of a query on Spark: packs the rows of one split.
//!
//! ```text
//!   rows ─▶ Packer ─▶ packed rows ─▶ (shuffle, sort by shard and first) ─▶ Merger ─▶ windows, or sorted rows
//! ```

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::batch_operator::{BatchOperator, ShardRows};
use crate::array::value_bytes::batch_bytes;
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::memory;
use crate::core::operator::counters::Counters;
use crate::core::time::Time;
use crate::format::packed;
use crate::input::records::Records;
use crate::plan::cogroup::Cogroup;
use crate::plan::query::Query;

/// The low bits of an arrival number the rows of one split. The higher bits number the split.
const ARRIVAL_BITS: u32 = 40;

/// The largest split number.
const LAST_SPLIT: u32 = (1 << (SeqNo::BITS - ARRIVAL_BITS)) - 1;

/// Packs the rows of one split.
pub struct Packer {
    query: Arc<Query>,
    operator: Box<dyn BatchOperator>,
    counters: Counters,
    /// The latest record time of each input.
    latest: Vec<Option<Time>>,
    split: SeqNo,
    rows: usize,
    bytes: usize,
    interrupt: Interrupt,
}

impl Packer {
    /// Creates a packer for one split of the input.
    ///
    /// # Errors
    ///
    /// A key column has a type that cannot be grouped, or the split number does not fit an arrival.
    pub fn new(query: Arc<Query>, split: u32) -> Result<Self> {
        if split > LAST_SPLIT {
            return Err(Error::Argument {
                argument: "split".into(),
                got: split.to_string(),
                allowed: format!("0 to {LAST_SPLIT}"),
            });
        }
        memory::keep_freed();
        let (split, counters) = (SeqNo::from(split) << ARRIVAL_BITS, Counters::default());
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

    /// Makes this stop when interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// [`Self::push_with_others`] for a single packer.
    #[cfg(any(test, feature = "bench"))]
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        self.push_with_others(batch, 1)
    }

    /// Adds rows, and returns packed rows once there are enough. So many packers share the memory
    /// for waiting rows.
    ///
    /// # Errors
    ///
    /// A column with another type than in the query. A record that the query refuses. The errors of
    /// the interrupt.
    pub fn push_with_others(
        &mut self,
        batch: &RecordBatch,
        packers: usize,
    ) -> Result<Vec<RecordBatch>> {
        let counters = &self.counters;
        let rows = counters.records + counters.left_out() + counters.ticks;
        let seq_no = arrival(self.split, rows)?;
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

    /// Packs the waiting rows.
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
        if let Some(keys) = self.operator.keys()
            && keys.len() > self.query.limits.pack_keys
        {
            keys.clear();
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
        let numbers = cogroup.numbers(input.inputs())?;
        for (row, &time) in input.times().iter().enumerate() {
            if let Some(latest) = self.latest.get_mut(cogroup.number(numbers, row)?) {
                *latest = Some(time).max(*latest);
            }
        }
        Ok(())
    }

    /// The latest record time of each input so far.
    pub fn latest(&self) -> &[Option<Time>] {
        &self.latest
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

/// The arrival of a row. `split` has only its own bits set.
fn arrival(split: SeqNo, row: u64) -> Result<SeqNo> {
    if row >> ARRIVAL_BITS == 0 {
        Ok(split | row)
    } else {
        Err(Error::Overflow {
            column: "arrival".into(),
            reason: format!("a split has 2^{ARRIVAL_BITS} rows or more"),
        })
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::RecordBatchOptions;
    use arrow_schema::{DataType, Field, Schema, TimeUnit};

    use super::*;
    use crate::plan::spec::Spec;

    fn query() -> Arc<Query> {
        let spec = r#"{"keys": ["user"], "time": "ts", "shards": 1, "aggregates": [],
                       "windows": {"kind": "session", "gap": 1}}"#;
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        let schema = Schema::new(vec![
            Field::new("user", DataType::Int64, true),
            Field::new("ts", time, true),
        ]);
        Arc::new(Query::new(&Spec::parse(spec).unwrap(), &schema).unwrap())
    }

    #[test]
    fn a_split_whose_number_does_not_fit_an_arrival_is_refused() {
        assert!(Packer::new(query(), (1 << 24) - 1).is_ok());
        let beyond = Packer::new(query(), 1 << 24).map(|packer| packer.split);
        assert!(matches!(beyond, Err(Error::Argument { .. })), "{beyond:?}");
    }

    #[test]
    fn the_rows_of_a_split_have_their_own_numbers() {
        let last = (1 << ARRIVAL_BITS) - 1;
        assert_eq!(
            arrival(1 << ARRIVAL_BITS, last).unwrap(),
            (2 << ARRIVAL_BITS) - 1
        );
        assert!(matches!(arrival(0, last + 1), Err(Error::Overflow { .. })));
    }

    #[test]
    fn a_batch_whose_rows_do_not_fit_a_number_is_refused() {
        let options = RecordBatchOptions::new().with_row_count(Some(1 << 32));
        let schema = Arc::new(Schema::empty());
        let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options).unwrap();
        let pushed = Packer::new(query(), 0).unwrap().push(&batch);
        assert!(matches!(pushed, Err(Error::Format { what: "batch", .. })));
    }
}

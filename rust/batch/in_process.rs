//! Runs a query over batches in this process, on one thread or several (see `workers`).

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat_batches;

use super::list_room::ListRoom;
use super::partition::PartitionBits;
use super::workers;
use crate::array::dictionary::unpacked_field;
use crate::array::nested::children;
use crate::array::value_bytes::batch_bytes;
use crate::array::{convert, validate};
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::memory;
use crate::core::operator::counters::Counters;
use crate::input::records::Records;
use crate::plan::limits::Limits;
use crate::plan::query::{Query, QueryOutput};

impl Query {
    /// Runs the query over batches on `threads` threads. Returns all windows and the counters.
    ///
    /// # Errors
    ///
    /// The errors of the batches and of the interrupt. A column with another type than in the query. A
    /// record that the query refuses. A result that does not fit its type.
    pub fn run(
        self: &Arc<Self>,
        batches: impl Iterator<Item = Result<RecordBatch>>,
        threads: usize,
        interrupt: &Interrupt,
    ) -> Result<(Vec<RecordBatch>, Counters)> {
        let mut counters = Counters::default();
        let mut steps = StepReader {
            batches,
            limits: self.limits,
            rest: None,
            interrupt,
        }
        .peekable();
        let first = steps.next().transpose()?;
        let is_one_step = steps.peek().is_none();
        let inputs = self.inputs(first.map(Ok).into_iter().chain(steps), &mut counters);
        let rows = matches!(self.output_kind, QueryOutput::Rows { .. });
        let room = ListRoom::new(self.limits.result_bytes);
        let results = if is_one_step || rows {
            self.run_whole(inputs, &room, interrupt)
        } else {
            self.run_partitioned(inputs, threads, &room, interrupt)
        };
        Ok((results?, counters))
    }

    /// The records of each step.
    fn inputs<'a>(
        &'a self,
        steps: impl Iterator<Item = Result<RecordBatch>> + 'a,
        counters: &'a mut Counters,
    ) -> impl Iterator<Item = Result<Records>> + 'a {
        let mut seq_no = 0;
        steps.map(move |step| {
            let step = step?;
            let input = Records::read(self, &step, seq_no, counters)?;
            seq_no += step.num_rows() as SeqNo;
            Ok(input)
        })
    }

    /// Runs few rows, or rows that leave in one order, in a single operator.
    fn run_whole(
        self: &Arc<Self>,
        mut inputs: impl Iterator<Item = Result<Records>>,
        room: &ListRoom,
        interrupt: &Interrupt,
    ) -> Result<Vec<RecordBatch>> {
        let mut operator = self.batch_operator()?;
        inputs.try_for_each(|input| operator.add(input?))?;
        room.ask(|| operator.list_sizes(interrupt))?;
        let mut windows = Vec::new();
        operator.close(None, &mut |batch| windows.push(batch), interrupt)?;
        interrupt.part_is_done();
        Ok(windows)
    }

    /// Runs many rows in one operator per key partition.
    fn run_partitioned(
        self: &Arc<Self>,
        inputs: impl Iterator<Item = Result<Records>>,
        threads: usize,
        room: &ListRoom,
        interrupt: &Interrupt,
    ) -> Result<Vec<RecordBatch>> {
        memory::keep_freed();
        match threads.min(PartitionBits::RUN.partitions()) {
            0 | 1 => workers::run_on_one_thread(self, inputs, room, interrupt),
            threads => workers::run_on_threads(self, inputs, threads, room, interrupt),
        }
    }
}

/// Splits batches into steps that fit the caches. Cuts long batches evenly and joins short ones.
struct StepReader<'a, I> {
    batches: I,
    limits: Limits,
    /// The rest of a long batch.
    rest: Option<RecordBatch>,
    interrupt: &'a Interrupt,
}

impl<I: Iterator<Item = Result<RecordBatch>>> StepReader<'_, I> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let mut short: Vec<RecordBatch> = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        // Half a step is enough, because joining copies the batches.
        while rows < self.limits.step_rows.div_ceil(2) && bytes < self.limits.step_bytes {
            self.interrupt.check()?;
            let Some(batch) = self
                .rest
                .take()
                .map(Ok)
                .or_else(|| self.batches.next())
                .transpose()?
            else {
                break;
            };
            let steps = batch.num_rows().div_ceil(self.limits.step_rows).max(1);
            let most = batch.num_rows().div_ceil(steps);
            let first = batch.slice(0, most);
            let size = batch_bytes(&first)?;
            // This keeps joined arrays far below the range of their offsets.
            if !short.is_empty() && bytes + size > self.limits.step_bytes {
                self.rest = Some(batch);
                break;
            }
            if most < batch.num_rows() {
                self.rest = Some(batch.slice(most, batch.num_rows() - most));
            }
            rows += most;
            bytes += size;
            short.push(first);
        }
        match short.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            several => join(several).map(Some),
        }
    }
}

/// Joins batches of one schema and unpacks dictionaries. The combined values could exceed the index
/// range of one dictionary.
fn join(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let batches = batches
        .iter()
        .map(unpacked_batch)
        .collect::<Result<Vec<_>>>()?;
    match batches.as_slice() {
        [] => Err(Error::Internal("there are no batches to join")),
        [first, ..] => Ok(concat_batches(&first.schema(), &batches)?),
    }
}

fn unpacked_batch(batch: &RecordBatch) -> Result<RecordBatch> {
    let schema = batch.schema_ref();
    let fields = schema.fields().iter();
    let unpacked: Vec<Field> = fields.clone().map(|field| unpacked_field(field)).collect();
    let columns = fields.zip(batch.columns()).map(|(field, column)| {
        // Copying such a column follows its indices, so they must be valid.
        if !children(column.data_type()).is_empty() {
            validate::check(field.name(), column)?;
        }
        convert::unpack(column)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(Schema::new(unpacked));
    Ok(RecordBatch::try_new(schema, columns)?)
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for StepReader<'_, I> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, StringArray};

    use super::*;

    #[test]
    fn short_batches_are_joined_up_to_the_bytes_of_a_step_and_a_wide_one_stays_alone() {
        // widths    10 10 | 900 | 10 10 10 ...
        let widths = [10, 10, 900, 10, 10, 10, 10, 10, 10];
        let batches = widths.map(|width| {
            let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(width)]));
            Ok(RecordBatch::try_from_iter([("text", text)]).unwrap())
        });
        let steps = StepReader {
            batches: batches.into_iter(),
            limits: Limits {
                step_bytes: 100,
                ..Limits::default()
            },
            rest: None,
            interrupt: &Interrupt::never(),
        };
        let steps: Vec<RecordBatch> = steps.collect::<Result<_>>().unwrap();
        let rows: Vec<usize> = steps.iter().map(RecordBatch::num_rows).collect();
        assert_eq!(rows.iter().sum::<usize>(), widths.len());
        for step in &steps {
            assert!(step.num_rows() == 1 || batch_bytes(step).unwrap() <= 100);
        }
        assert!(rows.iter().any(|&rows| rows > 1), "{rows:?}");
    }
}

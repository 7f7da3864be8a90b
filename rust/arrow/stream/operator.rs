//! An operator over Arrow batches: every record in its order, as Kafka Streams does it.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};

use super::changes::{self, Changes};
use super::states::{At, OperatorStates};
use super::user_function::UserFunction;
use super::windows::Windows;
use crate::aggregate::SeqNo;
use crate::aggregate::accumulators::Accumulators;
use crate::aggregate::batch_states::BatchStates;
use crate::arrow::format::head::PageCounts;
use crate::arrow::keys::KeyInterner;
use crate::arrow::keys::sort_key::SortKeys;
use crate::arrow::plan::fingerprint::Fingerprint;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::spec::{KafkaSemantics, Spec};
use crate::arrow::plan::window_lengths::WindowLengths;
use crate::arrow::read::events::{Event, EventBatch, SOURCE};
use crate::error::{Error, Result};
use crate::operator::counters::Counters;
use crate::time::{Span, Time};

/// A record operator.
pub struct Operator {
    pub(crate) query: Arc<Query>,
    pub(crate) names: SortKeys,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) windows: Windows,
    pub(crate) accumulators: Accumulators,
    pub(crate) functions: Vec<Box<dyn UserFunction>>,
    /// Rows that were read.
    pub(crate) seq_nos: SeqNo,
    pub(crate) null_values: u64,
    /// Upserts and deletes that were given away.
    pub(crate) updates: u64,
    /// How many pages each segment was last written to.
    pub(crate) written: PageCounts,
    /// Segments whose pages are of another length of segments than this operator's.
    pub(crate) stale: BTreeSet<i64>,
    /// Numbers the keys of a batch that is joined.
    keys: KeyInterner,
    spec: Spec,
    kafka: KafkaSemantics,
    deletes: bool,
    failed: bool,
}

impl Operator {
    /// An operator without records. `custom` are the Python functions of the spec, in their order,
    /// and the fields of their results.
    pub fn new(
        spec: &Spec,
        input: &Schema,
        functions: Vec<(Box<dyn UserFunction>, Field)>,
    ) -> Result<Self> {
        let (functions, fields): (Vec<_>, Vec<_>) = functions.into_iter().unzip();
        let query = Query::with_python(spec, input, &fields)?;
        let inputs = spec
            .inputs
            .as_ref()
            .map_or(1, |inputs| inputs.count as usize);
        let times = spec.inputs.as_ref().map_or(1, |inputs| {
            if inputs.one_time {
                1
            } else {
                inputs.count as usize
            }
        });
        let windows = Windows::new(spec, &query, times)?;
        // What leaves out an input is null where a window holds none but that input's records.
        let takes_all = functions
            .iter()
            .all(|functions| (0..inputs).all(|input| functions.takes(input)));
        let only_custom = query.aggregates.len() == 1 && functions.len() == 1 && takes_all;
        Ok(Self {
            names: SortKeys::new(&query.keys)?,
            fingerprint: Fingerprint::new(spec, &query)?,
            accumulators: query.accumulators(),
            windows,
            functions,
            seq_nos: 0,
            null_values: 0,
            updates: 0,
            keys: KeyInterner::new(&query.keys)?,
            written: PageCounts::new(),
            stale: BTreeSet::new(),
            spec: spec.clone(),
            kafka: spec.kafka.clone().unwrap_or_default(),
            deletes: spec.kafka.is_some() && only_custom,
            failed: false,
            query: Arc::new(query),
        })
    }

    /// The schema of changes: keys, `window`, aggregates, `op`, `time`.
    pub fn schema(&self) -> SchemaRef {
        changes::schema(&self.query)
    }

    /// The schema of a query's result over the same windows: keys, `window`, aggregates, and `op`
    /// where it was asked for.
    pub fn output(&self) -> SchemaRef {
        Arc::clone(&self.query.output)
    }

    /// Takes the rows of a batch in their order; gives the changes. After an error there is no
    /// going on.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.run(|operator| operator.take(batch))
    }

    /// The input has ended: all windows are final.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.run(Self::end)
    }

    fn run(&mut self, does: impl FnOnce(&mut Self) -> Result<RecordBatch>) -> Result<RecordBatch> {
        self.check_whole()?;
        self.failed = true;
        let changes = does(self)?;
        self.failed = false;
        Ok(changes)
    }

    /// A batch that failed half way leaves a state that is nobody's.
    pub(crate) fn check_whole(&self) -> Result<()> {
        if self.failed {
            let reason =
                "an earlier batch failed half way: restore the operator from its pages".into();
            return Err(Error::Format {
                what: "operator",
                reason,
            });
        }
        Ok(())
    }

    fn take(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut out = Changes::new(self.spec.every_record);
        self.catch_up(&mut out)?;
        if self.joins() {
            // Few enough rows at once to stay in the caches.
            let step = self.query.limits.step_rows;
            for from in (0..batch.num_rows()).step_by(step) {
                self.take_together(
                    &batch.slice(from, step.min(batch.num_rows() - from)),
                    &mut out,
                )?;
            }
        } else {
            self.take_one_by_one(batch, &mut out)?;
        }
        let Self {
            query,
            names,
            accumulators,
            functions,
            kafka,
            ..
        } = self;
        let mut states = OperatorStates::new(
            query,
            BatchStates::new(accumulators, &[], &[], &[]),
            functions,
            self.deletes,
        );
        self.updates += out.updates();
        out.finish(query, names, &mut states, kafka.saturate)
    }

    /// Whether records may be taken many at once: functions of the user see the records in their
    /// order, and sliding windows of Kafka's kind drop those without a value.
    fn joins(&self) -> bool {
        let drops =
            matches!(self.windows, Windows::SlidingOperator(_)) && self.kafka.value.is_some();
        self.functions.is_empty() && !self.spec.every_record && !drops
    }

    fn catch_up(&mut self, out: &mut Changes) -> Result<()> {
        let Self {
            query,
            windows,
            accumulators,
            functions,
            ..
        } = self;
        let mut states = OperatorStates::new(
            query,
            BatchStates::new(accumulators, &[], &[], &[]),
            functions,
            self.deletes,
        );
        windows.catch_up(&mut states, out)
    }

    fn take_together(&mut self, batch: &RecordBatch, out: &mut Changes) -> Result<()> {
        let Self {
            query,
            names,
            keys,
            windows,
            accumulators,
            functions,
            seq_nos,
            ..
        } = self;
        let events = EventBatch::read_numbered(query, names, keys, batch)?;
        let columns = events.columns(query)?;
        let numbers: Vec<SeqNo> = (*seq_nos..).take(events.rows()).collect();
        let mut states = OperatorStates::new(
            query,
            BatchStates::new(accumulators, events.times(), &numbers, &columns),
            functions,
            self.deletes,
        );
        windows.take(&events, query, &mut states, out)?;
        *seq_nos += events.rows() as u64;
        Ok(())
    }

    fn take_one_by_one(&mut self, batch: &RecordBatch, out: &mut Changes) -> Result<()> {
        let Self {
            query,
            names,
            windows,
            accumulators,
            functions,
            seq_nos,
            ..
        } = self;
        let events = EventBatch::read(query, names, batch)?;
        let columns = events.columns(query)?;
        let numbers: Vec<SeqNo> = (*seq_nos..).take(events.rows()).collect();
        let mut states = OperatorStates::new(
            query,
            BatchStates::new(accumulators, events.times(), &numbers, &columns),
            functions,
            self.deletes,
        );
        for row in 0..events.rows() {
            let record = match events.event(row, query)? {
                Event::Tick { input, time } => {
                    states.at = At::default();
                    windows.tick(input, SOURCE, time, &mut states, out)?;
                    continue;
                }
                Event::Record(record) => record,
            };
            if record.key.is_some()
                && matches!(windows, Windows::SlidingOperator(_))
                && events.lacks_value(row)
            {
                self.null_values += 1;
                continue;
            }
            states.at = At {
                row,
                input: events.input(row)?.unwrap_or_default(),
                time: record.time,
            };
            windows.push(record, &mut states, out)?;
        }
        *seq_nos += events.rows() as u64;
        Ok(())
    }

    fn end(&mut self) -> Result<RecordBatch> {
        let Self {
            query,
            names,
            windows,
            accumulators,
            functions,
            kafka,
            ..
        } = self;
        let mut states = OperatorStates::new(
            query,
            BatchStates::new(accumulators, &[], &[], &[]),
            functions,
            self.deletes,
        );
        let mut out = Changes::new(true);
        windows.finish(&mut states, &mut out)?;
        out.finish(query, names, &mut states, kafka.saturate)
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        Counters {
            null_values: self.null_values,
            updates: self.updates,
            ..*self.windows.counters()
        }
    }

    /// Stored windows that are not closed.
    pub fn windows_open(&self) -> usize {
        self.windows.open()
    }

    /// Stream time, in ticks of the time column: the smallest over all inputs.
    pub fn stream_time(&self) -> Option<Time> {
        self.windows.time().slowest().time
    }

    /// The time difference of sliding windows.
    pub(crate) fn difference(&self) -> Span {
        match self.query.windows {
            WindowLengths::Sliding(sliding) => sliding.difference,
            WindowLengths::Session(_) => Span::default(),
        }
    }

    pub(crate) fn saturates(&self) -> bool {
        self.kafka.saturate
    }
}

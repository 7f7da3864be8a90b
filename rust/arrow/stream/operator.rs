//! An operator over Arrow batches: every record in its order, as Kafka Streams does it.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};

use super::changes::{self, Changes};
use super::states::{At, Worked};
use super::user_function::Custom;
use super::windows::Core;
use crate::aggregate::Arrival;
use crate::aggregate::accumulators::Bank;
use crate::aggregate::batch_states::Banked;
use crate::arrow::format::head::Written;
use crate::arrow::keys::Keys;
use crate::arrow::keys::sort_key::Names;
use crate::arrow::plan::fingerprint::Fingerprint;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::spec::{Kafka, Spec};
use crate::arrow::plan::window_lengths::Kind;
use crate::arrow::read::events::{self, Event, Feed, SOURCE};
use crate::error::{Error, Result};
use crate::operator::counters::Counters;
use crate::time::{Span, Time};

/// A record operator.
pub struct Operator {
    pub(crate) query: Arc<Query>,
    pub(crate) names: Names,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) core: Core,
    pub(crate) bank: Bank,
    pub(crate) custom: Vec<Box<dyn Custom>>,
    /// Rows that were read.
    pub(crate) arrivals: Arrival,
    pub(crate) null_values: u64,
    /// Upserts and deletes that were given away.
    pub(crate) updates: u64,
    /// How many pages each segment was last written to.
    pub(crate) written: Written,
    /// Segments whose pages are of another length of segments than this operator's.
    pub(crate) stale: BTreeSet<i64>,
    /// Numbers the keys of a batch that is joined.
    keys: Keys,
    spec: Spec,
    kafka: Kafka,
    deletes: bool,
    failed: bool,
}

impl Operator {
    /// An operator without records. `custom` are the Python functions of the spec, in their order, and the fields of their results.
    pub fn new(spec: &Spec, input: &Schema, custom: Vec<(Box<dyn Custom>, Field)>) -> Result<Self> {
        let (custom, fields): (Vec<_>, Vec<_>) = custom.into_iter().unzip();
        let query = Query::with_python(spec, input, &fields)?;
        events::check(spec, input)?;
        let inputs = spec.inputs.as_ref().map_or(1, |inputs| inputs.count as usize);
        let times = spec.inputs.as_ref().map_or(1, |inputs| if inputs.one_time { 1 } else { inputs.count as usize });
        let core = Core::new(spec, &query, times)?;
        // What leaves out an input is null where a window holds none but that input's records.
        let takes_all = custom.iter().all(|custom| (0..inputs).all(|input| custom.takes(input)));
        let only_custom = query.aggregates.len() == 1 && custom.len() == 1 && takes_all;
        Ok(Self {
            names: Names::new(&query.keys)?,
            fingerprint: Fingerprint::new(spec, &query)?,
            bank: query.bank(),
            core,
            custom,
            arrivals: 0,
            null_values: 0,
            updates: 0,
            keys: Keys::new(&query.keys)?,
            written: Written::new(),
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

    /// The schema of a query's result over the same windows: keys, `window`, aggregates, and `op` where it was asked for.
    pub fn output(&self) -> SchemaRef {
        Arc::clone(&self.query.output)
    }

    /// Takes the rows of a batch in their order; gives the changes. After an error there is no going on.
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
            let reason = "an earlier batch failed half way: restore the operator from its pages".into();
            return Err(Error::Format { what: "operator", reason });
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
                self.take_together(&batch.slice(from, step.min(batch.num_rows() - from)), &mut out)?;
            }
        } else {
            self.take_one_by_one(batch, &mut out)?;
        }
        let Self { query, names, bank, custom, kafka, .. } = self;
        let mut states = Worked::new(query, Banked::new(bank, &[], &[], &[]), custom, self.deletes);
        self.updates += out.updates();
        out.finish(query, names, &mut states, kafka.saturate)
    }

    /// Whether records may be taken many at once: functions of the user see the records in their order, and sliding windows
    /// of Kafka's kind drop those without a value.
    fn joins(&self) -> bool {
        let drops = matches!(self.core, Core::Slides(_)) && self.kafka.value.is_some();
        self.custom.is_empty() && !self.spec.every_record && !drops
    }

    fn catch_up(&mut self, out: &mut Changes) -> Result<()> {
        let Self { query, core, bank, custom, .. } = self;
        let mut states = Worked::new(query, Banked::new(bank, &[], &[], &[]), custom, self.deletes);
        core.catch_up(&mut states, out)
    }

    fn take_together(&mut self, batch: &RecordBatch, out: &mut Changes) -> Result<()> {
        let Self { spec, query, names, keys, core, bank, custom, arrivals, .. } = self;
        let feed = Feed::read_numbered(spec, query, names, keys, batch)?;
        let columns = feed.columns(query)?;
        let numbers: Vec<Arrival> = (*arrivals..).take(feed.rows()).collect();
        let mut states = Worked::new(query, Banked::new(bank, feed.times(), &numbers, &columns), custom, self.deletes);
        core.take(&feed, query, &mut states, out)?;
        *arrivals += feed.rows() as u64;
        Ok(())
    }

    fn take_one_by_one(&mut self, batch: &RecordBatch, out: &mut Changes) -> Result<()> {
        let Self { spec, query, names, core, bank, custom, arrivals, .. } = self;
        let feed = Feed::read(spec, query, names, batch)?;
        let columns = feed.columns(query)?;
        let numbers: Vec<Arrival> = (*arrivals..).take(feed.rows()).collect();
        let mut states = Worked::new(query, Banked::new(bank, feed.times(), &numbers, &columns), custom, self.deletes);
        for row in 0..feed.rows() {
            let record = match feed.event(row, query)? {
                Event::Tick { input, time } => {
                    states.at = At::default();
                    core.tick(input, SOURCE, time, &mut states, out)?;
                    continue;
                }
                Event::Record(record) => record,
            };
            if record.key.is_some() && matches!(core, Core::Slides(_)) && feed.lacks_value(row) {
                self.null_values += 1;
                continue;
            }
            states.at = At { row, input: feed.input(row)?.unwrap_or_default(), time: record.time };
            core.push(record, &mut states, out)?;
        }
        *arrivals += feed.rows() as u64;
        Ok(())
    }

    fn end(&mut self) -> Result<RecordBatch> {
        let Self { query, names, core, bank, custom, kafka, .. } = self;
        let mut states = Worked::new(query, Banked::new(bank, &[], &[], &[]), custom, self.deletes);
        let mut out = Changes::new(true);
        core.finish(&mut states, &mut out)?;
        out.finish(query, names, &mut states, kafka.saturate)
    }

    /// What was counted.
    pub fn counters(&self) -> Counters {
        Counters { null_values: self.null_values, updates: self.updates, ..*self.core.counters() }
    }

    /// Stored windows that are not closed.
    pub fn windows_open(&self) -> usize {
        self.core.open()
    }

    /// Stream time, in ticks of the time column: the smallest over all inputs.
    pub fn stream_time(&self) -> Option<Time> {
        self.core.time().slowest().time
    }

    /// The time difference of sliding windows.
    pub(crate) fn difference(&self) -> Span {
        match self.query.windows {
            Kind::Sliding(sliding) => sliding.difference,
            Kind::Session(_) => Span::default(),
        }
    }

    pub(crate) fn saturates(&self) -> bool {
        self.kafka.saturate
    }
}

//! A query: a spec resolved against the schema of its input.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use super::aggregate::AggregatePlan;
use super::cogroup::Cogroup;
use super::frames::{self, FramedAggregates};
use super::input_column::InputColumn;
use super::limits::Limits;
use super::rule_sources::RuleSources;
use super::source_column::SourceColumn;
use super::spec::{InvalidValue, MOST_SHARDS, Spec, wrong_count};
use super::window_lengths::{self, WindowLengths};
use crate::array::dictionary::unpacked_field;
use crate::array::type_name;
use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::row_filter::RowFilter;
use crate::core::aggregate::window_results::Overflow;
use crate::core::error::{Error, Result};
use crate::core::operator::record::Fault;
use crate::core::session::cut::Cut;
use crate::core::sliding::frame::RangeFrame;
use crate::keys::KeyInterner;

/// What leaves a query.
pub enum QueryOutput {
    /// Windows: key columns, `window`, aggregates.
    Windows {
        /// Whether the column `op` follows.
        op: bool,
    },
    /// The rows themselves, in the order of time.
    Rows {
        /// All columns of the input.
        columns: Vec<SourceColumn>,
    },
    /// The rows themselves, each with `window` and the aggregates.
    RowsWithWindows {
        /// All columns of the input.
        columns: Vec<SourceColumn>,
        /// Their fields.
        rows: SchemaRef,
        /// The query for the windows, with the rows of each.
        windows: Arc<Query>,
    },
}

/// The columns that a query names, without those of its aggregates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuerySources {
    /// The key columns.
    pub keys: Vec<SourceColumn>,
    /// The time column.
    pub time: SourceColumn,
    /// The column of the ends of records.
    pub end: Option<SourceColumn>,
    /// The column that marks ticks.
    pub tick: Option<SourceColumn>,
    /// The column of each record's own gap.
    pub gap: Option<SourceColumn>,
    /// The column that orders records of one time.
    pub tie: Option<SourceColumn>,
    /// The columns of rules for sessions.
    pub rules: RuleSources,
    /// The column of record values, if a record without one is dropped as in Kafka.
    pub value: Option<SourceColumn>,
    /// The column that numbers each row's source partition.
    pub source_number: Option<SourceColumn>,
}

/// A checked query. Everything that can be checked before data arrives was checked.
pub struct Query {
    /// Number of shards.
    pub shards: u32,
    /// The kind of windows, in ticks of the time column.
    pub windows: WindowLengths,
    /// Where sessions are cut, if anywhere. The records of cut sessions are read in the order of
    /// time.
    pub cut: Option<Cut>,
    /// The key columns.
    pub keys: Vec<Field>,
    /// The time column.
    pub time: Field,
    /// The columns of keys, time and so on in the input.
    pub(crate) columns: QuerySources,
    /// What happens to a record whose own gap is not valid.
    pub invalid_gap: InvalidValue,
    /// What happens to a record whose end is null or before its time.
    pub invalid_end: InvalidValue,
    /// Whether records come as they are before a shuffle, because their times are needed after it.
    pub(crate) keeps_records: bool,
    /// The distinct columns that aggregates take.
    pub inputs: Vec<InputColumn>,
    /// The column that numbers the input of each row of a cogroup.
    pub cogroup: Option<Cogroup>,
    /// The aggregates, in order.
    pub aggregates: Vec<AggregatePlan>,
    /// The distinct frames of aggregates.
    pub(crate) frames: Vec<RangeFrame>,
    /// The input that numbers rows, for windows with their rows (a sliding window: those at its
    /// end).
    pub(crate) row_number: Option<usize>,
    /// Whether the order of rows with equal times counts.
    pub needs_seq_no: bool,
    /// What happens to a result that does not fit its type.
    pub(crate) overflow: Overflow,
    /// How many results were null because they did not fit. All threads of a run share it.
    pub(super) overflows: Arc<AtomicU64>,
    /// What leaves the query.
    pub output_kind: QueryOutput,
    /// The columns of the output. None is a dictionary.
    pub output: SchemaRef,
    /// When rows, blocks and windows move on.
    pub limits: Limits,
}

impl Query {
    /// Resolves a spec against the input's schema. All aggregates are built in.
    ///
    /// # Errors
    ///
    /// What [`Self::with_python`] refuses, and Python functions.
    pub fn new(spec: &Spec, input: &Schema) -> Result<Self> {
        Self::with_python(spec, input, &[])
    }

    /// Resolves a spec as a query that gives its rows to record operators, without its aggregates
    /// and the rules that end sessions.
    pub fn of_rows(spec: &Spec, input: &Schema) -> Result<Self> {
        let bare = Spec {
            aggregates: Vec::new(),
            windows: spec.windows.without_rules(),
            ..spec.clone()
        };
        let fields = input.fields().iter().map(|field| unpacked_field(field));
        Ok(Self {
            output_kind: QueryOutput::Rows {
                columns: SourceColumn::all(input),
            },
            needs_seq_no: true,
            output: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            ..Self::new(&bare, input)?
        })
    }

    /// Whether a record with this fault is an error, and not left out.
    pub(crate) fn refuses(&self, fault: Fault) -> bool {
        let invalid = match fault {
            Fault::BadGap => self.invalid_gap,
            Fault::BadEnd => self.invalid_end,
            Fault::NullKey | Fault::NullValue | Fault::NullTime | Fault::NullTie => return false,
        };
        invalid == InvalidValue::Error
    }

    /// Resolves a spec whose Python functions have results of these fields, in order.
    ///
    /// # Errors
    ///
    /// A column that the input does not have or of a type that is not allowed, a length of time
    /// that the time column does not count, or a number out of its bounds.
    pub fn with_python(spec: &Spec, input: &Schema, python: &[Field]) -> Result<Self> {
        if !(1..=MOST_SHARDS).contains(&spec.shards) {
            return Err(wrong_count("shards", spec.shards, MOST_SHARDS));
        }
        let (key_columns, keys): (Vec<_>, Vec<_>) = spec
            .keys
            .iter()
            .map(|name| SourceColumn::find(input, "keys", name))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .map(|(column, field)| (column, field.clone()))
            .unzip();
        let output_keys = KeyInterner::new(&keys)?.output_fields();
        let (time_column, time) = SourceColumn::find(input, "time", &spec.time)?;
        let DataType::Timestamp(unit, zone) = time.data_type() else {
            return Err(Error::ColumnType {
                argument: "time".into(),
                column: spec.time.clone(),
                got: type_name::of(time),
                allowed: "a timestamp".into(),
            });
        };
        let is_zoned = zone.is_some();
        let lengths = spec.length_unit(*unit)?;
        let windows = WindowLengths::in_ticks(spec, lengths)?;
        let value = spec.kafka.as_ref().and_then(|kafka| kafka.value.as_ref());
        let value = value.filter(|_| matches!(windows, WindowLengths::Sliding(_)));
        let integers = |argument, name: &Option<String>| {
            let name = name.as_ref();
            name.map(|name| SourceColumn::of_integers(input, argument, name))
                .transpose()
        };
        let columns = QuerySources {
            keys: key_columns,
            time: time_column,
            tick: spec
                .tick
                .as_ref()
                .map(|name| SourceColumn::of_booleans(input, "tick", name))
                .transpose()?,
            end: SourceColumn::of_ends(spec, input, time)?,
            gap: SourceColumn::of_gaps(&spec.windows, input)?,
            tie: integers("tie", &spec.tie)?,
            rules: RuleSources::new(&spec.windows, input)?,
            value: value
                .map(|name| SourceColumn::find(input, "value", name))
                .transpose()?
                .map(|(column, _)| column),
            source_number: integers("sources", &spec.sources)?,
        };
        let mut inputs: Vec<InputColumn> = Vec::new();
        let cogroup = spec
            .inputs
            .as_ref()
            .map(|inputs_spec| Cogroup::new(inputs_spec, input, &mut inputs))
            .transpose()?;
        spec.aggregates
            .iter()
            .try_for_each(|aggregate| Cogroup::check_aggregate(cogroup.as_ref(), aggregate))?;
        let mut python = python.iter();
        let mut aggregates = spec
            .aggregates
            .iter()
            .map(|aggregate| {
                let mut aggregate = aggregate.clone();
                if let Some(funnel) = &mut aggregate.funnel {
                    funnel.ties = spec.tie.is_some();
                }
                AggregatePlan::new(
                    &aggregate,
                    input,
                    (lengths, time.data_type()),
                    &mut inputs,
                    &mut python,
                    spec.overflow,
                )
            })
            .collect::<Result<Vec<_>>>()?;
        let frames = frames::resolve(&mut aggregates, spec, windows, lengths)?;

        let bound = |name| Field::new(name, time.data_type().clone(), false);
        let window = DataType::Struct(Fields::from(vec![bound("start"), bound("end")]));
        let mut fields = output_keys;
        fields.push(Field::new("window", window, false));
        fields.extend(aggregates.iter().map(|aggregate| aggregate.field().clone()));
        if spec.op {
            fields.push(Field::new("op", DataType::Utf8, false));
        }
        Ok(Self {
            shards: spec.shards,
            windows,
            cut: window_lengths::cut(spec, *unit, is_zoned)?,
            keys,
            columns,
            invalid_gap: spec
                .windows
                .session()
                .map_or_else(InvalidValue::default, |own| own.invalid_gap),
            invalid_end: spec.invalid_end,
            // Sessions are cut in the order of time. With ends, a stream counts the records behind.
            keeps_records: spec.is_cut() || spec.end.is_some() && spec.counts_records(),
            time: time.clone(),
            inputs,
            cogroup,
            aggregates,
            frames,
            // Rows for sliding windows move unchanged, so that they keep all that a later step may
            // need.
            needs_seq_no: matches!(windows, WindowLengths::Sliding(_))
                || spec.tie.is_some()
                || spec
                    .aggregates
                    .iter()
                    .any(|aggregate| aggregate.function.is_ordered()),
            row_number: None,
            overflow: spec.overflow,
            overflows: Arc::default(),
            output_kind: QueryOutput::Windows { op: spec.op },
            output: Arc::new(Schema::new(fields)),
            limits: Limits::default(),
        })
    }

    /// Empty states of the built-in aggregates, which take the columns of
    /// [`Self::accumulator_inputs`]. If a stream returns its records, aggregates that differ in
    /// their frames share states.
    pub fn accumulators(&self) -> Accumulators {
        self.accumulators_of(|aggregate| !aggregate.shares_states)
    }

    /// The built-in aggregates by frame, each with empty states.
    pub(crate) fn by_frame(&self) -> Vec<FramedAggregates> {
        let mut numbers: Vec<Option<usize>> = Vec::new();
        for aggregate in self.aggregates.iter().filter(|known| known.is_built_in()) {
            if !numbers.contains(&aggregate.frame) {
                numbers.push(aggregate.frame);
            }
        }
        let framed = |number: Option<usize>| {
            let frame = number.and_then(|number| self.frames.get(number).copied());
            let states = self.accumulators_of(|aggregate| aggregate.frame == number);
            FramedAggregates::new(&self.aggregates, number, frame, states)
        };
        numbers.into_iter().map(framed).collect()
    }

    /// Empty states of some built-in aggregates.
    fn accumulators_of(&self, has: impl Fn(&AggregatePlan) -> bool) -> Accumulators {
        let positions: Vec<usize> = self.positions().collect();
        let mut from = 0;
        let parts = self.aggregates.iter().filter_map(|aggregate| {
            let range = from..from + aggregate.inputs.len();
            from = range.end + usize::from(aggregate.filter.is_some());
            // The first of equal columns, so that the rows of one filter are selected once.
            let same = |filter| positions.iter().position(|&position| position == filter);
            let filter = RowFilter {
                input: aggregate.only,
                column: aggregate.filter.and_then(same),
            };
            let states = aggregate.states().filter(|_| has(aggregate));
            states.map(|states| (states, range, filter))
        });
        Accumulators::filtered(parts.collect::<Vec<_>>()).with_overflow(self.overflow)
    }

    /// How many results were null because they did not fit their type.
    pub fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }

    /// Counts results that are null because they do not fit their type.
    pub(crate) fn count_overflows(&self, overflows: u64) {
        self.overflows.fetch_add(overflows, Ordering::Relaxed);
    }

    /// Whether records have their own gaps, from a column or because they end their session.
    pub(crate) fn has_own_gaps(&self) -> bool {
        self.columns.gap.is_some() || self.columns.rules.ends.is_some()
    }

    /// Whether the result says why sessions ended.
    pub(crate) fn shows_ends(&self) -> bool {
        let mut aggregates = self.aggregates.iter();
        aggregates.any(AggregatePlan::is_ended_by)
    }

    /// The inputs that the accumulators take: for each aggregate its columns and the column of its
    /// filter, and at the end the column that numbers the input of each row.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        let cogroup = self.cogroup.as_ref().map(|cogroup| cogroup.position);
        self.aggregates
            .iter()
            .flat_map(|aggregate| aggregate.inputs.iter().copied().chain(aggregate.filter))
            .chain(cogroup)
    }

    /// The aggregates whose results are lists, if windows overlap. Such lists may hold many times
    /// the rows.
    pub fn overlapping_lists(&self) -> Vec<&str> {
        let lists = self.aggregates.iter().filter(|known| known.is_list());
        match self.windows {
            WindowLengths::Session(_) => Vec::new(),
            WindowLengths::Sliding(_) => lists.map(|known| known.name.as_str()).collect(),
        }
    }

    /// The columns that the accumulators take, of the query's inputs.
    pub fn accumulator_inputs(&self, inputs: &[ArrayRef]) -> Vec<ArrayRef> {
        self.positions()
            .filter_map(|position| inputs.get(position))
            .cloned()
            .collect()
    }
}

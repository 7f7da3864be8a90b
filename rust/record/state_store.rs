//! The memory of an operator: stored windows, their states, and its progress.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, Field};
use arrow_select::nullif::nullif;

use super::operator_states::{OperatorStates, save};
use super::user_function::UserFunction;
use super::windows::{Windows, dispatch_windows};
use crate::core::aggregate::SeqNo;
use crate::core::aggregate::accumulators::Accumulators;
use crate::core::aggregate::batch_states::BatchStates;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::operator::session_end::SessionEnd;
use crate::core::time::Time;
use crate::core::window::Window;
use crate::keys::sort_key::SortKeys;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use crate::state::head::Clock;
use crate::state::page::broken;

/// Windows, their states, and counters.
pub(crate) struct StateStore {
    pub query: Arc<Query>,
    /// Converts keys to bytes with the same order.
    pub sort_keys: SortKeys,
    pub windows: Windows,
    pub accumulators: Accumulators,
    pub functions: Vec<Box<dyn UserFunction>>,
    /// Whether a null result deletes a window with a single aggregate, as in Kafka (rules 6.5).
    deletes: bool,
    /// Whether to show bounds beyond the latest time as the latest time.
    pub saturates: bool,
    /// The number of rows read so far.
    pub seq_nos: SeqNo,
    /// The number of emitted upserts and deletes.
    pub updates: u64,
    /// The number of results that did not fit their type, before this operator was restored.
    overflows: u64,
}

impl StateStore {
    /// Checks that no record or tick was seen.
    pub(crate) fn check_unused(&self) -> Result<()> {
        let progress = self.windows.time().progress();
        if self.seq_nos > 0 || progress.iter().any(|input| input.time.is_some()) {
            return Err(broken(
                "an operator that has seen records cannot be restored: make a new one",
            ));
        }
        Ok(())
    }

    /// Creates a store without windows. `functions` are the user-defined functions of the spec.
    pub(crate) fn new(
        spec: &Spec,
        query: Query,
        functions: Vec<Box<dyn UserFunction>>,
    ) -> Result<Self> {
        let inputs = spec
            .inputs
            .as_ref()
            .map_or(1, |inputs| inputs.count as usize);
        let times = spec
            .inputs
            .as_ref()
            .filter(|inputs| !inputs.one_time)
            .map_or(1, |_| inputs);
        // An aggregate that ignores an input is null in windows that only have records of that
        // input.
        let takes_all = functions
            .iter()
            .all(|function| (0..inputs).all(|input| function.takes(input)));
        let one_function = query.aggregates.len() == 1 && functions.len() == 1;
        Ok(Self {
            sort_keys: SortKeys::new(&query.keys)?,
            windows: Windows::new(spec, &query, times)?,
            accumulators: query.accumulators(),
            functions,
            deletes: spec.kafka.is_some() && one_function && takes_all,
            saturates: spec.kafka.as_ref().is_some_and(|kafka| kafka.saturate),
            seq_nos: 0,
            updates: 0,
            overflows: 0,
            query: Arc::new(query),
        })
    }

    /// The windows and the states, without rows to add.
    pub(crate) fn at_rest(&mut self) -> (&mut Windows, OperatorStates<'_>) {
        self.with_rows(&[], &[], &[])
    }

    /// The windows and the states, with the rows of a batch. The slices are parallel.
    pub(crate) fn with_rows<'a>(
        &'a mut self,
        times: &'a [Time],
        seq_nos: &'a [SeqNo],
        inputs: &'a [ArrayRef],
    ) -> (&'a mut Windows, OperatorStates<'a>) {
        let batch_states = BatchStates::new(&mut self.accumulators, times, seq_nos, inputs);
        let functions = self.functions.as_mut_slice();
        let states = OperatorStates::new(&self.query, batch_states, functions, self.deletes);
        (&mut self.windows, states)
    }

    /// The counters, including rows that never reach the windows.
    pub(crate) fn counters(&self) -> Counters {
        Counters {
            updates: self.updates,
            overflows: self.overflows + self.query.overflows(),
            ..*dispatch_windows!(&self.windows, |own| own.counters())
        }
    }

    /// The progress of the operator.
    pub(crate) fn clock(&self) -> Clock {
        Clock {
            progress: self.windows.time().progress().to_vec(),
            closed: dispatch_windows!(&self.windows, |own| own.store().closed()),
            seq_nos: self.seq_nos,
            counters: self.counters(),
        }
    }

    /// Resumes from a saved clock, before windows are loaded.
    pub(crate) fn resume(&mut self, clock: Clock) {
        self.seq_nos = clock.seq_nos;
        self.updates = clock.counters.updates;
        self.overflows = clock.counters.overflows;
        dispatch_windows!(&mut self.windows, |own| {
            own.resume(clock.progress, clock.closed, clock.counters);
        });
    }

    /// The results of slots, a column per aggregate. `keys`, `windows` and `ends` are parallel
    /// to `slots`; `ends` is empty if no rule ends sessions.
    pub(crate) fn lower(
        &self,
        keys: &[ArrayRef],
        slots: &[Slot],
        windows: &[Window],
        ends: &[SessionEnd],
    ) -> Result<Vec<ArrayRef>> {
        let (columns, overflows) = self.results(keys, slots, windows, ends)?;
        self.query.count_overflows(overflows);
        Ok(columns)
    }

    /// The same for a look at windows, which counts nothing.
    pub(crate) fn show(
        &self,
        keys: &[ArrayRef],
        slots: &[Slot],
        windows: &[Window],
        ends: &[SessionEnd],
    ) -> Result<Vec<ArrayRef>> {
        Ok(self.results(keys, slots, windows, ends)?.0)
    }

    fn results(
        &self,
        keys: &[ArrayRef],
        slots: &[Slot],
        windows: &[Window],
        ends: &[SessionEnd],
    ) -> Result<(Vec<ArrayRef>, u64)> {
        let query = self.query.as_ref();
        let lowered = self.accumulators.lower(slots);
        let (functions, built_in) = (self.functions.iter(), self.accumulators.widths().len());
        let mut functions = functions.enumerate().map(|(nth, function)| {
            let values = save(query, nth, function.as_ref(), slots, windows)?;
            let unknown = self.accumulators.unknown();
            let is_unknown = slots.iter().map(|&slot| unknown.has(built_in + nth, slot));
            let is_unknown: BooleanArray = is_unknown.map(Some).collect();
            match is_unknown.true_count() {
                0 => Ok(values),
                _ => Ok(nullif(&values, &is_unknown)?),
            }
        });
        query.results(keys, windows, ends, lowered, &mut functions)
    }
}

/// Converts sort keys to key columns.
pub(crate) fn key_columns<'n>(
    sort_keys: &SortKeys,
    names: impl ExactSizeIterator<Item = &'n [u8]> + Clone,
) -> Result<Vec<ArrayRef>> {
    let bytes: usize = names.clone().map(<[u8]>::len).sum();
    let is_wide = |field: &Field| {
        matches!(
            field.data_type(),
            DataType::LargeUtf8 | DataType::LargeBinary
        )
    };
    let fields = sort_keys.fields();
    if i32::try_from(bytes).is_err() && !fields.iter().all(is_wide) {
        return Err(Error::ArrayCapacity {
            column: fields
                .iter()
                .map(|field| field.name().as_str())
                .collect::<Vec<_>>()
                .join(", "),
            reason: format!("{bytes} bytes of keys in one batch, more than {}", i32::MAX),
        });
    }
    sort_keys.columns(names)
}

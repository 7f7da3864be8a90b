//! The states of all aggregates of a query, over shared slots.

use arrow_array::ArrayRef;

use super::query::Query;
use super::values;
use crate::aggregate::column::Column;
use crate::aggregate::slot::Slot;
use crate::aggregate::{Aggregate, Lowered, Rows, Run};
use crate::error::{Error, Result};

/// One vector of states per aggregate.
pub struct States(Vec<Box<dyn Aggregate>>);

/// The inputs of each aggregate of a query, borrowed from the query's inputs.
fn inputs_of<'a>(query: &'a Query, inputs: &'a [Column<'_>]) -> impl Iterator<Item = Vec<Column<'a>>> {
    query.aggregates.iter().map(|planned| planned.inputs.iter().filter_map(|&input| inputs.get(input)).map(Column::borrowed).collect())
}

impl States {
    /// No slots yet.
    pub fn new(query: &Query) -> Self {
        Self(query.states())
    }

    /// Grows to `slots` slots.
    pub fn resize(&mut self, slots: usize) {
        self.0.iter_mut().for_each(|states| states.resize(slots));
    }

    /// Combines each row into its slot. `rows.inputs` are the query's inputs.
    pub fn update(&mut self, query: &Query, slots: &[Slot], rows: Rows<'_>) -> Result<()> {
        for (states, inputs) in self.0.iter_mut().zip(inputs_of(query, rows.inputs)) {
            states.update(slots, Rows { inputs: &inputs, ..rows })?;
        }
        Ok(())
    }

    /// Combines slots of `other` into slots of this one.
    pub fn merge(&mut self, into: &[Slot], other: &Self, from: &[Slot]) -> Result<()> {
        self.0.iter_mut().zip(&other.0).try_for_each(|(states, other)| states.merge(into, other.as_ref(), from))
    }

    /// The results of slots, one column an aggregate.
    pub fn lower(&self, slots: &[Slot]) -> Vec<Lowered> {
        self.0.iter().map(|states| states.lower(slots)).collect()
    }

    /// The results of sliding windows, one column an aggregate.
    pub fn sweep(&self, query: &Query, rows: Rows<'_>, runs: &[Run]) -> Result<Vec<Lowered>> {
        self.0
            .iter()
            .zip(inputs_of(query, rows.inputs))
            .map(|(states, inputs)| states.sweep(Rows { inputs: &inputs, ..rows }, runs))
            .collect()
    }

    /// The states of slots as arrays, those of one aggregate after the other.
    pub fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        self.0.iter().flat_map(|states| states.save(slots)).map(values::array).collect()
    }

    /// Reads states that `save` wrote.
    pub fn load(&self, arrays: &[ArrayRef]) -> Result<Self> {
        let mut rest = arrays;
        let mut loaded = Vec::with_capacity(self.0.len());
        for states in &self.0 {
            let wanted = states.save(&[]).len();
            let wrong = || Error::Format { what: "block", reason: "it has too few columns of states".into() };
            let (arrays, others) = rest.split_at_checked(wanted).ok_or_else(wrong)?;
            let columns = arrays.iter().map(values::view).collect::<Result<Vec<_>>>()?;
            loaded.push(states.load(&columns)?);
            rest = others;
        }
        Ok(Self(loaded))
    }
}

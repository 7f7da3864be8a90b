//! The state of one slot. [`State`] defines it, and [`StateVec`] turns it into an [`Aggregate`].

use arrow_array::ArrayRef;

use super::argument::Argument;
use super::list_values::ListValues;
use super::row_spans::RowSpans;
use super::slot::{PerSlot, Slot};
use super::{Aggregate, InputRows, downcast, sweep};
use crate::core::error::Result;

/// The state of one slot. Its default is the identity: the state of no rows.
///
/// [`Self::merge`] is associative and commutative, and adding a row is merging the state of that
/// row alone. Only rows of one time and one tie keep the order in which they are added.
pub trait State: Clone + Default + Send + Sync + 'static {
    /// The options of the aggregate, the same for all slots.
    type Options: Clone + Send + Sync + 'static;
    /// What it takes from a row.
    type Argument: Argument;

    /// The number of rows up to which a state may have a value of each, so that it is no smaller than
    /// the rows.
    fn kept_rows(_options: &Self::Options) -> usize {
        0
    }

    /// The largest number of values in the list of a window; none if the result is not a list.
    fn longest_list(_options: &Self::Options) -> Option<usize> {
        None
    }

    /// Adds a row.
    fn add(&mut self, options: &Self::Options, row: <Self::Argument as Argument>::Row<'_>);

    /// Adds the rows of another state.
    fn merge(&mut self, other: &Self);

    /// The results, one for each state.
    ///
    /// # Errors
    ///
    /// [`ResultOverflow`](crate::core::error::Error::ResultOverflow) names the first state whose result
    /// does not fit its type.
    fn lower<'s>(
        options: &Self::Options,
        states: impl Iterator<Item = &'s Self> + Clone,
    ) -> Result<ArrayRef>;

    /// The columns of a page or a block, with one row for each state. Their number is always the same.
    fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef>;

    /// Reads what [`Self::save`] wrote.
    ///
    /// # Errors
    ///
    /// The columns are not what `save` writes.
    fn load(columns: &[ArrayRef]) -> Result<Vec<Self>>;

    /// The total size of the lists that [`Self::sweep`] makes of these rows, if results are lists.
    ///
    /// # Errors
    ///
    /// The aggregate does not take these columns.
    fn list_values(
        _options: &Self::Options,
        _rows: InputRows<'_>,
        _runs: RowSpans<'_>,
    ) -> Result<ListValues> {
        Ok(ListValues::default())
    }

    /// The results of sliding windows over rows sorted by (key, time, arrival), one for each span.
    /// The default merges states. Override it where another way is faster.
    ///
    /// # Errors
    ///
    /// As [`Self::lower`], and if the aggregate does not take these columns.
    fn sweep(
        options: &Self::Options,
        rows: InputRows<'_>,
        spans: RowSpans<'_>,
    ) -> Result<ArrayRef> {
        let columns = Self::Argument::columns(rows)?;
        let mut states = Vec::with_capacity(spans.len());
        sweep::two_stacks(
            spans,
            Self::default(),
            |state, row| {
                if let Some(row) = Self::Argument::get(columns, row) {
                    state.add(options, row);
                }
            },
            Self::merge,
            |state| states.push(state.clone()),
        );
        Self::lower(options, states.iter())
    }
}

/// `save` and `load` of a state that is another one under a name of its own.
macro_rules! save_as {
    ($state:ty) => {
        fn save<'s>(states: impl Iterator<Item = &'s Self> + Clone) -> Vec<ArrayRef> {
            <$state>::save(states.map(|state| &state.0))
        }

        fn load(columns: &[ArrayRef]) -> Result<Vec<Self>> {
            Ok(<$state>::load(columns)?.into_iter().map(Self).collect())
        }
    };
}
pub(crate) use save_as;

/// An aggregate with one state per slot.
#[derive(Clone, Debug, Default)]
pub struct StateVec<S: State> {
    options: S::Options,
    states: PerSlot<S>,
}

impl<S: State> StateVec<S> {
    /// The aggregate, without slots.
    pub fn new(options: S::Options) -> Self {
        Self {
            options,
            states: PerSlot::default(),
        }
    }

    fn states_of<'s>(&'s self, slots: &'s [Slot]) -> impl Iterator<Item = &'s S> + Clone {
        slots.iter().map(|&slot| &self.states[slot])
    }
}

impl<S: State> Aggregate for StateVec<S> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::new(self.options.clone()))
    }

    fn longest_list(&self) -> Option<usize> {
        S::longest_list(&self.options)
    }

    fn kept_rows(&self) -> usize {
        S::kept_rows(&self.options)
    }

    fn list_values(&self, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ListValues> {
        S::list_values(&self.options, rows, spans)
    }

    fn resize(&mut self, slots: usize) {
        self.states.resize(slots, S::default());
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let (options, states) = (&self.options, &mut self.states);
        S::Argument::for_each(rows, slots, |slot, row| states[slot].add(options, row))
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        if let Some(row) = S::Argument::get(S::Argument::columns(rows)?, row) {
            self.states[slot].add(&self.options, row);
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = downcast(other)?;
        for (&into, &from) in into.iter().zip(from) {
            self.states[into].merge(&other.states[from]);
        }
        Ok(())
    }

    fn absorb(&mut self, into: Slot, from: Slot) {
        let other = self.states[from].clone();
        self.states[into].merge(&other);
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.states[to] = self.states[from].clone();
    }

    fn clear(&mut self, slot: Slot) {
        self.states[slot] = S::default();
    }

    fn lower(&self, slots: &[Slot]) -> Result<ArrayRef> {
        S::lower(&self.options, self.states_of(slots))
    }

    fn save(&self, slots: &[Slot]) -> Vec<ArrayRef> {
        S::save(self.states_of(slots))
    }

    fn load(&self, columns: &[ArrayRef]) -> Result<Box<dyn Aggregate>> {
        Ok(Box::new(Self {
            options: self.options.clone(),
            states: PerSlot(S::load(columns)?),
        }))
    }

    fn sweep(&self, rows: InputRows<'_>, spans: RowSpans<'_>) -> Result<ArrayRef> {
        S::sweep(&self.options, rows, spans)
    }
}

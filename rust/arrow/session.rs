//! The work of a session query: rows to partial sessions, partial sessions to blocks and to windows.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{Field, Schema};

use super::input::Input;
use super::job::{Emit, Job, Partials, RESULT_ROWS, slots};
use super::keys::{Keys, shard};
use super::query::Query;
use super::states::States;
use crate::aggregate::slot::Slot;
use crate::aggregate::{Arrival, Rows};
use crate::error::{Error, Result};
use crate::key::KeyId;
use crate::session::batch::Sessions;
use crate::sort::Sorted;
use crate::time::{Span, Time};
use crate::window::{Extent, Window};

/// A session query at work.
pub struct SessionJob {
    query: Arc<Query>,
    gap: Span,
    keys: Keys,
    sessions: Sessions,
    states: States,
    waiting: Waiting,
}

/// Waiting rows that are enough where rows come in order, so that they stay in the caches.
const CALM_ROWS: usize = 1 << 16;

/// Rows that have a key number and wait for their sessions: the more rows at once, the better shuffled ones are grouped.
#[derive(Default)]
struct Waiting {
    keys: Vec<KeyId>,
    times: Vec<Time>,
    inputs: Vec<(Input, Arrival)>,
}

/// Sessions taken out of a job.
struct Taken {
    keys: Vec<KeyId>,
    extents: Vec<Extent>,
    states: States,
}

impl SessionJob {
    /// No rows yet.
    pub fn new(query: Arc<Query>, gap: Span) -> Result<Self> {
        let keys = Keys::new(&query.keys)?;
        let states = States::new(&query);
        Ok(Self { query, gap, keys, sessions: Sessions::default(), states, waiting: Waiting::default() })
    }

    /// Gives the waiting rows their sessions.
    fn assign(&mut self) -> Result<()> {
        let Waiting { keys, times, inputs } = std::mem::take(&mut self.waiting);
        let assigned = self.sessions.assign(&keys, &times, self.gap);
        self.states.resize(self.sessions.len());
        let mut rest = assigned.as_slice();
        for (input, arrival) in &inputs {
            let (slots, others) = rest.split_at_checked(input.rows()).ok_or(Error::Internal("each row has a slot"))?;
            rest = others;
            let arrivals: Vec<Arrival> = if self.query.minds_arrival { (*arrival..).take(slots.len()).collect() } else { Vec::new() };
            self.states.update(&self.query, slots, Rows { times: input.times(), arrivals: &arrivals, inputs: &input.inputs()? })?;
        }
        Ok(())
    }

    /// Takes all sessions out, those joined that belong together. The keys stay.
    fn coalesce(&mut self) -> Result<Taken> {
        self.assign()?;
        let coalesced = self.sessions.coalesce();
        let mut states = std::mem::replace(&mut self.states, States::new(&self.query));
        if let Some(moves) = coalesced.moves {
            let mut joined = States::new(&self.query);
            joined.resize(coalesced.keys.len());
            joined.merge(&moves, &states, &slots(moves.len()))?;
            states = joined;
        }
        Ok(Taken { keys: coalesced.keys, extents: coalesced.extents, states })
    }

    /// Puts partial sessions in: slots `from` of `states`, parallel to `keys` and `extents`.
    fn put(&mut self, keys: &[KeyId], extents: &[Extent], states: &States, from: &[Slot]) -> Result<()> {
        let into = self.sessions.assign_partials(keys, extents);
        self.states.resize(self.sessions.len());
        self.states.merge(&into, states, from)
    }

    fn emit(&self, taken: &Taken, closed: &[Slot], emit: &mut Emit<'_>) -> Result<()> {
        for slots in closed.chunks(RESULT_ROWS) {
            let keys: Vec<KeyId> = of(slots, &taken.keys);
            let windows: Vec<Window> = of(slots, &taken.extents).iter().map(Extent::window).collect();
            emit(self.query.result(self.keys.columns(&keys)?, &windows, taken.states.lower(slots))?);
        }
        Ok(())
    }
}

/// The entries of slots.
fn of<T: Copy>(slots: &[Slot], entries: &[T]) -> Vec<T> {
    slots.iter().filter_map(|slot| entries.get(slot.0 as usize).copied()).collect()
}

impl Job for SessionJob {
    fn add(&mut self, input: Input, arrival: Arrival) -> Result<()> {
        self.keys.intern(&input.keys, &mut self.waiting.keys)?;
        self.waiting.times.extend_from_slice(input.times());
        self.waiting.inputs.push((input, arrival));
        Ok(())
    }

    fn settle(&mut self, most: usize) -> Result<()> {
        let enough = if self.sessions.is_shuffled() { most } else { most.min(CALM_ROWS) };
        if self.waiting.times.len() < enough { Ok(()) } else { self.assign() }
    }

    fn add_block(&mut self, block: &RecordBatch) -> Result<()> {
        let wrong = || Error::Format { what: "block", reason: format!("unexpected columns {:?}", block.schema().fields()) };
        let (keys, rest) = block.columns().split_at_checked(self.query.keys.len()).ok_or_else(wrong)?;
        let [start, end, states @ ..] = rest else { return Err(wrong()) };
        let times = |array: &ArrayRef| array.as_primitive_opt::<Int64Type>().map(|array| array.values().clone()).ok_or_else(wrong);
        let extents: Vec<Extent> = times(start)?.iter().zip(&*times(end)?).map(|(&start, &end)| extent(start, end, self.gap)).collect();
        let states = self.states.load(states)?;
        let mut ids = Vec::with_capacity(extents.len());
        self.keys.intern(keys, &mut ids)?;
        self.put(&ids, &extents, &states, &slots(extents.len()))
    }

    fn take(&mut self) -> Result<Partials> {
        let taken = self.coalesce()?;
        let hashes = self.keys.hashes();
        let shard_of = |key: KeyId| hashes.get(key.0 as usize).map_or(0, |&hash| shard(hash, self.query.shards));
        let shards: Vec<KeyId> = taken.keys.iter().map(|&key| KeyId(shard_of(key))).collect();
        let starts: Vec<Time> = taken.extents.iter().map(|extent| extent.start).collect();
        let sorted: Vec<Slot> = Sorted::new(&shards, &starts).rows().map(Slot).collect();

        let (starts, extents) = (of(&sorted, &starts), of(&sorted, &taken.extents));
        let mut columns = self.keys.columns(&of(&sorted, &taken.keys))?;
        columns.push(Arc::new(Int64Array::from(Time::ticks(&starts).to_vec())));
        columns.push(Arc::new(Int64Array::from_iter_values(extents.iter().map(|extent| extent.end.0))));
        columns.extend(taken.states.save(&sorted)?);
        let shards = of(&sorted, &shards).iter().map(|shard| shard.0).collect();
        Ok(Partials { rows: unnamed(columns)?, shards, times: starts })
    }

    fn close(&mut self, frontier: Option<Time>, emit: &mut Emit<'_>) -> Result<()> {
        let taken = self.coalesce()?;
        let (closed, open): (Vec<Slot>, Vec<Slot>) = slots(taken.extents.len()).into_iter().partition(|slot| {
            frontier.is_none_or(|frontier| taken.extents.get(slot.0 as usize).is_some_and(|extent| extent.closed_before(frontier)))
        });
        self.emit(&taken, &closed, emit)?;
        // Keys whose sessions have all left are forgotten.
        let columns = self.keys.columns(&of(&open, &taken.keys))?;
        self.keys.clear();
        let mut keys = Vec::with_capacity(open.len());
        self.keys.intern(&columns, &mut keys)?;
        self.put(&keys, &of(&open, &taken.extents), &taken.states, &open)
    }

    fn held(&self) -> usize {
        self.sessions.len()
    }

    fn keys(&mut self) -> &mut Keys {
        &mut self.keys
    }
}

/// A stored session.
fn extent(start: i64, end: i64, gap: Span) -> Extent {
    Extent { start: Time(start), ..Extent::of(Time(end), gap) }
}

/// Arrays as a batch; the columns of a block are known by their place.
pub(super) fn unnamed(columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .enumerate()
        .map(|(place, array)| Field::new(place.to_string(), array.data_type().clone(), array.is_nullable()))
        .collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

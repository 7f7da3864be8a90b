//! The work of a session query: rows to partial sessions, partial sessions to blocks and to
//! windows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, new_empty_array};
use arrow_select::interleave::interleave;

use super::operator::{BatchOperator, BatchSink, RESULT_ROWS, ShardRows, in_halves};
use super::pending::PendingRows;
use super::session_groups::{KeyedRows, SessionGroups, of};
use crate::aggregate::slot::Slot;
use crate::arrow::array::convert;
use crate::arrow::array::named::unnamed;
use crate::arrow::format::block::BlockKind;
use crate::arrow::keys::{KeyInterner, shard};
use crate::arrow::plan::input_column::InputColumn;
use crate::arrow::plan::query::Query;
use crate::arrow::read::records::Records;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::key::KeyId;
use crate::session::windows::Gap;
use crate::sort::Sorted;
use crate::time::{Span, Time};
use crate::window::Extent;

/// A session query at work.
pub struct BatchSessions {
    query: Arc<Query>,
    gap: Gap,
    keys: KeyInterner,
    grouping: SessionGroups,
    fresh: PendingRows,
}

impl BatchSessions {
    /// No rows yet.
    pub fn new(query: Arc<Query>, gap: Gap) -> Result<Self> {
        Ok(Self {
            keys: KeyInterner::new(&query.keys)?,
            grouping: SessionGroups::new(Arc::clone(&query), gap),
            query,
            gap,
            fresh: PendingRows::default(),
        })
    }

    /// Numbers the keys of all rows, which then wait for their sessions.
    fn number(&mut self) -> Result<()> {
        for mut input in self.fresh.take() {
            let mut keys = Vec::with_capacity(input.rows());
            // The columns are let go: rows may wait long.
            self.keys
                .intern(&std::mem::take(&mut input.keys), &mut keys)?;
            self.grouping.add(keys, input);
        }
        Ok(())
    }

    /// The shard of each key, as a number to sort by.
    fn shards(&self, keys: &[KeyId]) -> Vec<KeyId> {
        let hashes = self.keys.hashes();
        let shard_of = |key: &KeyId| {
            hashes
                .get(key.0 as usize)
                .map_or(0, |&hash| shard(hash, self.query.shards))
        };
        keys.iter().map(|key| KeyId(shard_of(key))).collect()
    }

    /// Records that are not grouped: keys, times, gaps and arrivals where there are any, and the
    /// query's inputs.
    fn loose(&self, waiting: &KeyedRows, interrupt: &Interrupt) -> Result<ShardRows> {
        let (keys, times) = (
            waiting.all(|(keys, _)| keys),
            waiting.all(|(_, input)| input.times()),
        );
        let shards = self.shards(&keys);
        let sorted: Vec<Slot> = Sorted::new(&shards, &times, interrupt)?
            .rows()
            .map(Slot)
            .collect();
        let times = of(&sorted, &times);
        let mut columns = self.keys.columns(&of(&sorted, &keys))?;
        columns.push(Arc::new(Int64Array::from(Time::ticks(&times).to_vec())));
        if let Gap::Dynamic { .. } = self.gap {
            let gaps = of(&sorted, &waiting.all(|(_, input)| input.gaps()));
            columns.push(Arc::new(Int64Array::from_iter_values(
                gaps.iter().map(|gap| gap.0.cast_signed()),
            )));
        }
        if self.query.needs_seq_no {
            let seq_nos = of(&sorted, &waiting.all(|(_, input)| input.seq_nos()));
            columns.push(Arc::new(Int64Array::from_iter_values(
                seq_nos.iter().map(|seq_no| seq_no.cast_signed()),
            )));
        }
        let numbered = waiting.inputs.iter().enumerate();
        let places: Vec<(usize, usize)> = numbered
            .flat_map(|(nth, (_, input))| (0..input.rows()).map(move |row| (nth, row)))
            .collect();
        let places = of(&sorted, &places);
        for nth in 0..self.query.inputs.len() {
            let arrays: Vec<&dyn Array> = waiting
                .inputs
                .iter()
                .filter_map(|(_, input)| Some(input.arrays().get(nth)?.as_ref()))
                .collect();
            columns.push(interleave(&arrays, &places)?);
        }
        let shards = of(&sorted, &shards).iter().map(|shard| shard.0).collect();
        Ok(ShardRows {
            form: BlockKind::Records,
            rows: unnamed(columns)?,
            shards,
            times,
        })
    }

    /// What [`Self::loose`] gave away, without its keys; none of other columns.
    fn records(&self, columns: &[ArrayRef]) -> Option<Records> {
        let ticks = |array: &ArrayRef| {
            array
                .as_primitive_opt::<Int64Type>()
                .map(|array| array.values().to_vec())
        };
        let (times, mut rest) = columns.split_first()?;
        times.as_primitive_opt::<Int64Type>()?;
        let mut next = || {
            let (column, others) = rest.split_first()?;
            rest = others;
            ticks(column)
        };
        let gaps = match self.gap {
            Gap::Fixed(_) => None,
            Gap::Dynamic { .. } => Some(
                next()?
                    .into_iter()
                    .map(|gap| Span(gap.cast_unsigned()))
                    .collect(),
            ),
        };
        let seq_nos = if self.query.needs_seq_no {
            next()?.into_iter().map(i64::cast_unsigned).collect()
        } else {
            Vec::new()
        };
        let is_of = |taken: &InputColumn, array: &ArrayRef| {
            convert::canonical(&new_empty_array(taken.field.data_type()))
                .is_ok_and(|empty| empty.data_type() == array.data_type())
        };
        let fits = rest.len() == self.query.inputs.len()
            && self
                .query
                .inputs
                .iter()
                .zip(rest)
                .all(|(taken, array)| is_of(taken, array));
        fits.then(|| Records::of(Arc::clone(times), gaps, seq_nos, rest.to_vec()))
    }
}

impl BatchOperator for BatchSessions {
    fn add(&mut self, input: Records) -> Result<()> {
        self.fresh.add(input);
        Ok(())
    }

    fn process(&mut self, most: usize, interrupt: &Interrupt) -> Result<()> {
        if !self.fresh.is_enough(most) {
            return Ok(());
        }
        self.number()?;
        self.grouping.process(most, interrupt)
    }

    fn add_block(&mut self, form: BlockKind, block: &RecordBatch) -> Result<()> {
        let wrong = || Error::Format {
            what: "block",
            reason: format!("unexpected columns {:?}", block.schema().fields()),
        };
        let (keys, rest) = block
            .columns()
            .split_at_checked(self.query.keys.len())
            .ok_or_else(wrong)?;
        let mut ids = Vec::with_capacity(block.num_rows());
        self.keys.intern(keys, &mut ids)?;
        if ids.contains(&KeyId::NULL) {
            return Err(Error::Format {
                what: "block",
                reason: "a row has no key".into(),
            });
        }
        if form == BlockKind::Records {
            let records = self.records(rest).ok_or_else(wrong)?;
            self.grouping.add(ids, records);
            return Ok(());
        }
        let [start, end, states @ ..] = rest else {
            return Err(wrong());
        };
        let times = |array: &ArrayRef| {
            array
                .as_primitive_opt::<Int64Type>()
                .map(|array| array.values().clone())
                .ok_or_else(wrong)
        };
        let (starts, ends) = (times(start)?, times(end)?);
        let bounds = starts
            .iter()
            .zip(&*ends)
            .map(|(&start, &end)| (Time(start), Time(end)));
        let (extents, states): (Vec<Extent>, _) = match (self.gap, states) {
            (Gap::Fixed(gap), states) => (
                bounds
                    .map(|(start, end)| Extent {
                        start,
                        ..Extent::of(end, gap)
                    })
                    .collect(),
                states,
            ),
            (Gap::Dynamic { .. }, [reach, states @ ..]) => {
                let reaches = times(reach)?;
                (
                    bounds
                        .zip(&*reaches)
                        .map(|((start, end), &reach)| Extent {
                            start,
                            end,
                            reach: Time(reach),
                        })
                        .collect(),
                    states,
                )
            }
            (Gap::Dynamic { .. }, []) => return Err(wrong()),
        };
        let states = states
            .iter()
            .map(convert::view)
            .collect::<Result<Vec<_>>>()?;
        let states = self.query.accumulators().load(&states)?;
        self.grouping
            .put(&ids, &extents, &states, &Slot::below(extents.len()))
    }

    fn take(&mut self, interrupt: &Interrupt) -> Result<Vec<ShardRows>> {
        self.number()?;
        self.grouping.process(usize::MAX, interrupt)?;
        let loose = self
            .grouping
            .loose(interrupt)?
            .map(|waiting| self.loose(&waiting, interrupt))
            .transpose()?;
        let taken = self.grouping.coalesce(interrupt)?;
        let shards = self.shards(&taken.keys);
        let starts: Vec<Time> = taken.extents.iter().map(|extent| extent.start).collect();
        let sorted: Vec<Slot> = Sorted::new(&shards, &starts, interrupt)?
            .rows()
            .map(Slot)
            .collect();

        let (starts, extents) = (of(&sorted, &starts), of(&sorted, &taken.extents));
        let mut columns = self.keys.columns(&of(&sorted, &taken.keys))?;
        columns.push(Arc::new(Int64Array::from(Time::ticks(&starts).to_vec())));
        columns.push(Arc::new(Int64Array::from_iter_values(
            extents.iter().map(|extent| extent.end.0),
        )));
        if let Gap::Dynamic { .. } = self.gap {
            columns.push(Arc::new(Int64Array::from_iter_values(
                extents.iter().map(|extent| extent.reach.0),
            )));
        }
        for column in taken.states.save(&sorted) {
            columns.push(convert::array(column)?);
        }
        let shards = of(&sorted, &shards).iter().map(|shard| shard.0).collect();
        let sessions = ShardRows {
            form: BlockKind::Sessions,
            rows: unnamed(columns)?,
            shards,
            times: starts,
        };
        Ok(loose.into_iter().chain([sessions]).collect())
    }

    fn close(
        &mut self,
        frontier: Option<Time>,
        emit: &mut BatchSink<'_>,
        interrupt: &Interrupt,
    ) -> Result<()> {
        self.number()?;
        let taken = self.grouping.coalesce(interrupt)?;
        let (closed, open): (Vec<Slot>, Vec<Slot>) = Slot::below(taken.extents.len())
            .into_iter()
            .partition(|slot| {
                frontier.is_none_or(|frontier| {
                    taken
                        .extents
                        .get(slot.0 as usize)
                        .is_some_and(|extent| extent.closed_before(frontier))
                })
            });
        for slots in closed.chunks(RESULT_ROWS) {
            let mut result = |range: Range<usize>| {
                let slots = slots.get(range).unwrap_or_default();
                let keys = self.keys.columns(&of(slots, &taken.keys))?;
                self.query
                    .result(keys, &taken.windows(slots), taken.states.lower(slots))
            };
            in_halves(0..slots.len(), &mut result, emit, interrupt)?;
        }
        // Keys whose sessions have all left are forgotten.
        let columns = self.keys.columns(&of(&open, &taken.keys))?;
        self.keys.clear();
        let mut keys = Vec::with_capacity(open.len());
        self.keys.intern(&columns, &mut keys)?;
        self.grouping
            .put(&keys, &of(&open, &taken.extents), &taken.states, &open)
    }

    fn held(&self) -> usize {
        self.fresh.rows() + self.grouping.held()
    }

    fn keys(&mut self) -> &mut KeyInterner {
        &mut self.keys
    }
}

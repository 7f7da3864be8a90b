//! The changes of one batch: gathered with their states, lowered once, and written as rows.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::take::take;

use super::states::OperatorStates;
use crate::aggregate::slot::Slot;
use crate::aggregate::states::States;
use crate::arrow::keys::sort_key::SortKeys;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::window_lengths::WindowLengths;
use crate::error::{Error, Result};
use crate::operator::change::{Change, Op, Sink};
use crate::time::Time;
use crate::window::Window;

/// Changes in their order.
pub struct Changes {
    /// Only the last change of a window counts (rules 6.2), and where it stands.
    latest: Option<Latest>,
    rows: Vec<Row>,
}

/// The last change of each window of a key.
type Latest = HashMap<(Box<[u8]>, Window), usize>;

struct Row {
    name: Box<[u8]>,
    window: Window,
    time: Time,
    op: Op,
    slot: Option<Slot>,
    /// Whether the window stood in the store before the batch.
    known: bool,
    /// Whether a later change took its place.
    overtaken: bool,
}

/// Keys, `window`, aggregates, `op`, `time`: what happened, and the time of it as Kafka stamps it.
pub fn schema(query: &Query) -> SchemaRef {
    let nullable = |field: &Arc<Field>| Arc::new(field.as_ref().clone().with_nullable(true));
    let keys_and_window = query.keys.len() + 1;
    let shown = query.output.fields().iter().take(keys_and_window).cloned();
    let aggregates = query
        .output
        .fields()
        .iter()
        .skip(keys_and_window)
        .take(query.aggregates.len())
        .map(nullable);
    let op = Arc::new(Field::new("op", arrow_schema::DataType::Utf8, false));
    let time = Arc::new(Field::new("time", query.time.data_type().clone(), false));
    Arc::new(Schema::new(
        shown
            .chain(aggregates)
            .chain([op, time])
            .collect::<Vec<_>>(),
    ))
}

impl Changes {
    /// No changes yet; with `every`, each of them counts.
    pub fn new(every: bool) -> Self {
        Self {
            latest: (!every).then(HashMap::new),
            rows: Vec::new(),
        }
    }

    /// Whether a change is not told: another one of its window came later, or nothing stood there
    /// before the batch.
    fn is_unseen(&self, row: &Row) -> bool {
        row.overtaken || (self.latest.is_some() && row.op == Op::Delete && !row.known)
    }

    /// How many upserts and deletes are told.
    pub fn updates(&self) -> u64 {
        let updates = self
            .rows
            .iter()
            .filter(|row| matches!(row.op, Op::Upsert | Op::Delete) && !self.is_unseen(row));
        updates.count() as u64
    }

    /// The changes as rows; their slots are given back.
    pub fn finish(
        mut self,
        query: &Query,
        names: &SortKeys,
        states: &mut OperatorStates<'_>,
        saturate: bool,
    ) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let (left_out, rows): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| self.is_unseen(row));
        left_out
            .iter()
            .filter_map(|row| row.slot)
            .for_each(|slot| states.release(slot));

        let slots: Vec<Slot> = rows.iter().filter_map(|row| row.slot).collect();
        let windows: Vec<Window> = rows.iter().map(|row| row.window).collect();
        if !saturate {
            check(query, &windows)?;
        }
        let of_slots: Vec<Window> = rows
            .iter()
            .filter(|row| row.slot.is_some())
            .map(|row| row.window)
            .collect();
        let mut columns = names.columns(rows.iter().map(|row| row.name.as_ref()))?;
        columns.push(query.window(&windows)?);
        let lowered = states.lower(&slots, &of_slots)?;
        let mut next = 0..;
        let places: UInt32Array = rows
            .iter()
            .map(|row| row.slot.and_then(|_| next.next()))
            .collect();
        for column in lowered {
            columns.push(if places.null_count() == 0 {
                column
            } else {
                take(&column, &places, None)?
            });
        }
        columns.push(Arc::new(StringArray::from_iter_values(
            rows.iter().map(|row| word(row.op)),
        )) as ArrayRef);
        columns.push(query.times(rows.iter().map(|row| row.time))?);
        slots.iter().for_each(|&slot| states.release(slot));
        Ok(RecordBatch::try_new(schema(query), columns)?)
    }
}

/// Sliding windows that end beyond the latest time cannot be shown.
pub fn check(query: &Query, windows: &[Window]) -> Result<()> {
    let WindowLengths::Sliding(sliding) = query.windows else {
        return Ok(());
    };
    match windows
        .iter()
        .find(|window| window.start.checked_add(sliding.difference).is_none())
    {
        Some(window) => Err(query.beyond(window.start)),
        None => Ok(()),
    }
}

/// The value of the column `op`. A window that is final is no other news than its last value.
fn word(op: Op) -> &'static str {
    match op {
        Op::Upsert | Op::Final => "upsert",
        Op::Delete => "delete",
        Op::Late => "late",
    }
}

impl Sink<OperatorStates<'_>> for Changes {
    fn emit(&mut self, change: Change<'_>, states: &mut OperatorStates<'_>) -> Result<()> {
        let Change {
            name,
            window,
            time,
            op,
            mut known,
            ..
        } = change;
        // A window is final by time, not by the record at hand.
        let at = if op == Op::Final {
            std::mem::take(&mut states.at)
        } else {
            states.at
        };
        let next = self.rows.len();
        // The copy that an overtaken change holds is overwritten.
        let mut kept = None;
        if let (Some(latest), Op::Upsert | Op::Delete) = (&mut self.latest, op)
            && let Some(before) = latest.insert((name.into(), window), next)
        {
            let before = self
                .rows
                .get_mut(before)
                .ok_or(Error::Internal("a change was gathered"))?;
            before.overtaken = true;
            known = before.known;
            kept = before.slot.take();
        }
        let slot = match (change.slot, kept) {
            (Some(slot), Some(kept)) => {
                states.overwrite(kept, slot, window)?;
                Some(kept)
            }
            (Some(slot), None) => Some(states.keep(slot, window)?),
            (None, kept) => {
                kept.into_iter().for_each(|kept| states.release(kept));
                None
            }
        };
        states.at = at;
        self.rows.push(Row {
            name: name.into(),
            window,
            time,
            op,
            slot,
            known,
            overtaken: false,
        });
        Ok(())
    }
}

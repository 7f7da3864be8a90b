//! Changes as Arrow batches.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;

use super::changes::Changes;
use super::state_store::{StateStore, key_columns};
use crate::array::halves::in_halves;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::operator::change::{Op, WindowChange};
use crate::core::operator::session_end::SessionEnd;
use crate::core::window::Window;
use crate::plan::query::Query;
use crate::plan::window_lengths::WindowLengths;

/// The schema of changes: keys, `window`, aggregates, `op`, `time`. `time` is the timestamp that
/// Kafka would give the change.
pub(crate) fn schema(query: &Query) -> SchemaRef {
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
    let op = Arc::new(Field::new("op", DataType::Utf8, false));
    let time = Arc::new(Field::new("time", query.time.data_type().clone(), false));
    Arc::new(Schema::new(
        shown
            .chain(aggregates)
            .chain([op, time])
            .collect::<Vec<_>>(),
    ))
}

/// Writes changes as rows and releases their slots. Splits them into several batches if they do not
/// fit one.
pub(crate) fn write(changes: Changes, state: &mut StateStore) -> Result<Vec<RecordBatch>> {
    let rows = changes.into_rows();
    if !state.saturates {
        check(&state.query, rows.iter().map(|row| row.change.window))?;
    }
    let batches = in_halves(0..rows.len(), &mut |range| {
        let rows = rows.get(range).unwrap_or_default();
        let names = rows.iter().map(|row| row.name.as_ref());
        let keys = key_columns(&state.sort_keys, names)?;
        let changes: Vec<WindowChange> = rows.iter().map(|row| row.change).collect();
        let with_states = changes.iter().filter(|change| change.slot.is_some());
        let ends: Vec<SessionEnd> = with_states.map(|change| change.end).collect();
        batch(&state.query, keys, &changes, |keys, slots, windows| {
            state.lower(keys, slots, windows, &ends)
        })
    })?;
    let (_, mut states) = state.at_rest();
    rows.iter()
        .filter_map(|row| row.change.slot)
        .for_each(|slot| states.release(slot));
    Ok(batches)
}

/// Builds a batch of changes. `keys` has the key of each change. `lower` returns the aggregates of
/// slots; its keys and windows are parallel to its slots.
pub(crate) fn batch(
    query: &Query,
    keys: Vec<ArrayRef>,
    changes: &[WindowChange],
    lower: impl FnOnce(&[ArrayRef], &[Slot], &[Window]) -> Result<Vec<ArrayRef>>,
) -> Result<RecordBatch> {
    let windows: Vec<Window> = changes.iter().map(|change| change.window).collect();
    let with_states = changes
        .iter()
        .filter_map(|change| Some((change.slot?, change.window)));
    let (slots, of_slots): (Vec<Slot>, Vec<Window>) = with_states.unzip();
    let mut columns = keys;
    let of_changes = (0..)
        .zip(changes)
        .filter(|(_, change)| change.slot.is_some());
    let of_changes: UInt32Array = of_changes.map(|(nth, _)| nth).collect();
    let results = if of_changes.len() == changes.len() {
        lower(&columns, &slots, &of_slots)?
    } else {
        let keys = columns.iter().map(|column| take(column, &of_changes, None));
        let keys = keys.collect::<std::result::Result<Vec<_>, _>>()?;
        lower(&keys, &slots, &of_slots)?
    };
    columns.push(query.window(&windows)?);
    let mut next = 0..;
    let positions: UInt32Array = changes
        .iter()
        .map(|change| change.slot.and_then(|_| next.next()))
        .collect();
    for column in results {
        columns.push(if positions.null_count() == 0 {
            column
        } else {
            take(&column, &positions, None)?
        });
    }
    let ops = StringArray::from_iter_values(changes.iter().map(|change| op_name(change.op)));
    columns.push(Arc::new(ops) as ArrayRef);
    columns.push(query.times(changes.iter().map(|change| change.time))?);
    Ok(RecordBatch::try_new(schema(query), columns)?)
}

/// Checks that sliding windows end within the range of times.
pub(crate) fn check(query: &Query, mut windows: impl Iterator<Item = Window>) -> Result<()> {
    let WindowLengths::Sliding(sliding) = query.windows else {
        return Ok(());
    };
    match windows.find(|window| window.start.checked_add(sliding.difference).is_none()) {
        Some(window) => Err(query.beyond(window.start)),
        None => Ok(()),
    }
}

/// The value of the column `op`. A final window is an upsert of its last value.
fn op_name(op: Op) -> &'static str {
    match op {
        Op::Upsert | Op::Final => "upsert",
        Op::Delete => "delete",
        Op::Late => "late",
    }
}

//! Sorts sessions and turns them into columns of pages.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray};

use crate::array::halves::in_halves;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::aggregate::slot::Slot;
use crate::core::error::Result;
use crate::core::operator::pace::{Emission, NEVER};
use crate::core::sort::pick;
use crate::core::window::Extent;
use crate::keys::sort_key::SortKeys;
use crate::state::emissions;
use crate::state::page::PageKind;
use crate::state::page_writer::{PageColumns, window_columns};
use crate::state::sorted_windows::{SortedWindows, order};

/// Sorts the sessions in `rows` by key, end and start. Each returned part fits a batch. `table`
/// knows their keys. `emissions` has the last emission of each session; it is empty if updates have
/// no pace.
pub(super) fn sorted(
    sort_keys: &SortKeys,
    table: &SessionTable,
    sessions: &SessionColumns,
    emissions: &[Emission],
    rows: &[u32],
) -> Result<Vec<SortedWindows>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut part = |range: Range<usize>| {
        let rows = rows.get(range).unwrap_or_default();
        sorted_part(sort_keys, table, sessions, emissions, rows)
    };
    in_halves(0..rows.len(), &mut part)
}

fn sorted_part(
    sort_keys: &SortKeys,
    table: &SessionTable,
    sessions: &SessionColumns,
    emissions: &[Emission],
    rows: &[u32],
) -> Result<SortedWindows> {
    let keys = table.key_columns(&pick(&sessions.keys, rows)?)?;
    let names = sort_keys.of(&keys)?;
    let extents = pick(&sessions.extents, rows)?;
    let order = order(|row| names.get(row as usize), &extents);
    let order = order.values().as_ref();
    let rows = pick(rows, order)?;
    let slots: Vec<Slot> = rows.iter().copied().map(Slot).collect();
    let extents = pick(&extents, order)?;
    let keys = table.key_columns(&pick(&sessions.keys, &rows)?)?;
    let fields = sort_keys.fields().into_iter();
    let fields = fields.map(|field| field.name().clone());
    let bounds: [ArrayRef; 3] = [
        times(&extents, |extent| extent.start.0),
        times(&extents, |extent| extent.end.0),
        times(&extents, |extent| extent.reach.0),
    ];
    let bounds = PageKind::Sessions.times().iter().copied().zip(bounds);
    let states = sessions.states.save(&slots);
    let names = order.iter().map(|&row| names.get(row as usize));
    let own = |&row: &u32| emissions.get(row as usize).unwrap_or(&NEVER);
    let own = rows.iter().map(own);
    let (waiting, emissions) = if emissions.is_empty() {
        (Vec::new(), PageColumns::new())
    } else {
        (emissions::waiting(own.clone()), emissions::columns(own))
    };
    Ok(SortedWindows {
        names: LargeBinaryArray::from_iter_values(names.map(Option::unwrap_or_default)),
        columns: window_columns(fields.zip(keys), bounds, rows.len(), emissions, states),
        extents,
        waiting,
    })
}

fn times(extents: &[Extent], time: impl Fn(&Extent) -> i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(extents.iter().map(time)))
}

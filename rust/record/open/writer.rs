//! Writes the windows of an operator as the rows of a table of open windows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{RecordBatch, new_null_array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::clock::{OpenClock, unreadable};
use super::row::{OpenRow, RowKind, seal};
use crate::array::halves::in_halves;
use crate::array::result_array::capacity_error;
use crate::batch::batch_operator::RESULT_ROWS;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::operator::session_end::SessionEnd;
use crate::core::operator::window_operator::{WindowKind, WindowOperator};
use crate::core::store::{StoreEntry, StoreKey};
use crate::core::time::Time;
use crate::core::window::Window;
use crate::plan::query::Query;
use crate::record::change_batch;
use crate::record::operator_states::save;
use crate::record::state_store::{StateStore, key_columns};
use crate::record::window_row::WindowRow;
use crate::state::emissions;

/// The column of the bytes.
const STATE: &str = "state";

/// The bytes of a payload before its times: the hash of the specification, and the time of the run.
pub(super) const RUN_ID_LEN: usize = 16;

/// The first bytes of the payloads of a run.
pub(super) fn run_id(clock: &OpenClock) -> Result<[u8; RUN_ID_LEN]> {
    let hash = u64::from_str_radix(&clock.fingerprint, 16)
        .map_err(|_| unreadable("the clock row has no fingerprint"))?;
    let mut run_id = [0; RUN_ID_LEN];
    let parts = hash
        .to_le_bytes()
        .into_iter()
        .chain(clock.written.to_le_bytes());
    run_id
        .iter_mut()
        .zip(parts)
        .for_each(|(byte, part)| *byte = part);
    Ok(run_id)
}

/// The length of the states of an aggregate that are unknown. No state is that long.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// The states of an aggregate in a payload.
pub(super) struct Section {
    /// Its columns among those of all aggregates. Functions of the user follow the built-in ones.
    pub columns: Range<usize>,
    /// Its place among the aggregates with states, in the same order. `None` if it has none.
    pub place: Option<usize>,
    pub converter: RowConverter,
}

/// The sections of a payload, one for each aggregate of the query that has its own states.
pub(super) fn sections(state: &StateStore) -> Result<Vec<Section>> {
    let (query, widths) = (&state.query, state.accumulators.widths());
    let built_in = widths.len();
    let columns = state.accumulators.save(&[]).into_iter();
    let mut types: Vec<DataType> = columns.map(|column| column.data_type().clone()).collect();
    let functions = types.len();
    for (nth, function) in state.functions.iter().enumerate() {
        let values = save(query, nth, function.as_ref(), &[], &[])?;
        types.push(values.data_type().clone());
    }
    let (mut widths, mut from) = (widths.enumerate(), 0);
    let mut nth_functions = 0..;
    let own = query.aggregates.iter();
    let own = own.filter(|aggregate| !aggregate.shares_states);
    let sections = own.map(|aggregate| {
        let (columns, place) = if aggregate.is_built_in() {
            let (place, width) = widths.next().unwrap_or_default();
            from += width;
            (from - width..from, Some(place))
        } else if aggregate.is_function() {
            let nth: usize = nth_functions.next().unwrap_or_default();
            (functions + nth..functions + nth + 1, Some(built_in + nth))
        } else {
            (0..0, None)
        };
        let types = types.get(columns.clone()).unwrap_or_default();
        let fields: Vec<SortField> = types.iter().cloned().map(SortField::new).collect();
        if !RowConverter::supports_fields(&fields) {
            return Err(Error::Argument {
                argument: format!("aggregate {:?}", aggregate.name),
                got: format!("values of type {}", aggregate.field().data_type()),
                allowed: "a type that the table of open windows can hold: numbers, strings, \
                          binary, times, lists and structs of these"
                    .into(),
            });
        }
        Ok(Section {
            columns,
            place,
            converter: RowConverter::new(fields)?,
        })
    });
    sections.collect()
}

/// The states of no records, for each section; null for a function of the user.
pub(super) fn nothing(state: &StateStore, sections: &[Section]) -> Result<Vec<Vec<u8>>> {
    let mut empty = state.accumulators.fresh();
    empty.resize(1);
    let mut columns = empty.save(&[Slot(0)]);
    for (nth, function) in state.functions.iter().enumerate() {
        let values = save(&state.query, nth, function.as_ref(), &[], &[])?;
        columns.push(new_null_array(values.data_type(), 1));
    }
    let row = |section: &Section| {
        let own = columns.get(section.columns.clone()).unwrap_or_default();
        if own.is_empty() {
            return Ok(Vec::new());
        }
        Ok(section
            .converter
            .convert_columns(own)?
            .row(0)
            .as_ref()
            .to_vec())
    };
    sections.iter().map(row).collect()
}

/// The states of some windows as rows of bytes, for each section.
fn states(
    state: &StateStore,
    sections: &[Section],
    slots: &[Slot],
    windows: &[Window],
) -> Result<Vec<Option<Rows>>> {
    let mut columns = state.accumulators.save(slots);
    columns.truncate(state.accumulators.widths().sum());
    for (nth, function) in state.functions.iter().enumerate() {
        columns.push(save(&state.query, nth, function.as_ref(), slots, windows)?);
    }
    let rows = sections.iter().map(|section| {
        let own = columns.get(section.columns.clone()).unwrap_or_default();
        section
            .place
            .map(|_| section.converter.convert_columns(own))
            .transpose()
    });
    Ok(rows.collect::<std::result::Result<_, _>>()?)
}

/// Writes the states of a window into a payload: the length of each section, then its bytes. If updates
/// have a pace, the caller appends the emission of the window as one more section.
fn write_states(
    state: &StateStore,
    sections: &[Section],
    states: &[Option<Rows>],
    (row, slot): (usize, Slot),
    payload: &mut Vec<u8>,
) -> Result<()> {
    for (section, states) in sections.iter().zip(states) {
        let unknown = state.accumulators.unknown();
        if section.place.is_some_and(|place| unknown.has(place, slot)) {
            payload.extend(UNKNOWN.to_le_bytes());
            continue;
        }
        let states = states.as_ref().map(|states| states.row(row));
        let states = states
            .as_ref()
            .map(|states| states.as_ref())
            .unwrap_or_default();
        payload.extend(length_of(states)?);
        payload.extend(states);
    }
    Ok(())
}

/// The length of a section.
fn length_of(section: &[u8]) -> Result<[u8; 4]> {
    let length = u32::try_from(section.len()).ok();
    let length = length.filter(|&length| length < UNKNOWN);
    let length = length.ok_or(Error::Internal("the state of a window is too long"))?;
    Ok(length.to_le_bytes())
}

/// All windows of a store as rows. Counts them in `clock`. A closed window is kept if it is due at
/// `kept` or later.
pub(super) fn write<K: WindowKind<Entry: WindowRow>>(
    state: &StateStore,
    windows: &WindowOperator<K>,
    kept: Time,
    clock: &mut OpenClock,
) -> Result<Vec<RecordBatch>> {
    let store = windows.store();
    let (closed, run_id, sections) = (store.closed(), run_id(clock)?, sections(state)?);
    let mut batches = Vec::new();
    let entries = store.segments().flat_map(|id| store.segment(id));
    let (open, rest): (Vec<_>, Vec<_>) =
        entries.partition(|(_, entry)| entry.extent().reach >= closed);
    let rest = rest.into_iter();
    let rest = rest
        .filter(|(_, entry)| entry.extent().reach >= kept)
        .collect();
    for (entries, is_open) in [(open, true), (rest, false)] {
        for some in entries.chunks(RESULT_ROWS) {
            let mut part = |rows: Range<usize>| {
                let entries = some.get(rows).unwrap_or_default();
                part(state, windows, &sections, entries, is_open, run_id)
            };
            for (batch, rows, checksum) in in_halves(0..some.len(), &mut part)? {
                clock.rows += rows;
                clock.checksum = clock.checksum.wrapping_add(checksum);
                batches.push(batch);
            }
        }
    }
    Ok(batches)
}

/// Some windows as rows, their number, and the sum of their checksums.
fn part<K: WindowKind<Entry: WindowRow>>(
    state: &StateStore,
    operator: &WindowOperator<K>,
    sections: &[Section],
    entries: &[(StoreKey, &K::Entry)],
    is_open: bool,
    run_id: [u8; RUN_ID_LEN],
) -> Result<(RecordBatch, u64, u64)> {
    let (query, store) = (&state.query, operator.store());
    let bounds = entries.iter().map(|(_, entry)| operator.kind.window(entry));
    let windows: Vec<Window> = bounds.collect();
    change_batch::check(query, windows.iter().copied())?;
    let slots: Vec<Slot> = entries.iter().map(|(_, entry)| entry.slot()).collect();
    let names = entries.iter().map(|&(key, _)| store.name(key));
    let mut columns = key_columns(&state.sort_keys, names)?;
    let values = states(state, sections, &slots, &windows)?;

    let (mut sum, mut total) = (0_u64, 0_usize);
    let mut payload = Vec::new();
    let mut sealed = BinaryBuilder::new();
    for (row, (&(key, entry), window)) in entries.iter().zip(&windows).enumerate() {
        payload.clear();
        payload.extend(run_id);
        let times =
            (0..<K::Entry>::KIND.times().len()).flat_map(|nth| entry.time(nth).to_le_bytes());
        payload.extend(times);
        write_states(state, sections, &values, (row, entry.slot()), &mut payload)?;
        if let Some(pace) = operator.pace() {
            let mut bytes = Vec::new();
            emissions::write(pace.emission(entry.slot()), &mut bytes);
            payload.extend(length_of(&bytes)?);
            payload.extend(bytes);
        }
        let own = OpenRow {
            key: store.name(key),
            start: is_open.then_some(window.start.0),
            end: is_open.then_some(window.end.0),
        };
        let (checksum, bytes) = seal(RowKind::Window, own, &payload);
        sum = sum.wrapping_add(checksum);
        total += bytes.len();
        if i32::try_from(total).is_err() {
            return Err(capacity_error(total, "bytes", &DataType::Binary));
        }
        sealed.append_value(bytes);
    }
    let schema = schema(query);
    if is_open {
        let ends: Vec<SessionEnd> = entries.iter().map(|(_, entry)| entry.end()).collect();
        let results = state.show(&columns, &slots, &windows, &ends)?;
        columns.push(query.window(&windows)?);
        columns.extend(results);
    } else {
        let fields = schema.fields().iter().skip(columns.len());
        let nulls = fields.take(query.aggregates.len() + 1);
        columns.extend(nulls.map(|field| new_null_array(field.data_type(), entries.len())));
    }
    columns.push(Arc::new(sealed.finish()));
    let batch = RecordBatch::try_new(schema, columns)?;
    Ok((batch, entries.len() as u64, sum))
}

/// Key columns, `window`, aggregates, `state`.
fn schema(query: &Query) -> SchemaRef {
    let changes = change_batch::schema(query);
    let shown = query.keys.len() + 1 + query.aggregates.len();
    let fields = changes.fields().iter().take(shown);
    let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
    let state = Field::new(STATE, DataType::Binary, false);
    Arc::new(Schema::new(fields.chain([state]).collect::<Vec<_>>()))
}

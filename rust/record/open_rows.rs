//! Writes the windows of an operator as the rows of a table of open windows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, new_null_array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::change_batch;
use super::operator_states::save;
use super::state_store::StateStore;
use super::window_pages;
use super::window_row::WindowRow;
use crate::array::halves::in_halves;
use crate::array::result_array;
use crate::core::aggregate::slot::Slot;
use crate::core::error::{Error, Result};
use crate::core::operator::session_end::SessionEnd;
use crate::core::store::{StoreKey, WindowTable};
use crate::core::window::Window;
use crate::plan::query::Query;
use crate::state::open_clock::{OpenClock, unreadable};
use crate::state::open_state::{OpenRow, RowKind, seal};
use crate::state::page::PageKind;

/// The column of the bytes.
const STATE: &str = "state";

/// The number of rows in a batch, at most.
const ROWS: usize = 1 << 16;

/// The bytes of a payload before its values: the hash of the specification, and the time of the run.
pub(super) const STAMP: usize = 16;

/// The first bytes of the payloads of a run.
///
/// # Errors
///
/// [`Error::Format`] for a clock without a fingerprint.
pub(super) fn stamp(clock: &OpenClock) -> Result<[u8; STAMP]> {
    let hash = u64::from_str_radix(&clock.fingerprint, 16)
        .map_err(|_| unreadable("the clock row has no fingerprint"))?;
    let mut stamp = [0; STAMP];
    let parts = hash.to_le_bytes().into_iter().chain(clock.to.to_le_bytes());
    stamp
        .iter_mut()
        .zip(parts)
        .for_each(|(byte, part)| *byte = part);
    Ok(stamp)
}

/// The types of the values in a payload: times, states, values of functions.
fn types(state: &StateStore, kind: PageKind) -> Result<Vec<DataType>> {
    let mut types = vec![DataType::Int64; kind.times().len()];
    for column in state.accumulators.save(&[]) {
        types.push(result_array::array(column)?.data_type().clone());
    }
    for (nth, function) in state.functions.iter().enumerate() {
        let values = save(&state.query, nth, function.as_ref(), &[], &[])?;
        types.push(values.data_type().clone());
    }
    Ok(types)
}

/// Converts the values of payloads.
///
/// # Errors
///
/// [`Error::Argument`] for a Python aggregate whose type Arrow's rows cannot hold.
pub(super) fn converter(state: &StateStore, kind: PageKind) -> Result<RowConverter> {
    let fields: Vec<SortField> = types(state, kind)?
        .into_iter()
        .map(SortField::new)
        .collect();
    let is_supported =
        |field: &SortField| RowConverter::supports_fields(std::slice::from_ref(field));
    let built_in = fields.len() - state.functions.len();
    let functions = state.query.aggregates.iter();
    let mut functions = functions.filter(|aggregate| aggregate.is_function());
    for field in fields.iter().skip(built_in) {
        let Some(aggregate) = functions.next() else {
            break;
        };
        if !is_supported(field) {
            return Err(Error::Argument {
                argument: format!("aggregate {:?}", aggregate.name),
                got: format!("values of type {}", aggregate.field().data_type()),
                allowed: "a type that the table of open windows can hold: numbers, strings, \
                          binary, times, lists and structs of these"
                    .into(),
            });
        }
    }
    Ok(RowConverter::new(fields)?)
}

/// All windows of a store as rows. Counts them in `clock`.
///
/// # Errors
///
/// Errors of results and states that do not fit their types.
pub(super) fn write<E: WindowRow>(
    state: &StateStore,
    store: &WindowTable<E>,
    clock: &mut OpenClock,
) -> Result<Vec<RecordBatch>> {
    let (closed, stamp) = (store.closed(), stamp(clock)?);
    let mut batches = Vec::new();
    let entries = store.segments().flat_map(|id| store.segment(id));
    let (open, kept): (Vec<_>, Vec<_>) =
        entries.partition(|(_, entry)| entry.extent().reach >= closed);
    for (entries, is_open) in [(open, true), (kept, false)] {
        for some in entries.chunks(ROWS) {
            let mut part = |rows: Range<usize>| {
                let entries = some.get(rows).unwrap_or_default();
                part(state, store, entries, is_open, stamp)
            };
            in_halves(0..some.len(), &mut part, &mut |(batch, rows, checksum)| {
                clock.rows += rows;
                clock.checksum = clock.checksum.wrapping_add(checksum);
                batches.push(batch);
            })?;
        }
    }
    Ok(batches)
}

/// Some windows as rows, their number, and the sum of their checksums.
fn part<E: WindowRow>(
    state: &StateStore,
    store: &WindowTable<E>,
    entries: &[(StoreKey, &E)],
    is_open: bool,
    stamp: [u8; STAMP],
) -> Result<(RecordBatch, u64, u64)> {
    let (query, difference) = (&state.query, state.difference());
    let windows: Vec<Window> = entries
        .iter()
        .map(|(_, entry)| entry.window(difference))
        .collect();
    change_batch::check(query, windows.iter().copied())?;
    let slots: Vec<Slot> = entries.iter().map(|(_, entry)| entry.slot()).collect();
    let stored = window_pages::columns(state, store, entries)?;
    let mut stored = stored.into_iter().map(|(_, column)| column);
    let mut columns: Vec<ArrayRef> = stored.by_ref().take(query.keys.len()).collect();
    let times = E::FORM.times().len();
    let values = stored.enumerate();
    let values = values.filter(|&(place, _)| place != times); // without `source`
    let values: Vec<ArrayRef> = values.map(|(_, column)| column).collect();
    let rows = converter(state, E::FORM)?.convert_columns(&values)?;

    let mut sum = 0_u64;
    let mut payload = Vec::new();
    let states = entries.iter().zip(&windows).zip(&rows);
    let states = states.map(|((&(key, _), window), values)| {
        payload.clear();
        payload.extend(stamp);
        payload.extend(values.as_ref());
        let own = OpenRow {
            key: store.name(key),
            start: is_open.then_some(window.start.0),
            end: is_open.then_some(window.end.0),
        };
        let (checksum, bytes) = seal(RowKind::Window, own, &payload);
        sum = sum.wrapping_add(checksum);
        bytes
    });
    let states: BinaryArray = states.map(Some).collect();
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
    columns.push(Arc::new(states));
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

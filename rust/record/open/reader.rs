//! Reads the rows of a table of open windows as the windows of a page.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_cast::display::array_value_to_string;
use arrow_schema::Field;

use super::clock::{OpenClock, unreadable};
use super::row::{OpenRow, OpenState};
use super::writer::{self, RUN_ID_LEN, Section, UNKNOWN, run_id};
use crate::array::convert;
use crate::array::untrusted::read_untrusted;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::unknown_results::UnknownResults;
use crate::core::error::{Error, Result};
use crate::core::operator::pace::Emission;
use crate::core::time::{Span, Time};
use crate::core::window::Window;
use crate::keys::sort_key::{SortKeyRows, SortKeys};
use crate::plan::continuation::Continuation;
use crate::plan::query::Query;
use crate::record::state_store::StateStore;
use crate::record::windows::Windows;
use crate::state::emissions;
use crate::state::page::PageKind;
use crate::state::page_writer::PageColumns;
use crate::state::stored_windows::StoredWindows;

/// Reads the rows of a table.
pub(in crate::record) struct OpenReader<'c> {
    clock: &'c OpenClock,
    run_id: [u8; RUN_ID_LEN],
    sections: Vec<Section>,
    /// For each section its place in the payloads.
    places: &'c [Option<usize>],
    /// The states of no records, for each section.
    nothing: Vec<Vec<u8>>,
    kind: PageKind,
    /// The gap of the query, if that of the table is shorter.
    gap: Option<Span>,
    /// Whether payloads end with the emission of their window.
    is_paced: bool,
    /// The key columns of the table and how they sort, if some have narrower types than in the query.
    narrower: Option<(Vec<Field>, SortKeys)>,
}

impl<'c> OpenReader<'c> {
    /// A reader of rows of the query `state`, which continues that of `clock`.
    pub(in crate::record) fn new(
        state: &StateStore,
        clock: &'c OpenClock,
        continued: &'c Continuation,
    ) -> Result<Self> {
        let sections = writer::sections(state)?;
        if continued.aggregates.len() != sections.len() {
            return Err(Error::Internal("an aggregate of open windows has no place"));
        }
        let (kind, gap) = match &state.windows {
            Windows::Sessions(sessions) => (PageKind::Sessions, Some(sessions.kind.gap.longest())),
            Windows::Sliding(_) => (PageKind::Windows, None),
            Windows::Cut(_) => (PageKind::CutSessions, None),
        };
        Ok(Self {
            clock,
            run_id: run_id(clock)?,
            nothing: writer::nothing(state, &sections)?,
            sections,
            places: &continued.aggregates,
            kind,
            gap: gap.filter(|_| continued.shorter_gap.is_some()),
            is_paced: continued.is_paced,
            narrower: narrower(state, continued)?,
        })
    }

    /// Reads rows. Adds their checksums; each may occur only once.
    pub(in crate::record) fn read(
        &self,
        state: &StateStore,
        batch: &RecordBatch,
        checksums: &mut HashSet<u64>,
    ) -> Result<StoredWindows> {
        let query = &state.query;
        let (keys, rest) = batch
            .columns()
            .split_at_checked(query.keys.len())
            .ok_or(Error::Internal("a table of open windows lacks a key"))?;
        let [starts, ends, states] = rest else {
            return Err(Error::Internal("a table of open windows lacks a column"));
        };
        let names = self.names(state, keys)?;
        let (starts, ends) = (
            starts.as_primitive_opt::<Int64Type>(),
            ends.as_primitive_opt::<Int64Type>(),
        );
        let (Some(starts), Some(ends), Some(states)) =
            (starts, ends, states.as_binary_opt::<i32>())
        else {
            return Err(Error::Internal("a column of open windows has another type"));
        };
        let mut times = vec![Vec::with_capacity(batch.num_rows()); self.kind.times().len()];
        let mut payloads = Vec::with_capacity(batch.num_rows());
        let mut emissions = Vec::new();
        for row in 0..batch.num_rows() {
            let at = |column: &Int64Array| column.is_valid(row).then(|| column.value(row));
            let columns = OpenRow {
                key: names.get(row).unwrap_or_default(),
                start: at(starts),
                end: at(ends),
            };
            let payload = OpenState::read(states.value(row)).and_then(|open| {
                let payload = open.payload(columns)?;
                if !checksums.insert(open.checksum) {
                    return Err("it appears twice".into());
                }
                self.payload(query, payload)
            });
            let payload = payload.map_err(|reason| {
                unreadable(format!("{}: {reason}", shown(query, keys, columns, row)))
            })?;
            for (column, time) in times.iter_mut().zip(&payload.times) {
                column.push(*time);
            }
            payloads.push(payload.states);
            emissions.extend(payload.emission);
        }
        if let (Some(gap), [_, ends, reaches]) = (self.gap, times.as_mut_slice()) {
            for (reach, &end) in reaches.iter_mut().zip(&*ends) {
                *reach = Time(end).saturating_add(gap).0;
            }
        }
        let source: ArrayRef = Arc::new(Int64Array::from(vec![0; batch.num_rows()]));
        let times = times.into_iter();
        let times = times.map(|times| Arc::new(Int64Array::from(times)) as ArrayRef);
        let unnamed = |column| (String::new(), column);
        let columns = keys.iter().cloned().chain(times).chain([source]);
        let mut columns: PageColumns = columns.map(unnamed).collect();
        if self.is_paced {
            columns.extend(emissions::columns(emissions.iter()));
        }
        columns.extend(self.states(state, &payloads)?.into_iter().map(unnamed));
        let columns = columns
            .into_iter()
            .map(|(name, column)| (name, column, true));
        let rows = RecordBatch::try_from_iter_with_nullable(columns)?;
        Ok(StoredWindows::of(self.kind, rows, query.keys.len()))
    }

    /// The sort keys of rows as the table has them.
    fn names(&self, state: &StateStore, keys: &[ArrayRef]) -> Result<SortKeyRows> {
        let Some((fields, sort_keys)) = &self.narrower else {
            return state.sort_keys.of(keys);
        };
        let columns = keys.iter().zip(fields);
        let columns = columns.map(|(key, field)| convert::cast(key, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>>>().map_err(|error| {
            unreadable(format!("a key does not fit the type that it had: {error}"))
        })?;
        sort_keys.of(&columns)
    }

    /// The columns of states in the order of pages. Each of `payloads` has the states of a window.
    fn states(&self, state: &StateStore, payloads: &[Vec<Option<&[u8]>>]) -> Result<Vec<ArrayRef>> {
        let mut unknown = UnknownResults::default();
        let mut columns = Vec::new();
        let mut functions = Vec::new();
        let built_in = state.accumulators.widths().len();
        for (section, (&from, nothing)) in self
            .sections
            .iter()
            .zip(self.places.iter().zip(&self.nothing))
        {
            let Some(place) = section.place else {
                continue;
            };
            let parser = section.converter.parser();
            let mut rows = Vec::with_capacity(payloads.len());
            for (row, states) in payloads.iter().enumerate() {
                let own = from.and_then(|from| states.get(from).copied().flatten());
                if own.is_none() {
                    unknown.mark(place, Slot::of(row)?);
                }
                rows.push(parser.parse(own.unwrap_or(nothing)));
            }
            let decoded = read_untrusted(|| section.converter.convert_rows(rows));
            let decoded = decoded.map_err(unreadable)?;
            if place < built_in {
                columns.extend(decoded);
            } else {
                functions.extend(decoded);
            }
        }
        if let Some(unknown) = unknown.save(&Slot::below(payloads.len())?) {
            columns.push(unknown);
        }
        columns.extend(functions);
        Ok(columns)
    }

    /// The times and states of a payload of this run.
    fn payload<'p>(
        &self,
        query: &Query,
        payload: &'p [u8],
    ) -> std::result::Result<Payload<'p>, String> {
        let cut = "its `state` is cut off";
        let (own, mut rest) = payload.split_first_chunk::<RUN_ID_LEN>().ok_or(cut)?;
        self.check_run(query, *own)?;
        let mut times = Vec::with_capacity(3);
        for _ in self.kind.times() {
            let (time, others) = rest.split_first_chunk::<8>().ok_or(cut)?;
            times.push(i64::from_le_bytes(*time));
            rest = others;
        }
        let mut states = Vec::new();
        while !rest.is_empty() {
            let (length, others) = rest.split_first_chunk::<4>().ok_or(cut)?;
            let length = u32::from_le_bytes(*length);
            if length == UNKNOWN {
                states.push(None);
                rest = others;
                continue;
            }
            let (bytes, others) = others.split_at_checked(length as usize).ok_or(cut)?;
            states.push(Some(bytes));
            rest = others;
        }
        let emission = self.is_paced.then(|| {
            let bytes = states.pop().flatten();
            let mut emission = emissions::of_bytes(bytes?)?;
            // After a move back, no emission is later than stream time.
            emission.time = emission.time.min(Time(self.clock.to));
            Some(emission)
        });
        let emission = emission.map(|read| read.ok_or(cut)).transpose()?;
        Ok(Payload {
            times,
            states,
            emission,
        })
    }

    /// Checks that a row is of the run of the clock row.
    fn check_run(&self, query: &Query, own: [u8; RUN_ID_LEN]) -> std::result::Result<(), String> {
        if own == self.run_id {
            return Ok(());
        }
        let [hash, to] = [own.first_chunk::<8>(), own.last_chunk::<8>()];
        if hash != self.run_id.first_chunk::<8>() {
            return Err("it is of another query than the clock row".into());
        }
        let to = Time(i64::from_le_bytes(to.copied().unwrap_or_default()));
        Err(format!(
            "it is of the run up to {}, but the clock row of the run up to {}",
            query.show(to),
            query.show(Time(self.clock.written))
        ))
    }
}

/// The key columns of a table and how they sort, if some have narrower types than in the query.
fn narrower(
    state: &StateStore,
    continued: &Continuation,
) -> Result<Option<(Vec<Field>, SortKeys)>> {
    if continued.narrower_keys.iter().all(Option::is_none) {
        return Ok(None);
    }
    let own = state.sort_keys.fields().into_iter();
    let fields: Vec<Field> = own
        .zip(&continued.narrower_keys)
        .map(|(field, kind)| match kind {
            Some(kind) => field.with_data_type(kind.clone()),
            None => field,
        })
        .collect();
    let sort_keys = SortKeys::new(&fields)?;
    Ok(Some((fields, sort_keys)))
}

/// The content of a payload.
struct Payload<'p> {
    times: Vec<i64>,
    /// The states of each aggregate. `None` if they are unknown.
    states: Vec<Option<&'p [u8]>>,
    /// Its last emission, if the table has them.
    emission: Option<Emission>,
}

/// A row as text, for errors.
fn shown(query: &Query, keys: &[ArrayRef], columns: OpenRow<'_>, row: usize) -> String {
    let named = query.keys.iter().zip(keys).map(|(field, column)| {
        let value = array_value_to_string(column, row).unwrap_or_default();
        format!("{} = {value}", field.name())
    });
    let key = named.collect::<Vec<_>>().join(", ");
    match (columns.start, columns.end) {
        (Some(start), Some(end)) => {
            let window = Window {
                start: Time(start),
                end: Time(end),
            };
            format!("the row of {key}, window {}", query.show_window(&window))
        }
        _ => format!("a row of {key} without a window"),
    }
}

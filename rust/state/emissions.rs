//! The last emissions of windows as columns of a page, if the updates of the query have a pace.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::page::{broken, ticks};
use super::page_writer::PageColumns;
use crate::core::error::Result;
use crate::core::operator::pace::Emission;
use crate::core::operator::shown_windows::ShownWindows;
use crate::core::time::Time;
use crate::core::window::Window;

/// The names of the columns.
pub(super) const NAMES: [&str; 2] = ["emitted", "replaced"];

/// The columns of the emissions of windows.
pub(crate) fn columns<'e>(
    emissions: impl ExactSizeIterator<Item = &'e Emission> + Clone,
) -> PageColumns {
    let times = emissions.clone().map(|emission| emission.time.0);
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(times));
    let shown = emissions.map(|emission| emission.replaced.as_ref());
    let windows = |shown: Option<&'e ShownWindows>| shown.map_or(&[][..], ShownWindows::as_slice);
    let lengths = OffsetBuffer::from_lengths(shown.clone().map(|shown| 2 * windows(shown).len()));
    let bounds = shown.clone().flat_map(windows);
    let bounds: Vec<i64> = bounds
        .flat_map(|window| [window.start.0, window.end.0])
        .collect();
    let replaced = ListArray::new(
        Arc::new(Field::new_list_field(DataType::Int64, true)),
        lengths,
        Arc::new(Int64Array::from(bounds)),
        Some(shown.map(|shown| shown.is_some()).collect()),
    );
    let columns: [ArrayRef; 2] = [times, Arc::new(replaced)];
    NAMES.map(str::to_owned).into_iter().zip(columns).collect()
}

/// Reads the emissions of windows.
///
/// # Errors
///
/// [`crate::core::error::Error::Format`] for columns of other types.
pub(super) fn read(times: &ArrayRef, replaced: &ArrayRef) -> Result<Vec<Emission>> {
    let other = || broken("a column of emissions has another type");
    let lists = replaced.as_list_opt::<i32>().ok_or_else(other)?;
    let values = lists.values().as_primitive_opt::<Int64Type>();
    let values = values.ok_or_else(other)?.values();
    let rows = ticks(times)?.iter().zip(lists.offsets().windows(2));
    let emissions = rows.enumerate().map(|(row, (&time, range))| {
        let bounds = || {
            let &[from, to] = range else { return None };
            values.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
        };
        let window = |bounds: &[i64]| match *bounds {
            [start, end] if start <= end => Ok(Window {
                start: Time(start),
                end: Time(end),
            }),
            _ => Err(broken("the bounds of an emitted window are not in order")),
        };
        let windows = || {
            let bounds = bounds().ok_or_else(other)?;
            bounds.chunks(2).map(window).collect::<Result<_>>()
        };
        let replaced = lists.is_valid(row).then(windows).transpose()?;
        Ok(Emission {
            time: Time(time),
            replaced,
        })
    });
    emissions.collect()
}

/// When the windows that wait were emitted last. The latest time for the others.
pub(crate) fn waiting<'e>(emissions: impl Iterator<Item = &'e Emission>) -> Vec<Time> {
    let waiting = emissions.map(Emission::waiting);
    waiting.map(|time| time.unwrap_or(Time::MAX)).collect()
}

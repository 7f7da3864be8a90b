//! The last emissions of windows as columns of a page, if the updates of the query have a pace.

use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};

use super::page::{broken, ticks};
use super::page_writer::PageColumns;
use crate::core::error::Result;
use crate::core::operator::pace::Emission;
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
    let mut replaced = ListBuilder::with_capacity(Int64Builder::new(), emissions.len());
    for emission in emissions {
        let windows = emission.replaced.iter().flatten();
        for Window { start, end } in windows {
            replaced.values().append_slice(&[start.0, end.0]);
        }
        replaced.append(emission.replaced.is_some());
    }
    let columns: [ArrayRef; 2] = [times, Arc::new(replaced.finish())];
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
            bounds.chunks(2).map(window).collect::<Result<Vec<_>>>()
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

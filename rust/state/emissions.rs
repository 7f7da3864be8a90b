//! The last emissions of windows, if the updates of the query have a pace: as columns of a page, and
//! as bytes in a table of open windows.
//!
//! | bytes | content, all numbers little-endian |
//! |---|---|
//! | 8 | stream time at the last emission |
//! | 1 | 1 if the window waits, otherwise 0 and nothing more |
//! | 16 each | the start and the end of a window that a sink has in its place |

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, ListArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBufferBuilder};
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
pub(crate) fn columns<'e>(emissions: impl ExactSizeIterator<Item = &'e Emission>) -> PageColumns {
    let mut times = Vec::with_capacity(emissions.len());
    let mut lengths = OffsetBufferBuilder::<i32>::new(emissions.len());
    let mut waits = BooleanBufferBuilder::new(emissions.len());
    let mut bounds = Vec::new();
    for emission in emissions {
        let before = bounds.len();
        let windows = emission.replaced.iter().flat_map(ShownWindows::as_slice);
        windows.for_each(|window| bounds.extend([window.start.0, window.end.0]));
        times.push(emission.time.0);
        lengths.push_length(bounds.len() - before);
        waits.append(emission.replaced.is_some());
    }
    let replaced = ListArray::new(
        Arc::new(Field::new_list_field(DataType::Int64, true)),
        lengths.finish(),
        Arc::new(Int64Array::from(bounds)),
        Some(NullBuffer::new(waits.finish())),
    );
    let columns: [ArrayRef; 2] = [Arc::new(Int64Array::from(times)), Arc::new(replaced)];
    NAMES.map(str::to_owned).into_iter().zip(columns).collect()
}

/// Reads the emissions of windows.
pub(super) fn read(times: &ArrayRef, replaced: &ArrayRef) -> Result<Vec<Emission>> {
    let other = || broken("a column of emissions has another type");
    let lists = replaced.as_list_opt::<i32>().ok_or_else(other)?;
    let values = lists.values().as_primitive_opt::<Int64Type>();
    let values = values.ok_or_else(other)?.values();
    let emission = |&time| Emission {
        time: Time(time),
        replaced: None,
    };
    let mut emissions: Vec<Emission> = ticks(times)?.iter().map(emission).collect();
    let rows = emissions.iter_mut().zip(lists.offsets().windows(2));
    for (_, (emission, range)) in (0..).zip(rows).filter(|(row, _)| lists.is_valid(*row)) {
        let bounds = || {
            let &[from, to] = range else { return None };
            values.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
        };
        let windows = bounds().ok_or_else(other)?.chunks(2).map(window);
        let windows = windows.collect::<Option<_>>();
        let broken = || broken("the bounds of an emitted window are not in order");
        emission.replaced = Some(windows.ok_or_else(broken)?);
    }
    Ok(emissions)
}

/// A window whose bounds are in order.
fn window(bounds: &[i64]) -> Option<Window> {
    match *bounds {
        [start, end] if start <= end => Some(Window {
            start: Time(start),
            end: Time(end),
        }),
        _ => None,
    }
}

/// Writes the emission of a window as bytes.
pub(crate) fn write(emission: &Emission, bytes: &mut Vec<u8>) {
    bytes.extend(emission.time.0.to_le_bytes());
    bytes.push(u8::from(emission.replaced.is_some()));
    let windows = emission.replaced.iter().flat_map(ShownWindows::as_slice);
    let bounds = windows.flat_map(|window| [window.start, window.end]);
    bytes.extend(bounds.flat_map(|time| time.0.to_le_bytes()));
}

/// Reads the bytes of [`write()`]. `None` for bytes that it does not write.
pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Emission> {
    let (time, rest) = bytes.split_first_chunk::<8>()?;
    let (&waits, rest) = rest.split_first()?;
    let (bounds, others) = rest.as_chunks::<16>();
    if !others.is_empty() || waits > 1 || (waits == 0 && !bounds.is_empty()) {
        return None;
    }
    let windows = bounds.iter().map(|bounds| {
        let (times, _) = bounds.as_chunks::<8>();
        let times: Vec<i64> = times.iter().copied().map(i64::from_le_bytes).collect();
        window(&times)
    });
    let windows = windows.collect::<Option<_>>()?;
    Some(Emission {
        time: Time(i64::from_le_bytes(*time)),
        replaced: (waits == 1).then_some(windows),
    })
}

/// When the windows that wait were emitted last. The latest time for the others.
pub(crate) fn waiting<'e>(emissions: impl Iterator<Item = &'e Emission>) -> Vec<Time> {
    let waiting = emissions.map(Emission::waiting);
    waiting.map(|time| time.unwrap_or(Time::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn windows() -> impl Strategy<Value = Vec<Window>> {
        let bounds = (any::<i64>(), any::<i64>());
        let ordered = bounds.prop_map(|(one, other)| Window {
            start: Time(one.min(other)),
            end: Time(one.max(other)),
        });
        prop::collection::vec(ordered, 0..4)
    }

    #[test]
    fn the_bytes_of_an_emission_never_change() {
        let emission = Emission {
            time: Time(-2),
            replaced: Some(ShownWindows::One(Window {
                start: Time(1),
                end: Time(258),
            })),
        };
        let mut bytes = Vec::new();
        write(&emission, &mut bytes);
        let rest = [1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0];
        let time = [254, 255, 255, 255, 255, 255, 255, 255];
        assert_eq!(bytes, [&time[..], &rest].concat());
    }

    proptest! {
        #![proptest_config(crate::core::tests::cases::usually(2_000))]
        #[test]
        fn bytes_are_an_emission_or_are_refused(
            time in any::<i64>(),
            replaced in prop::option::of(windows()),
            cut in any::<prop::sample::Index>(),
            random in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let replaced = replaced.map(|windows| windows.into_iter().collect());
            let emission = Emission { time: Time(time), replaced };
            let mut bytes = Vec::new();
            write(&emission, &mut bytes);
            let found = of_bytes(&bytes);
            prop_assert_eq!(found.as_ref(), Some(&emission));
            let part = &bytes[..cut.index(bytes.len())];
            prop_assert!(of_bytes(part) != Some(emission));
            if let Some(emission) = of_bytes(&random) {
                let mut same = Vec::new();
                write(&emission, &mut same);
                prop_assert_eq!(same, random);
            }
        }
    }
}

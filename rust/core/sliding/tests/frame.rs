//! The rows of frames against a filter over all rows, on unbounded integers.

use proptest::prelude::*;

use crate::batch::row_buffer::RowBuffer;
use crate::core::aggregate::RowSpan;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::sliding::frame::RangeFrame;
use crate::core::sliding::plan::{Ends, Sliding};
use crate::core::time::{Span, Time};

fn floor(time: Time, resolution: u64) -> i128 {
    let (time, resolution) = (i128::from(time.0), i128::from(resolution));
    time - time.rem_euclid(resolution)
}

proptest! {
    #[test]
    fn oracle_a_frame_has_the_rows_of_its_times(
        around in prop_oneof![Just(0_i64), Just(-1_000), Just(i64::MAX - 60), Just(i64::MIN + 200)],
        rows in prop::collection::vec((0_u32..3, 0_i64..60), 0..40),
        resolution in 1_u64..4,
        steps in 1_u64..20,
        bounds in prop::collection::vec((0_u64..20, 0_u64..20), 0..4),
    ) {
        let sliding = Sliding { difference: Span(steps * resolution), resolution: Span(resolution) };
        let frames: Vec<RangeFrame> = bounds
            .iter()
            .map(|(oldest, newest)| {
                // A frame without a time begins one resolution after its end.
                let newest = newest % (steps + 1);
                let oldest = (oldest % (steps + 1)).max(newest.saturating_sub(1));
                RangeFrame { oldest: Span(oldest * resolution), newest: Span(newest * resolution) }
            })
            .collect();
        let keys: Vec<KeyId> = rows.iter().map(|row| KeyId(row.0)).collect();
        let times: Vec<Time> = rows.iter().map(|row| Time(around + row.1)).collect();
        let never = Interrupt::never();
        let mut held = RowBuffer::new(Vec::new());
        held.push(sliding, &keys, &times, &[], &[]).unwrap();
        held.sort(&never).unwrap();
        let mut windows = 0;
        for batch in held.plan(sliding, Ends::ALL, Some(&frames), &never) {
            let batch = batch.unwrap();
            windows += batch.windows.len();
            prop_assert_eq!(batch.frames.len(), frames.len());
            for (frame, spans) in frames.iter().zip(&batch.frames) {
                prop_assert_eq!(spans.len(), batch.windows.len());
                prop_assert!(spans.is_sorted_by_key(|span| span.from) && spans.is_sorted_by_key(|span| span.to));
                for ((key, window), (span, whole)) in
                    batch.keys.iter().zip(&batch.windows).zip(spans.iter().zip(&batch.spans))
                {
                    let end = i128::from(window.end.0);
                    let covered = end - i128::from(frame.oldest.0)..=end - i128::from(frame.newest.0);
                    let own = (0_u32..).zip(held.keys().iter().zip(held.times()));
                    let own = own.filter(|(_, (other, time))| *other == key && covered.contains(&floor(**time, resolution)));
                    let expected: Vec<u32> = own.map(|(row, _)| row).collect();
                    prop_assert_eq!((span.from..span.to).collect::<Vec<_>>(), expected);
                    prop_assert!(whole.from <= span.from && span.from <= span.to && span.to <= whole.to);
                }
            }
        }
        let mut ends: Vec<(KeyId, i128)> =
            keys.iter().zip(&times).map(|(key, time)| (*key, floor(*time, resolution))).collect();
        ends.sort_unstable();
        ends.dedup();
        prop_assert_eq!(windows, ends.len());
    }
}

#[test]
fn a_frame_of_no_time_has_no_rows_at_its_place() {
    let times = [Time(0), Time(3), Time(3), Time(6)];
    let windows: Vec<_> = [0, 3, 6]
        .map(|end| crate::core::window::Window {
            start: Time(end - 9),
            end: Time(end),
        })
        .into();
    // (t - 3, t) exclusive, at a resolution of 3: no time is in between
    let frame = RangeFrame {
        oldest: Span(0),
        newest: Span(3),
    };
    let mut spans = Vec::new();
    frame.spans(&times, 10, &windows, |span| spans.push(span));
    let empty = |row| RowSpan { from: row, to: row };
    assert_eq!(spans, [empty(10), empty(11), empty(13)]);
}

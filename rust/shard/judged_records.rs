//! The records of a micro-batch that may be late, if the query returns late records (rules 6.13).

use std::collections::BTreeMap;

use arrow_array::UInt32Array;
use arrow_select::take::take;

use super::lateness::Spans;
use crate::batch::sessions::SessionTable;
use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::core::operator::change::Late;
use crate::core::operator::record::RecordOutcome;
use crate::core::operator::stream_time::StreamTimes;
use crate::core::session::session_windows::Gap;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::input::records::Records;
use crate::record::left_out::LeftOut;

/// The row, the key and the extent of each record whose own reach is behind the close time.
type BehindRecord = (u32, KeyId, Extent);

/// Records that came themselves.
#[derive(Default)]
pub(super) struct JudgedRecords {
    behind: Vec<BehindRecord>,
    late: Vec<BehindRecord>,
}

impl JudgedRecords {
    /// Finds them. Their keys get numbers in `table`.
    pub(super) fn new(
        records: &Records,
        gap: Gap,
        close: Time,
        table: &mut SessionTable,
    ) -> Result<Self> {
        let own = (0..).zip(records.extents(gap));
        let behind = own.filter(|(_, extent)| extent.is_late(close));
        let (rows, extents): (Vec<u32>, Vec<Extent>) = behind.unzip();
        let places = UInt32Array::from(rows.clone());
        let keys = records.keys.iter().map(|key| take(key, &places, None));
        let keys = table.intern(&keys.collect::<std::result::Result<Vec<_>, _>>()?)?;
        let all = rows.into_iter().zip(keys).zip(extents);
        Ok(Self {
            behind: all.map(|((row, key), own)| (row, key, own)).collect(),
            late: Vec::new(),
        })
    }

    /// Finds the records of late partial sessions. No two of these sessions join each other.
    pub(super) fn find_late(&mut self, partials: &Spans, is_late: &[bool]) {
        let late = partials
            .iter()
            .zip(is_late)
            .filter(|(_, is_late)| **is_late);
        let late = late.map(|((key, own), _)| ((key, own.start), own.end));
        let late: BTreeMap<(KeyId, Time), Time> = late.collect();
        let is_late = |(_, key, own): &BehindRecord| {
            let before = late.range((*key, Time::MIN)..=(*key, own.start));
            before.last().is_some_and(|(_, end)| own.end <= *end)
        };
        self.late
            .extend(self.behind.iter().copied().filter(is_late));
    }

    /// The late records. `now` are the times that judged them.
    pub(super) fn left_out(&self, now: StreamTimes) -> LeftOut {
        let mut left_out = LeftOut::new(Late::Drop);
        for (row, _, own) in &self.late {
            let outcome = RecordOutcome::Late(now.input_close.since(own.reach));
            left_out.note(*row as usize, outcome, now);
        }
        left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::time::Span;

    #[test]
    fn a_record_is_late_with_the_partial_session_of_its_key_that_it_is_in() {
        // late      ├─3──6─┤   ├9┤        of key 1; [13, 15] of key 1 and [3, 6] of key 2 are in time
        let session = |start, end| Extent {
            start: Time(start),
            end: Time(end),
            reach: Time(end + 1),
        };
        let partials = Spans {
            keys: [1, 1, 1, 2].map(KeyId).into(),
            extents: vec![session(3, 6), session(9, 9), session(13, 15), session(3, 6)],
        };
        let record = |(row, key, time)| (row, KeyId(key), Extent::of(Time(time), Span(1)));
        let behind = [
            (0, 1, 3),
            (1, 1, 6),
            (2, 1, 9),
            (3, 1, 13),
            (4, 1, 15),
            (5, 2, 4),
            (6, 1, 5),
        ];
        let mut records = JudgedRecords {
            behind: behind.map(record).into(),
            late: Vec::new(),
        };
        records.find_late(&partials, &[true, true, false, false]);
        let late: Vec<u32> = records.late.iter().map(|(row, ..)| *row).collect();
        assert_eq!(late, [0, 1, 2, 6]);
    }
}

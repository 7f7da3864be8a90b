//! Partial sessions as columns: keys, `start`, `end`, `reach` for dynamic gaps, states.

use arrow_array::{ArrayRef, RecordBatch};

use super::block_reader::{BlockReader, numbers};
use crate::array::convert::check_canonical;
use crate::array::named::unnamed;
use crate::core::error::Result;
use crate::core::session::session_windows::Gap;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::plan::query::Query;

/// Partial sessions, one per row.
pub(crate) struct PartialSessions {
    /// The key columns.
    pub keys: Vec<ArrayRef>,
    /// The extent of each session.
    pub extents: Vec<Extent>,
    /// The states of the aggregates.
    pub states: Vec<ArrayRef>,
}

impl PartialSessions {
    /// Writes the columns. A fixed gap needs no `reach`, which follows from `end`.
    pub(crate) fn write(self, gap: Gap) -> Result<RecordBatch> {
        let bound = |bound: fn(&Extent) -> Time| numbers(self.extents.iter().map(|e| bound(e).0));
        let mut columns = self.keys;
        columns.push(bound(|extent| extent.start));
        columns.push(bound(|extent| extent.end));
        if let Gap::Dynamic { .. } = gap {
            columns.push(bound(|extent| extent.reach));
        }
        columns.extend(self.states);
        unnamed(columns)
    }

    /// Reads the output of [`Self::write`].
    pub(crate) fn read(query: &Query, gap: Gap, block: &RecordBatch) -> Result<Self> {
        let mut columns = BlockReader::new(block);
        let keys = columns.arrays(query.keys.len())?.to_vec();
        let bounds = columns.numbers()?.iter().zip(columns.numbers()?);
        let extents = match gap {
            Gap::Fixed(gap) => bounds
                .map(|(&start, &end)| Extent {
                    start: Time(start),
                    ..Extent::of(Time(end), gap)
                })
                .collect(),
            Gap::Dynamic { .. } => bounds
                .zip(columns.numbers()?)
                .map(|((&start, &end), &reach)| Extent {
                    start: Time(start),
                    end: Time(end),
                    reach: Time(reach),
                })
                .collect(),
        };
        let states = columns.remaining().to_vec();
        check_canonical(&states)?;
        Ok(Self {
            keys,
            extents,
            states,
        })
    }
}

//! Partial sessions as columns: keys, `start`, `end`, `reach` of dynamic gaps, states.

use arrow_array::{ArrayRef, RecordBatch};

use super::block_reader::{BlockReader, numbers};
use crate::array::named::unnamed;
use crate::array::{convert, result_array};
use crate::core::aggregate::column::Column;
use crate::core::error::Result;
use crate::core::session::session_windows::Gap;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::plan::query::Query;

/// Partial sessions, one a row.
pub(crate) struct PartialSessions<'a> {
    /// The key columns.
    pub keys: Vec<ArrayRef>,
    /// The extent of each.
    pub extents: Vec<Extent>,
    /// The states of the aggregates.
    pub states: Vec<Column<'a>>,
}

impl PartialSessions<'static> {
    /// The columns; `reach` follows from `end` where all records have one gap.
    ///
    /// # Errors
    ///
    /// States that Arrow cannot hold.
    pub fn write(self, gap: Gap) -> Result<RecordBatch> {
        let bound = |bound: fn(&Extent) -> Time| numbers(self.extents.iter().map(|e| bound(e).0));
        let mut columns = self.keys;
        columns.push(bound(|extent| extent.start));
        columns.push(bound(|extent| extent.end));
        if let Gap::Dynamic { .. } = gap {
            columns.push(bound(|extent| extent.reach));
        }
        for column in self.states {
            columns.push(result_array::array(column)?);
        }
        unnamed(columns)
    }
}

impl<'a> PartialSessions<'a> {
    /// Reads what [`Self::write`] wrote.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] of other columns.
    pub fn read(query: &Query, gap: Gap, block: &'a RecordBatch) -> Result<Self> {
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
        let states = columns.remaining().iter().map(convert::view);
        Ok(Self {
            keys,
            extents,
            states: states.collect::<Result<_>>()?,
        })
    }
}

//! A page of a run, or of its index, as it was read.

use arrow_array::{ArrayRef, RecordBatch};

use crate::array::named::unnamed;
use crate::core::error::Result;
use crate::core::session::session_windows::Gap;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::format::page::{self, Label, PageKind, PageName, broken, ticks};
use crate::plan::query::Query;

/// The columns of a page of sessions after its keys: `start`, `end`, `reach`, `source`.
const TIMES: usize = 4;

/// A page.
pub(super) struct RunPage {
    /// Its name.
    pub name: PageName,
    rows: RecordBatch,
    keys: usize,
}

impl RunPage {
    /// Reads a page of a state with this fingerprint.
    pub fn read(query: &Query, fingerprint: &str, bytes: &[u8]) -> Result<Self> {
        let (label, rows) = page::read(bytes)?;
        if label.fingerprint != fingerprint {
            return Err(broken(
                "a page belongs to another specification than the head",
            ));
        }
        let page = Self {
            name: Self::named(&label)?,
            keys: query.keys.len(),
            rows,
        };
        let least = page.keys + if page.name.is_index { 2 } else { TIMES };
        if page.rows.num_columns() < least {
            return Err(broken(format!(
                "unexpected columns {:?}",
                page.rows.schema().fields()
            )));
        }
        Ok(page)
    }

    fn named(label: &Label) -> Result<PageName> {
        match label.form {
            PageKind::Sessions | PageKind::Index => label.name(),
            PageKind::Head | PageKind::Windows => Err(broken("it holds no sessions")),
        }
    }

    /// The key columns.
    pub fn keys(&self) -> &[ArrayRef] {
        self.rows.columns().get(..self.keys).unwrap_or_default()
    }

    /// The start and the reach of each session, as extents that end where they reach.
    pub fn spans(&self) -> Result<Vec<Extent>> {
        let reach = if self.name.is_index { 1 } else { 2 };
        let spans = self.column(0)?.iter().zip(self.column(reach)?);
        Ok(spans
            .map(|(&start, &reach)| Extent {
                start: Time(start),
                end: Time(reach),
                reach: Time(reach),
            })
            .collect())
    }

    /// The extent of each session.
    pub fn extents(&self) -> Result<Vec<Extent>> {
        let ends = self.column(1)?.iter();
        let spans = self.spans()?.into_iter().zip(ends);
        Ok(spans
            .map(|(span, &end)| Extent {
                end: Time(end),
                ..span
            })
            .collect())
    }

    /// A column of times, by its place after the keys.
    fn column(&self, place: usize) -> Result<&[i64]> {
        let column = self.rows.columns().get(self.keys + place);
        ticks(column.ok_or_else(|| broken("a column of times is missing"))?)
    }

    /// The sessions in the columns of a block.
    pub fn block(&self, gap: Gap) -> Result<RecordBatch> {
        let times = match gap {
            Gap::Fixed(_) => 2,
            Gap::Dynamic { .. } => 3,
        };
        for place in 0..TIMES {
            self.column(place)?;
        }
        let before = self.rows.columns().iter().take(self.keys + times);
        let states = self.rows.columns().iter().skip(self.keys + TIMES);
        unnamed(before.chain(states).cloned().collect())
    }
}

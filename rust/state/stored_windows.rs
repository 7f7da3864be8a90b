//! The windows of a stored page as columns.

use std::collections::BTreeSet;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_select::filter::filter_record_batch;

use super::emissions;
use super::page::{self, PageId, PageKind, PageName, broken, ticks};
use super::page_writer::PageColumns;
use crate::array::convert::check_canonical;
use crate::core::error::Result;
use crate::core::operator::pace::Emission;
use crate::core::time::Time;
use crate::core::window::Extent;
use crate::format::partial_sessions::PartialSessions;

/// A page of a run or of its index, after reading.
pub(crate) struct StoredWindows {
    /// The name of the page.
    pub name: PageName,
    /// The kind of the page.
    pub kind: PageKind,
    rows: RecordBatch,
    keys: usize,
}

impl StoredWindows {
    /// Reads a page. `keys` is the number of key columns.
    pub(crate) fn read(bytes: &[u8], fingerprint: &str, keys: usize) -> Result<Self> {
        let (label, rows) = page::read(bytes)?;
        if label.fingerprint != fingerprint {
            return Err(broken(
                "a page belongs to another specification than the head",
            ));
        }
        let kind = label.kind;
        let source = usize::from(kind != PageKind::Index);
        if kind == PageKind::Head || rows.num_columns() < keys + kind.times().len() + source {
            let schema = rows.schema();
            let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
            return Err(broken(format!("unexpected columns {names:?}")));
        }
        Ok(Self {
            name: label.name()?,
            kind,
            rows,
            keys,
        })
    }

    /// Windows that are not of a page, in the columns of one. `keys` is the number of key columns.
    pub(crate) fn of(kind: PageKind, rows: RecordBatch, keys: usize) -> Self {
        let id = PageId {
            segment: 0,
            run: 0,
            number: 0,
        };
        let name = PageName {
            id,
            is_index: false,
        };
        Self {
            name,
            kind,
            rows,
            keys,
        }
    }

    /// Reads pages in any order. They must have exactly these names.
    pub(crate) fn read_all(
        pages: &[&[u8]],
        names: &BTreeSet<PageName>,
        fingerprint: &str,
        keys: usize,
    ) -> Result<Vec<Self>> {
        let pages = pages.iter();
        let pages = pages.map(|bytes| Self::read(bytes, fingerprint, keys));
        let pages = pages.collect::<Result<Vec<_>>>()?;
        let read: BTreeSet<PageName> = pages.iter().map(|page| page.name).collect();
        if read != *names || pages.len() != names.len() {
            return Err(broken("pages are missing, or are not the needed ones"));
        }
        Ok(pages)
    }

    /// The number of windows.
    pub(crate) fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// Some of the windows.
    pub(crate) fn filter(&self, kept: &BooleanBuffer) -> Result<Self> {
        let kept = BooleanArray::new(kept.clone(), None);
        Ok(Self {
            rows: filter_record_batch(&self.rows, &kept)?,
            ..*self
        })
    }

    /// All columns.
    pub(crate) fn columns(&self) -> PageColumns {
        let schema = self.rows.schema_ref();
        let names = schema.fields().iter().map(|field| field.name().clone());
        names.zip(self.rows.columns().iter().cloned()).collect()
    }

    /// The key columns.
    pub(crate) fn keys(&self) -> &[ArrayRef] {
        self.rows.columns().get(..self.keys).unwrap_or_default()
    }

    /// A time column, by its place among the time columns.
    pub(crate) fn times(&self, place: usize) -> Result<&[i64]> {
        let column = self.rows.columns().get(self.keys + place);
        ticks(column.ok_or_else(|| broken("a column of times is missing"))?)
    }

    /// The columns after `source`, and how many of them are of emissions.
    fn after_source(&self) -> (&[ArrayRef], usize) {
        let before = self.keys + self.kind.times().len() + 1;
        let schema = self.rows.schema_ref();
        let name = schema.fields().get(before).map(|field| field.name());
        let is_paced = name.is_some_and(|name| name == emissions::NAMES[0]);
        let columns = self.rows.columns().get(before..).unwrap_or_default();
        let emissions = if is_paced { emissions::NAMES.len() } else { 0 };
        (columns, emissions)
    }

    /// The state columns, followed by the columns of user functions.
    pub(crate) fn states(&self) -> &[ArrayRef] {
        let (columns, emissions) = self.after_source();
        columns.get(emissions..).unwrap_or_default()
    }

    /// The last emissions of the windows. Empty if updates have no pace.
    pub(crate) fn emissions(&self) -> Result<Vec<Emission>> {
        match self.after_source() {
            ([times, replaced, ..], 2) => emissions::read(times, replaced),
            _ => Ok(Vec::new()),
        }
    }

    /// The sessions of a page. Each may be a part of a longer session.
    pub(crate) fn partials(&self) -> Result<PartialSessions> {
        if self.kind != PageKind::Sessions {
            return Err(broken("it holds windows of another kind"));
        }
        check_canonical(self.states())?;
        Ok(PartialSessions {
            keys: self.keys().to_vec(),
            extents: self.extents()?,
            states: self.states().to_vec(),
        })
    }

    /// When each window starts, ends and is due. All three are the start of a sliding window. A
    /// session of an index has its reach as its end. Records that wait are due at their time.
    pub(crate) fn extents(&self) -> Result<Vec<Extent>> {
        let (end, due, reach) = match self.kind {
            PageKind::Sessions => (1, 2, 2),
            PageKind::CutSessions => (1, 2, 3),
            PageKind::Index => (1, 1, 1),
            PageKind::Windows | PageKind::Head => (0, 0, 0),
        };
        let bounds = self.times(0)?.iter().zip(self.times(end)?);
        let extents = bounds.zip(self.times(due)?.iter().zip(self.times(reach)?));
        let extents = extents.map(|((&start, &end), (&due, &reach))| {
            let is_ordered = start <= end && end <= reach && start <= due;
            is_ordered.then_some(Extent {
                start: Time(start),
                end: Time(end),
                reach: Time(due),
            })
        });
        let extents = extents.collect::<Option<_>>();
        extents.ok_or_else(|| broken("the bounds of a window are not in order"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;
    use crate::state::page::PageBounds;
    use crate::state::page_writer::RunRows;

    /// A page of one window with these times.
    fn page(kind: PageKind, times: &[i64]) -> StoredWindows {
        let column = |(name, &time): (&str, &i64)| {
            let values: ArrayRef = Arc::new(Int64Array::from(vec![time]));
            (name.to_owned(), values)
        };
        let names = ["key"].into_iter().chain(kind.times().iter().copied());
        let mut columns: Vec<(String, ArrayRef)> =
            names.zip([7].iter().chain(times)).map(column).collect();
        if kind != PageKind::Index {
            columns.push(column(("source", &0)));
        }
        let id = PageId {
            segment: 0,
            run: 0,
            number: 0,
        };
        let bounds = |_| {
            Some(PageBounds {
                keys: (vec![7], vec![7]),
                times: (Time(0), Time(0)),
            })
        };
        let rows = RunRows::new(columns, 1 << 10).unwrap();
        let pages = rows.write(0..1, kind, "query", id, bounds).unwrap();
        StoredWindows::read(&pages[0].1, "query", 1).unwrap()
    }

    #[test]
    fn bounds_that_are_not_in_order_are_refused() {
        for (kind, times, is_ordered) in [
            (PageKind::Sessions, [1, 2, 3].as_slice(), true),
            (PageKind::Sessions, &[1, 1, 1], true),
            (PageKind::Sessions, &[2, 1, 3], false),
            (PageKind::Sessions, &[1, 3, 2], false),
            (PageKind::CutSessions, &[1, 2, 3, 3, 9, 0, 2, 0, 0], true),
            (PageKind::CutSessions, &[1, 3, 1, 3, 9, 0, 2, 0, 0], true),
            (PageKind::CutSessions, &[1, 3, 2, 2, 9, 0, 2, 0, 0], false),
            (PageKind::CutSessions, &[2, 3, 1, 3, 9, 0, 2, 0, 0], false),
            (PageKind::CutSessions, &[3, 2, 3, 3, 9, 0, 2, 0, 0], false),
            (PageKind::Index, &[1, 2], true),
            (PageKind::Index, &[2, 1], false),
        ] {
            let extents = page(kind, times).extents();
            assert_eq!(extents.is_ok(), is_ordered, "{kind:?} {times:?}");
        }
    }
}

//! Writes pages.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_schema::{Field, Schema};

use super::hexadecimal;
use super::page::{NamedPage, PageBounds, PageId, PageKind, PageName};
use crate::core::error::{Error, Result};
use crate::format::envelope::{self, Metadata};

/// Transfer between Spark's state store and Python costs by the byte.
const COMPRESSION: Option<CompressionType> = Some(CompressionType::LZ4_FRAME);

/// Named columns of a page.
pub(crate) type PageColumns = Vec<(String, ArrayRef)>;

/// The columns of a page of windows: keys, named `times`, `source`, `emissions` if any, states.
pub(crate) fn window_columns(
    keys: impl Iterator<Item = (String, ArrayRef)>,
    times: impl Iterator<Item = (&'static str, ArrayRef)>,
    rows: usize,
    emissions: PageColumns,
    states: Vec<ArrayRef>,
) -> PageColumns {
    let mut columns: PageColumns = keys.collect();
    columns.extend(times.map(|(name, ticks)| (name.to_owned(), ticks)));
    let sources: ArrayRef = Arc::new(Int64Array::from(vec![0; rows]));
    columns.push(("source".into(), sources));
    columns.extend(emissions);
    let states = states.into_iter().enumerate();
    columns.extend(states.map(|(nth, column)| (format!("state {nth}"), column)));
    columns
}

/// Writes a head. `texts` are extra metadata entries of the head.
pub(crate) fn write_head(
    columns: PageColumns,
    fingerprint: &str,
    texts: Vec<(&str, String)>,
) -> Result<Vec<u8>> {
    let mut metadata = named(PageKind::Head, fingerprint);
    metadata.extend(
        texts
            .into_iter()
            .map(|(name, text)| (name.to_owned(), text)),
    );
    envelope::seal(&batch(columns)?, metadata, COMPRESSION)
}

/// The sorted rows of a run, or of a part of it.
pub(crate) struct RunRows {
    rows: RecordBatch,
    /// The approximate number of rows in a page.
    page_rows: usize,
}

impl RunRows {
    /// Prepares rows for pages of about `page_bytes` bytes.
    pub(crate) fn new(columns: PageColumns, page_bytes: usize) -> Result<Self> {
        let rows = batch(columns)?;
        let width = rows.get_array_memory_size() / rows.num_rows().max(1);
        Ok(Self {
            page_rows: (page_bytes / width.max(1)).max(1),
            rows,
        })
    }

    /// The number of pages for this many rows. All pages have about the same length.
    pub(crate) fn pages(&self, rows: usize) -> usize {
        ((rows + self.page_rows / 2) / self.page_rows).max(1)
    }

    /// Writes a range of rows as pages, numbered from `first`. `bounds` returns the bounds of a
    /// range of rows.
    pub(crate) fn write(
        &self,
        range: Range<usize>,
        kind: PageKind,
        fingerprint: &str,
        first: PageId,
        bounds: impl Fn(Range<usize>) -> Option<PageBounds>,
    ) -> Result<Vec<NamedPage>> {
        let is_index = kind == PageKind::Index;
        let mut pages = Vec::new();
        let most = range.len().div_ceil(self.pages(range.len())).max(1);
        for (number, from) in (first.number..).zip(range.clone().step_by(most)) {
            let id = PageId { number, ..first };
            let length = most.min(range.end - from);
            let bounds =
                bounds(from..from + length).ok_or(Error::Internal("a page has no rows"))?;
            let mut metadata = named(kind, fingerprint);
            let (first_key, last_key) = &bounds.keys;
            let (first_time, last_time) = bounds.times;
            for (name, text) in [
                ("windrow.segment", id.segment.to_string()),
                ("windrow.run", id.run.to_string()),
                ("windrow.number", id.number.to_string()),
                ("windrow.first_key", hexadecimal::write(first_key)),
                ("windrow.last_key", hexadecimal::write(last_key)),
                ("windrow.first_time", first_time.0.to_string()),
                ("windrow.last_time", last_time.0.to_string()),
            ] {
                metadata.insert(name.to_owned(), text);
            }
            let own = self.rows.slice(from, length);
            let bytes = envelope::seal(&own, metadata, COMPRESSION)?;
            pages.push((PageName { id, is_index }, bytes));
        }
        Ok(pages)
    }
}

fn named(kind: PageKind, fingerprint: &str) -> Metadata {
    Metadata::from([
        ("windrow.page".to_owned(), kind.name().to_owned()),
        ("windrow.fingerprint".to_owned(), fingerprint.to_owned()),
    ])
}

fn batch(columns: PageColumns) -> Result<RecordBatch> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(name, array.data_type().clone(), array.is_nullable()))
        .collect();
    Ok(RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        columns.into_iter().map(|(_, array)| array).collect(),
    )?)
}

//! Writes pages.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_schema::{Field, Schema};

use super::byte_planes;
use super::envelope::{self, Metadata};
use super::page::{Page, PageBounds, PageId, PageKind};
use crate::aggregate::column::Column;
use crate::arrow::array::result_array;
use crate::error::{Error, Result};

/// Bytes in a page before they are compressed, about.
const PAGE_BYTES: usize = 256 << 10;

/// What crosses between Spark's state store and Python costs by the byte.
const COMPRESSION: Option<CompressionType> = Some(CompressionType::LZ4_FRAME);

/// Columns of a page, with their names.
pub(crate) type PageColumns = Vec<(String, ArrayRef)>;

/// The columns of a page of windows: keys, `times` by their names, `source`, states.
///
/// # Errors
///
/// States that Arrow cannot hold.
pub(crate) fn window_columns(
    keys: impl Iterator<Item = (String, ArrayRef)>,
    times: impl Iterator<Item = (&'static str, ArrayRef)>,
    rows: usize,
    states: Vec<Column<'static>>,
) -> Result<PageColumns> {
    let mut columns: PageColumns = keys.collect();
    columns.extend(times.map(|(name, ticks)| (name.to_owned(), ticks)));
    let sources: ArrayRef = Arc::new(Int64Array::from(vec![0; rows]));
    columns.push(("source".into(), sources));
    for (nth, column) in states.into_iter().enumerate() {
        columns.push((format!("state {nth}"), result_array::array(column)?));
    }
    Ok(columns)
}

/// Writes a head. `texts` are its own entries of metadata.
pub(crate) fn write_head(
    columns: PageColumns,
    fingerprint: &str,
    texts: [(&str, String); 2],
) -> Result<Vec<u8>> {
    let mut metadata = named(PageKind::Head, fingerprint);
    metadata.extend(texts.map(|(name, text)| (name.to_owned(), text)));
    envelope::seal(&batch(columns)?, metadata, COMPRESSION)
}

/// Writes the windows of a run, or of a part of it, sorted, as pages from `first` on. `bounds` are
/// those of a range of rows.
pub(crate) fn write_run(
    columns: PageColumns,
    form: PageKind,
    fingerprint: &str,
    first: PageId,
    bounds: impl Fn(std::ops::Range<usize>) -> Option<PageBounds>,
) -> Result<Vec<Page>> {
    let rows = batch(columns)?;
    let total = rows.num_rows();
    let width = rows.get_array_memory_size() / total.max(1);
    let most = (PAGE_BYTES / width.max(1)).max(1);
    let hex = |key: &[u8]| {
        key.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let mut pages = Vec::new();
    for (number, from) in (first.number..).zip((0..total).step_by(most)) {
        let id = PageId { number, ..first };
        let length = most.min(total - from);
        let bounds = bounds(from..from + length).ok_or(Error::Internal("a page has rows"))?;
        let mut metadata = named(form, fingerprint);
        metadata.extend([
            ("windrow.segment".to_owned(), id.segment.to_string()),
            ("windrow.run".to_owned(), id.run.to_string()),
            ("windrow.number".to_owned(), id.number.to_string()),
            ("windrow.first_key".to_owned(), hex(&bounds.keys.0)),
            ("windrow.last_key".to_owned(), hex(&bounds.keys.1)),
            (
                "windrow.first_time".to_owned(),
                bounds.times.0.0.to_string(),
            ),
            ("windrow.last_time".to_owned(), bounds.times.1.0.to_string()),
        ]);
        let mut own = rows.slice(from, length);
        if form == PageKind::Index {
            own = byte_planes::split(&own)?;
        }
        let bytes = envelope::seal(&own, metadata, COMPRESSION)?;
        pages.push(Page { id, bounds, bytes });
    }
    Ok(pages)
}

fn named(form: PageKind, fingerprint: &str) -> Metadata {
    Metadata::from([
        ("windrow.page".to_owned(), form.name().to_owned()),
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

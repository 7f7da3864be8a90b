//! State pages: the state of an operator as sealed batches (see [`crate::arrow::format::envelope`])
//! that open with any Arrow library.
//!
//! | page | one row is | columns |
//! |---|---|---|
//! | `head` | a source of an input | `input`, `source`, `time` |
//! | `sessions` | a session | key columns, `start`, `end`, `reach`, `source`, state columns |
//! | `windows` | a sliding window | key columns, `start`, `largest`, `source`, state columns |
//!
//! | metadata | of | value |
//! |---|---|---|
//! | `windrow.page` | all | `head`, `sessions` or `windows` |
//! | `windrow.fingerprint` | all | xxh3-64 of the specification |
//! | `windrow.specification` | head | the specification, JSON |
//! | `windrow.state` | head | stream time, close times, counters, the number of pages of each segment: JSON |
//! | `windrow.segment`, `windrow.run`, `windrow.number` | windows | the id of the page |
//! | `windrow.first_key`, `windrow.last_key` | windows | its keys' bounds, inclusive: hexadecimal, see [`crate::arrow::keys::sort_key`] |
//! | `windrow.first_time`, `windrow.last_time` | windows | the least start, and the greatest reach (of sliding windows: start) |
//!
//! Rows are sorted by key, then by end and start. A segment's windows are one run or several, each
//! cut into pages.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};

use super::envelope::{self, Metadata};
use crate::error::{Error, Result};
use crate::time::Time;

/// Bytes in a page, about.
const PAGE_BYTES: usize = 64 << 10;
const WHAT: &str = "page";

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Stream time and counters.
    Head,
    /// Sessions.
    Sessions,
    /// Sliding windows.
    Windows,
}

impl PageKind {
    const ALL: [Self; 3] = [Self::Head, Self::Sessions, Self::Windows];

    fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Sessions => "sessions",
            Self::Windows => "windows",
        }
    }
}

/// The id of a page of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    /// The segment: reach or start divided by the length of a segment.
    pub segment: i64,
    /// The run in the segment.
    pub run: u32,
    /// The page in the run.
    pub number: u32,
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.segment, self.run, self.number)
    }
}

/// The bounds of the windows in a page, known without reading its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageBounds {
    /// The first key and the last one.
    pub keys: (Vec<u8>, Vec<u8>),
    /// The least start, and the greatest reach or start.
    pub times: (Time, Time),
}

/// A page of windows: its id, its bounds and its bytes.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its id.
    pub id: PageId,
    /// What lies in it.
    pub bounds: PageBounds,
    /// The sealed rows.
    pub bytes: Vec<u8>,
}

/// The label of a page: all but its rows.
#[derive(Clone, Debug)]
pub struct Label {
    /// Its kind.
    pub form: PageKind,
    /// Of the specification that it belongs to.
    pub fingerprint: String,
    metadata: Metadata,
}

/// The error of a page.
pub(crate) fn broken(reason: impl Into<String>) -> Error {
    Error::Format {
        what: WHAT,
        reason: reason.into(),
    }
}

impl Label {
    fn new(metadata: Metadata) -> Result<Self> {
        let text = |name: &str| {
            metadata
                .get(name)
                .cloned()
                .ok_or_else(|| broken(format!("{name} is missing")))
        };
        let form = text("windrow.page")?;
        let known = PageKind::ALL.into_iter().find(|known| known.name() == form);
        let form = known.ok_or_else(|| {
            broken(format!(
                "it holds {form:?}, which this version does not know"
            ))
        })?;
        Ok(Self {
            form,
            fingerprint: text("windrow.fingerprint")?,
            metadata,
        })
    }

    /// Reads the label of a page, and not its rows.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for bytes that are damaged, of another version or no page.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        Self::new(envelope::metadata(WHAT, bytes)?)
    }

    /// An entry of the metadata.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where it is missing.
    pub fn text(&self, name: &str) -> Result<&str> {
        self.metadata
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| broken(format!("{name} is missing")))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name)?;
        text.parse()
            .map_err(|_| broken(format!("{name} is {text:?}, not a number")))
    }

    fn key(&self, name: &str) -> Result<Vec<u8>> {
        let text = self.text(name)?;
        let digits = text.as_bytes().chunks(2).map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        });
        digits
            .collect::<Option<_>>()
            .ok_or_else(|| broken(format!("{name} is {text:?}, not hexadecimal")))
    }

    /// The id of a page of windows.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where it has none.
    pub fn id(&self) -> Result<PageId> {
        Ok(PageId {
            segment: self.number("windrow.segment")?,
            run: self.number("windrow.run")?,
            number: self.number("windrow.number")?,
        })
    }

    /// The bounds of a page of windows.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where it has none.
    pub fn bounds(&self) -> Result<PageBounds> {
        Ok(PageBounds {
            keys: (
                self.key("windrow.first_key")?,
                self.key("windrow.last_key")?,
            ),
            times: (
                Time(self.number("windrow.first_time")?),
                Time(self.number("windrow.last_time")?),
            ),
        })
    }
}

/// PageColumns of a page, with their names.
pub(crate) type PageColumns = Vec<(String, ArrayRef)>;

/// Writes a head. `texts` are its own entries of metadata.
pub(crate) fn write_head(
    columns: PageColumns,
    fingerprint: &str,
    texts: [(&str, String); 2],
) -> Result<Vec<u8>> {
    let mut metadata = named(PageKind::Head, fingerprint);
    metadata.extend(texts.map(|(name, text)| (name.to_owned(), text)));
    envelope::seal(&batch(columns)?, metadata)
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
        let bytes = envelope::seal(&rows.slice(from, length), metadata)?;
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

/// Reads a page.
///
/// # Errors
///
/// [`Error::Format`] for bytes that are damaged, of another version or no page.
pub fn read(bytes: &[u8]) -> Result<(Label, RecordBatch)> {
    let (metadata, rows) = envelope::unseal(WHAT, bytes)?;
    Ok((Label::new(metadata)?, rows))
}

/// The 64-bit integers of a column of a page.
pub(crate) fn ticks(column: &ArrayRef) -> Result<&[i64]> {
    let column = column
        .as_primitive_opt::<Int64Type>()
        .filter(|column| column.null_count() == 0);
    Ok(column
        .ok_or_else(|| broken("a column of times has another type"))?
        .values())
}

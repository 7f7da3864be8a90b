//! State pages: the state of an operator as sealed batches (see [`crate::format::envelope`]). Any
//! Arrow library can open them.
//!
//! | page | one row is | columns |
//! |---|---|---|
//! | `head` | a source of an input | `input`, `source`, `time` |
//! | `sessions` | a session | key columns, `start`, `end`, `reach`, `source`, state columns |
//! | `windows` | a sliding window | key columns, `start`, `largest`, `source`, state columns |
//! | `cut_sessions` | the last session of a key, or records of one time and tie that are not in a session yet | key columns, `start`, `end`, `due`, `reach`, `border`, `tie`, `count`, `values`, `flags`, `source`, state columns |
//! | `index` | a session of the run with the same number | key columns, `start`, `reach` |
//!
//! If the updates of the query have a pace, `emitted` and `replaced` follow `source`: the stream time
//! of the last emission, and the bounds of the windows that a sink has in place of this one, null if
//! nothing waits.
//!
//! | metadata | pages | value |
//! |---|---|---|
//! | `windrow.page` | all | `head`, `sessions`, `windows`, `cut_sessions` or `index` |
//! | `windrow.fingerprint` | all | xxh3-64 of the specification |
//! | `windrow.specification` | head | the specification, JSON |
//! | `windrow.state` | head | stream time, close times, counters and the runs of each segment, JSON |
//! | `windrow.segment`, `windrow.run`, `windrow.number` | windows | the id of the page |
//! | `windrow.first_key`, `windrow.last_key` | windows | the bounds of its keys, inclusive, in hexadecimal: see [`crate::keys::sort_key`] |
//! | `windrow.first_time`, `windrow.last_time` | windows | the least start, and the greatest reach (for sliding windows: start) |
//!
//! Rows are sorted by key, then by end and start; with rules for sessions by start and tie. The windows of a segment form one or more runs.
//! Each run is cut into pages.

use std::fmt;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};

use crate::core::error::{Error, Result};
use crate::core::time::Time;
use crate::format::envelope::{self, Metadata};

const WHAT: &str = "page";

/// The kind of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// Stream time and counters.
    Head,
    /// Sessions.
    Sessions,
    /// Sliding windows.
    Windows,
    /// Sessions that rules end, and records that are not in one yet.
    CutSessions,
    /// Keys and bounds of the sessions of a run, without states.
    Index,
}

impl PageKind {
    const ALL: [Self; 5] = [
        Self::Head,
        Self::Sessions,
        Self::Windows,
        Self::CutSessions,
        Self::Index,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Head => "head",
            Self::Sessions => "sessions",
            Self::Windows => "windows",
            Self::CutSessions => "cut_sessions",
            Self::Index => "index",
        }
    }

    /// The names of the time columns, which follow the key columns.
    pub(crate) fn times(self) -> &'static [&'static str] {
        match self {
            Self::Head => &[],
            Self::Sessions => &["start", "end", "reach"],
            Self::Windows => &["start", "largest"],
            Self::CutSessions => &[
                "start", "end", "due", "reach", "border", "tie", "count", "values", "flags",
            ],
            Self::Index => &["start", "reach"],
        }
    }
}

/// The id of a page of windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageId {
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

/// The name of a page of windows or of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageName {
    /// The id of the page.
    pub id: PageId,
    /// Whether it is a page of the run's index.
    pub is_index: bool,
}

impl fmt::Display for PageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, is_index } = self;
        write!(f, "{id}{}", if *is_index { "/index" } else { "" })
    }
}

/// The bounds of the windows in a page. The label has them, so no row is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageBounds {
    /// The first key and the last one.
    pub keys: (Vec<u8>, Vec<u8>),
    /// The least start, and the greatest reach (for sliding windows: start).
    pub times: (Time, Time),
}

/// A page name with the sealed rows.
pub(crate) type NamedPage = (PageName, Vec<u8>);

/// A page name as text, with the bytes. `None` deletes the page.
pub(crate) type ChangedPage = (String, Option<Vec<u8>>);

/// The label of a page: everything except its rows.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The kind of the page.
    pub kind: PageKind,
    /// The fingerprint of its specification.
    pub fingerprint: String,
    metadata: Metadata,
}

/// The error for a broken page.
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
        let kind = text("windrow.page")?;
        let known = PageKind::ALL.into_iter().find(|known| known.name() == kind);
        let kind = known.ok_or_else(|| {
            broken(format!(
                "it holds {kind:?}, which this version does not know"
            ))
        })?;
        Ok(Self {
            kind,
            fingerprint: text("windrow.fingerprint")?,
            metadata,
        })
    }

    /// Reads the label of a page without its rows.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self> {
        Self::new(envelope::metadata(WHAT, bytes)?)
    }

    /// An entry of the metadata, if it is there.
    pub(super) fn entry(&self, name: &str) -> Option<&str> {
        self.metadata.get(name).map(String::as_str)
    }

    /// An entry of the metadata.
    pub(crate) fn text(&self, name: &str) -> Result<&str> {
        self.entry(name)
            .ok_or_else(|| broken(format!("{name} is missing")))
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name)?;
        text.parse()
            .map_err(|_| broken(format!("{name} is {text:?}, not a number")))
    }

    /// The id of a page of windows.
    pub(crate) fn id(&self) -> Result<PageId> {
        Ok(PageId {
            segment: self.number("windrow.segment")?,
            run: self.number("windrow.run")?,
            number: self.number("windrow.number")?,
        })
    }

    /// The name of a page of windows or of an index.
    pub(crate) fn name(&self) -> Result<PageName> {
        Ok(PageName {
            id: self.id()?,
            is_index: self.kind == PageKind::Index,
        })
    }
}

/// Reads a page.
pub(crate) fn read(bytes: &[u8]) -> Result<(Label, RecordBatch)> {
    let (metadata, rows) = envelope::unseal(WHAT, bytes)?;
    Ok((Label::new(metadata)?, rows))
}

/// The values of an `Int64` column of a page.
pub(crate) fn ticks(column: &ArrayRef) -> Result<&[i64]> {
    let column = column
        .as_primitive_opt::<Int64Type>()
        .filter(|column| column.null_count() == 0);
    Ok(column
        .ok_or_else(|| broken("a column of times has another type"))?
        .values())
}

//! The head of a saved state: stream time, counters, and which pages there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use serde::{Deserialize, Serialize};

use super::page::{self, Label, PageId, broken};
use super::page_writer;
use super::run_range::RunRanges;
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::operator::stream_time::{Progress, Source};
use crate::core::time::Time;
use crate::plan::fingerprint::Fingerprint;

/// Its name among the pages.
pub(crate) const NAME: &str = "head";

/// The number of pages of each run of each segment.
pub(crate) type PageCounts = BTreeMap<i64, Vec<u32>>;

/// What is known of each run of each segment, where sessions may go on from one run in another.
pub(crate) type RunBounds = BTreeMap<i64, Vec<RunBound>>;

/// What is known of a run of partial sessions without its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunBound {
    /// The least start.
    pub first: i64,
    /// How many sessions it has.
    pub rows: u64,
    /// How many pages its index has; none where the run is so short that it is its own index.
    pub index: u32,
}

/// What the head says beside the times of sources.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    /// Windows due before this were closed and emitted.
    pub closed: i64,
    #[serde(rename = "arrivals")]
    pub seq_nos: SeqNo,
    /// Length of a segment.
    pub width: i64,
    inputs: Vec<InputClock>,
    pub counters: Counters,
    pub pages: PageCounts,
    /// Of sessions in close mode; otherwise nothing stored goes on in another run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runs: RunBounds,
    /// Of all but sessions in close mode: each run has a range of keys.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ranges: RunRanges,
}

/// How far an input has come.
#[derive(Debug, Serialize, Deserialize)]
struct InputClock {
    time: Option<i64>,
    close: i64,
}

impl Head {
    /// The head of a state; the times of sources in `progress` are rows of its page.
    pub fn new(
        progress: &[Progress],
        closed: Time,
        width: i64,
        seq_nos: SeqNo,
        counters: Counters,
        pages: PageCounts,
    ) -> Self {
        let inputs = progress
            .iter()
            .map(|input| InputClock {
                time: input.time.map(|time| time.0),
                close: input.close.0,
            })
            .collect();
        Self {
            closed: closed.0,
            seq_nos,
            width,
            inputs,
            counters,
            pages,
            runs: RunBounds::new(),
            ranges: RunRanges::new(),
        }
    }

    /// The page of a head, with the times of sources.
    pub fn write(&self, progress: &[Progress], fingerprint: &Fingerprint) -> Result<Vec<u8>> {
        let sources = || {
            (0_i64..)
                .zip(progress)
                .flat_map(|(input, known)| known.sources.iter().map(move |source| (input, source)))
        };
        let column = |ticks: Vec<i64>| Arc::new(Int64Array::from(ticks)) as ArrayRef;
        let columns = vec![
            (
                "input".into(),
                column(sources().map(|(input, _)| input).collect()),
            ),
            (
                "source".into(),
                column(sources().map(|(_, (source, _))| source.0.into()).collect()),
            ),
            (
                "time".into(),
                column(sources().map(|(_, (_, time))| time.0).collect()),
            ),
        ];
        let state = serde_json::to_string(self).map_err(|_| Error::Internal("a head is JSON"))?;
        let texts = [
            ("windrow.specification", fingerprint.text.clone()),
            ("windrow.state", state),
        ];
        page_writer::write_head(columns, &fingerprint.hash, texts)
    }

    /// The head of a page, and the progress of each input; of the state of a query with this
    /// fingerprint.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for the state of another query, which names what differs, and for a damaged
    /// one.
    pub fn open(
        label: &Label,
        bytes: &[u8],
        fingerprint: &Fingerprint,
    ) -> Result<(Self, Vec<Progress>)> {
        if label.fingerprint != fingerprint.hash {
            let difference = fingerprint.difference(label.text("windrow.specification")?);
            return Err(broken(format!(
                "it belongs to another specification: {difference}"
            )));
        }
        Self::read(label, bytes)
    }

    /// The head of a page, and the progress of each input.
    fn read(label: &Label, bytes: &[u8]) -> Result<(Self, Vec<Progress>)> {
        let state = label.text("windrow.state")?;
        let head: Self = serde_json::from_str(state)
            .map_err(|error| broken(format!("its head cannot be read: {error}")))?;
        let (_, sources) = page::read(bytes)?;
        let [inputs, numbers, times] = sources.columns() else {
            return Err(broken("its head has other columns"));
        };
        let (inputs, numbers, times) = (
            page::ticks(inputs)?,
            page::ticks(numbers)?,
            page::ticks(times)?,
        );
        let clocks = head.inputs.iter();
        let mut progress: Vec<Progress> = clocks
            .map(|clock| Progress {
                sources: Vec::new(),
                time: clock.time.map(Time),
                close: Time(clock.close),
            })
            .collect();
        for ((&input, &number), &time) in inputs.iter().zip(numbers).zip(times) {
            let source = u32::try_from(number)
                .map(Source)
                .map_err(|_| broken("a source has no such number"))?;
            let input = usize::try_from(input)
                .ok()
                .and_then(|input| progress.get_mut(input));
            input
                .ok_or_else(|| broken("a source belongs to no input"))?
                .sources
                .push((source, Time(time)));
        }
        progress
            .iter_mut()
            .for_each(|input| input.sources.sort_unstable());
        Ok((head, progress))
    }

    /// Checks that every page that it names is there once, and no other.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] where it is not so.
    pub fn check_complete(&self, ids: impl Iterator<Item = Result<PageId>>) -> Result<()> {
        let mut found = ids.collect::<Result<Vec<_>>>()?;
        found.sort_unstable();
        let segments = self.pages.iter();
        let runs = segments.flat_map(|(&segment, runs)| {
            (0_u32..)
                .zip(runs)
                .map(move |(run, &count)| (segment, run, count))
        });
        let named = runs.flat_map(|(segment, run, count)| {
            (0..count).map(move |number| PageId {
                segment,
                run,
                number,
            })
        });
        if found.into_iter().eq(named) {
            Ok(())
        } else {
            Err(broken("pages are missing, or some are not of this state"))
        }
    }
}

//! The head of a saved state: stream time, counters, and the list of pages.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::page::{self, PageKind, broken};
use super::page_writer;
use super::segment_table::{Layout, SegmentTable};
use crate::core::aggregate::SeqNo;
use crate::core::error::{Error, Result};
use crate::core::operator::counters::Counters;
use crate::core::operator::stream_time::{Progress, Source};
use crate::core::time::Time;
use crate::plan::state_query::{Fingerprint, with_layouts};

/// The name of the head page.
pub(crate) const NAME: &str = "head";

/// Its metadata with the layouts of nested columns, if there are any.
const LAYOUTS: &str = "windrow.layouts";

/// The progress of an operator.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// The progress of each input.
    pub progress: Vec<Progress>,
    /// Windows due before this are closed and emitted.
    pub closed: Time,
    /// Number of rows read so far.
    pub seq_nos: SeqNo,
    pub counters: Counters,
}

/// The head without the times of sources.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    closed: i64,
    seq_nos: SeqNo,
    inputs: Vec<InputClock>,
    counters: Counters,
    /// Length of a segment.
    pub width: i64,
    pub layout: Layout,
    pub segments: SegmentTable,
}

/// The progress of an input.
#[derive(Debug, Serialize, Deserialize)]
struct InputClock {
    time: Option<i64>,
    close: i64,
}

impl Head {
    /// Writes the head page. Its rows are the times of sources.
    pub(crate) fn write(
        clock: &Clock,
        width: i64,
        layout: Layout,
        segments: &SegmentTable,
        fingerprint: &Fingerprint,
    ) -> Result<Vec<u8>> {
        let inputs = clock.progress.iter().map(|input| InputClock {
            time: input.time.map(|time| time.0),
            close: input.close.0,
        });
        let head = Self {
            closed: clock.closed.0,
            seq_nos: clock.seq_nos,
            inputs: inputs.collect(),
            counters: clock.counters,
            width,
            layout,
            segments: segments.clone(),
        };
        let sources = || {
            let inputs = (0_i64..).zip(&clock.progress);
            inputs.flat_map(|(input, known)| known.sources.iter().map(move |own| (input, own)))
        };
        let column = |ticks: Vec<i64>| Arc::new(Int64Array::from(ticks)) as ArrayRef;
        let numbers = sources().map(|(_, (source, _))| source.0.into());
        let columns = vec![
            (
                "input".into(),
                column(sources().map(|(input, _)| input).collect()),
            ),
            ("source".into(), column(numbers.collect())),
            (
                "time".into(),
                column(sources().map(|(_, (_, time))| time.0).collect()),
            ),
        ];
        let state =
            serde_json::to_string(&head).map_err(|_| Error::Internal("a head is not JSON"))?;
        let mut texts = vec![
            ("windrow.specification", fingerprint.text.clone()),
            ("windrow.state", state),
        ];
        if !fingerprint.layouts.is_empty() {
            texts.push((
                LAYOUTS,
                Value::Object(fingerprint.layouts.clone()).to_string(),
            ));
        }
        page_writer::write_head(columns, &fingerprint.hash, texts)
    }

    /// Reads the head page of a query with this fingerprint.
    pub(crate) fn open(bytes: &[u8], fingerprint: &Fingerprint) -> Result<(Self, Clock)> {
        let (label, rows) = page::read(bytes)?;
        if label.kind != PageKind::Head {
            return Err(broken("it is no head"));
        }
        let layouts = match label.entry(LAYOUTS) {
            Some(text) => serde_json::from_str(text)
                .map_err(|error| broken(format!("its layouts cannot be read: {error}")))?,
            None => Map::new(),
        };
        if label.fingerprint != fingerprint.hash || fingerprint.has_other_layouts(&layouts) {
            return Err(Error::OtherQuery {
                state: "state",
                saved: with_layouts(label.text("windrow.specification")?, &layouts),
                own: with_layouts(&fingerprint.text, &fingerprint.layouts),
            });
        }
        let head: Self = serde_json::from_str(label.text("windrow.state")?)
            .map_err(|error| broken(format!("its head cannot be read: {error}")))?;
        head.segments.check(head.layout)?;
        let clock = Clock {
            progress: head.progress(&rows)?,
            closed: Time(head.closed),
            seq_nos: head.seq_nos,
            counters: head.counters,
        };
        Ok((head, clock))
    }

    /// The progress of each input. `rows` has the times of sources.
    fn progress(&self, rows: &RecordBatch) -> Result<Vec<Progress>> {
        let [inputs, numbers, times] = rows.columns() else {
            return Err(broken("its head has other columns"));
        };
        let (inputs, numbers, times) = (
            page::ticks(inputs)?,
            page::ticks(numbers)?,
            page::ticks(times)?,
        );
        let mut progress: Vec<Progress> = self
            .inputs
            .iter()
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
        Ok(progress)
    }
}

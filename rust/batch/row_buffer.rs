//! Builds sliding windows from many rows at once: collects the rows, sorts them and sweeps over
//! them.
//!
//! A window is planned once all its records are there, that is, once it ends before the *frontier*.
//! No later record is before the frontier. The buffer then releases rows that no later window
//! contains.

use std::mem::discriminant;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;

use crate::array::value_bytes::value_bytes;
use crate::core::aggregate::column::gather;
use crate::core::aggregate::{RowSpan, SeqNo};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::memory;
use crate::core::sliding::frame::RangeFrame;
use crate::core::sliding::plan::{Ends, Sliding, beyond_time};
use crate::core::sort::{order, pick, pick_optional, rough_order};
use crate::core::time::{Span, Time};
use crate::core::window::Window;

/// The approximate number of windows in a [`WindowBatch`].
const CHUNK: usize = 1 << 16;

/// Capacity of a batch. It exceeds `CHUNK` because a batch ends with all windows of a key.
const ROOM: usize = CHUNK + CHUNK / 4;

/// Bytes per row during sorting: an entry, its place, and one more column of words.
const SORTED: usize = 16 + 4 + 8;

/// Rows of many keys.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    keys: Vec<KeyId>,
    times: Vec<Time>,
    /// `times`, floored to the resolution. Empty if the resolution is one tick.
    floored: Vec<Time>,
    /// Empty if no aggregate needs them.
    seq_nos: Vec<SeqNo>,
    /// Each input column, in parts. [`Self::pick`] joins them.
    inputs: Vec<Vec<ArrayRef>>,
    /// The place of each row before the sort.
    places: Vec<u32>,
}

/// Windows and their rows.
#[derive(Debug, Default)]
pub(crate) struct WindowBatch {
    /// The key of each window.
    pub keys: Vec<KeyId>,
    /// The windows, by key and start.
    pub windows: Vec<Window>,
    /// The rows of each window.
    pub spans: Vec<RowSpan>,
    /// The rows at the end of each window, if windows end at records.
    pub at_end: Vec<RowSpan>,
    /// For each frame, the rows of each window in it.
    pub frames: Vec<Vec<RowSpan>>,
}

impl WindowBatch {
    /// An empty batch with capacity for `windows` windows. With `at_ends` they end at records, and
    /// have these frames.
    fn with_capacity(windows: usize, at_ends: Option<&[RangeFrame]>) -> Self {
        let frames = at_ends.unwrap_or_default().iter();
        Self {
            keys: Vec::with_capacity(windows),
            windows: Vec::with_capacity(windows),
            spans: Vec::with_capacity(windows),
            at_end: Vec::with_capacity(at_ends.map_or(0, |_| windows)),
            frames: frames.map(|_| Vec::with_capacity(windows)).collect(),
        }
    }

    /// Splits the batch into ranges of at most `windows` windows with at most `rows` rows, because
    /// one key may have any number of windows. Each range has at least one window, with any
    /// size.
    pub(crate) fn pieces(&self, windows: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let rest = self.spans.get(from..).filter(|rest| !rest.is_empty())?;
            let mut total = 0;
            let fits = |span: &&RowSpan| {
                total += span.len();
                total <= rows
            };
            let piece = from..from + rest.iter().take(windows).take_while(fits).count().max(1);
            from = piece.end;
            Some(piece)
        })
    }

    /// The rows of each window, or of each window in the frame with this number.
    pub(crate) fn spans_of(&self, frame: Option<usize>) -> &[RowSpan] {
        match frame {
            Some(frame) => self.frames.get(frame).map_or(&[], Vec::as_slice),
            None => &self.spans,
        }
    }

    /// The number of rows in the largest window.
    pub(crate) fn widest(&self) -> usize {
        self.spans.iter().map(RowSpan::len).max().unwrap_or(0)
    }
}

/// Joins the parts of a column. An append to the column for each part would take time that grows with
/// the square of their number.
fn joined(parts: Vec<ArrayRef>) -> Result<ArrayRef> {
    let rows = |part: &&ArrayRef| !part.is_empty();
    let filled: Vec<&dyn Array> = parts.iter().filter(rows).map(AsRef::as_ref).collect();
    memory::room_for(
        filled
            .iter()
            .map(|part| value_bytes(*part, 0..part.len()))
            .sum(),
    )?;
    match parts.first() {
        Some(empty) if filled.is_empty() => Ok(Arc::clone(empty)),
        _ => Ok(concat(&filled)?),
    }
}

impl RowBuffer {
    /// An empty buffer. `inputs` are empty columns of the right kinds.
    pub(crate) fn new(inputs: Vec<ArrayRef>) -> Self {
        Self {
            inputs: inputs.into_iter().map(|input| vec![input]).collect(),
            ..Self::default()
        }
    }

    /// The key of each row.
    pub(crate) fn keys(&self) -> &[KeyId] {
        &self.keys
    }

    /// The event time of each row.
    pub(crate) fn times(&self) -> &[Time] {
        &self.times
    }

    /// The arrival number of each row.
    pub(crate) fn seq_nos(&self) -> &[SeqNo] {
        &self.seq_nos
    }

    /// The input columns of the aggregates. The rows must be sorted or picked.
    pub(crate) fn inputs(&self) -> Vec<ArrayRef> {
        let inputs = self.inputs.iter();
        inputs.filter_map(|parts| parts.first().cloned()).collect()
    }

    /// Adds rows. No key is null. All slices and columns are parallel.
    pub(crate) fn push(
        &mut self,
        sliding: Sliding,
        keys: &[KeyId],
        times: &[Time],
        seq_nos: &[SeqNo],
        inputs: &[ArrayRef],
    ) -> Result<()> {
        memory::reserve(&mut self.keys, times.len())?;
        memory::reserve(&mut self.times, times.len())?;
        memory::reserve(&mut self.seq_nos, times.len())?;
        if sliding.resolution != Span(1) {
            memory::reserve(&mut self.floored, times.len())?;
            for &time in times {
                let floored = time.floor(sliding.resolution);
                self.floored.push(floored.ok_or_else(|| beyond_time(time))?);
            }
        }
        self.keys.extend_from_slice(keys);
        self.times.extend_from_slice(times);
        self.seq_nos.extend_from_slice(seq_nos);
        let kind = |column: &ArrayRef| discriminant(column.data_type());
        for (parts, more) in self.inputs.iter_mut().zip(inputs) {
            if parts.first().map(kind) != Some(kind(more)) {
                return Err(Error::Internal("columns of two kinds are joined"));
            }
            parts.push(Arc::clone(more));
        }
        Ok(())
    }

    /// Sorts the rows by (key, time, arrival). Planning needs this order.
    pub(crate) fn sort(&mut self, interrupt: &Interrupt) -> Result<()> {
        memory::room_for(self.keys.len().saturating_mul(SORTED))?;
        let mut order = order(&self.keys, &self.times, interrupt)?;
        self.sort_ties(&mut order, interrupt)?;
        self.pick(&order, interrupt)?;
        self.places = order;
        Ok(())
    }

    /// The positions of `spans`, roughly in the order in which their first rows arrived.
    pub(crate) fn by_arrival(&self, spans: &[RowSpan]) -> Result<Vec<u32>> {
        let firsts: Vec<u32> = spans.iter().map(|span| span.from).collect();
        Ok(rough_order(&pick(&self.places, &firsts)?))
    }

    fn floored(&self) -> &[Time] {
        if self.floored.is_empty() {
            &self.times
        } else {
            &self.floored
        }
    }

    /// Sorts rows of equal key and time by arrival.
    fn sort_ties(&self, order: &mut [u32], interrupt: &Interrupt) -> Result<()> {
        if self.seq_nos.is_sorted() {
            return Ok(());
        }
        let mut done = 0;
        let at = |row: u32| (self.keys.get(row as usize), self.times.get(row as usize));
        for ties in order.chunk_by_mut(|&left, &right| at(left) == at(right)) {
            interrupt.check_rows(done..done + ties.len())?;
            done += ties.len();
            ties.sort_by_key(|&row| self.seq_nos.get(row as usize));
        }
        Ok(())
    }

    /// Releases the rows before `horizon`. The others stay in order.
    pub(crate) fn release(&mut self, horizon: Time, interrupt: &Interrupt) -> Result<()> {
        let kept: Vec<u32> = (0..)
            .zip(self.floored())
            .filter(|&(_, &time)| time >= horizon)
            .map(|(row, _)| row)
            .collect();
        self.pick(&kept, interrupt)
    }

    /// Replaces the keys by their new numbers.
    pub(crate) fn renumber(&mut self, keys: Vec<KeyId>) {
        self.keys = keys;
    }

    /// Keeps these rows, in that order.
    pub(super) fn pick(&mut self, rows: &[u32], interrupt: &Interrupt) -> Result<()> {
        self.keys = pick(&self.keys, rows)?;
        self.times = pick(&self.times, rows)?;
        interrupt.check()?;
        self.floored = pick_optional(&self.floored, rows)?;
        self.seq_nos = pick_optional(&self.seq_nos, rows)?;
        for parts in &mut self.inputs {
            interrupt.check()?;
            *parts = vec![gather(&joined(std::mem::take(parts))?, rows)?];
        }
        Ok(())
    }

    /// Plans the windows of all keys, some tens of thousands at a time. With `at_ends`, plans the
    /// windows that end at records, with these frames. The rows must be sorted.
    pub(crate) fn plan(
        &self,
        sliding: Sliding,
        ends: Ends,
        at_ends: Option<&[RangeFrame]>,
        interrupt: &Interrupt,
    ) -> impl Iterator<Item = Result<WindowBatch>> {
        let floored = self.floored();
        let mut groups = self.keys.chunk_by(|left, right| left == right).peekable();
        let mut first = 0;
        std::iter::from_fn(move || {
            groups.peek()?;
            // At most two windows end or begin with each row.
            let most = 2 * (self.keys.len() - first);
            let mut batch = WindowBatch::with_capacity(most.min(ROOM), at_ends);
            while let Some(group) = groups.next_if(|_| batch.keys.len() < CHUNK) {
                let times = floored.get(first..first + group.len()).unwrap_or_default();
                let mut emit = |window, span| {
                    interrupt.check_rows(batch.spans.len()..batch.spans.len() + 1)?;
                    batch.windows.push(window);
                    batch.spans.push(span);
                    Ok(())
                };
                let result = if at_ends.is_some() {
                    sliding.plan_ends(times, first as u32, ends, |window, span, at_end| {
                        batch.at_end.push(at_end);
                        emit(window, span)
                    })
                } else {
                    sliding.plan(times, first as u32, ends, emit)
                };
                if let Err(error) = result {
                    return Some(Err(error));
                }
                let windows = batch.windows.get(batch.keys.len()..).unwrap_or_default();
                for (frame, spans) in at_ends.into_iter().flatten().zip(&mut batch.frames) {
                    frame.spans(times, first as u32, windows, |span| spans.push(span));
                }
                first += group.len();
                let key = group.first().copied().unwrap_or(KeyId::NULL);
                batch.keys.resize(batch.windows.len(), key);
            }
            Some(Ok(batch))
        })
    }
}

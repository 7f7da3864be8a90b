//! The state of an operator between two micro-batches, as pages: all of them, or those that a
//! micro-batch needs and changes.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use super::operator::{Operator, RESTORE};
use super::snapshot::{ChangedPage, StatePart};
use crate::core::error::Result;
use crate::core::time::Time;
use crate::input::events::SOURCE;
use crate::state::source_time::SourceTime;

impl Operator {
    /// The whole state, as pages. [`Self::changed_pages`] returns the same pages afterwards as
    /// without this call.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] after a call that failed, [`crate::core::error::Error::Function`] for
    /// accumulators that do not fit their type.
    pub fn pages(&self) -> Result<Vec<Vec<u8>>> {
        self.check_whole()?;
        self.snapshot.pages(&self.state)
    }

    /// The pages that have changed since the last call, or since the operator was restored: by
    /// name, without bytes where a page is no more. Applied to the pages before, they give the same
    /// state as [`Self::pages`].
    ///
    /// # Errors
    ///
    /// As [`Self::pages`].
    pub fn changed_pages(&mut self) -> Result<Vec<ChangedPage>> {
        match self.part {
            StatePart::Changed => self.check_usable()?,
            _ => self.check_whole()?,
        }
        self.snapshot.changed_pages(&mut self.state)
    }

    /// The pages of a saved state that a micro-batch needs, by its key columns, `times` and `progress` as
    /// the micro-batch is pushed with them: those of the runs that have its keys, and of those in which
    /// a window closes or leaves. None where it needs all of them, as the state was saved in other
    /// segments, or in parts.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] for a head that is damaged or of another query, and for an
    /// operator that has seen records; columns of other types.
    pub fn touched(
        &self,
        head: &[u8],
        keys: &RecordBatch,
        times: Option<&RecordBatch>,
        progress: &[SourceTime],
    ) -> Result<Option<Vec<String>>> {
        self.check_whole()?;
        self.state.check_unused()?;
        self.check_progress(progress)?;
        let inputs = times.into_iter().flat_map(RecordBatch::columns).enumerate();
        let latest = inputs.filter_map(|(input, times)| {
            let times = times.as_primitive_opt::<Int64Type>()?;
            let time = times.iter().flatten().max()?;
            Some(SourceTime {
                input,
                source: SOURCE,
                time: Time(time),
            })
        });
        let latest: Vec<SourceTime> = latest.collect();
        self.snapshot
            .touched(&self.state, head, keys, &latest, progress)
    }

    /// Reads the pages of a saved state, in any order, into an operator that has seen no record.
    /// After an error the operator refuses every call, unless it has seen records: then nothing has
    /// changed.
    ///
    /// # Errors
    ///
    /// [`crate::core::error::Error::Format`] for pages that are damaged, missing, or of another query, and for
    /// an operator that has seen records.
    pub fn restore(&mut self, pages: &[&[u8]]) -> Result<()> {
        self.read_pages(pages, StatePart::Whole)
    }

    /// Reads the head and the pages that [`Self::touched`] has named, for that micro-batch alone and its
    /// [`Self::changed_pages`].
    ///
    /// # Errors
    ///
    /// As [`Self::restore`], but for pages of other runs that are missing.
    pub fn restore_touched(&mut self, pages: &[&[u8]]) -> Result<()> {
        self.read_pages(pages, StatePart::Runs)
    }

    /// Reads the head and some pages of a saved state, for [`Self::select`] alone.
    ///
    /// # Errors
    ///
    /// As [`Self::restore`], but for pages of windows that are missing.
    pub fn restore_part(&mut self, pages: &[&[u8]]) -> Result<()> {
        self.read_pages(pages, StatePart::Pages)
    }

    fn read_pages(&mut self, pages: &[&[u8]], part: StatePart) -> Result<()> {
        self.check_whole()?;
        self.state.check_unused()?;
        self.run(RESTORE, |operator| {
            let snapshot = &mut operator.snapshot;
            snapshot.restore(&mut operator.state, pages, part)
        })?;
        self.part = part;
        Ok(())
    }
}

//! Admits records: counts them, and decides which stream time judges them.

use super::record::{EffectiveGap, Record, RecordOutcome, ValidRecord};
use super::stream_time::StreamTimes;
use super::window_operator::{WindowKind, WindowOperator};
use crate::core::time::Span;
use crate::core::window::Extent;

impl<K: WindowKind> WindowOperator<K> {
    /// Counts a record and moves stream time, which then judges the record. A record without a key
    /// or a time, or with a bad gap or end, returns its outcome instead and does not move stream time.
    ///
    /// # Errors
    ///
    /// The outcome of such a record.
    #[inline]
    pub fn admit<'a, R>(
        &mut self,
        record: Record<'a, R>,
    ) -> std::result::Result<ValidRecord<'a, R>, RecordOutcome> {
        let (input, source) = (record.input, record.source);
        let mut valid = self.validate(record)?;
        self.time.observe(input, source, valid.extent.start);
        valid.now = self.time.now(input);
        Ok(valid)
    }

    /// Like [`Self::admit`], but stream time does not move before it judges the record (rules 1.2).
    ///
    /// # Errors
    ///
    /// The same as [`Self::admit`].
    pub fn admit_at_start<'a, R>(
        &mut self,
        record: Record<'a, R>,
    ) -> std::result::Result<ValidRecord<'a, R>, RecordOutcome> {
        let input = record.input;
        let mut valid = self.validate(record)?;
        valid.now = self.time.now(input);
        Ok(valid)
    }

    /// Counts a record with a key, a time, an end and a valid gap. No time has judged it yet.
    #[inline]
    fn validate<'a, R>(
        &mut self,
        record: Record<'a, R>,
    ) -> std::result::Result<ValidRecord<'a, R>, RecordOutcome> {
        let Some(name) = record.key else {
            self.counters.null_keys += 1;
            return Err(RecordOutcome::NullKey);
        };
        let Some(time) = record.time else {
            self.counters.null_times += 1;
            return Err(RecordOutcome::NullTime);
        };
        let Some(rule) = record.rule else {
            self.counters.null_ties += 1;
            return Err(RecordOutcome::NullTie);
        };
        let (gap, is_clamped) = match self.kind.gap(record.gap) {
            EffectiveGap::Valid(gap) => (gap, false),
            EffectiveGap::Clamped(gap) => (gap, true),
            EffectiveGap::Bad => {
                self.counters.bad_gaps += 1;
                return Err(RecordOutcome::BadGap);
            }
        };
        let Some(end) = record.end.filter(|&end| end >= time) else {
            self.counters.bad_ends += 1;
            return Err(RecordOutcome::BadEnd);
        };
        self.counters.clamped_gaps += u64::from(is_clamped);
        self.counters.records += 1;
        let gap = if rule.ends { Span(0) } else { gap };
        Ok(ValidRecord {
            name,
            extent: Extent::lasting(time, end, gap),
            now: StreamTimes::START,
            rule,
            row: record.row,
        })
    }
}

//! Settings of session windows.

use crate::core::error::{Error, Result};
use crate::core::operator::change::{Emit, Late};
use crate::core::operator::record::EffectiveGap;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;

/// The longest gap that a column can hold.
const LONGEST: Span = Span(i64::MAX as u64);

/// The inactivity gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// One gap for all records.
    Fixed(Span),
    /// A gap per record (rules 3.1).
    Dynamic {
        /// Longer gaps are cut to this. `None` allows any gap.
        longest: Option<Span>,
    },
}

impl Gap {
    /// The longest gap a record can have.
    pub fn longest(self) -> Span {
        match self {
            Self::Fixed(gap) => gap,
            Self::Dynamic { longest } => longest.unwrap_or(LONGEST),
        }
    }

    /// The effective gap of a record whose gap column has the value `own`.
    pub fn of(self, own: Option<i64>) -> EffectiveGap {
        match (self, own.and_then(|own| u64::try_from(own).ok())) {
            (Self::Fixed(gap), _) => EffectiveGap::Asked(gap),
            (_, None | Some(0)) => EffectiveGap::Bad,
            (
                Self::Dynamic {
                    longest: Some(longest),
                },
                Some(own),
            ) if Span(own) > longest => EffectiveGap::Clamped(longest),
            (_, Some(own)) => EffectiveGap::Asked(Span(own)),
        }
    }
}

/// Ends sessions even though no gap passed. Records come in time order. A record with a gap of zero
/// ends its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The longest distance from a session's start to its end. `None` means any.
    pub longest: Option<Span>,
}

impl Cut {
    /// The session that begins with a record.
    pub fn begin(self, record: Extent) -> Extent {
        self.extend(record, record)
    }

    /// Extends a session by a record that joins it and is not before its end.
    pub fn extend(self, session: Extent, record: Extent) -> Extent {
        let end = |longest| session.start.saturating_add(longest);
        session.extended(&record, self.longest.map_or(Time::MAX, end))
    }
}

/// A session query. Lengths are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionWindows {
    /// The inactivity gap.
    pub gap: Gap,
    /// Ends sessions even though no gap passed, if set. Needs records in time order.
    pub cut: Option<Cut>,
    /// How long sessions wait for late records after their gap. `None` means for ever, as in batch.
    pub grace: Option<Span>,
    /// How long closed sessions stay visible. `None` means not at all.
    pub until: Option<Span>,
    /// When sessions are emitted.
    pub emit: Emit,
    /// What happens to late records.
    pub late: Late,
    /// Length of a store's segments. `None` means an eighth of gap + grace + `until`.
    pub segment: Option<Span>,
}

impl SessionWindows {
    /// Sessions with a fixed gap. By default, emits only finals and drops late records.
    pub fn with_gap(gap: Span, grace: Option<Span>) -> Self {
        Self {
            gap: Gap::Fixed(gap),
            cut: None,
            grace,
            until: None,
            emit: Emit::Close,
            late: Late::Drop,
            segment: None,
        }
    }

    /// Checks that the lengths fit together.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a gap of zero, for `retention` below gap + grace, and for a cut of
    /// sessions that late records may still join.
    pub fn check(&self) -> Result<()> {
        let longest = self.gap.longest();
        if longest == Span(0) {
            return Err(Error::Argument {
                argument: "gap".into(),
                got: "0".into(),
                allowed: "a length of at least one tick".into(),
            });
        }
        if self.cut.is_some() && (self.grace != Some(Span(0)) || self.until.is_some()) {
            return Err(Error::Argument {
                argument: "max_duration, end_when".into(),
                got: "sessions that wait for late records".into(),
                allowed:
                    "records in time order: a late record would move the cuts of sessions that \
                          were already emitted"
                        .into(),
            });
        }
        let least = longest.saturating_add(self.grace.unwrap_or_default());
        match self.until {
            Some(until) if until < least => Err(Error::Argument {
                argument: "retention".into(),
                got: until.0.to_string(),
                allowed: format!("at least gap + grace, {}", least.0),
            }),
            _ => Ok(()),
        }
    }

    /// Length of a store's segments. A session with the longest gap spans only a few of them.
    pub(crate) fn segment(&self) -> Span {
        let Some(grace) = self.grace else {
            return Span(u64::MAX);
        };
        if let Some(segment) = self.segment {
            return segment;
        }
        let visible = self.gap.longest().saturating_add(grace);
        Span((visible.saturating_add(self.until.unwrap_or_default()).0 / 8).max(1))
    }
}

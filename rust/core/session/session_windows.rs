//! Settings of session windows.

use crate::core::operator::change::{Emit, Late};
use crate::core::time::Span;

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
        /// Whether a gap may be zero: it may if records have ends.
        takes_zero: bool,
    },
}

impl Gap {
    /// The longest gap a record can have.
    pub fn longest(self) -> Span {
        match self {
            Self::Fixed(gap) => gap,
            Self::Dynamic { longest, .. } => longest.unwrap_or(LONGEST),
        }
    }

    /// The gap of a record whose gap column has the value `own`. `None` if it is null, negative, or a zero
    /// that the query does not take.
    pub fn of(self, own: Option<i64>) -> Option<Span> {
        match self {
            Self::Fixed(gap) => Some(gap),
            Self::Dynamic { takes_zero, .. } => {
                let own = own.filter(|&own| own > 0 || takes_zero)?;
                Some(Span(u64::try_from(own).ok()?).min(self.longest()))
            }
        }
    }
}

/// A session query. Lengths are in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionWindows {
    /// The inactivity gap.
    pub gap: Gap,
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
    /// Whether records have ends of their own. Then those that come behind the close time are counted.
    pub has_ends: bool,
}

impl SessionWindows {
    /// Sessions with a fixed gap. By default, emits only finals and drops late records.
    #[cfg(any(test, feature = "bench"))]
    pub fn with_gap(gap: Span, grace: Option<Span>) -> Self {
        Self {
            gap: Gap::Fixed(gap),
            grace,
            until: None,
            emit: Emit::Close,
            late: Late::Drop,
            segment: None,
            has_ends: false,
        }
    }
}

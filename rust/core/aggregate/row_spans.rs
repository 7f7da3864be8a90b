//! The spans of a sweep, which an interrupt ends early.

use std::ops::{Deref, Range};

use super::RowSpan;
use crate::core::interrupt::Interrupt;

/// The number of spans between two checks. A sweep spends less than a millisecond on them, unless they
/// are far apart.
const STRETCH: usize = 1 << 12;

/// The spans of the windows of a sweep, in order.
#[derive(Clone, Copy)]
pub struct RowSpans<'a> {
    spans: &'a [RowSpan],
    interrupt: &'a Interrupt,
}

impl<'a> RowSpans<'a> {
    /// Spans whose bounds never go back.
    pub fn new(spans: &'a [RowSpan], interrupt: &'a Interrupt) -> Self {
        Self { spans, interrupt }
    }

    /// Other spans for the same sweep.
    pub fn with<'b>(self, spans: &'b [RowSpan]) -> RowSpans<'b>
    where
        'a: 'b,
    {
        RowSpans { spans, ..self }
    }

    /// Whether the interrupt is stopped. A sweep with slow results asks before each of them.
    pub fn is_stopped(self) -> bool {
        self.interrupt.is_stopped()
    }

    /// The spans, some thousands at a time, until the interrupt is stopped. The results are then too
    /// few: the caller checks the interrupt before it uses them.
    pub fn stretches(self) -> impl Iterator<Item = &'a [RowSpan]> {
        self.spans
            .chunks(STRETCH)
            .take_while(move |_| !self.interrupt.is_stopped())
    }
}

/// The rows from the first span to the last one.
pub(super) fn spanned(spans: &[RowSpan]) -> Range<usize> {
    let from = spans.first().map_or(0, |span| span.from as usize);
    from..spans.last().map_or(from, |span| span.to as usize)
}

impl Deref for RowSpans<'_> {
    type Target = [RowSpan];

    fn deref(&self) -> &[RowSpan] {
        self.spans
    }
}

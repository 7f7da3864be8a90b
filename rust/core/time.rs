//! Points and lengths of time, in ticks. A tick is the unit of the input's time column.

use bytemuck::{Pod, Zeroable};

/// A point in time. A slice of times has the layout of Arrow's timestamps.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct Time(pub i64);

/// A length of time, at least zero.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct Span(pub u64);

impl Time {
    /// The earliest time.
    pub const MIN: Self = Self(i64::MIN);
    /// The latest time.
    pub const MAX: Self = Self(i64::MAX);

    /// Views Arrow's ticks as times.
    pub fn slice(ticks: &[i64]) -> &[Self] {
        bytemuck::cast_slice(ticks)
    }

    /// The time `span` later. `None` if it is past the latest time.
    pub fn checked_add(self, span: Span) -> Option<Self> {
        self.0.checked_add_unsigned(span.0).map(Self)
    }

    /// The time `span` earlier. `None` if it is before the earliest time.
    pub fn checked_sub(self, span: Span) -> Option<Self> {
        self.0.checked_sub_unsigned(span.0).map(Self)
    }

    /// The time `span` later, at most the latest time. The comparison `t <= x.saturating_add(s)` is
    /// exact.
    pub fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add_unsigned(span.0))
    }

    /// The time `span` earlier, at least the earliest time. The comparison
    /// `t >= x.saturating_sub(s)` is exact.
    pub fn saturating_sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub_unsigned(span.0))
    }

    /// The distance from the earliest time. It sorts like the time.
    pub fn rank(self) -> u64 {
        self.0.abs_diff(i64::MIN)
    }

    /// How much later this is than `earlier`; zero if it is not.
    pub fn since(self, earlier: Self) -> Span {
        Span(if self > earlier {
            self.0.abs_diff(earlier.0)
        } else {
            0
        })
    }

    /// Floors to a multiple of `resolution`, toward minus infinity. `None` if the result is below
    /// the earliest time.
    pub fn floor(self, resolution: Span) -> Option<Self> {
        let unit = i64::try_from(resolution.0).ok()?;
        self.0
            .checked_sub(self.0.checked_rem_euclid(unit)?)
            .map(Self)
    }
}

impl Span {
    /// The sum, at most the longest span.
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// `times` times this span, at most the longest span.
    pub fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Span = Span(1);

    #[test]
    fn sums_and_differences_end_at_the_bounds_of_time() {
        assert_eq!(Time(-3).checked_add(Span(5)), Some(Time(2)));
        assert_eq!(Time(2).checked_sub(Span(5)), Some(Time(-3)));
        assert_eq!(Time::MIN.checked_add(Span(u64::MAX)), Some(Time::MAX));
        assert_eq!(Time::MAX.checked_sub(Span(u64::MAX)), Some(Time::MIN));
        assert_eq!(Time::MAX.checked_add(ONE), None);
        assert_eq!(Time::MIN.checked_sub(ONE), None);
        assert_eq!(Time(-3).saturating_add(Span(5)), Time(2));
        assert_eq!(Time(2).saturating_sub(Span(5)), Time(-3));
        assert_eq!(Time::MAX.saturating_add(ONE), Time::MAX);
        assert_eq!(Time::MIN.saturating_sub(ONE), Time::MIN);
        assert_eq!(Span(2).saturating_add(Span(3)), Span(5));
        assert_eq!(Span(u64::MAX).saturating_add(ONE), Span(u64::MAX));
        assert_eq!(Span(2).saturating_mul(3), Span(6));
        assert_eq!(Span(1 << 63).saturating_mul(2), Span(u64::MAX));
    }

    #[test]
    fn a_distance_is_that_to_an_earlier_time() {
        assert_eq!(Time(2).since(Time(-3)), Span(5));
        assert_eq!(Time(-3).since(Time(-3)), Span(0));
        assert_eq!(Time(-3).since(Time(2)), Span(0));
        assert_eq!(Time::MAX.since(Time::MIN), Span(u64::MAX));
        let ranks = [Time::MIN, Time(-1), Time(0), Time::MAX].map(Time::rank);
        assert_eq!(ranks, [0, (1 << 63) - 1, 1 << 63, u64::MAX]);
        assert_eq!(Time::slice(&[-1, 7]), [Time(-1), Time(7)]);
    }

    #[test]
    fn floors_are_multiples_toward_minus_infinity() {
        for (time, floor) in [(-11, -20), (-10, -10), (-1, -10), (0, 0), (9, 0), (10, 10)] {
            assert_eq!(Time(time).floor(Span(10)), Some(Time(floor)), "{time}");
        }
        assert_eq!(Time::MIN.floor(Span(1)), Some(Time::MIN));
        assert_eq!(Time::MIN.floor(Span(10)), None, "before the earliest time");
        assert_eq!(Time(1).floor(Span(0)), None);
        assert_eq!(Time(1).floor(Span(1 << 63)), None);
    }
}

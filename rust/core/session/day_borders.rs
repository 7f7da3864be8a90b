//! The borders of days: a time of day, in a zone or without one.
//!
//! ```text
//!   clock     23:00 ... 00:00 ... 00:00         skipped: the first instant after the hole
//!   border              ^                       twice: the first of the two
//! ```

use chrono::{DateTime, Days, NaiveDateTime, NaiveTime, Offset, TimeZone};
use chrono_tz::Tz;

use crate::core::time::Time;

/// Seconds in a day.
pub(crate) const DAY: i128 = 86_400;

/// More than any zone is ahead of UTC or behind it, in seconds.
const FAR: i64 = 30 * 3600;

/// A time of day at which days end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayBorders {
    /// Whole seconds after midnight, less than a day.
    pub at: u32,
    /// The zone whose clock shows it; none for times without a zone.
    pub zone: Option<Tz>,
    /// Ticks in one second.
    pub per_second: i64,
}

impl DayBorders {
    /// The first border after a time. `None` if it is past the latest time.
    pub fn next(&self, time: Time) -> Option<Time> {
        let seconds = time.0.div_euclid(self.per_second.max(1));
        let zone = self.zone.and_then(|zone| self.next_in(zone, seconds));
        let next = zone.map_or_else(|| self.next_without_zone(seconds), i128::from);
        let ticks = next * i128::from(self.per_second);
        i64::try_from(ticks).map(Time).ok()
    }

    fn next_without_zone(&self, seconds: i64) -> i128 {
        let at = i128::from(self.at);
        (i128::from(seconds) - at).div_euclid(DAY) * DAY + DAY + at
    }

    /// In seconds; none beyond the years that a calendar has.
    fn next_in(&self, zone: Tz, seconds: i64) -> Option<i64> {
        let utc = DateTime::from_timestamp(seconds, 0)?;
        let today = utc.with_timezone(&zone).naive_local().date();
        let at = NaiveTime::from_num_seconds_from_midnight_opt(self.at, 0)?;
        (0..3)
            .filter_map(|days| border(zone, today.checked_add_days(Days::new(days))?.and_time(at)))
            .find(|&border| border > seconds)
    }
}

/// When a clock first shows a time or passes it, in seconds since 1970.
fn border(zone: Tz, local: NaiveDateTime) -> Option<i64> {
    if let Some(first) = zone.from_local_datetime(&local).earliest() {
        return Some(first.timestamp());
    }
    let wanted = local.and_utc().timestamp();
    let (mut before, mut after) = (wanted - FAR, wanted + FAR);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        let utc = DateTime::from_timestamp(middle, 0)?.naive_utc();
        let offset = zone.offset_from_utc_datetime(&utc).fix();
        if middle + i64::from(offset.local_minus_utc()) < wanted {
            before = middle;
        } else {
            after = middle;
        }
    }
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600;

    fn at(text: &str) -> i64 {
        text.parse::<DateTime<chrono::Utc>>().unwrap().timestamp()
    }

    fn next(zone: Option<Tz>, hour: u32, after: &str) -> i64 {
        let borders = DayBorders {
            at: hour * 3600,
            zone,
            per_second: 1_000_000,
        };
        let time = Time(at(after) * 1_000_000);
        let Time(next) = borders.next(time).unwrap();
        assert_eq!(
            borders.next(Time(next - 1)),
            Some(Time(next)),
            "nothing is between"
        );
        assert!(
            borders.next(Time(next)) > Some(Time(next)),
            "the next one is later"
        );
        next / 1_000_000
    }

    #[test]
    fn a_border_is_after_its_time_and_at_most_a_day_and_a_change_of_the_clock_away() {
        let madrid = Some(Tz::Europe__Madrid);
        assert_eq!(
            next(None, 0, "2026-03-28T23:00:00Z"),
            at("2026-03-29T00:00:00Z")
        );
        assert_eq!(
            next(None, 5, "1969-12-31T05:00:00Z"),
            at("1970-01-01T05:00:00Z")
        );
        assert_eq!(
            next(madrid, 0, "2026-03-28T22:59:59Z"),
            at("2026-03-28T23:00:00Z")
        );
        // A day of 23 hours, and one of 25.
        assert_eq!(
            next(madrid, 0, "2026-03-28T23:00:00Z"),
            at("2026-03-29T22:00:00Z")
        );
        assert_eq!(
            next(madrid, 0, "2026-10-24T22:00:00Z"),
            at("2026-10-25T23:00:00Z")
        );
    }

    #[test]
    fn a_border_that_the_clock_skips_is_the_end_of_the_hole_and_one_of_two_is_the_first() {
        let madrid = Some(Tz::Europe__Madrid);
        // 02:00 to 03:00 is skipped at 01:00 UTC; 02:00 comes twice, at 00:00 and 01:00 UTC.
        assert_eq!(
            next(madrid, 2, "2026-03-28T12:00:00Z"),
            at("2026-03-29T01:00:00Z")
        );
        assert_eq!(
            next(madrid, 2, "2026-10-24T12:00:00Z"),
            at("2026-10-25T00:00:00Z")
        );
        assert_eq!(
            next(madrid, 2, "2026-10-25T00:00:00Z"),
            at("2026-10-26T01:00:00Z")
        );
        // Midnight itself is skipped in Cairo, and Samoa skipped a whole day.
        let cairo = Some(Tz::Africa__Cairo);
        assert_eq!(
            next(cairo, 0, "2026-04-23T12:00:00Z"),
            at("2026-04-23T22:00:00Z")
        );
        assert_eq!(
            next(cairo, 0, "2026-04-23T22:00:00Z"),
            at("2026-04-24T21:00:00Z")
        );
        let apia = Some(Tz::Pacific__Apia);
        let skipped = next(apia, 0, "2011-12-29T12:00:00Z");
        assert_eq!(skipped, at("2011-12-30T10:00:00Z"));
        assert_eq!(next(apia, 0, "2011-12-30T10:00:00Z"), skipped + 24 * HOUR);
        // In Havana 00:00 comes twice.
        let havana = Some(Tz::America__Havana);
        assert_eq!(
            next(havana, 0, "2026-10-31T12:00:00Z"),
            at("2026-11-01T04:00:00Z")
        );
        assert_eq!(
            next(havana, 0, "2026-11-01T04:00:00Z"),
            at("2026-11-02T05:00:00Z")
        );
    }

    #[test]
    fn times_beyond_the_calendar_have_borders_too() {
        for zone in [None, Some(Tz::Europe__Madrid)] {
            for (time, per_second) in [(i64::MIN, 1), (i64::MAX, 1), (i64::MAX, 1_000_000_000)] {
                let borders = DayBorders {
                    at: 0,
                    zone,
                    per_second,
                };
                let next = borders.next(Time(time));
                assert!(next.is_none_or(|next| next > Time(time)));
            }
        }
    }
}

//! Finds late partial sessions, and stored sessions that continue in later segments.

use crate::core::error::Result;
use crate::core::interrupt::Interrupt;
use crate::core::key::KeyId;
use crate::core::session::batch::OpenSessions;
use crate::core::sort::SortedRows;
use crate::core::time::Time;
use crate::core::window::Extent;

/// The keys and bounds of sessions, as parallel columns.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub keys: Vec<KeyId>,
    pub extents: Vec<Extent>,
}

impl Spans {
    pub(super) fn iter(&self) -> impl Iterator<Item = (KeyId, &Extent)> {
        self.keys.iter().copied().zip(&self.extents)
    }
}

/// A set of keys.
struct KeySet(Vec<bool>);

impl KeySet {
    fn of(keys: impl Iterator<Item = KeyId>) -> Self {
        let mut set = Vec::new();
        for key in keys {
            let place = key.0 as usize;
            if set.len() <= place {
                set.resize(place + 1, false);
            }
            if let Some(known) = set.get_mut(place) {
                *known = true;
            }
        }
        Self(set)
    }

    fn contains(&self, key: KeyId) -> bool {
        self.0.get(key.0 as usize) == Some(&true)
    }
}

/// Which partial sessions are late (rules 1.2). Each is first joined with `stored` sessions and
/// with other partial sessions. It is late if the joined session is behind the close time.
///
/// ```text
///   stored                ├──┤····
///   partial   ├x┤···            ├x┤····                close
///             late        └── one session ──┴──────────┤
/// ```
pub(super) fn are_late(
    partials: &Spans,
    stored: &[&Spans],
    close: Time,
    interrupt: &Interrupt,
) -> Result<Vec<bool>> {
    let behind = partials.iter().filter(|(_, own)| own.is_late(close));
    let behind = KeySet::of(behind.map(|(key, _)| key));
    let stored = stored.iter().flat_map(|spans| spans.iter());
    let own = partials.iter().chain(stored);
    let own = own.filter(|(key, _)| behind.contains(*key));
    let (keys, extents): (Vec<KeyId>, Vec<Extent>) = own.map(|(key, own)| (key, *own)).unzip();
    let mut open = OpenSessions::default();
    let slots = open.assign_partials(&keys, &extents)?;
    let whole = open.coalesce(interrupt)?;
    let mut is_late = slots.into_iter().map(|slot| {
        let whole = whole.extent_of(slot);
        whole.is_some_and(|whole| whole.is_late(close))
    });
    // The partial sessions of these keys come first.
    let each = partials.keys.iter();
    Ok(each
        .map(|&key| behind.contains(key) && is_late.next() == Some(true))
        .collect())
}

/// Carries sessions of segments up to `last` to later segments in which they continue. `segments`
/// has the segment of each session, by its reach. `later` has parts by segment, all after `last`.
/// Each of these parts reaches further than the sessions, so it joins exactly those that reach its
/// start. A session moves to the latest segment with such a part.
///
/// ```text
///   sessions   ├──┤···      ├──┤···
///   later              ├────x──x──x──────x┤····
///                           └── is carried to the segment of this reach
/// ```
pub(super) fn carry(
    sessions: &Spans,
    last: i64,
    later: &[(i64, Spans)],
    segments: &mut [i64],
    interrupt: &Interrupt,
) -> Result<()> {
    let opened = || {
        let rows = sessions.iter().zip(&*segments).enumerate();
        rows.filter(|(_, (_, segment))| **segment <= last)
    };
    let known = KeySet::of(opened().map(|(_, ((key, _), _))| key));
    let (mut keys, mut times, mut places) = (Vec::new(), Vec::new(), Vec::new());
    // Parts come first, so that sorting places them before sessions that reach exactly their start.
    for (segment, spans) in later {
        for (key, span) in spans.iter().filter(|(key, _)| known.contains(*key)) {
            keys.push(key);
            times.push(span.start);
            places.push(Err(*segment));
        }
    }
    if keys.is_empty() {
        return Ok(());
    }
    for (row, ((key, extent), _)) in opened() {
        keys.push(key);
        times.push(extent.reach);
        places.push(Ok(row));
    }
    for (_, rows) in SortedRows::new(&keys, &times, interrupt)?.by_key() {
        let mut latest = last;
        for &(_, nth) in rows {
            match places.get(nth as usize) {
                Some(&Err(segment)) => latest = latest.max(segment),
                Some(&Ok(row)) if latest > last => {
                    if let Some(segment) = segments.get_mut(row) {
                        *segment = latest;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::time::Span;

    fn spans(longest: usize) -> impl Strategy<Value = Spans> {
        let span = (0..3_u32, 0..60_i64, 0..9_i64, 1..9_i64);
        prop::collection::vec(span, 0..longest).prop_map(|spans| Spans {
            keys: spans.iter().map(|(key, ..)| KeyId(*key)).collect(),
            extents: spans
                .iter()
                .map(|&(_, start, length, gap)| Extent {
                    start: Time(start),
                    end: Time(start + length),
                    reach: Time(start + length + gap),
                })
                .collect(),
        })
    }

    /// A session with all that it joins, by joining until nothing changes.
    fn whole(key: KeyId, mut own: Extent, all: &[(KeyId, Extent)]) -> Extent {
        loop {
            let joining = all
                .iter()
                .filter(|(other, span)| *other == key && span.joins(&own));
            let more = joining.fold(own, |own, (_, span)| own.union(span));
            if more == own {
                return own;
            }
            own = more;
        }
    }

    proptest! {
        #[test]
        fn sessions_are_late_with_all_that_they_join(partials in spans(12), stored in spans(12), close in 0..80_i64) {
            let close = Time(close);
            let all: Vec<(KeyId, Extent)> = partials.iter().chain(stored.iter()).map(|(key, own)| (key, *own)).collect();
            let wanted: Vec<bool> = partials.iter().map(|(key, own)| whole(key, *own, &all).is_late(close)).collect();
            let found = are_late(&partials, &[&stored], close, &Interrupt::never()).unwrap();
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn sessions_are_carried_to_the_latest_part_that_they_join(sessions in spans(12), later in spans(12), last in 0..3_i64) {
            // Parts of later segments reach further than all sessions.
            let later: Vec<(i64, Spans)> = later.iter().map(|(key, own)| {
                let extent = Extent { reach: own.reach.saturating_add(Span(100)), ..*own };
                (last + 1 + own.start.0 % 3, Spans { keys: vec![key], extents: vec![extent] })
            }).collect();
            let mut found: Vec<i64> = (0..sessions.keys.len() as i64).map(|row| row % 5).collect();
            let wanted: Vec<i64> = sessions.iter().zip(&found).map(|((key, own), &segment)| {
                let joined = later.iter().filter(|(_, spans)| spans.iter().any(|(other, span)| other == key && span.joins(own)));
                let latest = joined.map(|(segment, _)| *segment).max();
                if segment <= last { latest.unwrap_or(segment) } else { segment }
            }).collect();
            carry(&sessions, last, &later, &mut found, &Interrupt::never()).unwrap();
            prop_assert_eq!(found, wanted);
        }
    }
}

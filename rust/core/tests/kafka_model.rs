//! The operators against Kafka's algorithms, transcribed step by step onto plain lists: every
//! change, in its order.

use std::collections::BTreeMap;

use crate::core::tests::text_aggregates::Fold;

/// Key, value, time, input.
pub(crate) type Event = (u8, Option<&'static str>, i64, usize);
/// Key, start, value, time of the change; and the end of sessions.
pub(crate) type Row = (u8, i64, i64, Option<String>, i64);

/// The common part of both kinds: fold, lengths, stream times of the inputs.
pub(crate) struct Model {
    pub(crate) fold: Fold,
    pub(crate) grace: i64,
    pub(crate) retention: i64,
    pub(crate) close: bool,
    pub(crate) times: Vec<Option<i64>>,
    pub(crate) emitted: i64,
    pub(crate) dropped: u64,
    pub(crate) out: Vec<Row>,
}

impl Model {
    pub(crate) fn new(fold: Fold, grace: i64, retention: i64, close: bool, inputs: usize) -> Self {
        Self {
            fold,
            grace,
            retention,
            close,
            times: vec![None; inputs],
            emitted: i64::MIN,
            dropped: 0,
            out: Vec::new(),
        }
    }

    fn init(&self) -> Option<String> {
        if self.fold == Fold::Reduce {
            None
        } else {
            Some("0".into())
        }
    }

    fn add(&self, agg: Option<&str>, value: Option<&str>, input: usize) -> Option<String> {
        let text = value.unwrap_or("null");
        match (self.fold, agg) {
            (Fold::Nullable, _) if text == "DEL" => None,
            (Fold::Reduce, None) => value.map(String::from),
            (Fold::Reduce, Some(agg)) => Some(format!("{agg}+{text}")),
            (_, agg) => Some(format!(
                "{}{}{text}",
                agg.unwrap(),
                if input == 1 { '-' } else { '+' }
            )),
        }
    }

    fn merge(&self, a: Option<String>, b: &str) -> Option<String> {
        match (self.fold, a) {
            (Fold::Reduce, None) => Some(b.into()),
            (Fold::Reduce, Some(a)) => Some(format!("{a}+{b}")),
            (_, a) => Some(format!("({}|{b})", a.unwrap())),
        }
    }

    fn emit(&mut self, row: Row) {
        if !self.close {
            self.out.push(row);
        }
    }

    /// The time of the slowest input, if all are seen.
    fn slowest(&self) -> Option<i64> {
        self.times.iter().copied().min().flatten()
    }

    fn is_hidden(&self, bound: i64) -> bool {
        self.slowest()
            .is_some_and(|time| bound <= time - self.retention)
    }
}

/// Rules 9.1. Sessions by (key, end, start).
pub(crate) struct SessionModel {
    pub(crate) model: Model,
    pub(crate) gap: i64,
    pub(crate) store: BTreeMap<(u8, i64, i64), String>,
}

impl SessionModel {
    pub(crate) fn process(&mut self, (key, value, time, input): Event) {
        let own = self.model.times[input].map_or(time, |seen| seen.max(time));
        self.model.times[input] = Some(own);
        let close = own - self.model.grace - self.gap;
        let mut agg = self.model.init();
        let (mut start, mut end) = (time, time);
        let found: Vec<((u8, i64, i64), String)> = self
            .store
            .range((key, i64::MIN, i64::MIN)..=(key, i64::MAX, i64::MAX))
            .filter(|((_, end, start), _)| {
                *end >= time - self.gap && *start <= time + self.gap && !self.model.is_hidden(*end)
            })
            .map(|(place, agg)| (*place, agg.clone()))
            .collect();
        for (place, held) in &found {
            agg = self.model.merge(agg, held);
            (start, end) = (start.min(place.2), end.max(place.1));
        }
        if end < close {
            self.model.dropped += 1;
        } else {
            if (start, end) != (time, time) {
                for (place, _) in &found {
                    self.store.remove(place);
                    self.model.emit((key, place.2, place.1, None, place.1));
                }
            }
            let new = self.model.add(agg.as_deref(), value, input);
            match &new {
                Some(new) => drop(self.store.insert((key, end, start), new.clone())),
                None => drop(self.store.remove(&(key, end, start))),
            }
            self.model.emit((key, start, end, new, end));
        }
        if let Some(slowest) = self.model.slowest().filter(|_| self.model.close) {
            let close = slowest - self.model.grace - self.gap;
            let mut due: Vec<_> = self
                .store
                .iter()
                .filter(|((_, end, _), _)| *end >= self.model.emitted && *end < close)
                .collect();
            due.sort_by_key(|((key, end, start), _)| (*end, *start, *key));
            self.model.out.extend(
                due.into_iter()
                    .map(|(&(key, end, start), agg)| (key, start, end, Some(agg.clone()), end)),
            );
            self.model.emitted = self.model.emitted.max(close);
        }
    }
}

/// Rules 9.3 to 9.5. Windows by (key, start), with their largest time.
pub(crate) struct SlidingModel {
    pub(crate) model: Model,
    pub(crate) difference: i64,
    pub(crate) store: BTreeMap<(u8, i64), (String, i64)>,
}

impl SlidingModel {
    pub(crate) fn process(&mut self, event: Event) {
        let (_, value, time, input) = event;
        if value.is_none() {
            self.model.dropped += 1;
            return;
        }
        let own = self.model.times[input].map_or(time, |seen| seen.max(time));
        self.model.times[input] = Some(own);
        let close = own - self.model.grace;
        if time + self.difference < close {
            self.model.dropped += 1;
            return;
        }
        if time < self.difference {
            self.early(event, close)
        } else {
            self.main(event, close)
        }
        if let Some(slowest) = self.model.slowest().filter(|_| self.model.close) {
            let close = slowest - self.model.grace - self.difference;
            let mut due: Vec<_> = self
                .store
                .iter()
                .filter(|((_, start), _)| *start >= self.model.emitted && *start < close)
                .collect();
            due.sort_by_key(|((key, start), _)| (*start, *key));
            self.model.out.extend(
                due.into_iter()
                    .map(|(&(key, start), (agg, time))| (key, start, 0, Some(agg.clone()), *time)),
            );
            self.model.emitted = self.model.emitted.max(close);
        }
    }

    fn fetch(&self, key: u8, from: i64, to: i64) -> Vec<(i64, (String, i64))> {
        let windows = self
            .store
            .range((key, from)..=(key, to))
            .map(|(&(_, start), held)| (start, held.clone()));
        windows
            .filter(|(start, _)| !self.model.is_hidden(*start))
            .collect()
    }

    fn update(
        &mut self,
        (key, value, time, input): Event,
        close: i64,
        start: i64,
        (agg, largest): (Option<String>, i64),
    ) {
        if start + self.difference < close {
            self.model.dropped += 1;
            return;
        }
        let new = self.model.add(agg.as_deref(), value, input);
        let largest = if agg.is_none() {
            time
        } else {
            time.max(largest)
        };
        match &new {
            Some(new) => drop(self.store.insert((key, start), (new.clone(), largest))),
            None => drop(self.store.remove(&(key, start))),
        }
        self.model.emit((key, start, 0, new, largest));
    }

    fn make_right(&mut self, (key, _, time, _): Event, held: &(String, i64)) {
        self.store.insert((key, time + 1), held.clone());
        self.model
            .emit((key, time + 1, 0, Some(held.0.clone()), held.1));
    }

    fn main(&mut self, event: Event, close: i64) {
        let (key, _, time, _) = event;
        let d = self.difference;
        let (mut seen, mut left, mut right, mut previous) = (Vec::new(), None, None, None);
        let (mut has_left, mut has_right) = (false, false);
        for (start, held) in self
            .fetch(key, (time - 2 * d).max(0), time + 1)
            .into_iter()
            .rev()
        {
            seen.push(start);
            let end = start + d;
            if start == time + 1 {
                has_right = true;
            } else if end > time {
                right = right.or(Some(held.clone()));
                self.update(event, close, start, (Some(held.0), held.1));
            } else if end == time {
                has_left = true;
                let largest = held.1;
                self.update(event, close, start, (Some(held.0), held.1));
                if largest >= time {
                    return;
                }
                previous = Some(largest);
            } else {
                previous = Some(held.1);
                left = Some(held);
                break;
            }
        }
        if let Some(next) = previous
            .map(|previous| previous + 1)
            .filter(|next| !seen.contains(next) && next + d >= time)
        {
            self.update(event, close, next, (self.model.init(), time));
        }
        if !has_left {
            let base = left.filter(|_| previous.is_some_and(|previous| previous >= time - d));
            let agg = base.map_or_else(|| self.model.init(), |(agg, _)| Some(agg));
            self.update(event, close, time - d, (agg, time));
        }
        if let Some(right) = right.filter(|right| !has_right && right.1 > time) {
            self.make_right(event, &right);
        }
    }

    fn early(&mut self, event: Event, close: i64) {
        let (key, _, time, _) = event;
        let (mut seen, mut all, mut right, mut previous, mut has_right) =
            (Vec::new(), None, None, None, false);
        for (start, held) in self.fetch(key, 0, time + 1) {
            seen.push(start);
            if start == 0 {
                previous = Some(held.1).filter(|&largest| largest < time);
                all = Some(held);
            } else if start <= time {
                right = Some(held.clone());
                self.update(event, close, start, (Some(held.0), held.1));
            } else {
                has_right = true;
            }
        }
        right = right.or_else(|| all.clone().filter(|all| all.1 > time));
        if let Some(right) = right.filter(|right| !has_right && right.1 > time) {
            self.make_right(event, &right);
        }
        if let Some(next) = previous
            .map(|previous| previous + 1)
            .filter(|next| !seen.contains(next))
        {
            self.update(event, close, next, (self.model.init(), time));
        }
        let all = all.map_or_else(
            || (self.model.init(), time),
            |(agg, largest)| (Some(agg), largest),
        );
        self.update(event, close, 0, all);
    }
}

//! The unit of the lengths of time in a specification: microseconds, or nanoseconds where a length needs
//! them. Queries are compared in one unit.

use arrow_schema::TimeUnit;

use super::spec::Spec;
use super::window_spec::WindowSpec;
use crate::core::error::{Error, Result};

impl Spec {
    /// The unit of times in which lengths count as if they were microseconds. Times in nanoseconds have
    /// as many ticks as lengths in nanoseconds.
    pub(crate) fn length_unit(&self, unit: TimeUnit) -> Result<TimeUnit> {
        match (self.nanoseconds, unit) {
            (false, _) => Ok(unit),
            (true, TimeUnit::Nanosecond) => Ok(TimeUnit::Microsecond),
            (true, _) => Err(Error::Argument {
                argument: "time".into(),
                got: format!("times in {unit:?}s"),
                allowed: "times in nanoseconds, as the lengths are".into(),
            }),
        }
    }

    /// The lengths that a state depends on.
    fn lengths(&mut self) -> Vec<&mut i64> {
        let mut lengths: Vec<_> = [&mut self.until, &mut self.every]
            .into_iter()
            .flatten()
            .collect();
        match &mut self.windows {
            WindowSpec::Session(own) => {
                let own = [&mut own.gap, &mut own.longest_gap, &mut own.longest];
                lengths.extend(own.into_iter().flatten());
            }
            WindowSpec::Sliding {
                difference,
                resolution,
            } => {
                lengths.push(difference);
                lengths.extend(resolution);
            }
        }
        for aggregate in &mut self.aggregates {
            let frame = aggregate.frame.iter_mut();
            lengths.extend(frame.flat_map(|frame| [&mut frame.difference, &mut frame.delay]));
            lengths.extend(
                aggregate
                    .funnel
                    .iter_mut()
                    .flat_map(|funnel| &mut funnel.within),
            );
            lengths.extend(&mut aggregate.limit);
        }
        lengths
    }

    /// The spec with lengths in microseconds, if all that a state depends on are whole ones.
    pub(super) fn in_widest_unit(&self) -> Self {
        let mut spec = self.clone();
        let are_whole = spec.lengths().iter().all(|length| **length % 1_000 == 0);
        if spec.nanoseconds && are_whole {
            spec.lengths()
                .into_iter()
                .for_each(|length| *length /= 1_000);
            spec.nanoseconds = false;
        }
        spec
    }

    /// Gives both the lengths of one in nanoseconds, if those of the other are.
    pub(super) fn in_one_unit(one: &mut Self, other: &mut Self) {
        let coarse = match (one.nanoseconds, other.nanoseconds) {
            (false, true) => one,
            (true, false) => other,
            _ => return,
        };
        coarse
            .lengths()
            .into_iter()
            .for_each(|length| *length = length.saturating_mul(1_000));
        coarse.nanoseconds = true;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sessions(gap: i64, nanoseconds: bool) -> Spec {
        let text = json!({
            "keys": ["k"], "time": "t", "shards": 1, "nanoseconds": nanoseconds,
            "windows": {"kind": "session", "gap": gap},
            "aggregates": [{"name": "f", "function": "funnel", "funnel": {"within": gap}}],
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn lengths_are_compared_in_one_unit() {
        let (mut one, mut other) = (sessions(2, false), sessions(2_000, true));
        Spec::in_one_unit(&mut one, &mut other);
        assert_eq!(one, other);
        other.grace = Some(500);
        let whole = Spec {
            grace: Some(500),
            ..sessions(2, false)
        };
        assert_eq!(other.in_widest_unit(), whole);
        let odd = sessions(2_001, true);
        assert_eq!(odd.in_widest_unit(), odd);
    }

    #[test]
    fn lengths_in_nanoseconds_need_times_in_nanoseconds() {
        let unit = |nanoseconds: bool, unit| sessions(5, nanoseconds).length_unit(unit).ok();
        assert_eq!(
            unit(true, TimeUnit::Nanosecond),
            Some(TimeUnit::Microsecond)
        );
        assert_eq!(unit(true, TimeUnit::Microsecond), None);
        assert_eq!(
            unit(false, TimeUnit::Nanosecond),
            Some(TimeUnit::Nanosecond)
        );
        assert!(
            !serde_json::to_string(&sessions(5, false))
                .unwrap()
                .contains("nanoseconds")
        );
    }
}

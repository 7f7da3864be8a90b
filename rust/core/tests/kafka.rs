//! The operators change their windows as the model of Kafka Streams does.

use std::collections::BTreeMap;

use crate::core::operator::change::{Emit, WindowChange};
use crate::core::operator::record::Record;
use crate::core::session::session_operator::SessionOperator;
use crate::core::session::session_windows as session;
use crate::core::sliding::sliding_operator::SlidingOperator;
use crate::core::sliding::sliding_windows as sliding;
use crate::core::time::{Span, Time};
use crate::core::window::Extent;
use proptest::prelude::*;

use crate::core::tests::kafka_model::{Event, Model, Row, SessionModel, SlidingModel};
use crate::core::tests::text_aggregates::{Fold, Texts, Value};

fn events(inputs: usize) -> impl Strategy<Value = Vec<Event>> {
    let step = prop_oneof![8 => -9..9_i64, 1 => Just(0), 1 => 20..60_i64, 1 => -40..-10_i64, 1 => 3..8_i64];
    let value = prop_oneof![6 => prop::sample::select(vec![Some("1"), Some("2"), Some("3")]), 1 => Just(Some("DEL")), 1 => Just(None)];
    (
        0..40_i64,
        prop::collection::vec((0..2_u8, value, step, 0..inputs), 0..60),
    )
        .prop_map(|(mut time, steps)| {
            steps
                .into_iter()
                .map(|(key, value, step, input)| {
                    time = (time + step).max(0);
                    (key, value, time, input)
                })
                .collect()
        })
}

fn folds() -> impl Strategy<Value = Fold> {
    prop::sample::select(vec![Fold::Text, Fold::Nullable, Fold::Reduce])
}

fn record((key, text, time, input): &Event, gap: i64) -> Record<'_, Value<'static>> {
    let row = Value {
        text: *text,
        sign: if *input == 1 { '-' } else { '+' },
    };
    let extent = Extent::of(Time(*time), Span(gap as u64));
    Record {
        input: *input,
        ..Record::of(std::slice::from_ref(key), extent, row)
    }
}

fn row(name: &[u8], change: WindowChange, states: &Texts<'_>) -> Row {
    let text = change
        .slot
        .and_then(|slot| states.text(slot))
        .map(String::from);
    (
        name[0],
        change.window.start.0,
        change.window.end.0,
        text,
        change.time.0,
    )
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn sessions_change_as_in_kafka(
        inputs in 1..3_usize, events in events(2), gap in 1..10_i64, grace in 0..12_i64, longer in 0..40_i64, close in any::<bool>(), fold in folds(),
    ) {
        let retention = (gap + grace + 1).max(longer);
        let mut model = SessionModel { model: Model::new(fold, grace, retention, close, inputs), gap, store: BTreeMap::new() };
        let until = (longer > gap + grace).then_some(Span(longer as u64));
        let emit = if close { Emit::Close } else { Emit::Update };
        let rule = session::SessionWindows { until, emit, ..session::SessionWindows::with_gap(Span(gap as u64), Some(Span(grace as u64))) };
        let (mut sessions, mut states) = (SessionOperator::new(rule, inputs).unwrap(), Texts::new(fold));
        for mut event in events {
            event.3 %= inputs;
            model.process(event);
            let mut out = Vec::new();
            let mut sink = |name: &[u8], change: WindowChange, states: &mut Texts<'_>| { out.push(row(name, change, states)); Ok(()) };
            sessions.push(record(&event, gap), &mut states, &mut sink).unwrap();
            prop_assert_eq!(&out, &model.model.out);
            prop_assert_eq!(sessions.counters().dropped(), model.model.dropped);
            prop_assert_eq!(states.used(), sessions.store().len());
            model.model.out.clear();
        }
    }

    #[test]
    fn sliding_windows_change_as_in_kafka(
        inputs in 1..3_usize, events in events(2), difference in 1..12_i64, grace in 0..12_i64, longer in 0..60_i64, close in any::<bool>(), fold in folds(),
    ) {
        let retention = (3 * difference + grace + 1).max(longer);
        let mut model = SlidingModel { model: Model::new(fold, grace, retention, close, inputs), difference, store: BTreeMap::new() };
        let until = (longer >= 2 * difference + grace).then_some(Span(longer as u64));
        let emit = if close { Emit::Close } else { Emit::Update };
        let rule = sliding::SlidingWindows { until, emit, ..sliding::SlidingWindows::with_difference(Span(difference as u64), Some(Span(grace as u64))) };
        let (mut slides, mut states) = (SlidingOperator::new(rule, inputs).unwrap(), Texts::new(fold));
        let mut null_values = 0;
        for mut event in events {
            event.3 %= inputs;
            model.process(event);
            let mut out = Vec::new();
            if event.1.is_some() {
                let mut sink = |name: &[u8], change: WindowChange, states: &mut Texts<'_>| { let (key, start, _, text, time) = row(name, change, states); out.push((key, start, 0, text, time)); Ok(()) };
                slides.push(record(&event, 0), &mut states, &mut sink).unwrap();
            } else {
                null_values += 1;
            }
            prop_assert_eq!(&out, &model.model.out);
            prop_assert_eq!(slides.counters().dropped() + null_values, model.model.dropped);
            prop_assert_eq!(states.used(), slides.store().len());
            model.model.out.clear();
        }
    }
}

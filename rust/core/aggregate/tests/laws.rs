//! Laws of every aggregate: grouping, merging, saving and sweeping
//! give what an oracle computes from the rows alone. The oracles use nothing of the package.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use crate::core::aggregate::row_spans::RowSpans;
use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::{Aggregate, RowSpan};
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;

use crate::core::aggregate::tests::trial::{
    Cell, Event, Input, Kind, Random, Trial, WINDOWS, cells, column,
};

/// Windows over sorted rows: bounds that never go back, over one key each, some of them empty.
fn runs(sorted: &[Event], random: &mut Random) -> Vec<RowSpan> {
    let mut runs = Vec::new();
    let (mut from, mut to) = (0, 0);
    while from < sorted.len() {
        let end = from
            + sorted[from..]
                .iter()
                .take_while(|event| event.key == sorted[from].key)
                .count();
        to = to.max(from);
        while from < end && random.below(12) > 0 {
            to = (to + random.below(4)).min(end);
            runs.push(RowSpan {
                from: from as u32,
                to: to as u32,
            });
            from = (from + random.below(3)).min(to.max(from));
        }
        if random.below(3) > 0 || from == end {
            (from, to) = (end, end);
        } else {
            from = (from.max(to) + 1).min(end); // rows that no window holds
            to = from;
        }
    }
    runs
}

/// What the oracle says of rows: a value, or that it does not fit.
pub(crate) type Expected = Option<Cell>;

struct Laws<'a> {
    aggregate: &'a dyn Aggregate,
    kinds: &'a [Kind],
    same: fn(&Cell, &Cell) -> bool,
}

impl Laws<'_> {
    fn grouped(&self, events: &[Event]) -> Box<dyn Aggregate> {
        let mut states = self.aggregate.fresh();
        states.resize(WINDOWS);
        let (early, late) = events.split_at(events.len() / 3);
        for batch in [early, late] {
            let slots: Vec<Slot> = batch.iter().map(|event| Slot(event.key as u32)).collect();
            states
                .update(&slots, Input::new(self.kinds, batch).rows())
                .unwrap();
        }
        states
    }

    fn check(&self, law: &str, lowered: Result<ArrayRef>, expected: &[Expected]) {
        match (lowered, expected.iter().position(Option::is_none)) {
            (Ok(column), None) => {
                let got = cells(&column);
                assert_eq!(got.len(), expected.len(), "{law}: number of windows");
                for (window, (got, expected)) in
                    got.iter().zip(expected.iter().flatten()).enumerate()
                {
                    assert!(
                        (self.same)(got, expected),
                        "{law}: window {window} is {got:?}, expected {expected:?}"
                    );
                }
            }
            (
                Err(Error::ResultOverflow {
                    window: overflow, ..
                }),
                Some(window),
            ) => assert_eq!(
                overflow, window,
                "{law}: the first window that does not fit"
            ),
            (got, _) => panic!("{law}: got {got:?}, expected {expected:?}"),
        }
    }
}

/// Tries all laws of an aggregate against an oracle over rows in the order of (time, arrival).
pub(crate) fn obeys(
    aggregate: &dyn Aggregate,
    trial: &Trial,
    oracle: impl Fn(&[&Event]) -> Expected,
    same: fn(&Cell, &Cell) -> bool,
) {
    let laws = Laws {
        aggregate,
        kinds: &trial.kinds,
        same,
    };
    let mut random = Random(trial.seed);
    let mut sorted = trial.events.clone();
    sorted.sort_by_key(|event| (event.key, event.time, event.seq_no));
    let of_key = |key: usize| {
        oracle(
            &sorted
                .iter()
                .filter(|event| event.key == key)
                .collect::<Vec<_>>(),
        )
    };
    let expected: Vec<Expected> = (0..WINDOWS).map(of_key).collect();
    let slots: Vec<Slot> = (0..WINDOWS as u32).map(Slot).collect();
    let back: Vec<Slot> = slots.iter().rev().copied().collect();
    let expected_back: Vec<Expected> = expected.iter().rev().cloned().collect();

    let whole = laws.grouped(&trial.events);
    laws.check("grouping", whole.lower(&slots), &expected);
    for &slot in &slots {
        laws.check(
            "one window",
            whole.lower(&[slot]),
            &expected[slot.0 as usize..][..1],
        );
    }

    let mut lifted = aggregate.fresh();
    lifted.resize(WINDOWS);
    let input = Input::new(&trial.kinds, &trial.events);
    for (row, event) in trial.events.iter().enumerate() {
        lifted
            .lift(Slot(event.key as u32), row, input.rows())
            .unwrap();
    }
    laws.check("lifting row by row", lifted.lower(&slots), &expected);

    // Any cut into parts, merged from the left, from the right, as a tree, and with slots crossed.
    let mut parts: [Vec<Event>; 4] = Default::default();
    trial
        .events
        .iter()
        .for_each(|event| parts[random.below(4)].push(event.clone()));
    let states: Vec<Box<dyn Aggregate>> = parts.iter().map(|events| laws.grouped(events)).collect();
    let merged = |order: &[usize]| {
        let mut all = aggregate.fresh();
        all.resize(WINDOWS);
        order
            .iter()
            .for_each(|&part| all.merge(&slots, states[part].as_ref(), &slots).unwrap());
        all
    };
    laws.check("merging", merged(&[0, 1, 2, 3]).lower(&slots), &expected);
    laws.check(
        "merging backward",
        merged(&[3, 1, 2, 0]).lower(&slots),
        &expected,
    );
    let (mut left, right) = (merged(&[0, 2]), merged(&[3, 1]));
    left.merge(&slots, right.as_ref(), &slots).unwrap();
    laws.check("merging a tree", left.lower(&slots), &expected);
    let mut crossed = aggregate.fresh();
    crossed.resize(WINDOWS);
    crossed.merge(&back, right.as_ref(), &slots).unwrap();
    crossed
        .merge(&back, merged(&[2, 0]).as_ref(), &slots)
        .unwrap();
    laws.check("merging into other slots", crossed.lower(&back), &expected);

    // States are saved and loaded, and then take more values.
    let saved = whole.save(&back);
    laws.check(
        "loading",
        aggregate.load(&saved).unwrap().lower(&slots),
        &expected_back,
    );
    let mut loaded = aggregate.load(&merged(&[1]).save(&slots)).unwrap();
    for part in [3, 0, 2] {
        loaded
            .merge(
                &slots,
                aggregate.load(&states[part].save(&slots)).unwrap().as_ref(),
                &slots,
            )
            .unwrap();
    }
    laws.check("merging what was loaded", loaded.lower(&slots), &expected);
    refuses_damage(aggregate, &saved);

    let mut changed = aggregate.load(&whole.save(&slots)).unwrap();
    changed.resize(WINDOWS + 1);
    changed.copy(Slot(WINDOWS as u32), Slot(0));
    changed.clear(Slot(0));
    laws.check(
        "copying",
        changed.lower(&[Slot(WINDOWS as u32)]),
        &expected[..1],
    );
    laws.check("clearing", changed.lower(&[Slot(0)]), &[oracle(&[])]);
    changed
        .merge(&[Slot(0)], whole.as_ref(), &[Slot(0)])
        .unwrap();
    laws.check("using a cleared slot", changed.lower(&slots), &expected);
    laws.check("lowering nothing", changed.lower(&[]), &[]);

    let windows = runs(&sorted, &mut random);
    let expected: Vec<Expected> = windows
        .iter()
        .map(|run| {
            oracle(
                &sorted[run.from as usize..run.to as usize]
                    .iter()
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    laws.check(
        "sweeping",
        aggregate.sweep(
            Input::new(&trial.kinds, &sorted).rows(),
            RowSpans::new(&windows, &Interrupt::never()),
        ),
        &expected,
    );
}

/// The result over one window of these values; none where it does not fit.
pub(crate) fn alone(aggregate: &dyn Aggregate, kind: Kind, values: Vec<Cell>) -> Expected {
    let event = |cell| Event {
        key: 0,
        time: 0,
        seq_no: 0,
        cells: vec![cell],
    };
    let events: Vec<Event> = values.into_iter().map(event).collect();
    let mut states = aggregate.fresh();
    states.resize(1);
    states
        .update(
            &vec![Slot(0); events.len()],
            Input::new(&[kind], &events).rows(),
        )
        .unwrap();
    Some(cells(&states.lower(&[Slot(0)]).ok()?).remove(0))
}

/// Columns that are missing, of another kind or of another length are errors.
fn refuses_damage(aggregate: &dyn Aggregate, saved: &[ArrayRef]) {
    assert!(aggregate.load(&saved[1..]).is_err(), "a column is missing");
    assert!(aggregate.load(&[]).is_err(), "all columns are missing");
    assert!(
        aggregate.load(&[saved, &saved[..1]].concat()).is_err(),
        "a column too many"
    );
    for place in 0..saved.len() {
        let with = |column: ArrayRef| {
            let mut columns = saved.to_vec();
            columns[place] = column;
            aggregate.load(&columns)
        };
        let nulls = vec![Cell::Null; saved[place].len()];
        let other = match saved[place].data_type() {
            DataType::LargeBinary => Kind::Wide,
            _ => Kind::Bytes,
        };
        assert!(
            with(column(other, &nulls)).is_err(),
            "column {place} is of another kind"
        );
        if saved.len() > 1 {
            assert!(
                with(saved[place].slice(1, saved[place].len() - 1)).is_err(),
                "column {place} is too short"
            );
        }
    }
}

#[test]
fn the_runs_of_a_trial_do_not_go_back_and_hold_one_key() {
    let (mut seen, mut empty, mut long) = (0, 0, 0);
    for seed in 0..200 {
        let event = |place: usize| Event {
            key: place / 13,
            time: 0,
            seq_no: place as u64,
            cells: Vec::new(),
        };
        let sorted: Vec<Event> = (0..39).map(event).collect();
        let runs = runs(&sorted, &mut Random(seed));
        for pair in runs.windows(2) {
            assert!(
                pair[0].from <= pair[1].from && pair[0].to <= pair[1].to,
                "{pair:?}"
            );
        }
        for run in &runs {
            let window = &sorted[run.from as usize..run.to as usize];
            assert!(
                window.iter().all(|event| event.key == window[0].key),
                "{run:?}"
            );
            seen += 1;
            empty += usize::from(window.is_empty());
            long += usize::from(window.len() > 3);
        }
    }
    assert!(
        seen > 2000 && empty > 100 && long > 500,
        "{seen} {empty} {long}"
    );
}

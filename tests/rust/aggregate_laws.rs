//! What holds for every aggregate, whatever it computes: grouping, merging, saving and sweeping
//! give what an oracle computes from the rows alone. The oracles use nothing of the package.

use std::cmp::Ordering;

use proptest::prelude::*;
use windrow::aggregate::column::{Bytes, Column, Validity, Values};
use windrow::aggregate::slot::Slot;
use windrow::aggregate::{Aggregate, Rows, Run};
use windrow::time::Time;

/// One value, of whatever kind.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Float(f64),
    Wide(i128),
    Bytes(Vec<u8>),
    List(Vec<Cell>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Int,
    Float,
    Wide,
    Bytes,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Int, Kind::Float, Kind::Wide, Kind::Bytes];

/// A row.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) key: usize,
    pub(crate) time: i64,
    pub(crate) arrival: u64,
    pub(crate) cells: Vec<Cell>,
}

/// The number of keys of the generated rows.
pub(crate) const WINDOWS: usize = 3;

/// The order of values: NaN above all, the zeros equal.
pub(crate) fn order(left: &Cell, right: &Cell) -> Ordering {
    match (left, right) {
        (Cell::Int(left), Cell::Int(right)) => left.cmp(right),
        (Cell::Wide(left), Cell::Wide(right)) => left.cmp(right),
        (Cell::Bytes(left), Cell::Bytes(right)) => left.cmp(right),
        (Cell::Float(left), Cell::Float(right)) if left.is_nan() || right.is_nan() => left.is_nan().cmp(&right.is_nan()),
        (Cell::Float(left), Cell::Float(right)) => left.partial_cmp(right).unwrap(),
        _ => panic!("{left:?} and {right:?} have no order"),
    }
}

/// Equal to the bit, all NaNs being one.
pub(crate) fn same(left: &Cell, right: &Cell) -> bool {
    match (left, right) {
        (Cell::Null, Cell::Null) => true,
        (Cell::Float(left), Cell::Float(right)) => left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan(),
        (Cell::List(left), Cell::List(right)) => left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right)),
        (Cell::Int(_), Cell::Int(_)) | (Cell::Wide(_), Cell::Wide(_)) | (Cell::Bytes(_), Cell::Bytes(_)) => order(left, right).is_eq(),
        _ => false,
    }
}

/// Within 1e-9 of the exact value, relative (rules 6.6); everything that is not a number to the bit.
pub(crate) fn near(got: &Cell, exact: &Cell) -> bool {
    match (got, exact) {
        (Cell::Float(got), Cell::Float(exact)) if exact.is_finite() => (got - exact).abs() <= 1e-9 * exact.abs(),
        _ => same(got, exact),
    }
}

/// A column; where a cell is null stands a value that no answer may show.
pub(crate) fn column(kind: Kind, cells: &[Cell]) -> Column<'static> {
    let values = match kind {
        Kind::Int => Values::Int(cells.iter().map(|cell| if let Cell::Int(value) = cell { *value } else { 77 }).collect()),
        Kind::Float => Values::Float(cells.iter().map(|cell| if let Cell::Float(value) = cell { *value } else { 77.0 }).collect()),
        Kind::Wide => Values::Wide(cells.iter().map(|cell| if let Cell::Wide(value) = cell { *value } else { 77 }).collect()),
        Kind::Bytes => {
            let rows = cells.iter().map(|cell| if let Cell::Bytes(value) = cell { value.as_slice() } else { b"seventyseven" });
            Values::Bytes(rows.collect::<Bytes<'static>>())
        }
    };
    if !cells.iter().any(|cell| matches!(cell, Cell::Null)) {
        return Column::new(values);
    }
    // Validity need not start at a byte, as in sliced Arrow arrays.
    let mut bits = vec![0_u8; cells.len() / 8 + 2];
    for (row, cell) in cells.iter().enumerate() {
        bits[(row + 3) / 8] |= u8::from(!matches!(cell, Cell::Null)) << ((row + 3) % 8);
    }
    Column { values, validity: Some(Validity::new(bits, 3)) }
}

/// The cells of a column.
pub(crate) fn cells(column: &Column<'_>) -> Vec<Cell> {
    let cell = |row: usize| match &column.values {
        _ if !column.is_valid(row) => Cell::Null,
        Values::Int(values) => Cell::Int(values[row]),
        Values::Float(values) => Cell::Float(values[row]),
        Values::Wide(values) => Cell::Wide(values[row]),
        Values::Bytes(bytes) => Cell::Bytes(bytes.get(row).to_vec()),
        Values::List { offsets, elements } => Cell::List(cells(elements)[offsets[row] as usize..offsets[row + 1] as usize].to_vec()),
    };
    (0..column.len()).map(cell).collect()
}

/// The columns of rows.
pub(crate) struct Input {
    pub(crate) times: Vec<Time>,
    pub(crate) arrivals: Vec<u64>,
    pub(crate) columns: Vec<Column<'static>>,
}

impl Input {
    pub(crate) fn new(kinds: &[Kind], events: &[Event]) -> Self {
        let column = |(place, &kind): (usize, &Kind)| {
            let cells: Vec<Cell> = events.iter().map(|event| event.cells[place].clone()).collect();
            column(kind, &cells)
        };
        Self {
            times: events.iter().map(|event| Time(event.time)).collect(),
            arrivals: events.iter().map(|event| event.arrival).collect(),
            columns: kinds.iter().enumerate().map(column).collect(),
        }
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows { times: &self.times, arrivals: &self.arrivals, inputs: &self.columns }
    }
}

/// Where an aggregate is tried: rows of some keys, and a seed for all further choices.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) events: Vec<Event>,
    pub(crate) seed: u64,
}

/// Values of a kind with ties, extremes, and what is odd about floats.
pub(crate) fn value(kind: Kind) -> BoxedStrategy<Cell> {
    match kind {
        Kind::Int => prop_oneof![4 => -3..4_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX), 1 => any::<i64>()].prop_map(Cell::Int).boxed(),
        Kind::Float => {
            let odd = prop::sample::select(vec![f64::NAN, -f64::NAN, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 5e-324]);
            prop_oneof![2 => odd, 2 => (-3..4_i8).prop_map(f64::from), 1 => any::<f64>()].prop_map(Cell::Float).boxed()
        }
        Kind::Wide => {
            prop_oneof![4 => -3..4_i128, 1 => Just(i128::MIN), 1 => Just(i128::MAX), 1 => any::<i128>()].prop_map(Cell::Wide).boxed()
        }
        Kind::Bytes => prop::collection::vec(0..3_u8, 0..4).prop_map(Cell::Bytes).boxed(),
    }
}

/// Rows of these columns: none, one, or many; one value in five is null.
pub(crate) fn trial_of(columns: Vec<(Kind, BoxedStrategy<Cell>)>) -> impl Strategy<Value = Trial> {
    let (kinds, values): (Vec<Kind>, Vec<_>) = columns.into_iter().unzip();
    let cells: Vec<_> = values.into_iter().map(|value| prop_oneof![1 => Just(Cell::Null), 4 => value]).collect();
    let time = prop_oneof![8 => -3..5_i64, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    (prop::collection::vec((0..WINDOWS, time, cells), 0..40), any::<u64>()).prop_map(move |(rows, seed)| {
        let mut arrivals: Vec<u64> = (0..rows.len() as u64).map(|place| place * (u64::MAX / 64)).collect();
        Random(seed).shuffle(&mut arrivals);
        let event = |((key, time, cells), arrival)| Event { key, time, arrival, cells };
        Trial { kinds: kinds.clone(), events: rows.into_iter().zip(arrivals).map(event).collect(), seed }
    })
}

/// Rows of any values of these kinds.
pub(crate) fn trial(kinds: &[Kind]) -> impl Strategy<Value = Trial> + use<> {
    trial_of(kinds.iter().map(|&kind| (kind, value(kind))).collect())
}

/// Choices that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for place in (1..items.len()).rev() {
            items.swap(place, self.below(place + 1));
        }
    }
}

/// Windows over sorted rows: bounds that never go back, over one key each, some of them empty.
fn runs(sorted: &[Event], random: &mut Random) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut from, mut to) = (0, 0);
    while from < sorted.len() {
        let end = from + sorted[from..].iter().take_while(|event| event.key == sorted[from].key).count();
        to = to.max(from);
        while from < end && random.below(12) > 0 {
            to = (to + random.below(4)).min(end);
            runs.push(Run { from: from as u32, to: to as u32 });
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
            states.update(&slots, Input::new(self.kinds, batch).rows()).unwrap();
        }
        states
    }

    fn check(&self, law: &str, lowered: Result<Column<'static>, windrow::aggregate::Unrepresentable>, expected: &[Expected]) {
        match (lowered, expected.iter().position(Option::is_none)) {
            (Ok(column), None) => {
                let got = cells(&column);
                assert_eq!(got.len(), expected.len(), "{law}: number of windows");
                for (window, (got, expected)) in got.iter().zip(expected.iter().flatten()).enumerate() {
                    assert!((self.same)(got, expected), "{law}: window {window} is {got:?}, expected {expected:?}");
                }
            }
            (Err(misfit), Some(window)) => assert_eq!(misfit.window, window, "{law}: the first window that does not fit"),
            (got, _) => panic!("{law}: got {got:?}, expected {expected:?}"),
        }
    }
}

/// Tries all laws of an aggregate against an oracle over rows in the order of (time, arrival).
pub(crate) fn obeys(aggregate: &dyn Aggregate, trial: &Trial, oracle: impl Fn(&[&Event]) -> Expected, same: fn(&Cell, &Cell) -> bool) {
    let laws = Laws { aggregate, kinds: &trial.kinds, same };
    let mut random = Random(trial.seed);
    let mut sorted = trial.events.clone();
    sorted.sort_by_key(|event| (event.key, event.time, event.arrival));
    let of_key = |key: usize| oracle(&sorted.iter().filter(|event| event.key == key).collect::<Vec<_>>());
    let expected: Vec<Expected> = (0..WINDOWS).map(of_key).collect();
    let slots: Vec<Slot> = (0..WINDOWS as u32).map(Slot).collect();
    let back: Vec<Slot> = slots.iter().rev().copied().collect();
    let expected_back: Vec<Expected> = expected.iter().rev().cloned().collect();

    let whole = laws.grouped(&trial.events);
    laws.check("grouping", whole.lower(&slots), &expected);
    for &slot in &slots {
        laws.check("one window", whole.lower(&[slot]), &expected[slot.0 as usize..][..1]);
    }

    // Any cut into parts, merged from the left, from the right, as a tree, and with slots crossed.
    let mut parts: [Vec<Event>; 4] = Default::default();
    trial.events.iter().for_each(|event| parts[random.below(4)].push(event.clone()));
    let states: Vec<Box<dyn Aggregate>> = parts.iter().map(|events| laws.grouped(events)).collect();
    let merged = |order: &[usize]| {
        let mut all = aggregate.fresh();
        all.resize(WINDOWS);
        order.iter().for_each(|&part| all.merge(&slots, states[part].as_ref(), &slots).unwrap());
        all
    };
    laws.check("merging", merged(&[0, 1, 2, 3]).lower(&slots), &expected);
    laws.check("merging backward", merged(&[3, 1, 2, 0]).lower(&slots), &expected);
    let (mut left, right) = (merged(&[0, 2]), merged(&[3, 1]));
    left.merge(&slots, right.as_ref(), &slots).unwrap();
    laws.check("merging a tree", left.lower(&slots), &expected);
    let mut crossed = aggregate.fresh();
    crossed.resize(WINDOWS);
    crossed.merge(&back, right.as_ref(), &slots).unwrap();
    crossed.merge(&back, merged(&[2, 0]).as_ref(), &slots).unwrap();
    laws.check("merging into other slots", crossed.lower(&back), &expected);

    // States go out and come in again, and go on living.
    let saved = whole.save(&back);
    laws.check("loading", aggregate.load(&saved).unwrap().lower(&slots), &expected_back);
    let mut loaded = aggregate.load(&merged(&[1]).save(&slots)).unwrap();
    for part in [3, 0, 2] {
        loaded.merge(&slots, aggregate.load(&states[part].save(&slots)).unwrap().as_ref(), &slots).unwrap();
    }
    laws.check("merging what was loaded", loaded.lower(&slots), &expected);
    refuses_damage(aggregate, &saved);

    let mut changed = aggregate.load(&whole.save(&slots)).unwrap();
    changed.resize(WINDOWS + 1);
    changed.copy(Slot(WINDOWS as u32), Slot(0));
    changed.clear(Slot(0));
    laws.check("copying", changed.lower(&[Slot(WINDOWS as u32)]), &expected[..1]);
    laws.check("clearing", changed.lower(&[Slot(0)]), &[oracle(&[])]);
    changed.merge(&[Slot(0)], whole.as_ref(), &[Slot(0)]).unwrap();
    laws.check("using a cleared slot", changed.lower(&slots), &expected);
    laws.check("lowering nothing", changed.lower(&[]), &[]);

    let windows = runs(&sorted, &mut random);
    let expected: Vec<Expected> =
        windows.iter().map(|run| oracle(&sorted[run.from as usize..run.to as usize].iter().collect::<Vec<_>>())).collect();
    laws.check("sweeping", aggregate.sweep(Input::new(&trial.kinds, &sorted).rows(), &windows).unwrap(), &expected);
}

/// The result over one window of these values; none where it does not fit.
pub(crate) fn alone(aggregate: &dyn Aggregate, kind: Kind, values: Vec<Cell>) -> Expected {
    let event = |cell| Event { key: 0, time: 0, arrival: 0, cells: vec![cell] };
    let events: Vec<Event> = values.into_iter().map(event).collect();
    let mut states = aggregate.fresh();
    states.resize(1);
    states.update(&vec![Slot(0); events.len()], Input::new(&[kind], &events).rows()).unwrap();
    Some(cells(&states.lower(&[Slot(0)]).ok()?).remove(0))
}

/// Columns that are missing, of another kind or of another length are errors.
fn refuses_damage(aggregate: &dyn Aggregate, saved: &[Column<'static>]) {
    assert!(aggregate.load(&saved[1..]).is_err(), "a column is missing");
    assert!(aggregate.load(&[]).is_err(), "all columns are missing");
    assert!(aggregate.load(&[saved, &saved[..1]].concat()).is_err(), "a column too many");
    for place in 0..saved.len() {
        let with = |column: Column<'static>| {
            let mut columns = saved.to_vec();
            columns[place] = column;
            aggregate.load(&columns)
        };
        let nulls = vec![Cell::Null; saved[place].len()];
        let other = if matches!(saved[place].values, Values::Bytes(_)) { Kind::Wide } else { Kind::Bytes };
        assert!(with(column(other, &nulls)).is_err(), "column {place} is of another kind");
        if let Values::List { offsets, elements } = &saved[place].values {
            let mut beyond = offsets.to_vec();
            *beyond.last_mut().unwrap() += 1;
            assert!(with(Column::list(beyond, elements.as_ref().clone())).is_err(), "column {place} ends beyond its elements");
            assert!(with(Column::list(vec![0, 1, 0, 0], column(Kind::Int, &[Cell::Int(1)]))).is_err(), "column {place} goes back");
            assert!(with(Column::list(vec![-1, 0, 0, 0], elements.as_ref().clone())).is_err(), "column {place} starts below 0");
        }
        if saved.len() > 1 {
            assert!(with(shorter(&saved[place])).is_err(), "column {place} is too short");
        }
    }
}

fn shorter(column: &Column<'static>) -> Column<'static> {
    let len = column.len() - 1;
    let values = match &column.values {
        Values::Int(values) => Values::Int(values[..len].to_vec().into()),
        Values::Float(values) => Values::Float(values[..len].to_vec().into()),
        Values::Wide(values) => Values::Wide(values[..len].to_vec().into()),
        Values::Bytes(bytes) => Values::Bytes((0..len).map(|row| bytes.get(row)).collect()),
        Values::List { offsets, elements } => Values::List { offsets: offsets[..=len].to_vec().into(), elements: elements.clone() },
    };
    Column { values, validity: column.validity.clone() }
}

#[test]
fn the_runs_of_a_trial_do_not_go_back_and_hold_one_key() {
    let (mut seen, mut empty, mut long) = (0, 0, 0);
    for seed in 0..200 {
        let event = |place: usize| Event { key: place / 13, time: 0, arrival: place as u64, cells: Vec::new() };
        let sorted: Vec<Event> = (0..39).map(event).collect();
        let runs = runs(&sorted, &mut Random(seed));
        for pair in runs.windows(2) {
            assert!(pair[0].from <= pair[1].from && pair[0].to <= pair[1].to, "{pair:?}");
        }
        for run in &runs {
            let window = &sorted[run.from as usize..run.to as usize];
            assert!(window.iter().all(|event| event.key == window[0].key), "{run:?}");
            seen += 1;
            empty += usize::from(window.is_empty());
            long += usize::from(window.len() > 3);
        }
    }
    assert!(seen > 2000 && empty > 100 && long > 500, "{seen} {empty} {long}");
}

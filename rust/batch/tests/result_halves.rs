//! Results of several windows that do not fit one array leave in several batches.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::aggregate::slot::Slot;
use crate::core::time::Time;
use crate::plan::function_failure::{FunctionFailure, Outcome};
use crate::plan::spec::Spec;
use crate::record::operator::Operator;
use crate::record::store_query::StoreQuery;
use crate::record::user_function::UserFunction;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};

use crate::record::tests::operator_batches::{Event, SESSIONS, batch, event, schema, spec_of};

/// Counts rows. An array holds the counts of a limited number of windows, and none above a limit.
struct NarrowCount {
    counts: Vec<i64>,
    slots: usize,
    most: i64,
}

impl UserFunction for NarrowCount {
    fn resize(&mut self, slots: usize) {
        self.counts.resize(slots.max(self.counts.len()), 0);
    }

    fn release(&mut self, slot: Slot) {
        self.counts[slot.0 as usize] = 0;
    }

    fn takes(&self, _input: usize) -> bool {
        true
    }

    fn update(&mut self, slot: Slot, _row: usize, _input: usize) -> Outcome<()> {
        self.counts[slot.0 as usize] += 1;
        Ok(())
    }

    fn merge(&mut self, into: Slot, from: Slot) -> Outcome<()> {
        self.counts[into.0 as usize] += self.counts[from.0 as usize];
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Outcome<()> {
        self.counts[to.0 as usize] = self.counts[from.0 as usize];
        Ok(())
    }

    fn renew(&mut self, _slot: Slot) -> Outcome<()> {
        Ok(())
    }

    fn is_null(&self, _slot: Slot) -> bool {
        false
    }

    fn save(&self, slots: &[Slot]) -> Outcome<ArrayRef> {
        let counts = slots.iter().map(|slot| self.counts[slot.0 as usize]);
        if slots.len() > self.slots || counts.clone().any(|count| count > self.most) {
            return Err(FunctionFailure {
                function: "conversion".into(),
                cause: "too long".into(),
                nth: None,
                exceeds_capacity: true,
            });
        }
        Ok(Arc::new(Int64Array::from_iter_values(counts)))
    }

    fn load(&mut self, slots: &[Slot], values: &ArrayRef) -> Outcome<()> {
        for (slot, count) in slots
            .iter()
            .zip(values.as_primitive::<Int64Type>().values())
        {
            self.counts[slot.0 as usize] = *count;
        }
        Ok(())
    }
}

fn spec(more: &str) -> Spec {
    spec_of(
        SESSIONS,
        r#"[{"name":"n","function":"python","columns":[]}]"#,
        &(r#","grace":0,"emit":"update","op":true"#.to_owned() + more),
    )
}

fn narrow(slots: usize, most: i64) -> Operator {
    narrow_with(slots, most, "")
}

fn narrow_with(slots: usize, most: i64, more: &str) -> Operator {
    let counts = NarrowCount {
        counts: Vec::new(),
        slots,
        most,
    };
    let field = Field::new("n", DataType::Int64, true);
    Operator::new(&spec(more), &schema(), vec![(Box::new(counts), field)]).unwrap()
}

/// Sessions of two records each, all open.
fn records(sessions: i64) -> Vec<Event> {
    let keys = ["a", "ab", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let of = |nth: i64| {
        [
            event(keys[nth as usize], 1, 0),
            event(keys[nth as usize], 2, 0),
        ]
    };
    (0..sessions).flat_map(of).collect()
}

fn counts(batches: &[RecordBatch]) -> Vec<i64> {
    let of = |batch: &RecordBatch| {
        batch
            .column_by_name("n")
            .unwrap()
            .as_primitive::<Int64Type>()
            .values()
            .to_vec()
    };
    batches.iter().flat_map(of).collect()
}

#[test]
fn results_leave_in_halves_that_fit() {
    for (slots, batches) in [(11, 1), (10, 2), (5, 3), (2, 7), (1, 11)] {
        let mut operator = narrow(slots, 2);
        let changes = operator.push(&batch(&records(11))).unwrap();
        assert_eq!(
            (changes.len(), counts(&changes)),
            (batches, vec![2; 11]),
            "{slots}"
        );
        let any = StoreQuery::Between {
            from: Time::MIN,
            to: Time::MAX,
        };
        let found = operator.select(any, &(None, None), false).unwrap();
        assert_eq!(
            (found.len(), counts(&found)),
            (batches, vec![2; 11]),
            "{slots}"
        );

        let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        kept.extend(
            operator
                .changed_pages()
                .unwrap()
                .into_iter()
                .filter_map(|(name, page)| Some((name, page?))),
        );
        assert_eq!(
            kept.len(),
            1 + batches,
            "{slots}: a head, and a page for each batch"
        );
        let pages: Vec<&[u8]> = kept.values().map(Vec::as_slice).collect();
        let mut again = narrow(slots, 3);
        again.restore(&pages).unwrap();
        let changes = again.push(&batch(&[event("e", 3, 0)])).unwrap();
        assert_eq!(counts(&changes).into_iter().max(), Some(3), "{slots}");
        let mut finals = counts(&again.finish().unwrap());
        finals.sort_unstable();
        assert_eq!(finals, Vec::<i64>::new(), "updates have been emitted");
    }
}

#[test]
fn a_window_that_does_not_fit_alone_is_named_with_its_key() {
    let mut operator = narrow(11, 1);
    let error = operator.push(&batch(&records(11))).unwrap_err();
    let message = "column \"n\": too long in window [1970-01-01T00:00:00.000001, \
                1970-01-01T00:00:00.000002] of key a; overflow(\"null\") makes it null and counts it";
    assert_eq!(error.to_string(), message);
}

#[test]
fn windows_that_do_not_fit_alone_are_null_and_counted_on_request() {
    let null = r#","overflow":"null""#;
    for slots in [11, 1] {
        let mut operator = narrow_with(slots, 2, null);
        let mut extended = records(3);
        extended.push(event("ab", 3, 0));
        let changes = operator.push(&batch(&extended)).unwrap();
        let nulls: usize = changes
            .iter()
            .map(|batch| batch.column_by_name("n").unwrap().null_count())
            .sum();
        assert_eq!((nulls, operator.counters().overflows), (1, 1), "{slots}");
        let any = StoreQuery::Between {
            from: Time::MIN,
            to: Time::MAX,
        };
        operator.select(any, &(None, None), false).unwrap();
        assert_eq!(operator.counters().overflows, 1, "a look counts nothing");
    }
}

#[test]
fn lists_may_be_null_where_overflow_is_null() {
    let lists = r#"[{"name":"l","function":"collect_list","columns":["x"]},{"name":"n","function":"count","columns":[]}]"#;
    for (more, expected) in [
        ("", [false, false]),
        (r#","overflow":"null""#, [true, false]),
    ] {
        let operator = Operator::new(&spec_of(SESSIONS, lists, more), &schema(), vec![]).unwrap();
        let output = operator.output();
        let nullable = ["l", "n"].map(|name| output.field_with_name(name).unwrap().is_nullable());
        assert_eq!(nullable, expected, "{more}");
    }
}

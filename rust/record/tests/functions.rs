//! The order in which functions see records.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::aggregate::slot::Slot;
use crate::core::operator::stream_time::Source;
use crate::core::time::Time;
use crate::plan::function_failure::Outcome;
use crate::record::operator::Operator;
use crate::record::user_function::UserFunction;
use crate::state::source_time::SourceTime;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field};

use crate::record::tests::operator_batches::{SESSIONS, batch, event, schema, spec_of};

/// Writes the numbers of rows, from 1 on, as the digits of a number.
#[derive(Default)]
struct Digits(BTreeMap<Slot, i64>);

impl Digits {
    fn get(&self, slot: Slot) -> i64 {
        self.0.get(&slot).copied().unwrap_or_default()
    }
}

impl UserFunction for Digits {
    fn resize(&mut self, _slots: usize) {}

    fn release(&mut self, slot: Slot) {
        self.0.remove(&slot);
    }

    fn takes(&self, _input: usize) -> bool {
        true
    }

    fn update(&mut self, slot: Slot, row: usize, _input: usize) -> Outcome<()> {
        self.0.insert(slot, self.get(slot) * 10 + row as i64 + 1);
        Ok(())
    }

    fn merge(&mut self, into: Slot, from: Slot) -> Outcome<()> {
        let digits = format!("{}{}", self.get(into), self.get(from));
        self.0.insert(into, digits.parse().unwrap());
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Outcome<()> {
        self.0.insert(to, self.get(from));
        Ok(())
    }

    fn renew(&mut self, _slot: Slot) -> Outcome<()> {
        Ok(())
    }

    fn is_null(&self, _slot: Slot) -> bool {
        false
    }

    fn save(&self, slots: &[Slot]) -> Outcome<ArrayRef> {
        let digits = slots.iter().map(|slot| self.get(*slot));
        Ok(Arc::new(Int64Array::from_iter_values(digits)))
    }

    fn load(&mut self, slots: &[Slot], values: &ArrayRef) -> Outcome<()> {
        let digits = values.as_primitive::<Int64Type>().values();
        self.0
            .extend(slots.iter().copied().zip(digits.iter().copied()));
        Ok(())
    }
}

/// Rules 1.2: by arrival, but for a key with a record behind by reach, the farthest first.
#[test]
fn functions_see_records_as_they_arrive_unless_one_of_the_key_is_behind() {
    let spec = spec_of(
        SESSIONS,
        r#"[{"name":"n","function":"python","columns":[]}]"#,
        r#","grace":5,"emit":"update","op":true"#,
    );
    let field = Field::new("n", DataType::Int64, true);
    let digits = Box::new(Digits::default());
    let mut operator = Operator::new(&spec, &schema(), vec![(digits, field)]).unwrap();
    let until = |time| {
        [SourceTime {
            input: 0,
            source: Source(0),
            time: Time(time),
        }]
    };
    operator
        .push_micro_batch(&batch(&[]), None, &until(100))
        .unwrap();
    let arrivals = [
        ("a", 107),
        ("b", 99),
        ("a", 103),
        ("b", 94),
        ("a", 109),
        ("b", 96),
    ];
    let arrivals = arrivals.map(|(key, time)| event(key, time, 0));
    let changes = operator
        .push_micro_batch(&batch(&arrivals), None, &until(109))
        .unwrap();
    let digits: Vec<i64> = changes
        .iter()
        .flat_map(|changes| {
            let digits = changes
                .column_by_name("n")
                .unwrap()
                .as_primitive::<Int64Type>();
            digits.iter().flatten().collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(digits, [135, 264]);
}

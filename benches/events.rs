//! Generated events that the benches share: seeded, a hundred for each user, 12.8 to a session of
//! five minutes.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use windrow::bench::{Interrupt, Query, Spec};

/// Rows of a batch, as Spark and Polars send them.
const BATCH: usize = 65_536;
/// Five minutes in microseconds.
pub(crate) const GAP: i64 = 300_000_000;
/// Mean time between two events of a user, in microseconds.
pub(crate) const DISTANCE: i64 = 113_200_000;
/// 2026-01-01.
const EPOCH: i64 = 1_767_225_600_000_000;

/// Events as columns.
pub(crate) struct Events {
    pub(crate) users: Vec<i64>,
    pub(crate) times: Vec<i64>,
    pub(crate) clicks: Vec<i64>,
    pub(crate) amounts: Vec<f64>,
}

/// Numbers that look random (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let number = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(number ^ (number >> 31)) * u128::from(bound)) >> 64) as u64
    }
}

impl Events {
    /// `count` events in order of time, `each` of them for a user.
    pub(crate) fn in_order(count: usize, each: usize) -> Self {
        let mut random = Random(20_261_101);
        let users = (count / each).max(1) as u64;
        let mut times: Vec<i64> = (0..count)
            .map(|_| EPOCH + random.below(each as u64 * DISTANCE as u64) as i64)
            .collect();
        times.sort_unstable();
        Self {
            users: (0..count).map(|_| random.below(users) as i64).collect(),
            times,
            clicks: (0..count).map(|_| random.below(100) as i64).collect(),
            amounts: (0..count)
                .map(|_| (1 + random.below(9_999)) as f64 / 100.0)
                .collect(),
        }
    }

    /// The same events in a random order.
    pub(crate) fn shuffled(mut self) -> Self {
        let mut random = Random(7);
        for place in (1..self.users.len()).rev() {
            let other = random.below(place as u64 + 1) as usize;
            self.users.swap(place, other);
            self.times.swap(place, other);
            self.clicks.swap(place, other);
            self.amounts.swap(place, other);
        }
        self
    }

    /// Batches of columns user, name, ts, clicks, amount.
    pub(crate) fn batches(&self) -> Vec<RecordBatch> {
        let name = |user: &i64| Some(format!("user-{user:08}"));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(self.users.clone())),
            Arc::new(self.users.iter().map(name).collect::<StringArray>()),
            Arc::new(TimestampMicrosecondArray::from(self.times.clone())),
            Arc::new(Int64Array::from(self.clicks.clone())),
            Arc::new(Float64Array::from(self.amounts.clone())),
        ];
        let names = ["user", "name", "ts", "clicks", "amount"];
        let fields: Vec<Field> = names
            .iter()
            .zip(&columns)
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
            .collect();
        let whole = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        (0..whole.num_rows())
            .step_by(BATCH)
            .map(|from| whole.slice(from, BATCH.min(whole.num_rows() - from)))
            .collect()
    }
}

/// A query over [`Events::batches`].
pub(crate) fn query(key: &str, windows: &str, aggregates: &str) -> Arc<Query> {
    let spec = format!(
        r#"{{"keys": ["{key}"], "time": "ts", "windows": {windows}, "aggregates": {aggregates}, "shards": 32}}"#
    );
    let fields = [
        ("user", DataType::Int64),
        ("name", DataType::Utf8),
        ("ts", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("clicks", DataType::Int64),
        ("amount", DataType::Float64),
    ];
    let fields: Vec<Field> = fields
        .map(|(name, data_type)| Field::new(name, data_type, true))
        .into();
    Arc::new(Query::new(&Spec::parse(&spec).unwrap(), &Schema::new(fields)).unwrap())
}

/// All windows, on one thread.
pub(crate) fn run(query: &Arc<Query>, batches: &[RecordBatch]) -> Vec<RecordBatch> {
    query
        .run(batches.iter().cloned().map(Ok), 1, &Interrupt::never())
        .unwrap()
        .0
}

/// Number of rows.
pub(crate) fn rows(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

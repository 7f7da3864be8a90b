//! Queries for rows: every row with a key and a time comes back once and unchanged, shard by shard
//! in the order of time and arrival.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::batch::merger::Merger;
use crate::batch::packer::Packer;
use crate::core::error::Error;
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::format::packed::unpack;
use crate::plan::limits::Limits;
use crate::plan::query::Query;
use crate::plan::spec::Spec;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use proptest::prelude::*;

use crate::batch::tests::query::{Row, batch, query as windows_query, schema, single_rows, sort};

const PYTHON: &str = r#"[{"name": "x", "function": "python", "columns": ["x"]}]"#;

pub(crate) fn query(shards: u32, limits: Limits) -> Arc<Query> {
    let spec = format!(
        r#"{{"keys": ["key", "name"], "time": "ts", "tick": "tick", "windows": {{"kind": "session", "gap": 5}},
            "aggregates": {PYTHON}, "shards": {shards}}}"#
    );
    let mut query = Query::of_rows(&Spec::parse(&spec).unwrap(), &schema()).unwrap();
    query.limits = limits;
    Arc::new(query)
}

/// Single packed rows of all splits, each read in batches of `step` rows, sorted by shard and first
/// time.
fn packed(query: &Arc<Query>, splits: &[Vec<Row>], step: usize) -> (Vec<RecordBatch>, u64) {
    let (mut packed, mut records) = (Vec::new(), 0);
    for (number, rows) in (0..).zip(splits) {
        let mut packer = Packer::new(Arc::clone(query), number).unwrap();
        for rows in rows.chunks(step) {
            packed.extend(packer.push(&batch(rows)).unwrap());
        }
        packed.extend(packer.finish().unwrap());
        let counters = packer.counters();
        records += counters.records + counters.left_out();
    }
    let mut rows = single_rows(&packed);
    sort(&mut rows);
    (rows, records)
}

/// Rows of one key, a tick apart, their values their times.
fn ticking(times: impl Iterator<Item = i64>) -> Vec<Row> {
    times
        .map(|time| Row {
            key: Some(1),
            name: None,
            time: Some(time),
            tick: None,
            value: Some(time),
        })
        .collect()
}

fn row() -> impl Strategy<Value = Row> {
    let name = prop_oneof![
        Just(None),
        Just(Some("ann")),
        Just(Some("")),
        Just(Some("bob"))
    ];
    let tick = prop_oneof![6 => Just(None), 1 => Just(Some(true)), 1 => Just(Some(false))];
    let time = prop_oneof![1 => Just(None), 9 => (-9_i64..20).prop_map(Some)];
    (
        prop::option::of(0_i64..3),
        name,
        time,
        tick,
        prop::option::of(any::<i16>()),
    )
        .prop_map(|(key, name, time, tick, value)| Row {
            key,
            name,
            time,
            tick,
            value: value.map(i64::from),
        })
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn oracle_rows_come_back_in_the_order_of_time_and_arrival(
        splits in prop::collection::vec(prop::collection::vec(row(), 0..40), 1..4),
        (shards, step, pack_rows, block_bytes, merge_bytes) in (1..9_u32, 1..15_usize, 1..40_usize, 1..3000_usize, 1..6000_usize),
    ) {
        let limits = Limits { pack_rows, block_bytes, merge_bytes, pack_keys: 2, ..Limits::default() };
        let query = query(shards, limits);
        let (blocks, records) = packed(&query, &splits, step);
        let mut merger = Merger::new(&query).unwrap();
        let mut sorted: Vec<(i32, RecordBatch)> = blocks.iter().flat_map(|block| merger.push(block).unwrap()).collect();
        sorted.extend(merger.finish().unwrap());
        prop_assert!(sorted.is_sorted_by_key(|(shard, _)| *shard));

        let whole: Vec<Row> = splits.into_iter().flatten().collect();
        prop_assert_eq!(records, whole.iter().filter(|row| row.tick != Some(true)).count() as u64);
        let mut kept: Vec<usize> = (0..whole.len())
            .filter(|&row| whole[row].tick != Some(true) && (whole[row].key.is_some() || whole[row].name.is_some()) && whole[row].time.is_some())
            .collect();
        kept.sort_by_key(|&row| whole[row].time);
        let mut keys: BTreeMap<(Option<i64>, Option<String>), i32> = BTreeMap::new();
        for (shard, rows) in &sorted {
            for row in 0..rows.num_rows() {
                let (number, name) = (rows.column(0).as_primitive::<Int64Type>(), rows.column(1).as_string::<i32>());
                let key = (number.iter().nth(row).unwrap(), name.iter().nth(row).unwrap().map(str::to_owned));
                prop_assert_eq!(*keys.entry(key).or_insert(*shard), *shard, "a key is in one shard");
            }
        }
        let shard_of = |row: usize| keys.get(&(whole[row].key, whole[row].name.map(str::to_owned)));
        kept.sort_by_key(|&row| shard_of(row));
        let expected = take_record_batch(&batch(&whole), &UInt32Array::from_iter_values(kept.iter().map(|&row| row as u32))).unwrap();
        let got = concat_batches(&schema(), sorted.iter().map(|(_, rows)| rows)).unwrap();
        prop_assert_eq!(got, expected);
    }

    #[test]
    fn oracle_rows_of_one_process_are_sorted_with_any_threads(rows in prop::collection::vec(row(), 0..60), step in 1..20_usize, step_rows in 1..20_usize) {
        let query = query(7, Limits { step_rows, merge_bytes: 500, ..Limits::default() });
        let batches: Vec<RecordBatch> = rows.chunks(step).map(batch).collect();
        let (sorted, counters) = query.run(batches.into_iter().map(Ok), 4, &Interrupt::never()).unwrap();
        let mut kept: Vec<&Row> = rows.iter().filter(|row| row.tick != Some(true) && (row.key.is_some() || row.name.is_some()) && row.time.is_some()).collect();
        prop_assert_eq!(counters.records, kept.len() as u64);
        kept.sort_by_key(|row| row.time);
        let expected = batch(&kept.into_iter().cloned().collect::<Vec<_>>());
        prop_assert_eq!(concat_batches(&schema(), &sorted).unwrap(), expected);
    }
}

#[test]
fn rows_of_a_hot_key_leave_as_soon_as_the_next_block_is_past_them() {
    let rows = 20_000;
    let splits: Vec<Vec<Row>> = (0..2)
        .map(|split| ticking((split..rows).step_by(2)))
        .collect();
    let query = query(
        4,
        Limits {
            pack_rows: 1 << 10,
            block_bytes: 4 << 10,
            merge_bytes: 16 << 10,
            ..Limits::default()
        },
    );
    let (blocks, _) = packed(&query, &splits, 256);
    let mut merger = Merger::new(&query).unwrap();
    let (mut taken, mut left, mut most, mut last) = (0, 0, 0, None);
    for block in &blocks {
        taken += crate::format::block::decode(unpack(block).unwrap()[0].block)
            .unwrap()
            .1
            .num_rows();
        for (_, rows) in merger.push(block).unwrap() {
            left += rows.num_rows();
            let values: Vec<i64> = rows.column(4).as_primitive::<Int64Type>().values().to_vec();
            assert!(
                values.is_sorted() && last < values.first().copied(),
                "nothing comes before what has left"
            );
            last = values.last().copied();
        }
        most = most.max(taken - left);
    }
    assert_eq!(taken, rows as usize);
    assert!(
        most < rows as usize / 10,
        "{most} of {rows} rows were held at once"
    );
    assert_eq!(
        merger
            .finish()
            .unwrap()
            .iter()
            .map(|(_, rows)| rows.num_rows())
            .sum::<usize>(),
        taken - left
    );
}

#[test]
fn wide_rows_are_packed_before_there_are_many_and_leave_in_small_batches() {
    let rows = ticking(0..100);
    let columns = batch(&rows[..10]).columns().to_vec();
    let sizes = columns
        .iter()
        .map(|column| column.to_data().get_slice_memory_size().unwrap());
    let bytes: usize = sizes.sum();
    let packs = |pack_bytes| {
        let mut packer = Packer::new(
            query(
                1,
                Limits {
                    pack_bytes,
                    ..Limits::default()
                },
            ),
            0,
        )
        .unwrap();
        (0..3)
            .map(|_| packer.push(&batch(&rows[..10])).unwrap().len())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (packs(bytes), packs(bytes + 1), packs(2 * bytes)),
        (vec![1, 1, 1], vec![0, 1, 0], vec![0, 1, 0])
    );

    let narrow = query(
        1,
        Limits {
            merge_bytes: 1,
            ..Limits::default()
        },
    );
    let (sorted, _) = narrow
        .run([Ok(batch(&rows))].into_iter(), 1, &Interrupt::never())
        .unwrap();
    assert!(sorted.iter().all(|batch| batch.num_rows() == 1));
    assert_eq!(sorted.len(), 100);
}

#[test]
fn no_rows_give_no_rows() {
    let query = query(3, Limits::default());
    assert_eq!(query.output.fields(), schema().fields());
    assert!(Merger::new(&query).unwrap().finish().unwrap().is_empty());
    let (blocks, records) = packed(&query, &[Vec::new()], 1);
    assert_eq!((blocks.len(), records), (0, 0));
    let (sorted, counters) = query
        .run(std::iter::empty(), 1, &Interrupt::never())
        .unwrap();
    assert_eq!((sorted.len(), counters), (0, Counters::default()));
}

#[test]
fn blocks_of_other_columns_are_an_error() {
    let sessions = windows_query(
        r#"{"kind": "session", "gap": 5}"#,
        r#"["key"]"#,
        r#"[{"name": "n", "function": "count"}]"#,
        1,
        Limits::default(),
    );
    let (blocks, _) = packed(&sessions, &[ticking(0..3)], 1);
    let mut merger = Merger::new(&query(1, Limits::default())).unwrap();
    assert!(matches!(
        merger.push(&blocks[0]),
        Err(Error::Format { what: "block", .. })
    ));
}

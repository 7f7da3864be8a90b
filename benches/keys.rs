//! Keys to numbers: rows per second by type, distinct keys and order, beside a `HashMap` of the
//! standard library.
//!
//! `cargo bench --features bench --bench keys`; 2 M rows in batches of 65,536; ids are `who/columns/order/distinct
//! keys`. Bursts are 16 rows long, so the most distinct keys that 2 M bursty rows have is 125,000.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a bench fails by panic"
)]

use std::cell::LazyCell;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use windrow::bench::{KeyId, KeyInterner};

const ROWS: usize = 2_000_000;
/// Rows of a batch, as Spark and Polars send them.
const BATCH: usize = 65_536;
/// Rows of one key in a row, where they come in bursts.
const BURST: usize = 16;

/// Numbers that look random (splitmix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// The key of each row, below `distinct`. Every key comes.
fn numbers(distinct: usize, burst: usize) -> Vec<u64> {
    let key = |row: usize| {
        let draw = row / burst;
        let key = if draw < distinct {
            draw as u64
        } else {
            mixed(draw as u64) % distinct as u64
        };
        // Spread over all bits, as identifiers are.
        mixed(key + 1)
    };
    (0..ROWS).map(key).collect()
}

/// Key columns of these numbers.
type Columns = fn(&[u64]) -> Vec<ArrayRef>;

fn longs(keys: &[u64]) -> ArrayRef {
    Arc::new(
        keys.iter()
            .map(|key| key.cast_signed())
            .collect::<Int64Array>(),
    )
}

fn ints(keys: &[u64]) -> ArrayRef {
    Arc::new(keys.iter().map(|&key| key as i32).collect::<Int32Array>())
}

fn strings(keys: &[u64], length: usize) -> ArrayRef {
    Arc::new(
        keys.iter()
            .map(|key| Some(format!("{:016x}{:016x}", mixed(*key), key)[..length].to_string()))
            .collect::<StringArray>(),
    )
}

fn batches(columns: &[ArrayRef]) -> Vec<Vec<ArrayRef>> {
    (0..ROWS)
        .step_by(BATCH)
        .map(|from| {
            columns
                .iter()
                .map(|column| column.slice(from, BATCH.min(ROWS - from)))
                .collect()
        })
        .collect()
}

fn intern(keys: &mut KeyInterner, batches: &[Vec<ArrayRef>], ids: &mut Vec<KeyId>) -> usize {
    keys.clear();
    for batch in batches {
        ids.clear();
        keys.intern(batch, ids).unwrap();
        black_box(&ids);
    }
    keys.len()
}

/// What one writes first: a `HashMap` that owns each distinct key.
fn naive(batches: &[Vec<ArrayRef>], ids: &mut Vec<u32>) -> usize {
    let (mut ints, mut longs) = (HashMap::<i32, u32>::new(), HashMap::<i64, u32>::new());
    let (mut texts, mut pairs) = (
        HashMap::<String, u32>::new(),
        HashMap::<(i64, String), u32>::new(),
    );
    for columns in batches {
        ids.clear();
        match columns.as_slice() {
            [column] => match column.data_type() {
                DataType::Int32 => ids.extend(
                    column
                        .as_primitive::<Int32Type>()
                        .values()
                        .iter()
                        .map(|&key| {
                            let next = ints.len() as u32;
                            *ints.entry(key).or_insert(next)
                        }),
                ),
                DataType::Int64 => ids.extend(
                    column
                        .as_primitive::<Int64Type>()
                        .values()
                        .iter()
                        .map(|&key| {
                            let next = longs.len() as u32;
                            *longs.entry(key).or_insert(next)
                        }),
                ),
                _ => ids.extend(column.as_string::<i32>().iter().flatten().map(|key| {
                    match texts.get(key) {
                        Some(&id) => id,
                        None => {
                            let next = texts.len() as u32;
                            texts.insert(key.to_owned(), next);
                            next
                        }
                    }
                })),
            },
            columns => {
                let (long, text) = (
                    columns[0].as_primitive::<Int64Type>(),
                    columns[1].as_string::<i32>(),
                );
                ids.extend(
                    long.values()
                        .iter()
                        .zip(text.iter().flatten())
                        .map(|(&long, text)| {
                            let next = pairs.len() as u32;
                            *pairs.entry((long, text.to_owned())).or_insert(next)
                        }),
                );
            }
        }
        black_box(&ids);
    }
    ints.len() + longs.len() + texts.len() + pairs.len()
}

fn keys(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("keys");
    group
        .throughput(Throughput::Elements(ROWS as u64))
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(1));
    for (order, burst) in [("bursty", BURST), ("random", 1)] {
        for distinct in [1_000, 100_000, 1_000_000] {
            let shapes: [(&str, Columns); 5] = [
                ("i64", |keys| vec![longs(keys)]),
                ("i32", |keys| vec![ints(keys)]),
                ("string8", |keys| vec![strings(keys, 8)]),
                ("string32", |keys| vec![strings(keys, 32)]),
                ("i64+string8", |keys| vec![longs(keys), strings(keys, 8)]),
            ];
            for (name, columns) in shapes {
                // Made only for a bench that runs.
                let input = LazyCell::new(|| {
                    let batches = batches(&columns(&numbers(distinct, burst)));
                    let expected = naive(&batches, &mut Vec::new());
                    (batches, expected)
                });
                let shape = format!("{name}/{order}/{distinct}");
                group.bench_function(BenchmarkId::new("windrow", &shape), |bencher| {
                    let (batches, expected) = &*input;
                    let fields = batches[0]
                        .iter()
                        .map(|column| Field::new("key", column.data_type().clone(), true))
                        .collect::<Vec<_>>();
                    let (mut keys, mut ids) = (KeyInterner::new(&fields).unwrap(), Vec::new());
                    bencher.iter(|| assert_eq!(intern(&mut keys, batches, &mut ids), *expected));
                });
                group.bench_function(BenchmarkId::new("std", &shape), |bencher| {
                    let (batches, expected) = &*input;
                    let mut ids = Vec::new();
                    bencher.iter(|| assert_eq!(naive(batches, &mut ids), *expected));
                });
            }
        }
    }
    group.finish();
}

criterion_group!(benches, keys);
criterion_main!(benches);

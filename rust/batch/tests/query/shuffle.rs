//! The ways of rows through a query: one run, or packed, shuffled and merged.

use std::sync::Arc;

use crate::batch::merger::Merger;
use crate::batch::packer::Packer;
use crate::core::interrupt::Interrupt;
use crate::core::operator::counters::Counters;
use crate::core::operator::record::Fault;
use crate::format::packed::unpack;
use crate::plan::query::Query;
use arrow_array::RecordBatch;

use super::rows::{Row, batch};
use crate::core::aggregate::tests::trial::Random;

/// Pieces of any lengths.
pub(super) fn cut<'a, T>(items: &'a [T], random: &mut Random, most: usize) -> Vec<&'a [T]> {
    let mut pieces = Vec::new();
    let mut rest = items;
    while !rest.is_empty() {
        let (piece, others) = rest.split_at((1 + random.below(most)).min(rest.len()));
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// One run in this process over batches of any lengths.
pub(super) fn run(
    query: &Arc<Query>,
    rows: &[Row],
    random: &mut Random,
) -> (Vec<RecordBatch>, Counters) {
    let pieces = cut(rows, random, 20);
    query
        .run(
            pieces.into_iter().map(|rows| Ok(batch(rows))),
            1 + random.below(3),
            &Interrupt::never(),
        )
        .unwrap()
}

/// The faults of a batch's records.
const FAULTS: [Fault; 5] = [
    Fault::NullKey,
    Fault::NullTime,
    Fault::NullTie,
    Fault::BadGap,
    Fault::BadEnd,
];

/// Packed rows of all splits, sorted by shard and first time, those of equal ones in any order.
pub(super) fn packed(
    query: &Arc<Query>,
    splits: &[&[Row]],
    random: &mut Random,
) -> (Vec<RecordBatch>, Counters) {
    let mut counters = Counters::default();
    let mut packed: Vec<RecordBatch> = Vec::new();
    for (number, rows) in (0..).zip(splits) {
        let mut packer = Packer::new(Arc::clone(query), number).unwrap();
        for rows in cut(rows, random, 20) {
            packed.extend(packer.push(&batch(rows)).unwrap());
        }
        packed.extend(packer.finish().unwrap());
        let own = packer.counters();
        counters.records += own.records;
        counters.ticks += own.ticks;
        counters.clamped_gaps += own.clamped_gaps;
        for fault in FAULTS {
            *counters.of(fault) += *{ own }.of(fault);
        }
    }
    let mut rows = single_rows(&packed);
    random.shuffle(&mut rows);
    sort(&mut rows);
    (rows, counters)
}

/// A batch for each packed row.
pub(crate) fn single_rows(packed: &[RecordBatch]) -> Vec<RecordBatch> {
    packed
        .iter()
        .flat_map(|batch| (0..batch.num_rows()).map(|row| batch.slice(row, 1)))
        .collect()
}

/// Sorts single packed rows by shard and first time.
pub(crate) fn sort(rows: &mut [RecordBatch]) {
    rows.sort_by_key(|row| {
        unpack(row)
            .map(|rows| (rows[0].shard, rows[0].first))
            .unwrap()
    });
}

/// The windows of packed rows that some mergers share shard by shard; and how many rows left before
/// the end.
pub(super) fn merged(
    query: &Arc<Query>,
    packed: &[RecordBatch],
    mergers: i32,
    random: &mut Random,
) -> (Vec<RecordBatch>, usize) {
    let (mut results, mut early) = (Vec::new(), 0);
    for merger in 0..mergers {
        let own: Vec<&RecordBatch> = packed
            .iter()
            .filter(|row| unpack(row).unwrap()[0].shard.rem_euclid(mergers) == merger)
            .collect();
        let mut merger = Merger::new(query).unwrap();
        for rows in cut(&own, random, 9) {
            let batch =
                arrow_select::concat::concat_batches(&rows[0].schema(), rows.iter().copied())
                    .unwrap();
            results.extend(merger.push(&batch).unwrap());
        }
        early += results
            .iter()
            .map(|(_, windows)| windows.num_rows())
            .sum::<usize>();
        results.extend(merger.finish().unwrap());
        assert!(merger.finish().unwrap().is_empty(), "nothing is left");
    }
    let windows = results.into_iter().map(|(_, windows)| windows);
    (windows.collect(), early)
}

//! Blocks and packed rows: what they hold comes back, and damaged bytes are an error.

use std::io::Cursor;
use std::sync::Arc;

use crate::core::error::Error;
use crate::core::time::Time;
use crate::format::block::{BlockKind, decode, encode};
use crate::format::packed::{pack, schema, unpack};
use crate::format::shard_key;
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, RecordBatch, StringArray};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};
use proptest::prelude::*;

fn batch(rows: usize) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(
        (0..rows as i64)
            .map(|row| (row % 3 > 0).then_some(row))
            .collect::<Int64Array>(),
    );
    let texts: ArrayRef = Arc::new(
        (0..rows)
            .map(|row| Some("x".repeat(row % 7)))
            .collect::<StringArray>(),
    );
    let schema = Schema::new(vec![
        Field::new("0", DataType::Int64, true),
        Field::new("1", DataType::Utf8, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![numbers, texts]).unwrap()
}

fn is_format_error<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Format { what: "block", .. }))
}

#[test]
fn a_block_gives_back_its_rows_and_arrow_reads_it_too() {
    for rows in [0, 1, 1000] {
        let kind = if rows == 1 {
            BlockKind::Records
        } else {
            BlockKind::Sessions
        };
        let block = encode(kind, &batch(rows)).unwrap();
        assert_eq!(decode(&block).unwrap().0, kind);
        assert_eq!(decode(&block).unwrap().1.columns(), batch(rows).columns());
        let arrows: Vec<RecordBatch> = StreamReader::try_new(Cursor::new(&block), None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(arrows[0].columns(), batch(rows).columns());
    }
    let slice = batch(100).slice(31, 17);
    assert_eq!(
        decode(&encode(BlockKind::Records, &slice).unwrap())
            .unwrap()
            .1
            .columns(),
        slice.columns()
    );
}

#[test]
fn every_flipped_bit_and_every_cut_is_an_error() {
    let block = encode(BlockKind::Sessions, &batch(20)).unwrap();
    for bit in 0..block.len() * 8 {
        let mut damaged = block.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(is_format_error(decode(&damaged)), "bit {bit}");
    }
    for length in 0..block.len() {
        assert!(
            is_format_error(decode(&block[..length])),
            "cut to {length} bytes"
        );
    }
    assert!(
        is_format_error(decode(&[block.clone(), vec![0]].concat())),
        "a byte too many"
    );
    assert!(
        is_format_error(decode(&[block.clone(), block].concat())),
        "two blocks"
    );
}

#[test]
fn a_block_of_another_format_is_an_error_that_names_both() {
    let signed = |metadata: &[(&str, &str)]| {
        let metadata = metadata
            .iter()
            .chain(&[("windrow.checksum", "xxh3:................")]);
        let metadata = metadata
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        let schema = batch(1).schema().as_ref().clone().with_metadata(metadata);
        let mut stream = Vec::new();
        StreamWriter::try_new(&mut stream, &schema)
            .unwrap()
            .finish()
            .unwrap();
        let blank = b"xxh3:................";
        let place = stream
            .windows(blank.len())
            .position(|window| window == blank)
            .unwrap()
            + 5;
        let checksum = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&stream));
        stream[place..place + 16].copy_from_slice(checksum.as_bytes());
        stream
    };
    let empty = xxhash_rust::xxh3::xxh3_64(&[]).to_le_bytes();
    assert!(is_format_error(decode(&empty)), "a checksum of nothing");
    let reason = |block: &[u8]| decode(block).unwrap_err().to_string();
    let other = |format: &str| {
        format!("it has format {format}, and this version of windrow reads format 1")
    };
    assert!(reason(&signed(&[])).contains(&other("none")));
    assert!(reason(&signed(&[("windrow.format", "2")])).contains(&other("2")));
    assert!(reason(&signed(&[("windrow.format", "1")])).contains("no rows"));
}

proptest! {
    #![proptest_config(crate::core::tests::cases::usually(256))]

    #[test]
    fn foreign_bytes_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(is_format_error(decode(&bytes)));
    }

    #[test]
    fn rows_are_cut_by_shard_and_size_and_come_back_in_order(lengths in prop::collection::vec(1..60_usize, 0..6), block_bytes in 1..4000_usize) {
        let rows = lengths.iter().sum();
        let shards: Vec<u32> = (0..).zip(&lengths).flat_map(|(shard, &length)| std::iter::repeat_n(shard, length)).collect();
        let times: Vec<Time> = lengths.iter().flat_map(|&length| (0..length as i64).map(|time| Time(10 * time))).collect();
        let whole = batch(rows);
        let packed = pack(BlockKind::Records, &whole, &shards, &times, block_bytes).unwrap();
        let mut from = 0;
        for packed in &packed {
            prop_assert_eq!(packed.schema(), schema());
            for row in unpack(packed).unwrap() {
                let (kind, block) = decode(row.block).unwrap();
                prop_assert_eq!(kind, BlockKind::Records);
                let cut = whole.slice(from, block.num_rows());
                prop_assert_eq!(block.columns(), cut.columns());
                prop_assert!(shards[from..from + block.num_rows()].iter().all(|&shard| shard_key::of(shard) == row.shard));
                prop_assert_eq!(row.first, times[from]);
                from += block.num_rows();
            }
        }
        prop_assert_eq!(from, rows);
    }
}

#[test]
fn packed_rows_of_other_columns_are_an_error() {
    let packed = pack(
        BlockKind::Sessions,
        &batch(3),
        &[0; 3],
        &[Time(0); 3],
        1 << 16,
    )
    .unwrap()
    .remove(0);
    let [shard, first, block] = packed.columns() else {
        panic!("three columns")
    };
    let with = |columns: Vec<ArrayRef>| {
        let fields: Vec<Field> = columns
            .iter()
            .map(|column| Field::new("c", column.data_type().clone(), true))
            .collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    };
    let column = |column: &ArrayRef| Arc::clone(column);
    assert_eq!(
        unpack(&with(vec![
            column(shard),
            column(first),
            column(block),
            column(first)
        ]))
        .unwrap()
        .len(),
        1,
        "more may follow"
    );
    let large: ArrayRef = Arc::new(LargeBinaryArray::from(vec![
        unpack(&packed).unwrap()[0].block,
    ]));
    assert_eq!(
        unpack(&with(vec![column(shard), column(first), large]))
            .unwrap()
            .len(),
        1
    );
    let nothing: ArrayRef = Arc::new(LargeBinaryArray::from(vec![None::<&[u8]>]));
    for columns in [
        vec![column(shard), column(first)],
        vec![column(first), column(shard), column(block)],
        vec![column(shard), column(first), column(first)],
        vec![column(shard), column(first), nothing],
        vec![
            column(shard),
            Arc::new(Int64Array::from(vec![None])),
            column(block),
        ],
    ] {
        assert!(matches!(
            unpack(&with(columns)),
            Err(Error::Format {
                what: "packed rows",
                ..
            })
        ));
    }
}

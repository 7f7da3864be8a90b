//! Blocks of a shuffle, and blocks of changes.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch};
use arrow_select::concat::concat_batches;

use super::queries::{all, bare, of_bytes, records};
use crate::batch::merger::Merger;
use crate::format::{block, change_block, envelope, packed, shard_key};
use crate::shard::shard_sessions::ShardSessions;

/// The number of a query, and a block of its rows.
pub(super) fn read_block(bytes: &[u8]) -> bool {
    let Some((saved, bytes)) = of_bytes(bytes) else {
        return false;
    };
    let mut damaged = bytes.to_vec();
    envelope::write_checksum(&mut damaged);
    let Ok((kind, rows)) = block::decode(&damaged) else {
        return false;
    };
    let written = block::encode(kind, &bare(&rows)).unwrap();
    let (again, same) = block::decode(&written).unwrap();
    assert_eq!((again, same.columns()), (kind, rows.columns()));
    // A block that is not damaged follows.
    let damaged: [ArrayRef; 3] = [
        Arc::new(Int32Array::from(vec![shard_key::of(0)])),
        Arc::new(Int64Array::from(vec![i64::MIN])),
        Arc::new(BinaryArray::from_vec(vec![&damaged])),
    ];
    let damaged = RecordBatch::try_new(packed::schema(), damaged.to_vec()).unwrap();
    let mut merger = Merger::new(&saved.query).unwrap();
    let merged = merger.push(&damaged);
    let is_read = merged.is_ok();
    drop(
        merged
            .and_then(|_| merger.push(&saved.packed))
            .and_then(|_| merger.finish()),
    );
    if let Ok(mut shard) = ShardSessions::new(&saved.spec, &records().schema(), 0)
        && shard.push(&damaged, &[]).is_ok()
    {
        drop(shard.finish(&[]));
        return true;
    }
    is_read
}

/// The blocks of each query.
pub(super) fn blocks() -> Vec<Vec<u8>> {
    let seeds = all().flat_map(|(number, saved)| {
        let counted = saved.spec.takes_partials().then_some(&saved.counted);
        [&saved.packed]
            .into_iter()
            .chain(counted)
            .map(move |packed| {
                let rows = packed::unpack(packed).unwrap();
                [&[number], rows[0].block].concat()
            })
    });
    seeds.collect()
}

/// A block of changes.
pub(super) fn read_changes(bytes: &[u8]) -> bool {
    let mut damaged = bytes.to_vec();
    envelope::write_checksum(&mut damaged);
    let Ok(changes) = change_block::decode(&damaged) else {
        return false;
    };
    let blocks = change_block::encode(&changes).unwrap();
    let mut from = 0;
    for block in blocks {
        let part = change_block::decode(&block).unwrap();
        assert_eq!(part, changes.slice(from, part.num_rows()));
        from += part.num_rows();
    }
    assert_eq!(from, changes.num_rows());
    true
}

/// Two blocks of changes for each query. The second has enough rows to encode its columns.
pub(super) fn changes() -> Vec<Vec<u8>> {
    let seeds = all().flat_map(|(_, saved)| {
        let mut operator = saved.operator();
        let mut changes = operator.push(&records()).unwrap();
        changes.extend(operator.finish().unwrap());
        let changes = concat_batches(&operator.schema(), &changes).unwrap();
        let many = concat_batches(&operator.schema(), &vec![changes.clone(); 20]).unwrap();
        [changes, many].map(|changes| change_block::encode(&changes).unwrap().remove(0))
    });
    seeds.collect()
}

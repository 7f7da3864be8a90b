//! The canonical hash: equal in every layout, and the same forever.

use std::sync::Arc;

use crate::keys::shard_hash::ShardHash;
use crate::keys::sort_key::sort_keys;
use crate::keys::{KeyInterner, shard};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray, UInt64Array, make_array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};
use xxhash_rust::xxh3::xxh3_64;

use super::{Random, fields, ids, list};

#[test]
fn a_key_hashes_alike_in_every_layout() {
    let mut random = Random(3);
    let dictionary = |values: &DataType| {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(values.clone()))
    };
    let families = [
        vec![
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Utf8View,
            dictionary(&DataType::Utf8),
            dictionary(&DataType::LargeUtf8),
        ],
        vec![
            DataType::Binary,
            DataType::LargeBinary,
            DataType::BinaryView,
            dictionary(&DataType::Binary),
        ],
        vec![DataType::Int64, dictionary(&DataType::Int64)],
        vec![DataType::Int32, dictionary(&DataType::Int32)],
    ];
    for layouts in families {
        let column = random.column(&layouts[0], 500);
        let mut expected = KeyInterner::new(&fields(&layouts[..1])).unwrap();
        let numbers = ids(&mut expected, std::slice::from_ref(&column));
        let with_null = |array: &ArrayRef| {
            let null = new_null_array(&DataType::Int64, array.len());
            [Arc::clone(array), null]
        };
        let alone_expected = hashes(&layouts[..1], std::slice::from_ref(&column));
        let pair_expected = hashes(&[layouts[0].clone(), DataType::Int64], &with_null(&column));
        for declared in &layouts {
            for arrived in &layouts {
                let array = cast(&column, arrived).unwrap();
                let mut alone = KeyInterner::new(&fields(std::slice::from_ref(declared))).unwrap();
                assert_eq!(
                    ids(&mut alone, std::slice::from_ref(&array)),
                    numbers,
                    "{declared} {arrived}"
                );
                let pair = [declared.clone(), DataType::Int64];
                assert_eq!(
                    hashes(&pair, &with_null(&array)),
                    pair_expected,
                    "{declared} {arrived}"
                );
                assert_eq!(
                    hashes(std::slice::from_ref(declared), &[array]),
                    alone_expected,
                    "{declared} {arrived}"
                );
            }
        }
    }
}

#[test]
fn integers_of_any_width_hash_alike() {
    let values = Int64Array::from(vec![5, 0, 100, 127]);
    let narrow = [
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
    ];
    let long: ArrayRef = Arc::new(values.clone());
    let long = hashes(&[DataType::Int64], &[long]);
    for data_type in narrow {
        let array = cast(&values, &data_type).unwrap();
        assert_eq!(hashes(&[data_type], &[array]), long);
    }
}

#[test]
fn nulls_within_a_key_hash_alike_with_and_without_a_type() {
    let of = |elements: DataType| {
        let (offsets, values) = (
            OffsetBuffer::from_lengths([0, 2]),
            new_null_array(&elements, 2),
        );
        let lists: ArrayRef = Arc::new(ListArray::new(list(elements), offsets, values, None));
        hashes(&[lists.data_type().clone()], &[lists])
    };
    let [untyped, numbers] = [DataType::Null, DataType::Int64].map(of);
    assert_eq!(untyped, numbers);
    assert_ne!(untyped[0], untyped[1]);
}

/// The hash of the only key of these columns.
fn hash(columns: &[ArrayRef]) -> u64 {
    let types = columns
        .iter()
        .map(|column| column.data_type().clone())
        .collect::<Vec<_>>();
    hashes(&types, columns)[0].unwrap()
}

/// The hash of each row, for key columns of these types.
fn hashes(types: &[DataType], columns: &[ArrayRef]) -> Vec<Option<u64>> {
    let hash = ShardHash::new(&fields(types)).unwrap();
    hash.hashes(columns).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text
        .bytes()
        .filter(|byte| *byte != b' ')
        .collect::<Vec<_>>();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn canonical_bytes_and_hashes_never_move() {
    let number = |value: i64, data_type: &DataType| {
        let long = Int64Array::from(vec![value]);
        match data_type {
            DataType::Timestamp(..) => make_array(
                long.into_data()
                    .into_builder()
                    .data_type(data_type.clone())
                    .build()
                    .unwrap(),
            ),
            DataType::Date32 => cast(&cast(&long, &DataType::Int32).unwrap(), data_type).unwrap(),
            _ => cast(&long, data_type).unwrap(),
        }
    };
    let string = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value])) };
    let double = |value: f64| -> ArrayRef { Arc::new(Float64Array::from(vec![value])) };
    let listed: ArrayRef = Arc::new(ListArray::new(
        list(DataType::Int64),
        OffsetBuffer::from_lengths([2]),
        Arc::new(Int64Array::from(vec![Some(1), None])),
        None,
    ));
    let pair: ArrayRef = Arc::new(StructArray::new(
        vec![
            Field::new("a", DataType::Int64, true),
            Field::new("b", DataType::Utf8, true),
        ]
        .into(),
        vec![Arc::new(Int64Array::from(vec![None])), string("z")],
        None,
    ));
    let long = "0123456789abcdef0123456789abcdef";
    let vectors: Vec<(Vec<ArrayRef>, String, u64)> = vec![
        (
            vec![number(5, &DataType::Int64)],
            "01 0500000000000000".into(),
            0xD7AA_C30B_7EE8_29FB,
        ),
        (
            vec![number(-2, &DataType::Int32)],
            "01 FEFFFFFFFFFFFFFF".into(),
            0x0723_823A_A333_9FBC,
        ),
        (
            vec![number(-2, &DataType::Int8)],
            "01 FEFFFFFFFFFFFFFF".into(),
            0x0723_823A_A333_9FBC,
        ),
        (
            vec![number(1, &DataType::Timestamp(TimeUnit::Microsecond, None))],
            "01 0100000000000000".into(),
            0xA048_B5CB_8216_2577,
        ),
        (
            vec![number(7, &DataType::Date32)],
            "01 0700000000000000".into(),
            0xA37A_4D57_E745_7851,
        ),
        (
            vec![Arc::new(BooleanArray::from(vec![true]))],
            "01 0100000000000000".into(),
            0xA048_B5CB_8216_2577,
        ),
        (
            vec![Arc::new(UInt64Array::from(vec![u64::MAX]))],
            "01 FFFFFFFFFFFFFFFF 0000000000000000".into(),
            0xA53F_DF39_F1A9_30C6,
        ),
        (
            vec![number(-1, &DataType::Decimal128(38, 0))],
            format!("01 {}", "FF".repeat(16)),
            0x3192_EBCE_D8DA_1530,
        ),
        (
            vec![number(-1, &DataType::Decimal32(9, 0))],
            format!("01 {}", "FF".repeat(16)),
            0x3192_EBCE_D8DA_1530,
        ),
        (
            vec![number(-1, &DataType::Decimal64(18, 0))],
            format!("01 {}", "FF".repeat(16)),
            0x3192_EBCE_D8DA_1530,
        ),
        (
            vec![number(-1, &DataType::Decimal256(76, 0))],
            format!("01 {}", "FF".repeat(32)),
            0x487E_2722_7811_41E3,
        ),
        (
            vec![double(-0.0)],
            "01 0000000000000000".into(),
            0x313C_2DD2_EC99_6E80,
        ),
        (
            vec![double(-f64::NAN)],
            "01 000000000000F87F".into(),
            0x6A33_929C_E40A_04D7,
        ),
        (
            vec![cast(&double(1.5), &DataType::Float32).unwrap()],
            "01 000000000000F83F".into(),
            0x2B68_E3D9_5BC4_08B8,
        ),
        (
            vec![cast(&double(1.5), &DataType::Float16).unwrap()],
            "01 000000000000F83F".into(),
            0x2B68_E3D9_5BC4_08B8,
        ),
        (
            vec![string("")],
            "01 00000000".into(),
            0xD1DD_927E_D529_F768,
        ),
        (
            vec![string("ab")],
            "01 02000000 6162".into(),
            0x288E_762D_4180_E7F6,
        ),
        (
            vec![cast(&string("ab"), &DataType::BinaryView).unwrap()],
            "01 02000000 6162".into(),
            0x288E_762D_4180_E7F6,
        ),
        (
            vec![string(long)],
            format!(
                "01 20000000 {}",
                "30313233343536373839616263646566".repeat(2)
            ),
            0x398D_52C8_1331_163E,
        ),
        (
            vec![number(7, &DataType::Int32), string("ab")],
            "01 0700000000000000 01 02000000 6162".into(),
            0x494E_FD22_B1E4_0790,
        ),
        (
            vec![new_null_array(&DataType::Int32, 1), string("ab")],
            "00 01 02000000 6162".into(),
            0x4877_67ED_EFF4_AC20,
        ),
        (
            vec![listed],
            "01 02000000 01 0100000000000000 00".into(),
            0x50D1_FF73_C226_426E,
        ),
        (
            vec![pair],
            "01 00 01 01000000 7A".into(),
            0x0A85_1A32_AEC5_F6B6,
        ),
    ];
    for (columns, bytes, expected) in vectors {
        assert_eq!(xxh3_64(&hex(&bytes)), expected, "{bytes}");
        assert_eq!(hash(&columns), expected, "{bytes}");
    }
}

#[test]
fn intervals_hash_by_their_parts() {
    let interval = |bytes: &[u8], unit| {
        let data_type = DataType::Interval(unit);
        make_array(
            arrow_data::ArrayData::builder(data_type)
                .len(1)
                .add_buffer(arrow_buffer::Buffer::from(bytes))
                .build()
                .unwrap(),
        )
    };
    let day_time = interval(&[1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF], IntervalUnit::DayTime);
    assert_eq!(
        hash(&[day_time]),
        xxh3_64(&hex("01 0100000000000000 FEFFFFFFFFFFFFFF"))
    );
    let parts = interval(
        &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0],
        IntervalUnit::MonthDayNano,
    );
    assert_eq!(
        hash(&[parts]),
        xxh3_64(&hex(
            "01 0100000000000000 0200000000000000 0300000000000000"
        ))
    );
    let months = interval(&[0xFF, 0xFF, 0xFF, 0xFF], IntervalUnit::YearMonth);
    assert_eq!(hash(&[months]), xxh3_64(&hex("01 FFFFFFFFFFFFFFFF")));
}

#[test]
fn a_shard_is_a_range_of_hashes() {
    assert_eq!((shard(0, 32), shard(u64::MAX, 32)), (0, 31));
    assert_eq!((shard((1 << 59) - 1, 32), shard(1 << 59, 32)), (0, 1));
    assert_eq!(
        (shard(u64::MAX, 1), shard(u64::MAX, u32::MAX)),
        (0, u32::MAX - 1)
    );
}

#[test]
fn equal_keys_have_the_same_sort_bytes_and_a_key_of_nulls_has_none() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(0.0),
        Some(-0.0),
        Some(f64::NAN),
        Some(-f64::NAN),
        None,
    ]));
    let field = Arc::new(Field::new("x", DataType::Float64, true));
    let structs: ArrayRef = Arc::new(StructArray::from(vec![(field, Arc::clone(&floats))]));
    for column in [floats, structs] {
        let keys = RecordBatch::try_from_iter([("key", Arc::clone(&column))]).unwrap();
        let bytes = sort_keys(&keys).unwrap();
        assert_eq!(bytes.value(0), bytes.value(1));
        assert_eq!(bytes.value(2), bytes.value(3));
        assert_ne!(bytes.value(0), bytes.value(2));
        assert_eq!(bytes.is_null(4), column.is_null(4));
    }
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("")]));
    let keys = RecordBatch::try_from_iter([("key", texts)]).unwrap();
    let bytes: Vec<_> = sort_keys(&keys)
        .unwrap()
        .iter()
        .map(|key| key.map(<[u8]>::to_vec))
        .collect();
    assert_eq!(bytes, [Some(b"b".to_vec()), None, Some(Vec::new())]);
    assert!(sort_keys(&RecordBatch::new_empty(Arc::new(Schema::empty()))).is_err());
}

//! Arrays of every type to columns and back.

use std::sync::Arc;

use crate::array::convert::{canonical, value_type};
use crate::array::dictionary::unpacked;
use crate::array::result_array::typed;
use crate::core::aggregate::column::gather;
use crate::core::aggregate::value_type::{NumberKind, ValueKind, ValueType};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float16Array,
    Float64Array, Int8Array, Int64Array, MapArray, NullArray, StringArray, StructArray,
    TimestampNanosecondArray, UInt32Array, UInt64Array, new_empty_array, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use arrow_select::concat::concat;
use arrow_select::take::take;
use proptest::prelude::*;

use crate::keys::tests::keys::{Random, flat_types, nested_types};

/// The rows of an array by way of its column.
fn through(array: &ArrayRef, rows: &[u32]) -> ArrayRef {
    let column = canonical(array).unwrap();
    assert_eq!(column.len(), array.len());
    let nulls = array.logical_nulls();
    assert!(
        (0..array.len())
            .all(|row| column.is_valid(row)
                == nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)))
    );
    typed(
        &gather(&column, rows).unwrap(),
        &unpacked(array.data_type()),
    )
    .unwrap()
}

fn all(array: &ArrayRef) -> Vec<u32> {
    (0..array.len() as u32).collect()
}

fn check(array: &ArrayRef) {
    let expected = cast(array, &unpacked(array.data_type())).unwrap();
    let got = through(array, &all(array));
    got.to_data().validate_full().unwrap();
    assert_eq!(&got, &expected, "{}", array.data_type());
}

fn types() -> Vec<DataType> {
    let mut types = flat_types();
    types.extend(nested_types());
    types
}

proptest! {
    // Each case goes through all types.
    #![proptest_config(crate::core::tests::cases::usually(24))]

    #[test]
    fn every_type_comes_back(seed in 1..u64::MAX, length in 0..80_usize, from in 0..80_usize) {
        let mut random = Random(seed);
        for data_type in types() {
            let array = random.column(&data_type, length);
            check(&array);
            let from = from.min(length);
            check(&array.slice(from, random.below((length - from) as u64 + 1) as usize));
        }
    }

    #[test]
    fn rows_are_picked_as_arrow_picks_them(seed in 1..u64::MAX, length in 1..40_usize, picked in 0..60_usize) {
        let mut random = Random(seed);
        // Arrow's own picking forgets how many rows there are where they have no bytes.
        for data_type in types().into_iter().filter(|data_type| *data_type != DataType::FixedSizeBinary(0)) {
            let array = random.column(&data_type, length);
            let rows: Vec<u32> = (0..picked).map(|_| random.below(length as u64) as u32).collect();
            let plain = cast(&array, &unpacked(&data_type)).unwrap();
            let expected = take(&plain, &UInt32Array::from(rows.clone()), None).unwrap();
            prop_assert_eq!(&through(&array, &rows), &expected);
        }
    }

    #[test]
    fn pieces_append_to_the_whole(seed in 1..u64::MAX, cuts in prop::collection::vec(0..12_usize, 0..5)) {
        let mut random = Random(seed);
        for data_type in types() {
            let whole = random.column(&data_type, cuts.iter().sum());
            let mut pieces = vec![canonical(&new_empty_array(&data_type)).unwrap()];
            let mut from = 0;
            for &cut in &cuts {
                pieces.push(canonical(&whole.slice(from, cut)).unwrap());
                from += cut;
            }
            let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
            prop_assert_eq!(&typed(&concat(&pieces).unwrap(), &unpacked(&data_type)).unwrap(), &cast(&whole, &unpacked(&data_type)).unwrap());
        }
    }
}

#[test]
fn the_value_types_are_those_of_the_table() {
    let number = |kind| move |value_type: ValueType| value_type.kind() == ValueKind::Number(kind);
    let of = |is_wanted: &dyn Fn(ValueType) -> bool| {
        types()
            .into_iter()
            .filter(|data_type| value_type(&unpacked(data_type)).is_some_and(is_wanted))
            .count()
    };
    let counts = [
        of(&number(NumberKind::Int)),
        of(&number(NumberKind::Float)),
        of(&number(NumberKind::Wide)),
        of(&|value_type| value_type == ValueType::Bytes),
        of(&|value_type| value_type == ValueType::Row),
    ];
    assert_eq!(
        counts.iter().sum::<usize>(),
        types().len(),
        "every groupable type has a value type: {counts:?}"
    );
    assert!(counts.iter().all(|&count| count >= 3), "{counts:?}");
    assert_eq!(
        value_type(&DataType::Decimal256(76, 2)),
        Some(ValueType::Row)
    );
}

#[test]
fn the_extremes_of_each_kind_come_back() {
    let decimal = |values: Vec<i128>, precision, scale| {
        Decimal128Array::from(values)
            .with_precision_and_scale(precision, scale)
            .unwrap()
    };
    let half = |bits: [u16; 8]| bits.map(|bits| Some(half_of(bits)));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        Arc::new(Int8Array::from(vec![Some(i8::MIN), None, Some(i8::MAX)])),
        Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX])),
        Arc::new(UInt32Array::from(vec![0, u32::MAX])),
        Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0)])),
        Arc::new(Date32Array::from(vec![i32::MIN, i32::MAX])),
        Arc::new(
            TimestampNanosecondArray::from(vec![i64::MIN, i64::MAX]).with_timezone("Europe/Berlin"),
        ),
        Arc::new(decimal(
            vec![10_i128.pow(38) - 1, 1 - 10_i128.pow(38)],
            38,
            -3,
        )),
        Arc::new(decimal(vec![-1, 1], 38, 38)),
        Arc::new(Float64Array::from(vec![
            f64::MIN,
            -0.0,
            0.0,
            5e-324,
            f64::INFINITY,
            f64::NAN,
        ])),
        Arc::new(
            half([
                0x0001, 0x8000, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x3C01, 0x0000,
            ])
            .into_iter()
            .collect::<Float16Array>(),
        ),
        Arc::new(StringArray::from(vec!["", "\0", "ä\u{10FFFF}"])),
        Arc::new(NullArray::new(3)),
    ];
    arrays.iter().for_each(check);
}

/// A float16 of these bits.
fn half_of(
    bits: u16,
) -> <arrow_array::types::Float16Type as arrow_array::types::ArrowPrimitiveType>::Native {
    <arrow_array::types::Float16Type as arrow_array::types::ArrowPrimitiveType>::Native::from_bits(
        bits,
    )
}

#[test]
fn columns_that_are_null_throughout_come_back() {
    for data_type in types() {
        check(&new_null_array(&data_type, 5));
        check(&new_empty_array(&data_type));
    }
}

#[test]
fn a_dictionary_within_a_dictionary_is_unpacked() {
    let inner = DictionaryArray::new(
        Int8Array::from(vec![Some(1), None, Some(0)]),
        Arc::new(StringArray::from(vec!["a", "b"])),
    );
    let outer: ArrayRef = Arc::new(DictionaryArray::new(
        Int8Array::from(vec![2, 0, 1, 0]),
        Arc::new(inner),
    ));
    let got = through(&outer, &all(&outer));
    assert_eq!(
        got.as_ref(),
        &StringArray::from(vec![Some("a"), Some("b"), None, Some("b")]) as &dyn Array
    );
}

#[test]
fn a_dictionary_within_a_struct_is_unpacked() {
    let words = DictionaryArray::new(
        Int8Array::from(vec![Some(1), None, Some(0)]),
        Arc::new(StringArray::from(vec!["a", "b"])),
    );
    let field = Field::new("word", words.data_type().clone(), true);
    let array: ArrayRef = Arc::new(StructArray::new(
        vec![field].into(),
        vec![Arc::new(words)],
        None,
    ));
    let got = through(&array, &all(&array));
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("a")]));
    assert_eq!(got.as_struct().column(0), &words);
}

#[test]
fn maps_come_back() {
    let entries = StructArray::from(vec![
        (
            Arc::new(Field::new("keys", DataType::Utf8, false)),
            Arc::new(StringArray::from(vec!["a", "b", "c"])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("values", DataType::Int64, true)),
            Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef,
        ),
    ]);
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let array: ArrayRef = Arc::new(MapArray::new(
        field,
        OffsetBuffer::from_lengths([2, 0, 1]),
        entries,
        None,
        false,
    ));
    check(&array);
}

#[test]
fn a_canonical_array_is_the_column_and_nothing_more() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let same = canonical(&numbers).unwrap();
    assert!(
        numbers.to_data().buffers()[0].ptr_eq(&same.to_data().buffers()[0]),
        "int64 is viewed without a copy"
    );
    assert_eq!(&gather(&same, &[0, 1, 2]).unwrap(), &numbers);
}

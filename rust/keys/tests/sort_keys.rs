//! Sort keys are in stored states, so their bytes stay the same, also with another version of Arrow.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, ListArray,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use crate::keys::sort_key::SortKeys;

fn hexadecimal(column: ArrayRef, row: usize) -> String {
    let field = |column: &ArrayRef| Field::new("k", column.data_type().clone(), true);
    let other: ArrayRef = Arc::new(Int32Array::from(vec![7; column.len()]));
    let keys = SortKeys::new(&[field(&column), field(&other)]).unwrap();
    let rows = keys.of(&[column, other]).unwrap();
    let mut text = String::new();
    for byte in rows.get(row).unwrap() {
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

#[test]
fn sort_keys_have_the_same_bytes_forever() {
    let end = "0180000007";
    let device = StructArray::try_new(
        vec![
            Field::new("id", DataType::Int32, true),
            Field::new("os", DataType::Utf8, true),
        ]
        .into(),
        vec![
            Arc::new(Int32Array::from(vec![Some(1), None, None])),
            Arc::new(StringArray::from(vec![Some("a"), Some(""), None])),
        ],
        Some(NullBuffer::from(vec![true, true, false])),
    );
    let lists = vec![Some(vec![Some(1), None]), Some(vec![]), None];
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(lists);
    let prices = Decimal128Array::from(vec![Some(-1), Some(250), None]);
    let columns: Vec<(ArrayRef, [&str; 3])> = vec![
        (
            Arc::new(Int64Array::from(vec![Some(-2), Some(258), None])),
            [
                "017ffffffffffffffe",
                "018000000000000102",
                "000000000000000000",
            ],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(-2),
                Some(258),
                None,
            ])),
            [
                "017ffffffffffffffe",
                "018000000000000102",
                "000000000000000000",
            ],
        ),
        (
            Arc::new(BooleanArray::from(vec![Some(false), Some(true), None])),
            ["0100", "0101", "0000"],
        ),
        (
            Arc::new(Float64Array::from(vec![Some(-1.5), Some(1.5), None])),
            [
                "014007ffffffffffff",
                "01bff8000000000000",
                "000000000000000000",
            ],
        ),
        (
            Arc::new(prices.with_precision_and_scale(9, 2).unwrap()),
            [
                "017fffffffffffffffffffffffffffffff",
                "01800000000000000000000000000000fa",
                "0000000000000000000000000000000000",
            ],
        ),
        (
            Arc::new(StringArray::from(vec![Some("ab"), Some(""), None])),
            ["02616200000000000002", "01", "00"],
        ),
        (
            Arc::new(device.unwrap()),
            [
                "01018000000102610000000000000001",
                "01000000000001",
                "00000000000000",
            ],
        ),
        (
            Arc::new(lists),
            ["020180000001000000050200000000000000000501", "01", "00"],
        ),
    ];
    for (column, expected) in columns {
        for (row, expected) in expected.into_iter().enumerate() {
            let found = hexadecimal(Arc::clone(&column), row);
            assert_eq!(found, format!("{expected}{end}"), "{}", column.data_type());
        }
    }
}

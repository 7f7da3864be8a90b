//! Keys against an oracle: a `HashMap` over the keys' printed values.

mod canonical;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

use crate::core::error::Error;
use crate::core::key::KeyId;
use crate::keys::KeyInterner;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, Int64Array, StringArray, StructArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, TimeUnit};

use types::list;
pub(crate) use types::{Random, flat_types, nested_types};

/// The values of a column as text; nulls differ from empty strings, NaNs and zeros are equal.
fn printed(array: &dyn Array) -> Vec<String> {
    let rows = 0..array.len();
    let value = |row: usize| match array.data_type() {
        DataType::Float16 => format!(
            "{:?}",
            f32::from(array.as_primitive::<Float16Type>().value(row)) + 0.0
        ),
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row) + 0.0),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row) + 0.0),
        DataType::List(_) => format!("{:?}", printed(&array.as_list::<i32>().value(row))),
        DataType::LargeList(_) => format!("{:?}", printed(&array.as_list::<i64>().value(row))),
        DataType::FixedSizeList(..) => {
            format!("{:?}", printed(&array.as_fixed_size_list().value(row)))
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_dictionary::<Int32Type>();
            printed(
                &dictionary
                    .values()
                    .slice(dictionary.keys().value(row) as usize, 1),
            )
            .remove(0)
        }
        DataType::Struct(_) => {
            array
                .as_struct()
                .columns()
                .iter()
                .map(|field| printed(&field.slice(row, 1)).remove(0) + ";")
                .collect::<String>()
                + "}"
        }
        _ => {
            ArrayFormatter::try_new(array, &FormatOptions::new())
                .unwrap()
                .value(row)
                .to_string()
                + "'"
        }
    };
    rows.map(|row| {
        if array.is_null(row) {
            "null".into()
        } else {
            value(row)
        }
    })
    .collect()
}

/// The numbers of the rows by the oracle.
#[derive(Default)]
struct Oracle {
    known: HashMap<Vec<String>, u32>,
}

impl Oracle {
    fn intern(&mut self, columns: &[ArrayRef]) -> Vec<KeyId> {
        let printed = columns
            .iter()
            .map(|column| printed(column))
            .collect::<Vec<_>>();
        let logical = columns
            .iter()
            .map(|column| column.logical_nulls())
            .collect::<Vec<_>>();
        let number = |row: usize| {
            if logical
                .iter()
                .all(|nulls| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)))
            {
                return KeyId::NULL;
            }
            let next = self.known.len() as u32;
            KeyId(
                *self
                    .known
                    .entry(printed.iter().map(|column| column[row].clone()).collect())
                    .or_insert(next),
            )
        };
        (0..columns[0].len()).map(number).collect()
    }
}

fn fields(types: &[DataType]) -> Vec<Field> {
    types
        .iter()
        .enumerate()
        .map(|(column, data_type)| Field::new(format!("k{column}"), data_type.clone(), true))
        .collect()
}

fn ids(keys: &mut KeyInterner, columns: &[ArrayRef]) -> Vec<KeyId> {
    let mut ids = Vec::new();
    keys.intern(columns, &mut ids).unwrap();
    ids
}

/// Interns random batches, slices among them, and compares numbers and values with the oracle.
fn check(types: &[DataType], random: &mut Random) {
    let mut keys = KeyInterner::new(&fields(types)).unwrap();
    for _ in 0..2 {
        let mut oracle = Oracle::default();
        for length in [0, 1, 70, 1500] {
            let columns = types
                .iter()
                .map(|data_type| random.column(data_type, length))
                .collect::<Vec<_>>();
            let (from, rows) = if random.below(2) == 0 {
                (0, length)
            } else {
                (length / 3, length / 2)
            };
            let columns = columns
                .iter()
                .map(|column| column.slice(from, rows))
                .collect::<Vec<_>>();
            let got = ids(&mut keys, &columns);
            assert_eq!(got, oracle.intern(&columns), "{types:?}");
            let values = keys.columns(&got).unwrap();
            for ((column, value), field) in columns.iter().zip(&values).zip(keys.output_fields()) {
                assert_eq!(printed(column), printed(value), "{types:?}");
                assert_eq!(value.data_type(), field.data_type());
                value.to_data().validate_full().unwrap();
            }
            assert_eq!(keys.len(), oracle.known.len());
        }
        keys.clear();
        assert_eq!(keys.len(), 0);
    }
}

#[test]
fn keys_of_each_type_are_numbered_by_first_appearance() {
    let mut random = Random(1);
    for data_type in flat_types().into_iter().chain(nested_types()) {
        check(&[data_type], &mut random);
    }
}

#[test]
fn keys_of_several_columns_are_numbered_and_partial_nulls_kept() {
    let mut random = Random(2);
    let types = flat_types()
        .into_iter()
        .chain(nested_types())
        .collect::<Vec<_>>();
    let pick = |random: &mut Random| types[random.below(types.len() as u64) as usize].clone();
    for _ in 0..150 {
        let columns = (0..2 + random.below(2))
            .map(|_| pick(&mut random))
            .collect::<Vec<_>>();
        check(&columns, &mut random);
    }
}

#[test]
fn a_row_of_nulls_has_no_key_and_a_row_with_one_value_has() {
    let mut keys = KeyInterner::new(&fields(&[DataType::Int64, DataType::Utf8])).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(1), None, Some(1), None]));
    let words: ArrayRef = Arc::new(StringArray::from(vec![
        None,
        None,
        Some(""),
        Some(""),
        None,
    ]));
    let got = ids(&mut keys, &[numbers, words]);
    assert_eq!(
        got,
        [KeyId::NULL, KeyId(0), KeyId(1), KeyId(2), KeyId::NULL]
    );
    let columns = keys.columns(&[KeyId(1), KeyId::NULL]).unwrap();
    assert!(
        columns[0].is_null(0)
            && columns[1].is_valid(0)
            && columns[0].is_null(1)
            && columns[1].is_null(1)
    );
}

#[test]
fn a_struct_of_nulls_is_a_key_and_a_null_struct_is_none() {
    let inner = vec![Field::new("a", DataType::Int64, true)];
    let mut keys = KeyInterner::new(&fields(&[DataType::Struct(inner.clone().into())])).unwrap();
    // The cell under a null parent is not a value.
    let column = StructArray::new(
        inner.into(),
        vec![Arc::new(Int64Array::from(vec![
            None,
            Some(7),
            Some(8),
            Some(7),
        ]))],
        Some(vec![true, false, false, true].into()),
    );
    assert_eq!(
        ids(&mut keys, &[Arc::new(column)]),
        [KeyId(0), KeyId::NULL, KeyId::NULL, KeyId(1)]
    );
}

#[test]
fn a_null_struct_may_have_fields_that_are_never_null() {
    let inner = vec![
        Field::new("a", DataType::Int64, false),
        Field::new("b", DataType::Utf8, false),
    ];
    let mut keys = KeyInterner::new(&fields(&[
        DataType::Struct(inner.clone().into()),
        DataType::Int64,
    ]))
    .unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1, 2])),
        Arc::new(StringArray::from(vec!["x", "y"])),
    ];
    let column: ArrayRef = Arc::new(StructArray::new(
        inner.into(),
        columns,
        Some(vec![true, false].into()),
    ));
    let got = ids(&mut keys, &[column, Arc::new(Int64Array::from(vec![5, 5]))]);
    assert_eq!(got, [KeyId(0), KeyId(1)]);
    let values = keys.columns(&[KeyId(1), KeyId(0)]).unwrap();
    assert!(values[0].is_null(0) && values[0].is_valid(1));
}

#[test]
fn numbers_end_before_the_null_key() {
    assert_eq!(KeyId::after(0), Some(KeyId(0)));
    assert_eq!(
        KeyId::after(u32::MAX as usize - 1),
        Some(KeyId(u32::MAX - 1))
    );
    assert_eq!(KeyId::after(u32::MAX as usize), None);
    assert_eq!(KeyId::after(u32::MAX as usize + 1), None);
}

#[test]
fn a_type_that_cannot_be_grouped_is_named() {
    let entries = Field::new(
        "entries",
        DataType::Struct(
            vec![
                Field::new("k", DataType::Utf8, false),
                Field::new("v", DataType::Utf8, true),
            ]
            .into(),
        ),
        false,
    );
    let map = DataType::Map(Arc::new(entries), false);
    let wrong = [
        (map.clone(), "map<string, string>"),
        (DataType::Null, "null"),
        (DataType::Struct(Vec::<Field>::new().into()), "struct<>"),
        (DataType::FixedSizeBinary(0), "fixed_size_binary[0]"),
        (
            DataType::FixedSizeList(list(DataType::Int64), 0),
            "fixed_size_list<item: int64>[0]",
        ),
        (DataType::List(list(map)), "list<item: map<string, string>>"),
    ];
    for (data_type, spelled) in wrong {
        match KeyInterner::new(&[
            Field::new("good", DataType::Int64, true),
            Field::new("bad", data_type, true),
        ])
        .err()
        {
            Some(Error::ColumnType {
                argument,
                column,
                got,
                ..
            }) => {
                assert_eq!(
                    (argument.as_str(), column.as_str(), got),
                    ("keys", "bad", spelled.to_owned())
                );
            }
            other => panic!("{spelled}: {other:?}"),
        }
    }
    assert!(matches!(KeyInterner::new(&[]), Err(Error::Argument { .. })));
}

#[test]
fn a_batch_of_another_type_is_refused_and_changes_nothing() {
    let mut keys = KeyInterner::new(&fields(&[DataType::Utf8])).unwrap();
    let mut got = vec![KeyId(9)];
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    assert!(
        matches!(keys.intern(&[numbers], &mut got), Err(Error::ColumnType { column, .. }) if column == "k0")
    );
    assert_eq!(got, [KeyId(9)]);
    assert!(matches!(keys.columns(&[KeyId(0)]), Err(Error::Internal(_))));
    assert!(matches!(
        keys.intern(&[], &mut got),
        Err(Error::Internal(_))
    ));
}

#[test]
fn zones_of_one_instant_are_one_key() {
    let zoned = |zone: &str| DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into()));
    let mut keys = KeyInterner::new(&fields(&[zoned("UTC")])).unwrap();
    let instants: ArrayRef =
        Arc::new(arrow_array::TimestampMicrosecondArray::from(vec![1, 2]).with_timezone("+02:00"));
    assert_eq!(
        ids(&mut keys, std::slice::from_ref(&instants)),
        [KeyId(0), KeyId(1)]
    );
    assert_eq!(
        keys.columns(&[KeyId(1)]).unwrap()[0].data_type(),
        &zoned("UTC")
    );
    let plain = instants
        .as_primitive::<arrow_array::types::TimestampMicrosecondType>()
        .clone()
        .with_timezone_opt(None::<Arc<str>>);
    assert!(keys.intern(&[Arc::new(plain)], &mut Vec::new()).is_err());
}

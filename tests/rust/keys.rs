//! Keys against an oracle: a `HashMap` over the keys' printed values.

mod canonical;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray,
    Float32Array, Float64Array, Int32Array, Int64Array, ListArray, StringArray, StructArray,
    make_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use windrow::arrow::keys::KeyInterner;
use windrow::error::Error;
use windrow::key::KeyId;

/// Numbers that look random (xorshift64*).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }

    fn validity(&mut self, length: usize) -> Option<NullBuffer> {
        (self.below(4) > 0).then(|| (0..length).map(|_| self.below(5) > 0).collect())
    }

    /// A column with few distinct values, so that keys come again.
    pub(crate) fn column(&mut self, data_type: &DataType, length: usize) -> ArrayRef {
        let validity = self.validity(length);
        match data_type {
            DataType::Float16 => cast(&self.column(&DataType::Float64, length), data_type).unwrap(),
            DataType::Float32 => {
                let value = [
                    0.0,
                    -0.0,
                    f32::NAN,
                    -f32::NAN,
                    f32::from_bits(0x7FC0_0001),
                    1.5,
                    -1.5,
                    f32::INFINITY,
                    f32::MIN_POSITIVE,
                ];
                let values = (0..length)
                    .map(|_| value[self.below(9) as usize])
                    .collect::<Vec<_>>();
                Arc::new(Float32Array::new(values.into(), validity))
            }
            DataType::Float64 => {
                let value = [
                    0.0,
                    -0.0,
                    f64::NAN,
                    -f64::NAN,
                    f64::from_bits(0x7FF8_0000_0000_0001),
                    1.5,
                    -1.5,
                    f64::INFINITY,
                    2.0,
                ];
                let values = (0..length)
                    .map(|_| value[self.below(9) as usize])
                    .collect::<Vec<_>>();
                Arc::new(Float64Array::new(values.into(), validity))
            }
            DataType::Boolean => Arc::new(BooleanArray::new(
                (0..length).map(|_| self.below(2) == 1).collect(),
                validity,
            )),
            DataType::FixedSizeBinary(width) => {
                let values = (0..length * *width as usize)
                    .map(|_| self.below(2) as u8)
                    .collect::<Vec<_>>();
                Arc::new(
                    FixedSizeBinaryArray::try_new_with_len(*width, values.into(), validity, length)
                        .unwrap(),
                )
            }
            DataType::Struct(fields) => {
                let columns = fields
                    .iter()
                    .map(|field| self.column(field.data_type(), length))
                    .collect();
                Arc::new(StructArray::new(fields.clone(), columns, validity))
            }
            DataType::List(field) => {
                let lengths = (0..length)
                    .map(|_| self.below(3) as usize)
                    .collect::<Vec<_>>();
                let elements = self.column(field.data_type(), lengths.iter().sum());
                Arc::new(ListArray::new(
                    field.clone(),
                    OffsetBuffer::from_lengths(lengths),
                    elements,
                    validity,
                ))
            }
            DataType::LargeList(field) => cast(
                &self.column(&DataType::List(field.clone()), length),
                data_type,
            )
            .unwrap(),
            DataType::FixedSizeList(field, size) => {
                let elements = self.column(field.data_type(), length * *size as usize);
                Arc::new(FixedSizeListArray::new(
                    field.clone(),
                    *size,
                    elements,
                    validity,
                ))
            }
            // Nulls among the values, equal values at several places.
            DataType::Dictionary(_, values) => {
                let values = self.column(values, 40);
                let codes = (0..length)
                    .map(|_| self.below(40) as i32)
                    .collect::<Vec<_>>();
                Arc::new(DictionaryArray::new(
                    Int32Array::new(codes.into(), validity),
                    values,
                ))
            }
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView => {
                let text = |random: &mut Self| {
                    "äxyz0123456789abcdefghijklmnopqr"
                        .chars()
                        .take([0, 1, 3, 6, 11, 12, 13, 14, 15, 16, 31][random.below(11) as usize])
                };
                let turned = |random: &mut Self| {
                    if random.below(2) == 0 {
                        text(random).collect::<String>()
                    } else {
                        text(random).collect::<Vec<_>>().into_iter().rev().collect()
                    }
                };
                let strings: StringArray = (0..length)
                    .map(|row| {
                        validity
                            .as_ref()
                            .is_none_or(|valid| valid.is_valid(row))
                            .then(|| turned(self))
                    })
                    .collect();
                cast(&strings, data_type).unwrap()
            }
            primitive => {
                let values = (0..length)
                    .map(|_| {
                        self.below(12) as i64
                            - if primitive.is_unsigned_integer() {
                                0
                            } else {
                                6
                            }
                    })
                    .collect::<Vec<_>>();
                let long: ArrayRef = Arc::new(Int64Array::new(values.into(), validity));
                let as_type = |array: ArrayRef| {
                    make_array(
                        array
                            .to_data()
                            .into_builder()
                            .data_type(primitive.clone())
                            .build()
                            .unwrap(),
                    )
                };
                match (primitive, primitive.primitive_width()) {
                    (DataType::Decimal256(..), _) | (_, Some(1 | 2)) => {
                        cast(&long, primitive).unwrap()
                    }
                    (_, Some(4)) => as_type(cast(&long, &DataType::Int32).unwrap()),
                    (_, Some(8)) => as_type(long),
                    (_, Some(16)) => as_type(cast(&long, &DataType::Decimal128(38, 0)).unwrap()),
                    _ => panic!("{primitive}"),
                }
            }
        }
    }
}

fn list(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

pub(crate) fn flat_types() -> Vec<DataType> {
    use DataType::{
        Binary, BinaryView, Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256,
        Duration, FixedSizeBinary, Float16, Float32, Float64, Int8, Int16, Int32, Int64, Interval,
        LargeBinary, LargeUtf8, Time32, Time64, Timestamp, UInt8, UInt16, UInt32, UInt64, Utf8,
        Utf8View,
    };
    let mut types = vec![
        Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Boolean, Float16, Float32,
        Float64,
    ];
    types.extend([
        Utf8,
        LargeUtf8,
        Utf8View,
        Binary,
        LargeBinary,
        BinaryView,
        FixedSizeBinary(3),
        FixedSizeBinary(17),
        FixedSizeBinary(0),
        Date32,
        Date64,
    ]);
    types.extend([
        Decimal32(9, 2),
        Decimal64(18, 2),
        Decimal128(38, 2),
        Decimal256(76, 2),
    ]);
    types.extend([
        Time32(TimeUnit::Second),
        Time32(TimeUnit::Millisecond),
        Time64(TimeUnit::Microsecond),
        Time64(TimeUnit::Nanosecond),
    ]);
    for unit in [
        TimeUnit::Second,
        TimeUnit::Millisecond,
        TimeUnit::Microsecond,
        TimeUnit::Nanosecond,
    ] {
        types.extend([
            Timestamp(unit, None),
            Timestamp(unit, Some("+02:00".into())),
            Duration(unit),
        ]);
    }
    types.extend(
        [
            IntervalUnit::YearMonth,
            IntervalUnit::DayTime,
            IntervalUnit::MonthDayNano,
        ]
        .map(Interval),
    );
    types
}

pub(crate) fn nested_types() -> Vec<DataType> {
    let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
    let pair = DataType::Struct(
        vec![
            Field::new("a", DataType::Float64, true),
            Field::new("b", DataType::Utf8, true),
        ]
        .into(),
    );
    let deep = DataType::Struct(
        vec![
            Field::new("p", pair.clone(), true),
            Field::new("l", DataType::List(list(DataType::Float32)), true),
        ]
        .into(),
    );
    vec![
        dictionary(DataType::Utf8),
        dictionary(DataType::LargeBinary),
        dictionary(DataType::Int64),
        dictionary(DataType::Float64),
        DataType::Struct(vec![Field::new("d", dictionary(DataType::Utf8), true)].into()),
        DataType::List(list(dictionary(DataType::Utf8))),
        DataType::List(list(DataType::Float64)),
        DataType::LargeList(list(DataType::Utf8)),
        DataType::FixedSizeList(list(DataType::Float32), 2),
        DataType::List(list(pair.clone())),
        pair,
        deep,
    ]
}

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
            assert_eq!(keys.hashes().len(), keys.len());
        }
        keys.clear();
        assert!(keys.is_empty());
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
    // What stands under a null parent is no value.
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
        (DataType::List(list(map)), "list<item: map<string, string>>"),
        (DataType::List(list(DataType::Null)), "list<item: null>"),
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

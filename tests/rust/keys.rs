//! Keys against an oracle: a `HashMap` over the keys' printed values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array, Float64Array, Int32Array,
    Int64Array, ListArray, StringArray, StructArray, UInt64Array, make_array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use windrow::arrow::keys::{Keys, shard};
use windrow::error::Error;
use windrow::key::KeyId;
use xxhash_rust::xxh3::xxh3_64;

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
                let value = [0.0, -0.0, f32::NAN, -f32::NAN, f32::from_bits(0x7FC0_0001), 1.5, -1.5, f32::INFINITY, f32::MIN_POSITIVE];
                let values = (0..length).map(|_| value[self.below(9) as usize]).collect::<Vec<_>>();
                Arc::new(Float32Array::new(values.into(), validity))
            }
            DataType::Float64 => {
                let value = [0.0, -0.0, f64::NAN, -f64::NAN, f64::from_bits(0x7FF8_0000_0000_0001), 1.5, -1.5, f64::INFINITY, 2.0];
                let values = (0..length).map(|_| value[self.below(9) as usize]).collect::<Vec<_>>();
                Arc::new(Float64Array::new(values.into(), validity))
            }
            DataType::Boolean => Arc::new(BooleanArray::new((0..length).map(|_| self.below(2) == 1).collect(), validity)),
            DataType::FixedSizeBinary(width) => {
                let values = (0..length * *width as usize).map(|_| self.below(2) as u8).collect::<Vec<_>>();
                Arc::new(FixedSizeBinaryArray::try_new_with_len(*width, values.into(), validity, length).unwrap())
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().map(|field| self.column(field.data_type(), length)).collect();
                Arc::new(StructArray::new(fields.clone(), columns, validity))
            }
            DataType::List(field) => {
                let lengths = (0..length).map(|_| self.below(3) as usize).collect::<Vec<_>>();
                let elements = self.column(field.data_type(), lengths.iter().sum());
                Arc::new(ListArray::new(field.clone(), OffsetBuffer::from_lengths(lengths), elements, validity))
            }
            DataType::LargeList(field) => cast(&self.column(&DataType::List(field.clone()), length), data_type).unwrap(),
            DataType::FixedSizeList(field, size) => {
                let elements = self.column(field.data_type(), length * *size as usize);
                Arc::new(FixedSizeListArray::new(field.clone(), *size, elements, validity))
            }
            // Nulls among the values, equal values at several places.
            DataType::Dictionary(_, values) => {
                let values = self.column(values, 40);
                let codes = (0..length).map(|_| self.below(40) as i32).collect::<Vec<_>>();
                Arc::new(DictionaryArray::new(Int32Array::new(codes.into(), validity), values))
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                let text = |random: &mut Self| {
                    "äxyz0123456789abcdefghijklmnopqr".chars().take([0, 1, 3, 6, 11, 12, 13, 14, 15, 16, 31][random.below(11) as usize])
                };
                let turned = |random: &mut Self| {
                    if random.below(2) == 0 {
                        text(random).collect::<String>()
                    } else {
                        text(random).collect::<Vec<_>>().into_iter().rev().collect()
                    }
                };
                let strings: StringArray =
                    (0..length).map(|row| validity.as_ref().is_none_or(|valid| valid.is_valid(row)).then(|| turned(self))).collect();
                cast(&strings, data_type).unwrap()
            }
            primitive => {
                let values =
                    (0..length).map(|_| self.below(12) as i64 - if primitive.is_unsigned_integer() { 0 } else { 6 }).collect::<Vec<_>>();
                let long: ArrayRef = Arc::new(Int64Array::new(values.into(), validity));
                let as_type = |array: ArrayRef| make_array(array.to_data().into_builder().data_type(primitive.clone()).build().unwrap());
                match (primitive, primitive.primitive_width()) {
                    (DataType::Decimal256(..), _) | (_, Some(1 | 2)) => cast(&long, primitive).unwrap(),
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
        Binary, BinaryView, Boolean, Date32, Date64, Decimal32, Decimal64, Decimal128, Decimal256, Duration, FixedSizeBinary, Float16,
        Float32, Float64, Int8, Int16, Int32, Int64, Interval, LargeBinary, LargeUtf8, Time32, Time64, Timestamp, UInt8, UInt16, UInt32,
        UInt64, Utf8, Utf8View,
    };
    let mut types = vec![Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Boolean, Float16, Float32, Float64];
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
    types.extend([Decimal32(9, 2), Decimal64(18, 2), Decimal128(38, 2), Decimal256(76, 2)]);
    types.extend([Time32(TimeUnit::Second), Time32(TimeUnit::Millisecond), Time64(TimeUnit::Microsecond), Time64(TimeUnit::Nanosecond)]);
    for unit in [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond] {
        types.extend([Timestamp(unit, None), Timestamp(unit, Some("+02:00".into())), Duration(unit)]);
    }
    types.extend([IntervalUnit::YearMonth, IntervalUnit::DayTime, IntervalUnit::MonthDayNano].map(Interval));
    types
}

pub(crate) fn nested_types() -> Vec<DataType> {
    let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
    let pair = DataType::Struct(vec![Field::new("a", DataType::Float64, true), Field::new("b", DataType::Utf8, true)].into());
    let deep =
        DataType::Struct(vec![Field::new("p", pair.clone(), true), Field::new("l", DataType::List(list(DataType::Float32)), true)].into());
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
        DataType::Float16 => format!("{:?}", f32::from(array.as_primitive::<Float16Type>().value(row)) + 0.0),
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row) + 0.0),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row) + 0.0),
        DataType::List(_) => format!("{:?}", printed(&array.as_list::<i32>().value(row))),
        DataType::LargeList(_) => format!("{:?}", printed(&array.as_list::<i64>().value(row))),
        DataType::FixedSizeList(..) => format!("{:?}", printed(&array.as_fixed_size_list().value(row))),
        DataType::Dictionary(..) => {
            let dictionary = array.as_dictionary::<Int32Type>();
            printed(&dictionary.values().slice(dictionary.keys().value(row) as usize, 1)).remove(0)
        }
        DataType::Struct(_) => {
            array.as_struct().columns().iter().map(|field| printed(&field.slice(row, 1)).remove(0) + ";").collect::<String>() + "}"
        }
        _ => ArrayFormatter::try_new(array, &FormatOptions::new()).unwrap().value(row).to_string() + "'",
    };
    rows.map(|row| if array.is_null(row) { "null".into() } else { value(row) }).collect()
}

/// The numbers of the rows by the oracle.
#[derive(Default)]
struct Oracle {
    known: HashMap<Vec<String>, u32>,
}

impl Oracle {
    fn intern(&mut self, columns: &[ArrayRef]) -> Vec<KeyId> {
        let printed = columns.iter().map(|column| printed(column)).collect::<Vec<_>>();
        let logical = columns.iter().map(|column| column.logical_nulls()).collect::<Vec<_>>();
        let number = |row: usize| {
            if logical.iter().all(|nulls| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))) {
                return KeyId::NULL;
            }
            let next = self.known.len() as u32;
            KeyId(*self.known.entry(printed.iter().map(|column| column[row].clone()).collect()).or_insert(next))
        };
        (0..columns[0].len()).map(number).collect()
    }
}

fn fields(types: &[DataType]) -> Vec<Field> {
    types.iter().enumerate().map(|(column, data_type)| Field::new(format!("k{column}"), data_type.clone(), true)).collect()
}

fn ids(keys: &mut Keys, columns: &[ArrayRef]) -> Vec<KeyId> {
    let mut ids = Vec::new();
    keys.intern(columns, &mut ids).unwrap();
    ids
}

/// Interns random batches, slices among them, and compares numbers and values with the oracle.
fn check(types: &[DataType], random: &mut Random) {
    let mut keys = Keys::new(&fields(types)).unwrap();
    for _ in 0..2 {
        let mut oracle = Oracle::default();
        for length in [0, 1, 70, 1500] {
            let columns = types.iter().map(|data_type| random.column(data_type, length)).collect::<Vec<_>>();
            let (from, rows) = if random.below(2) == 0 { (0, length) } else { (length / 3, length / 2) };
            let columns = columns.iter().map(|column| column.slice(from, rows)).collect::<Vec<_>>();
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
    let types = flat_types().into_iter().chain(nested_types()).collect::<Vec<_>>();
    let pick = |random: &mut Random| types[random.below(types.len() as u64) as usize].clone();
    for _ in 0..150 {
        let columns = (0..2 + random.below(2)).map(|_| pick(&mut random)).collect::<Vec<_>>();
        check(&columns, &mut random);
    }
}

#[test]
fn a_row_of_nulls_has_no_key_and_a_row_with_one_value_has() {
    let mut keys = Keys::new(&fields(&[DataType::Int64, DataType::Utf8])).unwrap();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(1), None, Some(1), None]));
    let words: ArrayRef = Arc::new(StringArray::from(vec![None, None, Some(""), Some(""), None]));
    let got = ids(&mut keys, &[numbers, words]);
    assert_eq!(got, [KeyId::NULL, KeyId(0), KeyId(1), KeyId(2), KeyId::NULL]);
    let columns = keys.columns(&[KeyId(1), KeyId::NULL]).unwrap();
    assert!(columns[0].is_null(0) && columns[1].is_valid(0) && columns[0].is_null(1) && columns[1].is_null(1));
}

#[test]
fn a_struct_of_nulls_is_a_key_and_a_null_struct_is_none() {
    let inner = vec![Field::new("a", DataType::Int64, true)];
    let mut keys = Keys::new(&fields(&[DataType::Struct(inner.clone().into())])).unwrap();
    // What stands under a null parent is no value.
    let column = StructArray::new(
        inner.into(),
        vec![Arc::new(Int64Array::from(vec![None, Some(7), Some(8), Some(7)]))],
        Some(vec![true, false, false, true].into()),
    );
    assert_eq!(ids(&mut keys, &[Arc::new(column)]), [KeyId(0), KeyId::NULL, KeyId::NULL, KeyId(1)]);
}

#[test]
fn a_null_struct_may_have_fields_that_are_never_null() {
    let inner = vec![Field::new("a", DataType::Int64, false), Field::new("b", DataType::Utf8, false)];
    let mut keys = Keys::new(&fields(&[DataType::Struct(inner.clone().into()), DataType::Int64])).unwrap();
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![1, 2])), Arc::new(StringArray::from(vec!["x", "y"]))];
    let column: ArrayRef = Arc::new(StructArray::new(inner.into(), columns, Some(vec![true, false].into())));
    let got = ids(&mut keys, &[column, Arc::new(Int64Array::from(vec![5, 5]))]);
    assert_eq!(got, [KeyId(0), KeyId(1)]);
    let values = keys.columns(&[KeyId(1), KeyId(0)]).unwrap();
    assert!(values[0].is_null(0) && values[0].is_valid(1));
}

#[test]
fn a_key_hashes_alike_in_every_layout() {
    let mut random = Random(3);
    let dictionary = |values: &DataType| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values.clone()));
    let families = [
        vec![DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View, dictionary(&DataType::Utf8), dictionary(&DataType::LargeUtf8)],
        vec![DataType::Binary, DataType::LargeBinary, DataType::BinaryView, dictionary(&DataType::Binary)],
        vec![DataType::Int64, dictionary(&DataType::Int64)],
        vec![DataType::Int32, dictionary(&DataType::Int32)],
    ];
    for layouts in families {
        let column = random.column(&layouts[0], 500);
        let mut expected = Keys::new(&fields(&layouts[..1])).unwrap();
        let numbers = ids(&mut expected, std::slice::from_ref(&column));
        let mut expected_pair = Keys::new(&fields(&[layouts[0].clone(), DataType::Int64])).unwrap();
        ids(&mut expected_pair, &[column.clone(), new_null_array(&DataType::Int64, column.len())]);
        for declared in &layouts {
            for arrived in &layouts {
                let array = cast(&column, arrived).unwrap();
                let mut alone = Keys::new(&fields(std::slice::from_ref(declared))).unwrap();
                assert_eq!(ids(&mut alone, std::slice::from_ref(&array)), numbers, "{declared} {arrived}");
                assert_eq!(alone.hashes(), expected.hashes(), "{declared} {arrived}");
                // The same by the way of rows.
                let mut pair = Keys::new(&fields(&[declared.clone(), DataType::Int64])).unwrap();
                ids(&mut pair, &[array, new_null_array(&DataType::Int64, column.len())]);
                assert_eq!(pair.hashes(), expected_pair.hashes(), "{declared} {arrived}");
            }
        }
    }
}

#[test]
fn integers_hash_alike_whatever_their_width() {
    let values = Int64Array::from(vec![5, 0, 100, 127]);
    let narrow = [DataType::Int8, DataType::Int16, DataType::Int32, DataType::UInt8, DataType::UInt16, DataType::UInt32];
    let mut long = Keys::new(&fields(&[DataType::Int64])).unwrap();
    ids(&mut long, &[Arc::new(values.clone())]);
    for data_type in narrow {
        let mut keys = Keys::new(&fields(std::slice::from_ref(&data_type))).unwrap();
        ids(&mut keys, &[cast(&values, &data_type).unwrap()]);
        assert_eq!(keys.hashes(), long.hashes(), "{data_type}");
    }
}

/// The hash of the only key of these columns.
fn hash(columns: &[ArrayRef]) -> u64 {
    let types = columns.iter().map(|column| column.data_type().clone()).collect::<Vec<_>>();
    let mut keys = Keys::new(&fields(&types)).unwrap();
    assert_eq!(ids(&mut keys, columns), [KeyId(0)]);
    keys.hashes()[0]
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter(|byte| *byte != b' ').collect::<Vec<_>>();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn canonical_bytes_and_hashes_never_move() {
    let number = |value: i64, data_type: &DataType| {
        let long = Int64Array::from(vec![value]);
        match data_type {
            DataType::Timestamp(..) => make_array(long.into_data().into_builder().data_type(data_type.clone()).build().unwrap()),
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
        vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)].into(),
        vec![Arc::new(Int64Array::from(vec![None])), string("z")],
        None,
    ));
    let long = "0123456789abcdef0123456789abcdef";
    let vectors: Vec<(Vec<ArrayRef>, String, u64)> = vec![
        (vec![number(5, &DataType::Int64)], "01 0500000000000000".into(), 0xD7AA_C30B_7EE8_29FB),
        (vec![number(-2, &DataType::Int32)], "01 FEFFFFFFFFFFFFFF".into(), 0x0723_823A_A333_9FBC),
        (vec![number(-2, &DataType::Int8)], "01 FEFFFFFFFFFFFFFF".into(), 0x0723_823A_A333_9FBC),
        (vec![number(1, &DataType::Timestamp(TimeUnit::Microsecond, None))], "01 0100000000000000".into(), 0xA048_B5CB_8216_2577),
        (vec![number(7, &DataType::Date32)], "01 0700000000000000".into(), 0xA37A_4D57_E745_7851),
        (vec![Arc::new(BooleanArray::from(vec![true]))], "01 0100000000000000".into(), 0xA048_B5CB_8216_2577),
        (vec![Arc::new(UInt64Array::from(vec![u64::MAX]))], "01 FFFFFFFFFFFFFFFF 0000000000000000".into(), 0xA53F_DF39_F1A9_30C6),
        (vec![number(-1, &DataType::Decimal128(38, 0))], format!("01 {}", "FF".repeat(16)), 0x3192_EBCE_D8DA_1530),
        (vec![number(-1, &DataType::Decimal32(9, 0))], format!("01 {}", "FF".repeat(16)), 0x3192_EBCE_D8DA_1530),
        (vec![number(-1, &DataType::Decimal64(18, 0))], format!("01 {}", "FF".repeat(16)), 0x3192_EBCE_D8DA_1530),
        (vec![number(-1, &DataType::Decimal256(76, 0))], format!("01 {}", "FF".repeat(32)), 0x487E_2722_7811_41E3),
        (vec![double(-0.0)], "01 0000000000000000".into(), 0x313C_2DD2_EC99_6E80),
        (vec![double(-f64::NAN)], "01 000000000000F87F".into(), 0x6A33_929C_E40A_04D7),
        (vec![cast(&double(1.5), &DataType::Float32).unwrap()], "01 000000000000F83F".into(), 0x2B68_E3D9_5BC4_08B8),
        (vec![cast(&double(1.5), &DataType::Float16).unwrap()], "01 000000000000F83F".into(), 0x2B68_E3D9_5BC4_08B8),
        (vec![string("")], "01 00000000".into(), 0xD1DD_927E_D529_F768),
        (vec![string("ab")], "01 02000000 6162".into(), 0x288E_762D_4180_E7F6),
        (vec![cast(&string("ab"), &DataType::BinaryView).unwrap()], "01 02000000 6162".into(), 0x288E_762D_4180_E7F6),
        (vec![string(long)], format!("01 20000000 {}", "30313233343536373839616263646566".repeat(2)), 0x398D_52C8_1331_163E),
        (vec![number(7, &DataType::Int32), string("ab")], "01 0700000000000000 01 02000000 6162".into(), 0x494E_FD22_B1E4_0790),
        (vec![new_null_array(&DataType::Int32, 1), string("ab")], "00 01 02000000 6162".into(), 0x4877_67ED_EFF4_AC20),
        (vec![listed], "01 02000000 01 0100000000000000 00".into(), 0x50D1_FF73_C226_426E),
        (vec![pair], "01 00 01 01000000 7A".into(), 0x0A85_1A32_AEC5_F6B6),
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
        make_array(arrow_data::ArrayData::builder(data_type).len(1).add_buffer(arrow_buffer::Buffer::from(bytes)).build().unwrap())
    };
    let day_time = interval(&[1, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF], IntervalUnit::DayTime);
    assert_eq!(hash(&[day_time]), xxh3_64(&hex("01 0100000000000000 FEFFFFFFFFFFFFFF")));
    let parts = interval(&[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0], IntervalUnit::MonthDayNano);
    assert_eq!(hash(&[parts]), xxh3_64(&hex("01 0100000000000000 0200000000000000 0300000000000000")));
    let months = interval(&[0xFF, 0xFF, 0xFF, 0xFF], IntervalUnit::YearMonth);
    assert_eq!(hash(&[months]), xxh3_64(&hex("01 FFFFFFFFFFFFFFFF")));
}

#[test]
fn a_shard_is_a_range_of_hashes() {
    assert_eq!((shard(0, 32), shard(u64::MAX, 32)), (0, 31));
    assert_eq!((shard((1 << 59) - 1, 32), shard(1 << 59, 32)), (0, 1));
    assert_eq!((shard(u64::MAX, 1), shard(u64::MAX, u32::MAX)), (0, u32::MAX - 1));
}

#[test]
fn numbers_end_before_the_null_key() {
    assert_eq!(KeyId::after(0), Some(KeyId(0)));
    assert_eq!(KeyId::after(u32::MAX as usize - 1), Some(KeyId(u32::MAX - 1)));
    assert_eq!(KeyId::after(u32::MAX as usize), None);
    assert_eq!(KeyId::after(u32::MAX as usize + 1), None);
}

#[test]
fn a_type_that_cannot_be_grouped_is_named() {
    let entries = Field::new(
        "entries",
        DataType::Struct(vec![Field::new("k", DataType::Utf8, false), Field::new("v", DataType::Utf8, true)].into()),
        false,
    );
    let map = DataType::Map(Arc::new(entries), false);
    let wrong = [
        map.clone(),
        DataType::Null,
        DataType::Struct(Vec::<Field>::new().into()),
        DataType::List(list(map)),
        DataType::List(list(DataType::Null)),
    ];
    for data_type in wrong {
        match Keys::new(&[Field::new("good", DataType::Int64, true), Field::new("bad", data_type.clone(), true)]).err() {
            Some(Error::ColumnType { argument, column, got, .. }) => {
                assert_eq!((argument.as_str(), column.as_str(), got), ("keys", "bad", data_type.to_string()));
            }
            other => panic!("{data_type}: {other:?}"),
        }
    }
    assert!(matches!(Keys::new(&[]), Err(Error::Argument { .. })));
}

#[test]
fn a_batch_of_another_type_is_refused_and_changes_nothing() {
    let mut keys = Keys::new(&fields(&[DataType::Utf8])).unwrap();
    let mut got = vec![KeyId(9)];
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    assert!(matches!(keys.intern(&[numbers], &mut got), Err(Error::ColumnType { column, .. }) if column == "k0"));
    assert_eq!(got, [KeyId(9)]);
    assert!(matches!(keys.columns(&[KeyId(0)]), Err(Error::Internal(_))));
    assert!(matches!(keys.intern(&[], &mut got), Err(Error::Internal(_))));
}

#[test]
fn zones_of_one_instant_are_one_key() {
    let zoned = |zone: &str| DataType::Timestamp(TimeUnit::Microsecond, Some(zone.into()));
    let mut keys = Keys::new(&fields(&[zoned("UTC")])).unwrap();
    let instants: ArrayRef = Arc::new(arrow_array::TimestampMicrosecondArray::from(vec![1, 2]).with_timezone("+02:00"));
    assert_eq!(ids(&mut keys, std::slice::from_ref(&instants)), [KeyId(0), KeyId(1)]);
    assert_eq!(keys.columns(&[KeyId(1)]).unwrap()[0].data_type(), &zoned("UTC"));
    let plain = instants.as_primitive::<arrow_array::types::TimestampMicrosecondType>().clone().with_timezone_opt(None::<Arc<str>>);
    assert!(keys.intern(&[Arc::new(plain)], &mut Vec::new()).is_err());
}

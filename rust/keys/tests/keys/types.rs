//! Random columns of each type that can be a key.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray,
    Float32Array, Float64Array, Int32Array, Int64Array, ListArray, StringArray, StructArray,
    make_array, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

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
            DataType::Null => new_null_array(data_type, length),
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

pub(super) fn list(data_type: DataType) -> Arc<Field> {
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
        DataType::List(list(DataType::Null)),
        DataType::FixedSizeList(list(DataType::List(list(DataType::Null))), 2),
        DataType::Struct(vec![Field::new("n", DataType::Null, true)].into()),
        pair,
        deep,
    ]
}

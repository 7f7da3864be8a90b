//! The type of a column, as aggregates distinguish types.

/// The largest precision of a decimal.
pub(super) const MAX_PRECISION: u8 = 38;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Booleans.
    Boolean,
    /// Integers of up to 64 bits, except unsigned ones of 64 bits.
    Integer,
    /// Unsigned integers of 64 bits. Spark reads them as `decimal(20, 0)`.
    UInt64,
    /// Floats of any width.
    Float,
    /// Decimals of up to `MAX_PRECISION` digits.
    Decimal {
        /// The number of digits.
        precision: u8,
        /// The number of digits after the point.
        scale: i8,
    },
    /// Dates, times of day and timestamps.
    DateTime,
    /// Lengths of time: day-time intervals in Spark.
    Duration,
    /// Strings and binary values.
    Bytes,
    /// All other types. Their values come as row bytes.
    Row,
}

/// The kind of values in the column of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Numbers.
    Number(NumberKind),
    /// Bytes.
    Bytes,
}

/// The kind of numbers in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// `i64`.
    Int,
    /// `f64`.
    Float,
    /// `i128`.
    Wide,
}

impl ValueType {
    /// The kind of values in a column of this type.
    pub fn kind(self) -> ValueKind {
        match self {
            Self::Boolean | Self::Integer | Self::DateTime | Self::Duration => {
                ValueKind::Number(NumberKind::Int)
            }
            Self::Float => ValueKind::Number(NumberKind::Float),
            Self::UInt64 | Self::Decimal { .. } => ValueKind::Number(NumberKind::Wide),
            Self::Bytes | Self::Row => ValueKind::Bytes,
        }
    }

    /// Precision and scale of a decimal, which a 64-bit unsigned integer counts as.
    pub(super) fn decimal(self) -> Option<(u8, i8)> {
        match self {
            Self::UInt64 => Some((20, 0)),
            Self::Decimal { precision, scale } => Some((precision, scale)),
            _ => None,
        }
    }
}

/// Every decimal of this precision is smaller in size.
pub(super) fn decimal_limit(precision: u8) -> i128 {
    10_i128.saturating_pow(precision.into())
}

/// Runs an expression with the Rust type of a [`NumberKind`]:
/// `dispatch_number!(kind, |V| Box::new(Product::<V>::new(scale)))`.
macro_rules! dispatch_number {
    ($kind:expr, |$value:ident| $result:expr) => {
        match $kind {
            $crate::core::aggregate::value_type::NumberKind::Int => {
                type $value = i64;
                $result
            }
            $crate::core::aggregate::value_type::NumberKind::Float => {
                type $value = f64;
                $result
            }
            $crate::core::aggregate::value_type::NumberKind::Wide => {
                type $value = i128;
                $result
            }
        }
    };
}

/// The same for a [`ValueKind`].
macro_rules! dispatch_kind {
    ($kind:expr, |$value:ident| $result:expr) => {
        match $kind {
            $crate::core::aggregate::value_type::ValueKind::Number(number) => {
                $crate::core::aggregate::value_type::dispatch_number!(number, |$value| $result)
            }
            $crate::core::aggregate::value_type::ValueKind::Bytes => {
                type $value = Box<[u8]>;
                $result
            }
        }
    };
}

pub(super) use {dispatch_kind, dispatch_number};

//! The type of an aggregate's results.

/// A type and whether results may be null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultType {
    /// The type.
    pub shape: ResultShape,
    /// Whether results may be null.
    pub nullable: bool,
}

/// The type of a result without its nullability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultShape {
    /// The type of the first column that the aggregate takes, be it an extension type.
    OfColumn,
    /// `int64`.
    Int64,
    /// `float64`.
    Float64,
    /// The type of the time column.
    Time,
    /// A duration in the unit of the time column.
    Duration,
    /// A decimal.
    Decimal {
        /// The number of digits.
        precision: u8,
        /// The number of digits after the point.
        scale: i8,
    },
    /// A list.
    List(Box<ResultType>),
    /// Fields with their names.
    Struct(Vec<(&'static str, ResultType)>),
}

impl ResultType {
    /// The type of the first column, or null.
    pub const OF_COLUMN: Self = Self::new(ResultShape::OfColumn);
    /// An `int64`, or null.
    pub const INT64: Self = Self::new(ResultShape::Int64);
    /// A `float64`, or null.
    pub const FLOAT64: Self = Self::new(ResultShape::Float64);
    /// A time of the type of the time column, or null.
    pub const TIME: Self = Self::new(ResultShape::Time);
    /// A duration in the unit of the time column, or null.
    pub const DURATION: Self = Self::new(ResultShape::Duration);

    const fn new(shape: ResultShape) -> Self {
        Self {
            shape,
            nullable: true,
        }
    }

    /// A decimal, or null.
    pub fn decimal(precision: u8, scale: i8) -> Self {
        Self::new(ResultShape::Decimal { precision, scale })
    }

    /// A list, or null.
    pub fn list(item: Self) -> Self {
        Self::new(ResultShape::List(Box::new(item)))
    }

    /// A list without nulls of structs of these fields, or null.
    pub fn list_of_structs<const N: usize>(fields: [(&'static str, Self); N]) -> Self {
        Self::list(Self::new(ResultShape::Struct(fields.into())).not_null())
    }

    /// The same type without null.
    pub fn not_null(self) -> Self {
        Self {
            nullable: false,
            ..self
        }
    }
}

//! The types of columns that may grow between two runs of a query: all values of the narrower type are
//! values of the wider one, have the same canonical bytes, and so the same states and shards.

use arrow_schema::{DECIMAL128_MAX_PRECISION, DataType};

use super::spec::AggregateSpec;
use super::state_query::StateQuery;

/// The columns whose values an aggregate reads.
pub(super) fn columns_of(aggregate: &AggregateSpec) -> impl Iterator<Item = &String> + Clone {
    aggregate.columns.iter().chain(&aggregate.filter)
}

impl StateQuery {
    /// The type of a column, unless it is a struct.
    fn type_of(&self, column: &str) -> Option<&str> {
        self.types.get(column)?.as_str()
    }

    /// Whether a column has a wider type than in `than`.
    fn is_wider(&self, column: &str, than: &Self) -> bool {
        let types = self.type_of(column).zip(than.type_of(column));
        types.is_some_and(|(wide, narrow)| is_wider(wide, narrow))
    }

    /// For each key its type, if that is narrower than in `own`.
    pub(super) fn narrower_keys(&self, own: &Self) -> Vec<Option<DataType>> {
        let narrower = |key: &String| named(self.type_of(key)?).filter(|_| own.is_wider(key, self));
        own.spec.keys.iter().map(narrower).collect()
    }

    /// Gives columns the types of `own` where states stay the same: wider ones, and for the values of
    /// aggregates narrower ones. Results may have wider types then, but no narrower ones.
    pub(super) fn widen(&mut self, own: &Self) {
        let was = self.clone();
        let grows = |name: &String| own.is_wider(name, &was);
        let shrinks = |name: &String| was.is_wider(name, own);
        for (name, kind) in &mut self.types {
            if let Some(is) = own.types.get(name)
                && (grows(name) || shrinks(name) && !was.is_fixed(name))
            {
                kind.clone_from(is);
            }
        }
        for (aggregate, result) in self.spec.aggregates.iter().zip(&mut self.results) {
            let mut columns = columns_of(aggregate);
            let twin = own
                .spec
                .aggregates
                .iter()
                .position(|own| own.has_states_of(aggregate));
            if let Some(is) = twin.and_then(|place| own.results.get(place))
                && columns.clone().any(grows)
                && !columns.any(shrinks)
            {
                result.clone_from(is);
            }
        }
    }
}

/// Whether all values of a type are values of another one, both by their names in a specification.
fn is_wider(name: &str, than: &str) -> bool {
    let [Some(wide), Some(narrow)] = [name, than].map(named) else {
        return false;
    };
    match (&narrow, &wide) {
        (&DataType::Decimal128(few, scale), &DataType::Decimal128(many, other)) => {
            scale == other && few < many
        }
        (DataType::Float32, DataType::Float64) => true,
        _ => {
            let ranges = (integers(&narrow), integers(&wide));
            matches!(ranges, (Some(few), Some(many)) if few != many && many.0 <= few.0 && few.1 <= many.1)
        }
    }
}

/// The type with a name in a specification, if it may grow or is what such a type grows to.
fn named(name: &str) -> Option<DataType> {
    Some(match name {
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "uint8" => DataType::UInt8,
        "uint16" => DataType::UInt16,
        "uint32" => DataType::UInt32,
        "float32" => DataType::Float32,
        "float64" => DataType::Float64,
        decimal => {
            let digits = decimal.strip_prefix("decimal(")?.strip_suffix(')')?;
            let (precision, scale) = digits.split_once(',')?;
            let precision = precision.parse().ok()?;
            if precision > DECIMAL128_MAX_PRECISION {
                return None;
            }
            DataType::Decimal128(precision, scale.parse().ok()?)
        }
    })
}

/// The smallest and the largest integer of a type. The canonical bytes of `uint64` are others.
fn integers(kind: &DataType) -> Option<(i64, i64)> {
    Some(match kind {
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 => (i64::MIN, i64::MAX),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 => (0, u16::MAX.into()),
        DataType::UInt32 => (0, u32::MAX.into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_types_that_keep_all_values_and_their_bytes_are_wider() {
        let signed = ["int8", "int16", "int32", "int64"];
        for (place, narrow) in signed.iter().enumerate() {
            for (other, wide) in signed.iter().enumerate() {
                assert_eq!(is_wider(wide, narrow), place < other, "{narrow} {wide}");
            }
            assert!(!is_wider("uint32", narrow), "{narrow}");
        }
        for (narrow, wide) in [
            ("uint8", "int16"),
            ("uint16", "int32"),
            ("uint32", "int64"),
            ("uint8", "uint32"),
            ("float32", "float64"),
            ("decimal(9,2)", "decimal(10,2)"),
            ("decimal(9,2)", "decimal(38,2)"),
            ("decimal(5,-2)", "decimal(6,-2)"),
        ] {
            assert!(is_wider(wide, narrow), "{narrow} {wide}");
            assert!(!is_wider(narrow, wide), "{wide} {narrow}");
        }
        for (narrow, other) in [
            ("uint8", "int8"),
            ("uint32", "int32"),
            ("int64", "uint64"),
            ("uint32", "uint64"),
            ("boolean", "int64"),
            ("int64", "float64"),
            ("int64", "decimal(20,0)"),
            ("decimal(9,2)", "decimal(10,3)"),
            ("decimal(9,2)", "decimal(39,2)"),
            ("decimal(9,2)", "float64"),
            ("float16", "float32"),
            ("date32", "timestamp(us,none)"),
            ("timestamp(us,none)", "timestamp(ns,none)"),
            ("list(int32)", "list(int64)"),
            ("string", "binary"),
            ("int64", "int64"),
        ] {
            assert!(!is_wider(other, narrow), "{narrow} {other}");
        }
    }
}

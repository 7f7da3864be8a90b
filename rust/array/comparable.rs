//! Whether the values of a column can be compared.

use arrow_schema::{DataType, Field, IntervalUnit};

/// Extension types with the order of their storage. The order of all others is unknown.
const ORDERED: [&str; 4] = [
    "arrow.bool8",
    "arrow.uuid",
    "pandas.interval",
    "pandas.period",
];

/// Returns the allowed types if the values of a column have no equality or, with `ranked`, no
/// order. Returns `None` if the column is fine.
pub(crate) fn refused(field: &Field, ranked: bool) -> Option<&'static str> {
    if ranked
        && field
            .extension_type_name()
            .is_some_and(|name| !ORDERED.contains(&name))
    {
        return Some("types whose order is known: cast an extension type to its storage");
    }
    if ranked && field.dict_is_ordered() == Some(true) {
        return Some(
            "types whose order is known: cast ordered categories to their values, compared as such, or to their codes",
        );
    }
    refused_type(field.data_type(), ranked)
}

fn refused_type(data_type: &DataType, ranked: bool) -> Option<&'static str> {
    match data_type {
        DataType::Map(..) | DataType::Union(..) => {
            Some("types that have an order: no maps, no unions")
        }
        // A month has no fixed number of days, and a day no fixed number of hours.
        DataType::Interval(IntervalUnit::DayTime | IntervalUnit::MonthDayNano) => Some(
            "types that have an order: no intervals of months, days and time (make durations of them)",
        ),
        DataType::Dictionary(_, values) => refused_type(values, ranked),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::RunEndEncoded(_, field) => refused(field, ranked),
        DataType::Struct(fields) => fields.iter().find_map(|field| refused(field, ranked)),
        _ => None,
    }
}

//! Names types like pyarrow does, for errors.

use arrow_schema::{DataType, Field, FieldRef, IntervalUnit, TimeUnit, UnionMode};

/// The type name of a column.
pub(crate) fn of(field: &Field) -> String {
    let storage = stored(field);
    match field.extension_type_name() {
        Some(name) => format!("extension<{name}> over {storage}"),
        None => storage,
    }
}

/// The storage type of a column. Only the field knows whether a dictionary is ordered.
fn stored(field: &Field) -> String {
    match (field.data_type(), field.dict_is_ordered()) {
        (DataType::Dictionary(indices, values), Some(is_ordered)) => format!(
            "dictionary<values={}, indices={}, ordered={}>",
            of_type(values),
            of_type(indices),
            u8::from(is_ordered)
        ),
        (data_type, _) => of_type(data_type),
    }
}

/// The name of a type.
pub(crate) fn of_type(data_type: &DataType) -> String {
    use DataType::*;
    match data_type {
        Boolean => "bool".into(),
        Float16 => "halffloat".into(),
        Float32 => "float".into(),
        Float64 => "double".into(),
        Utf8 => "string".into(),
        LargeUtf8 => "large_string".into(),
        Utf8View => "string_view".into(),
        LargeBinary => "large_binary".into(),
        BinaryView => "binary_view".into(),
        FixedSizeBinary(size) => format!("fixed_size_binary[{size}]"),
        Date32 => "date32[day]".into(),
        Date64 => "date64[ms]".into(),
        Time32(unit) => format!("time32[{}]", abbreviated(*unit)),
        Time64(unit) => format!("time64[{}]", abbreviated(*unit)),
        Timestamp(unit, None) => format!("timestamp[{}]", abbreviated(*unit)),
        Timestamp(unit, Some(zone)) => format!("timestamp[{}, tz={zone}]", abbreviated(*unit)),
        Duration(unit) => format!("duration[{}]", abbreviated(*unit)),
        Interval(IntervalUnit::YearMonth) => "month_interval".into(),
        Interval(IntervalUnit::DayTime) => "day_time_interval".into(),
        Interval(IntervalUnit::MonthDayNano) => "month_day_nano_interval".into(),
        Decimal32(precision, scale) => format!("decimal32({precision}, {scale})"),
        Decimal64(precision, scale) => format!("decimal64({precision}, {scale})"),
        Decimal128(precision, scale) => format!("decimal128({precision}, {scale})"),
        Decimal256(precision, scale) => format!("decimal256({precision}, {scale})"),
        List(item) => format!("list<{}>", member(item)),
        LargeList(item) => format!("large_list<{}>", member(item)),
        ListView(item) => format!("list_view<{}>", member(item)),
        LargeListView(item) => format!("large_list_view<{}>", member(item)),
        FixedSizeList(item, size) => format!("fixed_size_list<{}>[{size}]", member(item)),
        Struct(fields) => format!(
            "struct<{}>",
            fields.iter().map(member).collect::<Vec<_>>().join(", ")
        ),
        Map(entries, _) => match entries.data_type() {
            Struct(fields) => {
                format!(
                    "map<{}>",
                    fields
                        .iter()
                        .map(|field| stored(field))
                        .collect::<Vec<_>>()
                        .join(", ")
                )
            }
            other => format!("map<{}>", of_type(other)),
        },
        Union(fields, mode) => {
            let mode = if *mode == UnionMode::Sparse {
                "sparse"
            } else {
                "dense"
            };
            let members = fields
                .iter()
                .map(|(id, field)| format!("{}={id}", member(field)));
            format!("{mode}_union<{}>", members.collect::<Vec<_>>().join(", "))
        }
        Dictionary(indices, values) => format!(
            "dictionary<values={}, indices={}>",
            of_type(values),
            of_type(indices)
        ),
        RunEndEncoded(ends, values) => {
            format!(
                "run_end_encoded<run_ends: {}, values: {}>",
                stored(ends),
                stored(values)
            )
        }
        // Integers, binary and null need only lower case.
        other => other.to_string().to_lowercase(),
    }
}

fn member(field: &FieldRef) -> String {
    let nulls = if field.is_nullable() { "" } else { " not null" };
    format!("{}: {}{nulls}", field.name(), stored(field))
}

fn abbreviated(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    }
}

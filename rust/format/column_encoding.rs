//! Stores columns of changes in fewer bytes. If a micro-batch changes many windows, the keys, times
//! and counts of its changes are close to each other. All changes are deletes or upserts, and
//! deletes have no aggregates.
//!
//! | column | stored as | metadata of the field |
//! |---|---|---|
//! | times of 64 bits, also in structs without a null | integers | `windrow.type`: its type |
//! | integers of 64 bits without a null, also in such structs | see `frame_of_reference` | |
//! | only nulls | a column of type null | `windrow.type`: its type |
//! | one text (utf8) in all rows | a column of type null | `windrow.text`: the text |

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, NullArray, RecordBatch, StringArray, StructArray, make_array, new_null_array,
};
use arrow_schema::{DataType, Field};

use super::frame_of_reference::{self, FEW_ROWS, each};
use crate::array::untrusted::read_untrusted;
use crate::core::error::{Error, Result};

const TYPE_KEY: &str = "windrow.type";
const TEXT_KEY: &str = "windrow.text";
/// The maximum size of the values in a block of several rows, in bytes. The decoded batch has this
/// size.
pub(super) const MOST_VALUES: usize = 1 << 21;

/// Encodes the columns of a batch where that saves bytes. The envelope encodes top-level integers
/// of every batch. Integers in structs are encoded here.
pub(super) fn encode(rows: &RecordBatch) -> Result<RecordBatch> {
    if rows.num_rows() < FEW_ROWS {
        return Ok(rows.clone());
    }
    each(rows, |_, field, column, _| {
        Ok(if let Some(text) = only_text(column) {
            Some(marked(field, nulls_alone(column), TEXT_KEY, text))
        } else if column.null_count() == column.len() && is_named(column.data_type()) {
            let data_type = column.data_type().to_string();
            Some(marked(field, nulls_alone(column), TYPE_KEY, &data_type))
        } else {
            times_and_fields(field, column)?
        })
    })
}

/// Encodes a column of times or structs, which may itself be a field of a struct.
fn times_and_fields(field: &Field, column: &ArrayRef) -> Result<Option<(Field, ArrayRef)>> {
    if is_time(column.data_type()) && is_named(column.data_type()) {
        let ticks = viewed(column, DataType::Int64)?;
        let data_type = column.data_type().to_string();
        return Ok(Some(marked(field, ticks, TYPE_KEY, &data_type)));
    }
    let Some(fields) = fields_of(column) else {
        return Ok(None);
    };
    let fields = each(&fields, |_, field, column, _| {
        times_and_fields(field, column)
    })?;
    Ok(Some(struct_of(field, frame_of_reference::encode(&fields)?)))
}

/// Decodes the columns.
pub(super) fn decode(what: &'static str, rows: &RecordBatch) -> Result<RecordBatch> {
    each(rows, |_, field, column, _| {
        if let Some(fields) = fields_of(column) {
            let fields = frame_of_reference::decode(what, &fields)?;
            return Ok(Some(struct_of(field, decode(what, &fields)?)));
        }
        let mut metadata = field.metadata().clone();
        let is_null = column.data_type() == &DataType::Null;
        let column: ArrayRef = match (metadata.remove(TEXT_KEY), metadata.remove(TYPE_KEY)) {
            (Some(text), _) if is_null => {
                check_size(what, Some(text.len()), column.len())?;
                let texts = std::iter::repeat_n(text, column.len());
                Arc::new(StringArray::from_iter_values(texts))
            }
            (_, Some(named)) => {
                let wrong = || Error::Format {
                    what,
                    reason: format!("column {}, {TYPE_KEY} {named:?}", field.name()),
                };
                let data_type: DataType = named.parse().map_err(|_| wrong())?;
                match column.data_type() {
                    DataType::Null => {
                        check_size(what, null_bytes(&data_type), column.len())?;
                        read_untrusted(|| Ok(new_null_array(&data_type, column.len())))
                            .map_err(|_| wrong())?
                    }
                    DataType::Int64 if is_time(&data_type) => viewed(column, data_type)?,
                    _ => return Err(wrong()),
                }
            }
            _ => return Ok(None),
        };
        let field = field.clone().with_data_type(column.data_type().clone());
        Ok(Some((field.with_metadata(metadata), column)))
    })
}

/// Checks that as many values of this size are in one block.
fn check_size(what: &'static str, bytes: Option<usize>, rows: usize) -> Result<()> {
    let size = bytes.and_then(|bytes| bytes.checked_mul(rows));
    if size.is_some_and(|size| size <= MOST_VALUES) {
        return Ok(());
    }
    Err(Error::Format {
        what,
        reason: format!("{rows} rows of a column are more than a block holds"),
    })
}

/// The bytes of a null, which it counts in a block.
fn null_bytes(data_type: &DataType) -> Option<usize> {
    match data_type {
        DataType::FixedSizeBinary(size) => usize::try_from(*size).ok(),
        DataType::FixedSizeList(field, size) => {
            null_bytes(field.data_type())?.checked_mul(usize::try_from(*size).ok()?)
        }
        DataType::Struct(fields) => fields.iter().try_fold(1_usize, |sum, field| {
            sum.checked_add(null_bytes(field.data_type())?)
        }),
        other => Some(other.primitive_width().unwrap_or(1)),
    }
}

/// Whether the name of a type parses to the same type.
fn is_named(data_type: &DataType) -> bool {
    let is_same = |named: DataType| named == *data_type && named != DataType::Null;
    data_type.to_string().parse().is_ok_and(is_same)
}

fn is_time(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Timestamp(..) | DataType::Date64 | DataType::Time64(_) | DataType::Duration(_)
    )
}

/// The text of a column in which all rows are equal.
fn only_text(column: &ArrayRef) -> Option<&str> {
    let texts = column.as_string_opt::<i32>()?;
    let first = texts.iter().next()??;
    let is_only = texts.iter().all(|text| text == Some(first));
    is_only.then_some(first)
}

/// The fields of a struct column without nulls.
fn fields_of(column: &ArrayRef) -> Option<RecordBatch> {
    let fields = column.as_struct_opt()?;
    let is_plain = fields.null_count() == 0 && fields.num_columns() > 0;
    is_plain.then(|| RecordBatch::from(fields))
}

/// A struct column of these fields.
fn struct_of(field: &Field, fields: RecordBatch) -> (Field, ArrayRef) {
    let column = StructArray::from(fields);
    let field = field.clone().with_data_type(column.data_type().clone());
    (field, Arc::new(column))
}

fn nulls_alone(column: &ArrayRef) -> ArrayRef {
    Arc::new(NullArray::new(column.len()))
}

/// Reinterprets the values as another 64-bit type.
fn viewed(column: &ArrayRef, data_type: DataType) -> Result<ArrayRef> {
    let data = column.to_data().into_builder().data_type(data_type);
    Ok(make_array(data.build()?))
}

/// Replaces a column and marks its original type or text in the metadata.
fn marked(field: &Field, column: ArrayRef, key: &str, value: &str) -> (Field, ArrayRef) {
    let mut metadata = field.metadata().clone();
    metadata.insert(key.to_owned(), value.to_owned());
    let field = field.clone().with_data_type(column.data_type().clone());
    (field.with_metadata(metadata), column)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::named::unnamed;
    use arrow_array::{Float64Array, Int64Array, TimestampMicrosecondArray};
    use arrow_schema::{Schema, TimeUnit};

    fn times(rows: usize) -> ArrayRef {
        let ticks = (0..rows as i64).map(|row| row - 3);
        Arc::new(TimestampMicrosecondArray::from_iter_values(ticks).with_timezone("+01:00"))
    }

    #[test]
    fn times_nulls_and_one_text_are_columns_of_other_types() {
        let at = Arc::new(Field::new("at", times(0).data_type().clone(), false));
        let columns: Vec<ArrayRef> = vec![
            times(20),
            Arc::new(StructArray::from(vec![(at, times(20))])),
            new_null_array(&DataType::Float64, 20),
            Arc::new(StringArray::from(vec!["delete"; 20])),
            Arc::new(Float64Array::from(vec![0.5; 20])),
        ];
        let rows = unnamed(columns).unwrap();
        let encoded = encode(&rows).unwrap();
        let types: Vec<DataType> = encoded
            .columns()
            .iter()
            .map(|own| own.data_type().clone())
            .collect();
        let of_struct = fields_of(encoded.column(1)).unwrap();
        assert_eq!(of_struct.column(0).data_type(), &DataType::UInt8);
        let [first, _, third, fourth, fifth] = types.as_slice() else {
            panic!("{types:?}");
        };
        assert_eq!(first, &DataType::Int64);
        assert_eq!((third, fourth), (&DataType::Null, &DataType::Null));
        assert_eq!(fifth, &DataType::Float64);
        assert_eq!(decode("block", &encoded).unwrap(), rows);
    }

    #[test]
    fn few_rows_and_what_is_not_one_value_stay_as_they_are() {
        let few = unnamed(vec![times(15)]).unwrap();
        assert_eq!(encode(&few).unwrap(), few);
        let mut texts = vec![Some("delete"); 20];
        let mut columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec![None::<&str>; 20]))];
        for other in [None, Some("upsert")] {
            if let Some(last) = texts.last_mut() {
                *last = other;
            }
            columns.push(Arc::new(StringArray::from(texts.clone())));
        }
        columns.push(Arc::new(Int64Array::from_iter(
            (0..20).map(|row| (row > 0).then_some(7)),
        )));
        columns.push(Arc::new(NullArray::new(20)));
        let rows = unnamed(columns).unwrap();
        let encoded = encode(&rows).unwrap();
        assert_eq!(encoded.column(0).data_type(), &DataType::Null);
        assert_eq!(encoded.columns().get(1..), rows.columns().get(1..));
        assert_eq!(decode("block", &encoded).unwrap(), rows);
    }

    #[test]
    fn a_type_that_is_none_or_does_not_fit_is_an_error() {
        let (null, ticks, bytes): (ArrayRef, ArrayRef, ArrayRef) = (
            Arc::new(NullArray::new(20)),
            Arc::new(Int64Array::from(vec![1; 20])),
            Arc::new(StringArray::from(vec!["x"; 20])),
        );
        let time = DataType::Timestamp(TimeUnit::Second, None).to_string();
        for (named, column) in [
            ("x", &null),
            ("Utf8", &ticks),
            ("Decimal128(40, 2)", &ticks),
            (&time, &bytes),
        ] {
            let (field, column) = marked(
                &Field::new("n", DataType::Null, true),
                Arc::clone(column),
                TYPE_KEY,
                named,
            );
            let wrong =
                RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![column]).unwrap();
            assert!(
                matches!(decode("block", &wrong), Err(Error::Format { .. })),
                "{named}"
            );
        }
    }
}

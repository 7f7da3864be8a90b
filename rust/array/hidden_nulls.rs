//! Removes nulls that are hidden by a null struct.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeListArray, StructArray, make_array};
use arrow_schema::{DataType, Field};

use crate::core::error::Result;

/// Removes hidden nulls from structs and fixed-size lists: nulls of a non-nullable child. Arrow
/// allows these below a null struct, and its `take` creates them for null indices. Parquet writers
/// reject them. The contents of other lists do not change.
pub(crate) fn without(array: &ArrayRef) -> Result<ArrayRef> {
    if let Some(lists) = array.as_fixed_size_list_opt()
        && let DataType::FixedSizeList(item, length) = lists.data_type()
    {
        let values = child(item, lists.values())?;
        let (item, nulls) = (Arc::clone(item), lists.nulls().cloned());
        return Ok(Arc::new(FixedSizeListArray::try_new_with_length(
            item,
            *length,
            values,
            nulls,
            lists.len(),
        )?));
    }
    let Some(of_structs) = array.as_struct_opt() else {
        return Ok(Arc::clone(array));
    };
    let children = of_structs.fields().iter().zip(of_structs.columns());
    let children = children.map(|(field, array)| child(field, array));
    Ok(Arc::new(StructArray::try_new_with_length(
        of_structs.fields().clone(),
        children.collect::<Result<_>>()?,
        of_structs.nulls().cloned(),
        of_structs.len(),
    )?))
}

/// Does the same for a child, and removes its nulls if its field is not nullable.
fn child(field: &Field, array: &ArrayRef) -> Result<ArrayRef> {
    let array = without(array)?;
    if field.is_nullable() || array.null_count() == 0 {
        return Ok(array);
    }
    let seen = array.to_data().into_builder().nulls(None).build()?;
    Ok(make_array(seen))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int64Array, StringArray};
    use arrow_select::take::take;

    use super::*;

    #[test]
    fn children_that_may_not_be_null_are_so_nowhere_and_others_stay() {
        let text = Arc::new(Field::new("text", DataType::Utf8, false));
        let inner = StructArray::from(vec![(
            text,
            Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef,
        )]);
        let inner_field = Arc::new(Field::new("inner", inner.data_type().clone(), false));
        let number = Arc::new(Field::new("number", DataType::Int64, true));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![None, Some(2)]));
        let all: ArrayRef = Arc::new(StructArray::from(vec![
            (inner_field, Arc::new(inner) as ArrayRef),
            (number, numbers),
        ]));
        let rows = take(&all, &Int64Array::from(vec![Some(1), None, Some(0)]), None).unwrap();
        assert_eq!(rows.as_struct().column(0).null_count(), 1);
        let clean = without(&rows).unwrap();
        assert_eq!(clean.to_data(), rows.to_data()); // hidden values do not count
        let inner = clean.as_struct().column(0);
        assert_eq!(
            (inner.null_count(), inner.as_struct().column(0).null_count()),
            (0, 0)
        );
        assert_eq!(clean.as_struct().column(1).null_count(), 2);
    }
}

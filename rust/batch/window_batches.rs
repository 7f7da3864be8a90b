//! Windows in batches, accessed by their position among all windows.
//!
//! ```text
//!   position   0 1 2 3 4│5 6 7│8 9 ...      the original batches: joining them would copy
//! everything
//!   address     (0, 3)   (1, 1)
//! ```

use arrow_array::{Array, ArrayRef, Int64Array, new_null_array};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;
use arrow_select::take::take;

use super::window_columns::window_bytes;
use crate::core::error::{Error, Result};

/// Log2 of the number of windows in a cell. The batch of each cell's first window is known.
const CELL_BITS: u32 = 12;

/// The columns of windows, each with one array per batch.
pub(super) struct WindowBatches {
    columns: Vec<Vec<ArrayRef>>,
    /// Where each batch starts, and where the last one ends.
    starts: Vec<usize>,
    /// The batch of the first window in each cell.
    batch_of_cell: Vec<usize>,
}

impl WindowBatches {
    /// Needs at least one batch. The arrays of all columns must have the same lengths.
    pub(super) fn new(columns: Vec<Vec<ArrayRef>>) -> Self {
        let lengths = columns
            .first()
            .into_iter()
            .flatten()
            .map(|array| array.len());
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(lengths.map(|length| {
            end += length;
            end
        }));
        let batch_of_cell = (0..end)
            .step_by(1 << CELL_BITS)
            .map(|window| starts.partition_point(|&start| start <= window) - 1)
            .collect();
        Self {
            columns,
            starts,
            batch_of_cell,
        }
    }

    /// The number of windows.
    pub(super) fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or_default()
    }

    /// Bytes that the columns of each window take, or `None` if all windows take equally little.
    pub(super) fn bytes(&self) -> Option<Vec<usize>> {
        let batches = self
            .starts
            .iter()
            .zip(self.starts.iter().skip(1))
            .enumerate();
        let bytes = batches.map(|(batch, (start, end))| {
            let columns = self.columns.iter().filter_map(|column| column.get(batch));
            let columns: Vec<ArrayRef> = columns.cloned().collect();
            window_bytes(&columns, end - start)
        });
        Some(bytes.collect::<Option<Vec<_>>>()?.concat())
    }

    /// The columns of the windows at these positions. A null position gives null.
    pub(super) fn take(&self, positions: &Int64Array) -> Result<Vec<ArrayRef>> {
        let beyond = || Error::Internal("a row belongs to a missing window");
        let columns = self.columns.iter();
        let nulls = positions.nulls().filter(|nulls| nulls.null_count() > 0);
        if self.starts.len() == 2 && (nulls.is_none() || !self.lacks_validity()) {
            let taken = columns.map(|column| match column.first() {
                Some(one) => Ok(take(one, positions, None)?),
                None => Err(beyond()),
            });
            return taken.collect();
        }
        let none = (self.starts.len() - 1, 0);
        let mut addresses = Vec::with_capacity(positions.len());
        for (row, &position) in positions.values().iter().enumerate() {
            addresses.push(match nulls {
                Some(nulls) if nulls.is_null(row) => none,
                _ => self.address(position).ok_or_else(beyond)?,
            });
        }
        let taken = columns.map(|column| {
            let data_type = column.first().ok_or_else(beyond)?.data_type();
            let none = nulls.map(|_| new_null_array(data_type, 1));
            let arrays = column.iter().chain(&none).map(AsRef::as_ref);
            Ok(interleave(&arrays.collect::<Vec<_>>(), &addresses)?)
        });
        taken.collect()
    }

    /// Whether a column has arrays without their own validity. For these, `take` returns some value
    /// at a null position.
    fn lacks_validity(&self) -> bool {
        let mut columns = self.columns.iter().flatten();
        columns.any(|array| lacks_validity(array.data_type()))
    }

    /// The batch of a window, and its index there.
    #[inline]
    fn address(&self, position: i64) -> Option<(usize, usize)> {
        let window = usize::try_from(position).ok()?;
        let mut batch = *self.batch_of_cell.get(window >> CELL_BITS)?;
        while *self.starts.get(batch + 1)? <= window {
            batch += 1;
        }
        Some((batch, window - self.starts.get(batch)?))
    }
}

fn lacks_validity(data_type: &DataType) -> bool {
    match data_type {
        DataType::RunEndEncoded(..) | DataType::Union(..) => true,
        DataType::Struct(fields) => fields.iter().any(|field| lacks_validity(field.data_type())),
        DataType::FixedSizeList(item, _) => lacks_validity(item.data_type()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{StringArray, StructArray};
    use arrow_schema::Field;
    use arrow_select::concat::concat;

    use super::*;

    /// A struct with a non-null number, and a text that is sometimes null, for the given windows.
    fn columns(windows: &[i64]) -> Vec<ArrayRef> {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(windows.iter().copied()));
        let number = Arc::new(Field::new("number", DataType::Int64, false));
        let texts = windows
            .iter()
            .map(|window| (window % 3 != 0).then(|| format!("{window}")));
        vec![
            Arc::new(StructArray::from(vec![(number, numbers)])),
            Arc::new(StringArray::from_iter(texts)),
        ]
    }

    fn of(lengths: &[i64]) -> (WindowBatches, Vec<ArrayRef>) {
        let mut end = 0;
        let batches = lengths.iter().map(|&length| {
            end += length;
            columns(&(end - length..end).collect::<Vec<_>>())
        });
        let mut arrays = vec![Vec::new(), Vec::new()];
        for batch in batches {
            arrays
                .iter_mut()
                .zip(batch)
                .for_each(|(column, array)| column.push(array));
        }
        let joined = arrays.iter().map(|column| {
            let parts: Vec<&dyn Array> = column.iter().map(AsRef::as_ref).collect();
            concat(&parts).unwrap()
        });
        let joined = joined.collect();
        (WindowBatches::new(arrays), joined)
    }

    #[test]
    fn windows_are_those_at_their_positions_among_all_batches() {
        //          cells have 4096 windows; some batches begin at a cell boundary, some cross it
        for lengths in [
            &[0, 3, 0, 0, 2][..],
            &[4096, 1, 4095, 0, 10_000, 7],
            &[10_000, 10_000],
            &[5],
            &[0],
        ] {
            let (batches, joined) = of(lengths);
            let all: i64 = lengths.iter().sum();
            assert_eq!(batches.len(), all as usize);
            let known = (0..all).map(|window| Some(all - 1 - window));
            let known: Int64Array = known.collect();
            let others: Int64Array = (0..3 * all)
                .map(|window| (window % 3 > 0).then_some(window * 7 % all.max(1)))
                .chain([None])
                .collect();
            for positions in [known, others] {
                let expected = joined
                    .iter()
                    .map(|column| take(column, &positions, None).unwrap());
                let expected: Vec<ArrayRef> = expected.collect();
                assert_eq!(batches.take(&positions).unwrap(), expected, "{lengths:?}");
            }
        }
    }

    #[test]
    fn a_position_beyond_the_last_window_is_an_error() {
        let (batches, _) = of(&[2, 3]);
        assert!(batches.take(&Int64Array::from(vec![4])).is_ok());
        for beyond in [5, 4096, i64::MAX, -1] {
            assert!(batches.take(&Int64Array::from(vec![beyond])).is_err());
        }
    }

    #[test]
    fn the_bytes_of_windows_are_those_of_one_batch_after_the_other() {
        let (batches, joined) = of(&[2, 0, 4]);
        assert_eq!(batches.bytes(), window_bytes(&joined, 6));
        assert!(batches.bytes().is_some_and(|bytes| bytes.len() == 6));
    }
}

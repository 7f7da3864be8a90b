//! Rows to aggregate.

use crate::core::aggregate::column::gather;
use crate::core::aggregate::scalar::Scalar;
use crate::core::aggregate::{InputRows, SeqNo};
use crate::core::error::Error;
use crate::core::time::Time;

#[test]
fn rows_that_a_slice_or_a_column_lacks_are_an_error() {
    let (times, columns) = ([Time(1), Time(2)], [2, 1].map(|rows| vec![7; rows]));
    let columns = columns.map(|values| [i64::dense(values)]);
    let [long, short] = &columns;
    let is_error = |rows, times, seq_nos: &[SeqNo], inputs| {
        matches!(
            InputRows::new(rows, times, seq_nos, inputs),
            Err(Error::Internal(_))
        )
    };
    assert!(!is_error(2, &times, &[], long));
    assert!(!is_error(2, &times, &[0, 1], long));
    assert!(is_error(3, &times, &[], long));
    assert!(is_error(2, &times, &[0], long));
    assert!(is_error(2, &times, &[], short));
    assert!(matches!(gather(&long[0], &[1, 2]), Err(Error::Internal(_))));
}

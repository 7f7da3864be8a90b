//! Columns of values as the aggregates see them: a few kinds of plain slices, with validity.
//!
//! | kind | holds |
//! |---|---|
//! | `Int` | booleans (0, 1), integers up to i64, dates, timestamps, durations |
//! | `Float` | f32 (widened) and f64 |
//! | `Wide` | decimals up to 38 digits, u64 |
//! | `Bytes` | strings, binary; any other type as order-preserving row bytes |
//! | `List` | results and states that hold several values |
//! | `Struct` | the elements of results that have several fields |

use std::borrow::Cow;
use std::ops::Range;

use super::bytes::Bytes;
use super::validity::Validity;
use crate::core::error::{Error, Result};
use crate::core::memory;
use crate::core::sort::in_range;

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Values<'a> {
    /// See the table above.
    Int(Cow<'a, [i64]>),
    /// See the table above.
    Float(Cow<'a, [f64]>),
    /// See the table above.
    Wide(Cow<'a, [i128]>),
    /// See the table above.
    Bytes(Bytes<'a>),
    /// Lists: `offsets` as in [`Bytes`], into the column of all elements.
    List {
        /// Where each row starts; one more entry than there are rows.
        offsets: Cow<'a, [i64]>,
        /// All rows' elements.
        elements: Box<Column<'a>>,
    },
    /// Columns of one length, side by side.
    Struct(Vec<Column<'a>>),
}

/// A column of lists whose offsets were checked.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'b, 'a> {
    offsets: &'b [i64],
    /// All rows' elements.
    pub elements: &'b Column<'a>,
}

impl Lists<'_, '_> {
    /// The range of a row's elements in all elements; empty beyond the last row.
    pub fn range(&self, row: usize) -> Range<usize> {
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(&from), Some(&to)) => from as usize..to as usize,
            _ => 0..0,
        }
    }

    /// The range of each row, which is the same in other columns of the same lists.
    ///
    /// # Errors
    ///
    /// The lists of another column differ in length.
    pub fn ranges(&self, others: &[Self]) -> Result<impl Iterator<Item = Range<usize>>> {
        if others.iter().any(|other| other.offsets != self.offsets) {
            return Err(Error::Internal("the lists of a state differ in length"));
        }
        Ok((1..self.offsets.len()).map(move |end| self.range(end - 1)))
    }
}

/// A column: values and validity. Without validity, no row is null.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    /// The values. The value at a null row has no meaning.
    pub values: Values<'a>,
    /// Which rows hold a value.
    pub validity: Option<Validity<'a>>,
}

impl<'a> Column<'a> {
    /// A column without nulls.
    pub fn new(values: Values<'a>) -> Self {
        Self {
            values,
            validity: None,
        }
    }

    /// A column of lists without nulls; `offsets` as in [`Values::List`].
    pub fn list(offsets: Vec<i64>, elements: Self) -> Self {
        Self::new(Values::List {
            offsets: offsets.into(),
            elements: Box::new(elements),
        })
    }

    /// Views a column of lists.
    ///
    /// # Errors
    ///
    /// It is not a column of lists, or its offsets go back or leave the elements.
    pub fn lists(&self) -> Result<Lists<'_, 'a>> {
        let Values::List { offsets, elements } = &self.values else {
            return Err(Error::Internal("an aggregate got a column without lists"));
        };
        let within =
            |&offset: &i64| usize::try_from(offset).is_ok_and(|offset| offset <= elements.len());
        if offsets.is_sorted() && offsets.iter().all(within) {
            Ok(Lists { offsets, elements })
        } else {
            Err(Error::Internal(
                "the offsets of a column of lists do not fit its elements",
            ))
        }
    }

    /// Whether row `row` holds a value.
    #[inline]
    pub fn is_valid(&self, row: usize) -> bool {
        self.validity
            .as_ref()
            .is_none_or(|validity| validity.is_valid(row))
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Int(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Wide(values) => values.len(),
            Values::Bytes(bytes) => bytes.offsets.len().saturating_sub(1),
            Values::List { offsets, .. } => offsets.len().saturating_sub(1),
            Values::Struct(columns) => columns.first().map_or(0, Column::len),
        }
    }

    /// Bytes of all values, as plain arrays would hold them; nulls take none.
    pub fn value_bytes(&self) -> usize {
        let valid = (0..self.len()).filter(|&row| self.is_valid(row)).count();
        let all = match &self.values {
            Values::Int(values) => size_of_val(values.as_ref()),
            Values::Float(values) => size_of_val(values.as_ref()),
            Values::Wide(values) => size_of_val(values.as_ref()),
            Values::Bytes(bytes) => bytes.data.len() + size_of_val(bytes.offsets.as_ref()),
            Values::List { elements, .. } => elements.value_bytes(),
            Values::Struct(columns) => columns.iter().map(Column::value_bytes).sum(),
        };
        (all as u128 * valid as u128 / self.len().max(1) as u128) as usize
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Column<'_> {
    /// The same column, borrowed.
    pub fn borrowed(&self) -> Column<'_> {
        let values = match &self.values {
            Values::Int(values) => Values::Int(Cow::Borrowed(values)),
            Values::Float(values) => Values::Float(Cow::Borrowed(values)),
            Values::Wide(values) => Values::Wide(Cow::Borrowed(values)),
            Values::Bytes(bytes) => Values::Bytes(bytes.borrowed()),
            Values::List { offsets, elements } => Values::List {
                offsets: Cow::Borrowed(offsets),
                elements: Box::new(elements.borrowed()),
            },
            Values::Struct(columns) => {
                Values::Struct(columns.iter().map(Column::borrowed).collect())
            }
        };
        let validity = self.validity.as_ref().map(|validity| validity.skip(0));
        Column { values, validity }
    }

    /// One row, borrowed: a column of length one, or of length zero if there is no such row.
    pub fn row(&self, row: usize) -> Column<'_> {
        let values = match &self.values {
            Values::Int(values) => {
                Values::Int(Cow::Borrowed(values.get(row..=row).unwrap_or_default()))
            }
            Values::Float(values) => {
                Values::Float(Cow::Borrowed(values.get(row..=row).unwrap_or_default()))
            }
            Values::Wide(values) => {
                Values::Wide(Cow::Borrowed(values.get(row..=row).unwrap_or_default()))
            }
            Values::Bytes(bytes) => {
                let offsets = Cow::Borrowed(bytes.offsets.get(row..=row + 1).unwrap_or_default());
                Values::Bytes(Bytes {
                    offsets,
                    data: Cow::Borrowed(&bytes.data),
                })
            }
            Values::List { offsets, elements } => {
                let offsets = Cow::Borrowed(offsets.get(row..=row + 1).unwrap_or_default());
                Values::List {
                    offsets,
                    elements: Box::new(elements.borrowed()),
                }
            }
            Values::Struct(columns) => {
                Values::Struct(columns.iter().map(|column| column.row(row)).collect())
            }
        };
        let validity = self.validity.as_ref().map(|validity| validity.skip(row));
        Column { values, validity }
    }

    /// The rows `rows`, in that order.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] for a row that is not there.
    pub fn gather(&self, rows: &[u32]) -> Result<Column<'static>> {
        in_range(rows, self.len())?;
        let numbers = rows.iter().map(|&row| row as usize);
        let values = match &self.values {
            Values::Int(values) => Values::Int(
                numbers
                    .map(|row| values.get(row).copied().unwrap_or_default())
                    .collect(),
            ),
            Values::Float(values) => Values::Float(
                numbers
                    .map(|row| values.get(row).copied().unwrap_or_default())
                    .collect(),
            ),
            Values::Wide(values) => Values::Wide(
                numbers
                    .map(|row| values.get(row).copied().unwrap_or_default())
                    .collect(),
            ),
            Values::Bytes(bytes) => Values::Bytes(numbers.map(|row| bytes.get(row)).collect()),
            Values::List { offsets, elements } => gather_lists(offsets, elements, rows)?,
            Values::Struct(columns) => {
                let columns = columns.iter().map(|column| column.gather(rows));
                Values::Struct(columns.collect::<Result<_>>()?)
            }
        };
        let validity = self.validity.as_ref().map(|validity| {
            rows.iter()
                .map(|&row| validity.is_valid(row as usize))
                .collect()
        });
        Ok(Column { values, validity })
    }
}

fn gather_lists(offsets: &[i64], elements: &Column<'_>, rows: &[u32]) -> Result<Values<'static>> {
    // Offsets ascend, so no element has a larger number than the last one has.
    u32::try_from(elements.len())
        .map_err(|_| Error::Internal("a column has 2^32 list elements or more"))?;
    let (mut new_offsets, mut numbers) = (vec![0], Vec::new());
    for &row in rows {
        if let (Some(&from), Some(&to)) = (offsets.get(row as usize), offsets.get(row as usize + 1))
        {
            numbers.extend(from as u32..to as u32);
        }
        new_offsets.push(numbers.len() as i64);
    }
    Ok(Values::List {
        offsets: new_offsets.into(),
        elements: Box::new(elements.gather(&numbers)?),
    })
}

impl Column<'static> {
    /// Appends a null.
    pub fn append_null(&mut self) {
        let before = self.len();
        self.validity
            .get_or_insert_with(|| std::iter::repeat_n(true, before).collect())
            .extend(before, std::iter::once(false));
        self.values.append_default();
    }

    /// Appends the rows of `other`.
    ///
    /// # Errors
    ///
    /// `other` is of another kind, or there is no room for it.
    pub fn append(&mut self, other: &Column<'_>) -> Result<()> {
        let before = self.len();
        if self.validity.is_some() || other.validity.is_some() {
            let validity = self
                .validity
                .get_or_insert_with(|| std::iter::repeat_n(true, before).collect());
            validity.extend(before, (0..other.len()).map(|row| other.is_valid(row)));
        }
        match (&mut self.values, &other.values) {
            (Values::Int(values), Values::Int(more)) => extend(values.to_mut(), more)?,
            (Values::Float(values), Values::Float(more)) => extend(values.to_mut(), more)?,
            (Values::Wide(values), Values::Wide(more)) => extend(values.to_mut(), more)?,
            (Values::Bytes(bytes), Values::Bytes(more)) => {
                memory::reserve(bytes.data.to_mut(), more.data.len())?;
                memory::reserve(bytes.offsets.to_mut(), more.offsets.len())?;
                bytes.append(more);
            }
            (
                Values::List { offsets, elements },
                Values::List {
                    offsets: more_offsets,
                    elements: more,
                },
            ) => {
                let shift = elements.len() as i64;
                elements.append(more)?;
                offsets
                    .to_mut()
                    .extend(more_offsets.iter().skip(1).map(|offset| offset + shift));
            }
            (Values::Struct(columns), Values::Struct(more)) if columns.len() == more.len() => {
                let mut pairs = columns.iter_mut().zip(more);
                pairs.try_for_each(|(column, more)| column.append(more))?;
            }
            _ => return Err(Error::Internal("columns of two kinds are appended")),
        }
        Ok(())
    }
}

impl Values<'static> {
    /// Appends a value without a meaning.
    fn append_default(&mut self) {
        match self {
            Self::Int(values) => values.to_mut().push(0),
            Self::Float(values) => values.to_mut().push(0.0),
            Self::Wide(values) => values.to_mut().push(0),
            Self::Bytes(Bytes { offsets, .. }) | Self::List { offsets, .. } => {
                let end = offsets.last().copied().unwrap_or_default();
                offsets.to_mut().push(end);
            }
            Self::Struct(columns) => columns.iter_mut().for_each(Column::append_null),
        }
    }
}

fn extend<T: Copy>(values: &mut Vec<T>, more: &[T]) -> Result<()> {
    memory::reserve(values, more.len())?;
    values.extend_from_slice(more);
    Ok(())
}

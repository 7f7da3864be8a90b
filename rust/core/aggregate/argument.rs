//! What an aggregate takes from each row: nothing, a value, a value and the row's position, ...

use std::marker::PhantomData;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;

use super::scalar::Scalar;
use super::slot::Slot;
use super::{InputRows, RowPosition};
use crate::core::error::{Error, Result};
use crate::core::time::Time;

/// What an aggregate takes from a row.
pub trait Argument: 'static {
    /// The columns that it is read from.
    type Columns<'a>: Copy;
    /// The argument of one row.
    type Row<'a>: Copy;

    /// The columns, resolved once for all rows.
    ///
    /// # Errors
    ///
    /// A column is missing, superfluous or of another kind.
    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>>;

    /// The argument of a row; none if the row does not count.
    fn get<'a>(columns: Self::Columns<'a>, row: usize) -> Option<Self::Row<'a>>;

    /// Calls `visit` for each row that counts; `slots` is parallel to the rows.
    #[inline]
    fn for_each(
        rows: InputRows<'_>,
        slots: &[Slot],
        mut visit: impl FnMut(Slot, Self::Row<'_>),
    ) -> Result<()> {
        let columns = Self::columns(rows)?;
        for (row, &slot) in slots.iter().enumerate() {
            if let Some(argument) = Self::get(columns, row) {
                visit(slot, argument);
            }
        }
        Ok(())
    }
}

/// The one column that an aggregate takes.
fn one_column(rows: InputRows<'_>) -> Result<&ArrayRef> {
    match rows.inputs {
        [column] => Ok(column),
        _ => Err(Error::Internal("an aggregate did not get one column")),
    }
}

/// Whether the row holds a value in each column. Without a column every row does.
pub struct Presence;

impl Argument for Presence {
    type Columns<'a> = (Option<&'a NullBuffer>, &'a [ArrayRef]);
    type Row<'a> = bool;

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        Ok(match rows.inputs {
            [] => (None, &[]),
            [first, others @ ..] => (first.nulls(), others),
        })
    }

    #[inline]
    fn get<'a>((first, others): Self::Columns<'a>, row: usize) -> Option<Self::Row<'a>> {
        let holds_value = first.is_none_or(|nulls| nulls.is_valid(row));
        Some(holds_value && others.iter().all(|column| column.is_valid(row)))
    }

    #[inline]
    fn for_each(
        rows: InputRows<'_>,
        slots: &[Slot],
        mut visit: impl FnMut(Slot, bool),
    ) -> Result<()> {
        let columns = Self::columns(rows)?;
        let counts_all = matches!(columns, (None, []));
        for (row, &slot) in slots.iter().enumerate() {
            let holds_value = counts_all || Self::get(columns, row) == Some(true);
            visit(slot, holds_value);
        }
        Ok(())
    }
}

/// From when to when a row is active: to its value. A row without a value ends at its time.
pub(crate) struct Bounds;

impl Argument for Bounds {
    type Columns<'a> = (&'a [Time], Option<<Value<i64> as Argument>::Columns<'a>>);
    type Row<'a> = (Time, Time);

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        let ends = match rows.inputs {
            [] => None,
            _ => Some(Value::<i64>::columns(rows)?),
        };
        Ok((rows.times, ends))
    }

    #[inline]
    fn get<'a>((times, ends): Self::Columns<'a>, row: usize) -> Option<Self::Row<'a>> {
        let time = *times.get(row)?;
        let end = ends.and_then(|ends| Value::<i64>::get(ends, row));
        Some((time, end.map_or(time, Time)))
    }
}

/// The value. Rows without a value do not count.
pub struct Value<V>(PhantomData<V>);

impl<V: Scalar> Argument for Value<V> {
    type Columns<'a> = &'a V::Array;
    type Row<'a> = V::Ref<'a>;

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        V::view(one_column(rows)?)
    }

    #[inline]
    fn get<'a>(values: Self::Columns<'a>, row: usize) -> Option<V::Ref<'a>> {
        V::read(values, row)
    }

    #[inline]
    fn for_each(
        rows: InputRows<'_>,
        slots: &[Slot],
        visit: impl FnMut(Slot, V::Ref<'_>),
    ) -> Result<()> {
        V::visit(one_column(rows)?, slots, visit)
    }
}

/// The value or null.
pub(crate) struct NullableValue<V>(PhantomData<V>);

impl<V: Scalar> Argument for NullableValue<V> {
    type Columns<'a> = &'a V::Array;
    type Row<'a> = Option<V::Ref<'a>>;

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        Value::<V>::columns(rows)
    }

    #[inline]
    fn get<'a>(columns: Self::Columns<'a>, row: usize) -> Option<Self::Row<'a>> {
        Some(Value::<V>::get(columns, row))
    }
}

/// The value or null, and the row's position.
pub(crate) struct PositionedValue<V>(PhantomData<V>);

impl<V: Scalar> Argument for PositionedValue<V> {
    type Columns<'a> = (InputRows<'a>, &'a V::Array);
    type Row<'a> = (RowPosition, Option<V::Ref<'a>>);

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        Ok((rows, V::view(one_column(rows)?)?))
    }

    #[inline]
    fn get<'a>(
        (rows, values): Self::Columns<'a>,
        row: usize,
    ) -> Option<(RowPosition, Option<V::Ref<'a>>)> {
        Some((rows.position(row), V::read(values, row)))
    }
}

/// The value that ranks the row, the row's position, and its value or null. Rows without a rank do
/// not count.
pub(crate) struct RankedValue<V, B>(PhantomData<(V, B)>);

impl<V: Scalar, B: Scalar> Argument for RankedValue<V, B> {
    type Columns<'a> = (
        <PositionedValue<V> as Argument>::Columns<'a>,
        <Value<B> as Argument>::Columns<'a>,
    );
    type Row<'a> = (B::Ref<'a>, RowPosition, Option<V::Ref<'a>>);

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        let [value, by] = rows.inputs else {
            return Err(Error::Internal("an aggregate did not get two columns"));
        };
        Ok(((rows, V::view(value)?), B::view(by)?))
    }

    #[inline]
    fn get<'a>((values, ranks): Self::Columns<'a>, row: usize) -> Option<Self::Row<'a>> {
        let by = Value::<B>::get(ranks, row)?;
        let (position, value) = PositionedValue::<V>::get(values, row)?;
        Some((by, position, value))
    }
}

/// The row's position, and a bit for each column that is true in it, the lowest for the first column.
pub(crate) struct Flags;

impl Argument for Flags {
    type Columns<'a> = InputRows<'a>;
    type Row<'a> = (RowPosition, u32);

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        let mut columns = rows.inputs.iter();
        columns.try_for_each(|column| i64::view(column).map(drop))?;
        Ok(rows)
    }

    #[inline]
    fn get<'a>(rows: Self::Columns<'a>, row: usize) -> Option<Self::Row<'a>> {
        let flags = rows.inputs.iter().zip(0..).map(|(column, bit)| {
            let is_true = i64::view(column).is_ok_and(|values| i64::read(values, row) == Some(1));
            u32::from(is_true) << bit
        });
        Some((rows.position(row), flags.sum()))
    }

    fn for_each(
        rows: InputRows<'_>,
        slots: &[Slot],
        mut visit: impl FnMut(Slot, Self::Row<'_>),
    ) -> Result<()> {
        let mut flags = vec![0_u32; slots.len()];
        for (column, bit) in rows.inputs.iter().zip(0..) {
            for (flags, value) in flags.iter_mut().zip(i64::values(column)?) {
                *flags |= u32::from(value == Some(1)) << bit;
            }
        }
        for (row, (&slot, &flags)) in slots.iter().zip(&flags).enumerate() {
            visit(slot, (rows.position(row), flags));
        }
        Ok(())
    }
}

/// The values of two columns. Rows without both do not count.
pub(crate) struct Pair<X, Y>(PhantomData<(X, Y)>);

impl<X: Scalar, Y: Scalar> Argument for Pair<X, Y> {
    type Columns<'a> = (
        <Value<X> as Argument>::Columns<'a>,
        <Value<Y> as Argument>::Columns<'a>,
    );
    type Row<'a> = (X::Ref<'a>, Y::Ref<'a>);

    fn columns<'a>(rows: InputRows<'a>) -> Result<Self::Columns<'a>> {
        let [x, y] = rows.inputs else {
            return Err(Error::Internal("an aggregate did not get two columns"));
        };
        Ok((X::view(x)?, Y::view(y)?))
    }

    #[inline]
    fn get<'a>((xs, ys): Self::Columns<'a>, row: usize) -> Option<Self::Row<'a>> {
        Some((Value::<X>::get(xs, row)?, Value::<Y>::get(ys, row)?))
    }
}

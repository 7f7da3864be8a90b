//! `variance`, `var_pop`, `stddev`, `stddev_pop`: null over no values, and over one value where a
//! sample is meant (as Spark 4); NaN where a value is NaN or infinite.
//!
//! Sums of distances from one of the window's own values `c`, and of their squares:
//!
//! ```text
//!   S = Σ (x - c)      Q = Σ (x - c)²      variance = (n Q - S S) / (n (n - 1))
//! ```
//!
//! `(c - mean)²` is at most `n` times the variance, whatever the mean is, so the subtraction loses
//! at most a factor of `n`: far from what `DoubleDouble` keeps beyond rule 6.6. Equal values give
//! exactly 0.

use super::column::{Column, Values};
use super::double_double::DoubleDouble;
use super::scalar::Scalar;
use super::slot::{PerSlot, Slot};
use super::total::Summable;
use super::{Aggregate, InputRows, Run, columns_of, counts_of, of_kind, sweep};
use crate::error::{Error, Result};

/// A value kind that has distances.
pub trait Distance: Summable {
    /// `self - other`: exact for integers and floats, to 30 digits for decimals.
    fn distance(self, other: Self) -> DoubleDouble;
    /// Whether the value is a number.
    fn is_number(self) -> bool;
}

impl Distance for i64 {
    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        DoubleDouble::from_integer(i128::from(self) - i128::from(other))
    }

    #[inline]
    fn is_number(self) -> bool {
        true
    }
}

impl Distance for i128 {
    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        match self.checked_sub(other) {
            Some(distance) => DoubleDouble::from_integer(distance),
            None => DoubleDouble::from_integer(self).minus(DoubleDouble::from_integer(other)),
        }
    }

    #[inline]
    fn is_number(self) -> bool {
        true
    }
}

impl Distance for f64 {
    #[inline]
    fn distance(self, other: Self) -> DoubleDouble {
        let mut distance = DoubleDouble {
            high: self,
            low: 0.0,
        };
        distance.add(-other);
        distance
    }

    #[inline]
    fn is_number(self) -> bool {
        self.is_finite()
    }
}

/// Count, center and sums of one window.
#[derive(Clone, Copy, Debug, Default)]
struct Moments<V> {
    count: i64,
    /// A value of the window; one that is not a number where there is such a one.
    center: V,
    sum: DoubleDouble,
    squares: DoubleDouble,
}

impl<V: Distance> Moments<V> {
    #[inline]
    fn add(&mut self, value: V) {
        if self.count == 0 || !value.is_number() {
            self.center = value;
        }
        let distance = value.distance(self.center);
        self.count += 1;
        self.sum.merge(distance);
        self.squares.merge(distance.times(distance));
    }

    #[inline]
    fn merge(&mut self, other: &Self) {
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            if !other.center.is_number() {
                self.center = other.center;
            }
            // Σ (x - c)² = Σ (x - o)² + 2 (o - c) Σ (x - o) + n (o - c)²
            let (shift, count) = (
                other.center.distance(self.center),
                DoubleDouble::from_integer(other.count.into()),
            );
            let shifts = shift.times(count);
            let twice = DoubleDouble {
                high: 2.0 * other.sum.high,
                low: 2.0 * other.sum.low,
            };
            let mut factor = shifts;
            factor.merge(twice);
            self.count += other.count;
            self.sum.merge(other.sum);
            self.sum.merge(shifts);
            self.squares.merge(other.squares);
            self.squares.merge(shift.times(factor));
        }
    }
}

/// State: count, center and sums.
#[derive(Clone, Debug)]
pub struct Variance<V: Distance> {
    moments: PerSlot<Moments<V>>,
    population: bool,
    root: bool,
    scale: f64,
}

impl<V: Distance + Default> Variance<V> {
    /// The variance of a population or of a sample, or its root, the standard deviation. `scale` is
    /// what one unit of the value is divided by: 100 where a decimal has two decimals, else 1.
    pub fn new(population: bool, root: bool, scale: f64) -> Self {
        Self {
            moments: PerSlot(Vec::new()),
            population,
            root,
            scale,
        }
    }

    fn result(&self, moments: &Moments<V>) -> Option<f64> {
        let count = moments.count;
        let divisor = if self.population {
            count
        } else {
            count.saturating_sub(1)
        };
        if count <= 0 || divisor <= 0 {
            return None;
        }
        if !moments.center.is_number() {
            return Some(f64::NAN);
        }
        let squares = DoubleDouble::from_integer(count.into()).times(moments.squares);
        let spread =
            squares.minus(moments.sum.times(moments.sum)).value() / count as f64 / divisor as f64;
        // Only squares beyond the largest float are not finite here.
        let variance = if spread.is_finite() {
            spread.max(0.0)
        } else {
            f64::INFINITY
        };
        Some(if self.root {
            variance.sqrt() / self.scale
        } else {
            variance / self.scale / self.scale
        })
    }

    fn results<'s>(&self, moments: impl Iterator<Item = &'s Moments<V>>) -> Column<'static> {
        f64::column(moments.map(|moments| self.result(moments)))
    }
}

impl<V: Distance> Aggregate for Variance<V> {
    fn fresh(&self) -> Box<dyn Aggregate> {
        Box::new(Self::new(self.population, self.root, self.scale))
    }

    fn resize(&mut self, slots: usize) {
        self.moments.resize(slots, Moments::default());
    }

    fn update(&mut self, slots: &[Slot], rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("variance takes one column"));
        };
        let values = V::view(column)?;
        for (row, &slot) in slots.iter().enumerate() {
            if column.is_valid(row) {
                self.moments[slot].add(V::at(values, row));
            }
        }
        Ok(())
    }

    fn lift(&mut self, slot: Slot, row: usize, rows: InputRows<'_>) -> Result<()> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("variance takes one column"));
        };
        if let Some(value) = V::read(column, row)? {
            self.moments[slot].add(value);
        }
        Ok(())
    }

    fn merge(&mut self, into: &[Slot], other: &dyn Aggregate, from: &[Slot]) -> Result<()> {
        let other: &Self = of_kind(other)?;
        for (&into, &from) in into.iter().zip(from) {
            self.moments[into].merge(&other.moments[from]);
        }
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) {
        self.moments[to] = self.moments[from];
    }

    fn clear(&mut self, slot: Slot) {
        self.moments[slot] = Moments::default();
    }

    fn lower(&self, slots: &[Slot]) -> Result<Column<'static>> {
        Ok(self.results(slots.iter().map(|&slot| &self.moments[slot])))
    }

    fn save(&self, slots: &[Slot]) -> Vec<Column<'static>> {
        let moments = slots.iter().map(|&slot| self.moments[slot]);
        let floats = |part: fn(Moments<V>) -> f64| {
            Column::new(Values::Float(moments.clone().map(part).collect()))
        };
        vec![
            Column::new(Values::Int(
                moments.clone().map(|moments| moments.count).collect(),
            )),
            V::column(moments.clone().map(|moments| Some(moments.center))),
            floats(|moments| moments.sum.high),
            floats(|moments| moments.sum.low),
            floats(|moments| moments.squares.high),
            floats(|moments| moments.squares.low),
        ]
    }

    fn load(&self, states: &[Column<'_>]) -> Result<Box<dyn Aggregate>> {
        let ([counts, centers, floats @ ..], _) = columns_of::<6>(states)?;
        let (counts, centers) = (counts_of(counts)?.into_iter(), V::view(centers)?);
        let [sum_highs, sum_lows, square_highs, square_lows] = floats;
        let (sum_highs, sum_lows) = (f64::view(sum_highs)?, f64::view(sum_lows)?);
        let (square_highs, square_lows) = (f64::view(square_highs)?, f64::view(square_lows)?);
        let moments = |(row, count)| Moments {
            count,
            center: V::at(centers, row),
            sum: DoubleDouble {
                high: f64::at(sum_highs, row),
                low: f64::at(sum_lows, row),
            },
            squares: DoubleDouble {
                high: f64::at(square_highs, row),
                low: f64::at(square_lows, row),
            },
        };
        let mut loaded = Self::new(self.population, self.root, self.scale);
        loaded.moments.0.extend(counts.enumerate().map(moments));
        Ok(Box::new(loaded))
    }

    fn sweep(&self, rows: InputRows<'_>, runs: &[Run]) -> Result<Column<'static>> {
        let [column] = rows.inputs else {
            return Err(Error::Internal("variance takes one column"));
        };
        let values = V::view(column)?;
        let mut results = Vec::with_capacity(runs.len());
        sweep::two_stacks(
            runs,
            Moments::default(),
            |moments, row| {
                if column.is_valid(row) {
                    moments.add(V::at(values, row));
                }
            },
            Moments::merge,
            |moments| results.push(self.result(moments)),
        );
        Ok(f64::column(results.into_iter()))
    }
}

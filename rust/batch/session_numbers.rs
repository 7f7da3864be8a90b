//! The number of each session among those of its key, from 1, in the order of time.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::Field;

use crate::array::convert;
use crate::core::aggregate::scalar::Scalar;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::core::sort::SortedRows;
use crate::core::time::Time;
use crate::keys::KeyInterner;
use crate::plan::query::Query;

/// The sessions of each key so far.
pub(super) struct SessionNumbers {
    keys: KeyInterner,
    counts: Vec<i64>,
    /// The columns of numbers.
    columns: Vec<usize>,
}

impl SessionNumbers {
    /// Starts without sessions.
    pub(super) fn new(query: &Query) -> Result<Self> {
        let fields = query.output.fields().iter().take(query.keys.len());
        let fields: Vec<Field> = fields.map(|field| field.as_ref().clone()).collect();
        Ok(Self {
            keys: KeyInterner::new(&fields)?,
            counts: Vec::new(),
            columns: query.number_columns(|aggregate| aggregate.is_session_number()),
        })
    }

    /// Puts the numbers into batches of sessions. They come after all sessions of their keys so far.
    pub(super) fn number(
        &mut self,
        batches: &mut [RecordBatch],
        interrupt: &Interrupt,
    ) -> Result<()> {
        let (Some(_), Some(first)) = (self.columns.first(), batches.first()) else {
            return Ok(());
        };
        let key_count = first.num_columns().min(self.keys.output_fields().len());
        let (mut keys, mut starts) = (Vec::new(), Vec::new());
        for batch in &*batches {
            let (of_keys, others) = batch.columns().split_at(key_count);
            self.keys.intern(of_keys, &mut keys)?;
            let window = others.first().and_then(|window| window.as_struct_opt());
            let start = window.and_then(|window| window.columns().first());
            let start = start.ok_or(Error::Internal("a session has no window"))?;
            let start = convert::canonical(start)?;
            starts.extend(Time::slice(i64::view(&start)?.values()));
        }
        self.counts.resize(self.keys.len(), 0);
        let mut numbers = vec![0; keys.len()];
        for (key, sessions) in SortedRows::new(&keys, &starts, interrupt)?.by_key() {
            let Some(count) = self.counts.get_mut(key.0 as usize) else {
                continue;
            };
            for &(_, session) in sessions {
                *count += 1;
                if let Some(number) = numbers.get_mut(session as usize) {
                    *number = *count;
                }
            }
        }
        let mut numbers = numbers.into_iter();
        for batch in batches {
            let own: ArrayRef = Arc::new(Int64Array::from_iter_values(
                numbers.by_ref().take(batch.num_rows()),
            ));
            let mut columns = batch.columns().to_vec();
            for &column in &self.columns {
                if let Some(column) = columns.get_mut(column) {
                    *column = Arc::clone(&own);
                }
            }
            *batch = RecordBatch::try_new(batch.schema(), columns)?;
        }
        Ok(())
    }

    /// Forgets all sessions.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.counts.clear();
    }
}

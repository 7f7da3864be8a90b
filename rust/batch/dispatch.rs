//! Chooses the batch operator of a query.

use std::sync::Arc;

use super::batch_operator::BatchOperator;
use super::returned_rows::ReturnedRows;
use super::sessions::SessionTable;
use super::sliding::SlidingQuery;
use super::sort_rows::SortRows;
use crate::core::error::Result;
use crate::plan::query::{Query, QueryOutput};
use crate::plan::window_lengths::WindowLengths;

impl Query {
    /// Creates the operator of this query, without rows.
    pub(super) fn batch_operator(self: &Arc<Self>) -> Result<Box<dyn BatchOperator>> {
        Ok(match (&self.output_kind, self.windows) {
            (QueryOutput::RowsWithWindows { windows, .. }, _) => {
                Box::new(ReturnedRows::new(Arc::clone(self), Arc::clone(windows))?)
            }
            (QueryOutput::Rows { .. }, _) => Box::new(SortRows::new(Arc::clone(self))?),
            (QueryOutput::Windows { .. }, WindowLengths::Session(gap)) => {
                Box::new(SessionTable::new(Arc::clone(self), gap)?)
            }
            (QueryOutput::Windows { .. }, WindowLengths::Sliding(sliding)) => {
                Box::new(SlidingQuery::new(Arc::clone(self), sliding)?)
            }
        })
    }
}

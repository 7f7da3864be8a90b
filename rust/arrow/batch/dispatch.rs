//! The batch operator of a query.

use std::sync::Arc;

use super::operator::Job;
use super::sessions::SessionJob;
use super::sliding::SlidingJob;
use super::sort_rows::RowsJob;
use crate::arrow::plan::query::Query;
use crate::arrow::plan::window_lengths::Kind;
use crate::error::Result;

impl Query {
    pub(crate) fn job(self: &Arc<Self>) -> Result<Box<dyn Job>> {
        Ok(match self.windows {
            _ if self.rows => Box::new(RowsJob::new(Arc::clone(self))?),
            Kind::Session(gap) => Box::new(SessionJob::new(Arc::clone(self), gap)?),
            Kind::Sliding(sliding) => Box::new(SlidingJob::new(Arc::clone(self), sliding)?),
        })
    }
}

//! The blocks of a shard, of one micro-batch, to partial sessions: no two of a key join.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::batch_operator::BatchOperator;
use super::sessions::SessionTable;
use crate::core::error::{Error, Result};
use crate::core::interrupt::Interrupt;
use crate::format::{block, packed};
use crate::plan::query::Query;
use crate::plan::window_lengths::WindowLengths;

/// Packed rows of a session query, in any order, to the partial sessions of all of them.
pub struct Combiner {
    sessions: SessionTable,
    interrupt: Interrupt,
}

impl Combiner {
    /// A combiner without rows.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for a query of other windows, or of sessions that are cut.
    pub fn new(query: &Arc<Query>) -> Result<Self> {
        let WindowLengths::Session(gap) = query.windows else {
            return Err(Error::Format {
                what: "query",
                reason: "sliding windows have no partial ones".into(),
            });
        };
        if query.cut.is_some() {
            return Err(Error::Format {
                what: "query",
                reason: "sessions that are cut have no partial ones".into(),
            });
        }
        Ok(Self {
            sessions: SessionTable::new(Arc::clone(query), gap)?,
            interrupt: Interrupt::never(),
        })
    }

    /// The same, which stops when it is interrupted.
    pub fn with_interrupt(self, interrupt: Interrupt) -> Self {
        Self { interrupt, ..self }
    }

    /// Takes packed rows.
    ///
    /// # Errors
    ///
    /// [`Error::Format`] for blocks of another query; those of the interrupt.
    pub fn push(&mut self, packed: &RecordBatch) -> Result<()> {
        for row in packed::unpack(packed)? {
            self.interrupt.check()?;
            let (kind, block) = block::decode(row.block)?;
            self.sessions.add_block(kind, &block)?;
        }
        Ok(())
    }

    /// The partial sessions of all rows: the columns of keys, `start`, `end`, `reach` of dynamic gaps,
    /// then states; those of a key next to each other, by their starts.
    ///
    /// # Errors
    ///
    /// States that do not fit one batch; those of the interrupt.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        self.sessions.partials(&self.interrupt)
    }
}

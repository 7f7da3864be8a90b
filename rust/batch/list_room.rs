//! Memory for the lists of overlapping windows. All threads of a run share it.

use std::sync::{Mutex, PoisonError};

use crate::core::aggregate::list_values::ListValues;
use crate::core::error::{Error, Result};

/// The size of lists that are not yet built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListSizes {
    pub windows: usize,
    pub lists: ListValues,
}

/// How many bytes lists may take, and how much was requested so far.
#[derive(Debug)]
pub(super) struct ListRoom {
    most: Option<usize>,
    requested: Mutex<ListSizes>,
}

impl ListRoom {
    /// Allows `most` bytes, or any number if `None`.
    pub(super) fn new(most: Option<usize>) -> Self {
        Self {
            most,
            requested: Mutex::default(),
        }
    }

    /// Requests room for more lists, in addition to all earlier requests of all threads. Without a
    /// limit, nobody needs their sizes.
    pub(super) fn ask(&self, sizes: impl FnOnce() -> Result<ListSizes>) -> Result<()> {
        let Some(most) = self.most else {
            return Ok(());
        };
        let lists = sizes()?;
        let mut requested = self
            .requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        requested.windows += lists.windows;
        requested.lists += lists.lists;
        let ListSizes { windows, lists } = *requested;
        let ListValues { values, bytes } = lists;
        if bytes <= most {
            return Ok(());
        }
        Err(Error::Memory {
            what: format!(
                "the lists of {windows} windows have {values} values, {} MiB, where {} MiB are free; \
                 allowed: shorter windows or a shorter over, an aggregate that keeps no list, or in \
                 place of agg to_reader, whose batches leave one by one",
                bytes >> 20,
                most >> 20,
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_ask_for_together_is_what_may_be_taken() {
        let lists = |bytes| ListSizes {
            windows: 2,
            lists: ListValues { values: 5, bytes },
        };
        let room = ListRoom::new(Some(30));
        room.ask(|| Ok(lists(10))).unwrap();
        room.ask(|| Ok(lists(20))).unwrap();
        let message = room.ask(|| Ok(lists(1))).unwrap_err().to_string();
        assert!(
            message.contains("the lists of 6 windows have 15 values"),
            "{message}"
        );
        let any = ListRoom::new(None);
        any.ask(|| panic!("nobody needs the sizes")).unwrap();
    }
}

//! Room for the lists of overlapping windows, which all threads of a run share.

use std::sync::{Mutex, PoisonError};

use crate::core::aggregate::list_values::ListValues;
use crate::core::error::{Error, Result};

/// The lists that are still to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListSizes {
    pub windows: usize,
    pub lists: ListValues,
}

/// How many bytes lists may take, and those that were asked for.
#[derive(Debug)]
pub(super) struct ListRoom {
    most: Option<usize>,
    asked: Mutex<ListSizes>,
}

impl ListRoom {
    /// `most` bytes; any number without.
    pub fn new(most: Option<usize>) -> Self {
        Self {
            most,
            asked: Mutex::default(),
        }
    }

    /// Whether there are bounds, so that sizes have to be told.
    pub fn is_bounded(&self) -> bool {
        self.most.is_some()
    }

    /// Asks for lists beside those that were asked for before, on this thread or another.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] with all that was asked for where that is too much.
    pub fn ask(&self, lists: ListSizes) -> Result<()> {
        let Some(most) = self.most else {
            return Ok(());
        };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.windows += lists.windows;
        asked.lists += lists.lists;
        let ListSizes { windows, lists } = *asked;
        let ListValues { values, bytes } = lists;
        if bytes <= most {
            return Ok(());
        }
        Err(Error::Memory {
            what: format!(
                "the lists of {windows} windows have {values} values, {} MiB, where {} MiB are free; \
                 allowed: shorter windows, an aggregate that keeps no list, or to_reader, whose \
                 batches leave one by one",
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
        room.ask(lists(10)).unwrap();
        room.ask(lists(20)).unwrap();
        let told = room.ask(lists(1)).unwrap_err().to_string();
        assert!(
            told.contains("the lists of 6 windows have 15 values"),
            "{told}"
        );
        let any = ListRoom::new(None);
        any.ask(lists(usize::MAX)).unwrap();
        assert!(room.is_bounded() && !any.is_bounded());
    }
}

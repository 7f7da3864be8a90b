//! Measures how far the rows of a key come out of order. The result decides how to build sessions.
//! It changes the speed, never the result.
//!
//! ```text
//!   rows of a key, in order    1 2 3 4 5 6      joined one by one
//!   rows of a key, shuffled    4 1 6 2 5 3      sorted by key and time first: each session is
//!                                               built in one go, not joined from pieces
//! ```
//!
//! For rows in order, sorting costs more than it saves. The benchmark `sessions` measures both. Its
//! ids end with the order of the input.

use crate::core::key::KeyId;
use crate::core::time::Time;
use crate::core::window::Extent;

/// Rows joined one by one between two reviews of the choice.
pub(super) const REVIEW_ROWS: usize = 4096;

/// Rows that a look ahead reads. Few, compared with the rows to sort afterwards.
const LOOK_AHEAD: usize = 1 << 12;

/// With fewer steps than this between rows of the same key, a look ahead uses the steps between all
/// rows.
const LEAST_STEPS: usize = 64;

/// Rows count as shuffled if more than one step in `ORDERLY` goes back further than a session
/// reaches.
const ORDERLY: usize = 4;

/// Whether rows come so far out of order that sorting many of them first pays off.
#[derive(Debug, Default)]
pub struct Disorder {
    /// None until the first look ahead.
    shuffled: Option<bool>,
}

impl Disorder {
    /// Whether no rows were looked at so far.
    pub fn is_unknown(&self) -> bool {
        self.shuffled.is_none()
    }

    /// Whether to sort the rows first.
    pub fn is_shuffled(&self) -> bool {
        self.shuffled == Some(true)
    }

    /// Looks at the next rows and checks whether the rows of a key often go back further than a
    /// session reaches. If few keys repeat, treats all rows as rows of one key.
    pub fn look_ahead(&mut self, rows: impl Iterator<Item = (KeyId, Extent)>) {
        let (mut of_keys, mut of_all) = (Steps::default(), Steps::default());
        let (mut ends, mut last) = (Vec::new(), None);
        for (KeyId(key), row) in rows.take(LOOK_AHEAD) {
            let key = key as usize;
            if key >= ends.len() {
                ends.resize(key + 1, None);
            }
            if let Some(end) = ends.get_mut(key) {
                of_keys.count(*end, row);
                *end = Some(row.end);
            }
            of_all.count(last, row);
            last = Some(row.end);
        }
        let steps = if of_keys.all < LEAST_STEPS {
            of_all
        } else {
            of_keys
        };
        self.shuffled = Some(steps.back > steps.all / ORDERLY);
    }

    /// Reviews the choice after [`REVIEW_ROWS`] rows joined one by one. `back` of them opened a
    /// session before their key's open one.
    pub(super) fn review(&mut self, back: usize) {
        self.shuffled = Some(back > REVIEW_ROWS / ORDERLY);
    }
}

/// The steps from one row to the next.
#[derive(Default)]
struct Steps {
    all: usize,
    /// Steps that go back further than the row reaches.
    back: usize,
}

impl Steps {
    fn count(&mut self, from: Option<Time>, to: Extent) {
        let Some(from) = from else { return };
        self.all += 1;
        self.back += usize::from(to.reach < from);
    }
}

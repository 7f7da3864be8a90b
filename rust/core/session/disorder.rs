//! How far the rows of a key come out of order. It decides how sessions are built, which changes the
//! speed and never the result.
//!
//! ```text
//!   rows of a key, in order    1 2 3 4 5 6      joined one by one
//!   rows of a key, shuffled    4 1 6 2 5 3      sorted by key and time first, so that each session is built in
//!                                               one go and not joined from pieces
//! ```
//!
//! For rows in order, sorting costs more than it saves. The benchmark `sessions` measures both: its
//! ids end with the order of the input.

use crate::core::key::KeyId;
use crate::core::time::Time;
use crate::core::window::Extent;

/// After so many rows that are joined one by one, the choice is reviewed.
pub(super) const REVIEW_ROWS: usize = 4096;

/// The number of rows that a look ahead sees. It is small compared with the rows that are then sorted.
const LOOK_AHEAD: usize = 1 << 14;

/// With fewer steps between rows of the same key, a look ahead judges by the steps between all rows.
const LEAST_STEPS: usize = 64;

/// Rows are shuffled if more than one in so many goes back further than a session reaches.
const ORDERLY: usize = 4;

/// Whether rows come so far out of order that it pays to sort many of them first.
#[derive(Debug, Default)]
pub struct Disorder {
    shuffled: bool,
}

impl Disorder {
    /// Whether rows are better sorted first.
    pub fn is_shuffled(&self) -> bool {
        self.shuffled
    }

    /// Looks at the first of the next rows: do the rows of a key often go back further than a session
    /// reaches? If few keys come twice, all rows count as rows of one key.
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
        self.shuffled = steps.back > steps.all / ORDERLY;
    }

    /// Reviews [`REVIEW_ROWS`] rows that were joined one by one, of which `back` opened a session
    /// that starts before the one their key had open.
    pub(super) fn review(&mut self, back: usize) {
        self.shuffled = back > REVIEW_ROWS / ORDERLY;
    }
}

/// The steps from one row to the next.
#[derive(Default)]
struct Steps {
    all: usize,
    /// Those that go back further than the row reaches.
    back: usize,
}

impl Steps {
    fn count(&mut self, from: Option<Time>, to: Extent) {
        let Some(from) = from else { return };
        self.all += 1;
        self.back += usize::from(to.reach < from);
    }
}

//! How far out of order the rows of keys come: a choice of speed, on which no answer depends.
//!
//! ```text
//!   rows of a key, in order    1 2 3 4 5 6      joined one by one, as they come
//!   rows of a key, shuffled    4 1 6 2 5 3      sorted by key and time first: each session is built in one go,
//!                                               not in pieces that are to be joined later
//! ```
//!
//! Sorting costs more where rows come in order. What the choices bring is seen in the benchmark
//! `sessions`, whose ids end with the order of the input.

use crate::core::key::KeyId;
use crate::core::time::Time;
use crate::core::window::Extent;

/// Rows that are joined one by one before it is reviewed whether that still pays.
pub(super) const REVIEW_ROWS: usize = 4096;

/// Rows that a look ahead sees: few beside those that are then sorted.
const LOOK_AHEAD: usize = 1 << 14;

/// RowOrder between rows of one key that are too few to judge by: keys with less than two rows in a
/// look ahead are judged by the steps between all rows.
const LEAST_STEPS: usize = 64;

/// One in so many rows that goes back, further than a session reaches, is disorder.
const ORDERLY: usize = 4;

/// Whether rows come so far out of order that many at once are better sorted first.
#[derive(Debug, Default)]
pub struct Disorder {
    shuffled: bool,
}

impl Disorder {
    /// Whether rows are better sorted first.
    pub fn is_shuffled(&self) -> bool {
        self.shuffled
    }

    /// Looks at the first of the rows to come: whether those of a key go back again and again,
    /// further than a session reaches. Where keys hardly come again so soon, whether the rows do so
    /// one after the other.
    pub fn look_ahead(&mut self, rows: impl Iterator<Item = (KeyId, Extent)>) {
        let (mut of_keys, mut of_all) = (RowOrder::default(), RowOrder::default());
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

/// RowOrder from one row to the next.
#[derive(Default)]
struct RowOrder {
    all: usize,
    /// Further back than the row reaches.
    back: usize,
}

impl RowOrder {
    fn count(&mut self, from: Option<Time>, to: Extent) {
        let Some(from) = from else { return };
        self.all += 1;
        self.back += usize::from(to.reach < from);
    }
}

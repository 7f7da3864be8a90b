//! What is stored in later segments, and the sessions that go on in it.

use super::rows_by_key::RowsByKey;
use super::run_page::RunPage;
use crate::batch::session_groups::SessionColumns;
use crate::batch::sessions::SessionTable;
use crate::core::error::Result;
use crate::core::key::KeyId;
use crate::core::window::Extent;

/// The spans of sessions that are stored in a later segment.
pub(super) struct LaterSessions {
    segment: i64,
    pub keys: Vec<KeyId>,
    pub spans: Vec<Extent>,
}

impl LaterSessions {
    /// Those of pages, or of pages of indexes; their keys get numbers.
    pub fn read(pages: &[&RunPage], sessions: &mut SessionTable) -> Result<Vec<Self>> {
        let later = pages.iter().map(|page| {
            Ok(Self {
                segment: page.name.id.segment,
                keys: sessions.intern(page.keys())?,
                spans: page.spans()?,
            })
        });
        later.collect()
    }
}

/// Carries the sessions of the segments up to `last` to the segments in which something goes on from
/// them. `segments` are those of their reaches.
pub(super) fn carry(
    sessions: &SessionColumns,
    last: i64,
    stored: &[LaterSessions],
    segments: &mut [i64],
) {
    if stored.is_empty() {
        return;
    }
    let opened = (0..)
        .zip(&*segments)
        .filter(|&(_, &segment)| segment <= last);
    let opened = RowsByKey::new(&sessions.keys, opened.map(|(row, _)| row));
    for later in stored {
        for (&key, span) in later.keys.iter().zip(&later.spans) {
            for row in opened.of(key) {
                let joins = sessions.extents.get(row).is_some_and(|own| own.joins(span));
                if let (true, Some(segment)) = (joins, segments.get_mut(row)) {
                    *segment = later.segment.max(*segment);
                }
            }
        }
    }
}

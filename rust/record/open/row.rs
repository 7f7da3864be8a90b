//! The column `state` in a table of open windows: the bytes of one row.
//!
//! | bytes | content |
//! |---|---|
//! | 2 | `WR` |
//! | 1 | the version of the format |
//! | 1 | the kind of the row: 0 is the clock row, 1 a window |
//! | 8 | the checksum, little-endian |
//! | all others | the payload |
//!
//! The checksum is the xxh3-64 of the first four bytes, the row's key and window, and the payload.
//! So a state that was damaged, or moved to another row, is never read.

use xxhash_rust::xxh3::Xxh3;

/// The version of the format. Other versions are refused.
pub(crate) const VERSION: u8 = 1;
const MARK: [u8; 2] = *b"WR";
/// The number of bytes before the checksum.
const HEAD: usize = 4;
/// The number of bytes before the payload.
const PREFIX: usize = HEAD + 8;

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    /// The clock row. A table has one.
    Clock,
    /// A window, or what later sliding windows need of one that is closed.
    Window,
}

impl RowKind {
    fn number(self) -> u8 {
        match self {
            Self::Clock => 0,
            Self::Window => 1,
        }
    }
}

/// The columns of the row that a state belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenRow<'r> {
    /// The sort key; empty for the clock row.
    pub key: &'r [u8],
    /// The first of its times: the start of its window, or the time of the clock row.
    pub start: Option<i64>,
    /// The end of its window.
    pub end: Option<i64>,
}

/// The bytes of a row, taken apart. Its checksum is not compared yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenState<'b> {
    pub kind: RowKind,
    pub checksum: u64,
    payload: &'b [u8],
}

/// Writes the state of a row. Returns its checksum with the bytes.
pub(crate) fn seal(kind: RowKind, columns: OpenRow<'_>, payload: &[u8]) -> (u64, Vec<u8>) {
    let checksum = checksum(kind, columns, payload);
    let mut bytes = Vec::with_capacity(PREFIX + payload.len());
    bytes.extend(head(kind));
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(payload);
    (checksum, bytes)
}

impl<'b> OpenState<'b> {
    /// Takes the bytes of a row apart.
    pub(crate) fn read(bytes: &'b [u8]) -> Result<Self, String> {
        let damaged = || "its `state` is damaged or cut off".to_owned();
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or_else(damaged)?;
        let (checksum, payload) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
        let &[first, second, version, kind] = head;
        if [first, second] != MARK {
            return Err("its `state` was not written by windrow, or is damaged".into());
        }
        if version != VERSION {
            return Err(format!(
                "its `state` has format {version}, and this version of windrow reads format {VERSION}"
            ));
        }
        let kinds = [RowKind::Clock, RowKind::Window];
        let kind = kinds.into_iter().find(|each| each.number() == kind);
        Ok(Self {
            kind: kind.ok_or_else(damaged)?,
            checksum: u64::from_le_bytes(*checksum),
            payload,
        })
    }

    /// The payload, which may be damaged.
    pub(crate) fn unchecked(&self) -> &'b [u8] {
        self.payload
    }

    /// The payload, if the state belongs to a row of these columns.
    pub(crate) fn payload(&self, columns: OpenRow<'_>) -> Result<&'b [u8], String> {
        if checksum(self.kind, columns, self.payload) == self.checksum {
            return Ok(self.payload);
        }
        Err(match self.kind {
            RowKind::Clock => "its `stream_time` or its `state` was changed",
            RowKind::Window => "its key, its window or its `state` was changed",
        }
        .into())
    }
}

fn head(kind: RowKind) -> [u8; HEAD] {
    let [first, second] = MARK;
    [first, second, VERSION, kind.number()]
}

fn checksum(kind: RowKind, columns: OpenRow<'_>, payload: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&head(kind));
    hash.update(&(columns.key.len() as u64).to_le_bytes());
    hash.update(columns.key);
    for time in [columns.start, columns.end] {
        hash.update(&[u8::from(time.is_some())]);
        hash.update(&time.unwrap_or_default().to_le_bytes());
    }
    hash.update(payload);
    hash.digest()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn columns() -> OpenRow<'static> {
        OpenRow {
            key: b"ann",
            start: Some(1),
            end: Some(5),
        }
    }

    #[test]
    fn a_state_belongs_to_its_own_row_only() {
        let (_, bytes) = seal(RowKind::Window, columns(), b"payload");
        let state = OpenState::read(&bytes).unwrap();
        assert_eq!(state.payload(columns()).unwrap(), b"payload");
        for other in [
            OpenRow {
                key: b"bob",
                ..columns()
            },
            OpenRow {
                start: Some(2),
                ..columns()
            },
            OpenRow {
                start: None,
                ..columns()
            },
            OpenRow {
                end: Some(6),
                ..columns()
            },
        ] {
            assert!(state.payload(other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn another_version_is_named() {
        let (_, mut bytes) = seal(RowKind::Clock, columns(), b"");
        bytes[2] = VERSION + 1;
        let reason = OpenState::read(&bytes).unwrap_err();
        assert!(reason.contains("format 2"), "{reason}");
    }

    /// Whether damaged bytes are read as if they were whole.
    fn is_read(bytes: &[u8]) -> bool {
        OpenState::read(bytes).is_ok_and(|state| state.payload(columns()).is_ok())
    }

    proptest! {
        #![proptest_config(crate::core::tests::cases::usually(2_000))]
        #[test]
        fn damaged_bytes_are_never_read(
            payload in prop::collection::vec(any::<u8>(), 0..80),
            flips in prop::collection::vec((any::<prop::sample::Index>(), 0..8_u32), 250),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 5),
            random in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let (_, whole) = seal(RowKind::Window, columns(), &payload);
            prop_assert!(is_read(&whole));
            let mut damaged = whole.clone();
            for (place, bit) in flips {
                damaged[place.index(whole.len())] ^= 1 << bit;
                prop_assert_eq!(is_read(&damaged), damaged == whole);
            }
            for cut in cuts {
                prop_assert!(!is_read(&whole[..cut.index(whole.len())]));
            }
            prop_assert!(!is_read(&random));
        }
    }
}

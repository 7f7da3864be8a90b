//! The keys of a segment whose windows have changed.

/// Bytes of keys above which all keys count as changed.
const MOST_BYTES: usize = 1 << 18;

/// What a key takes beside its own bytes, about.
const ENTRY_BYTES: usize = 64;

/// The keys of a segment whose windows have changed: few of them by name, or all.
#[derive(Clone, Debug)]
pub struct ChangedKeys {
    /// Some of them more than once; none where all count as changed.
    names: Option<Vec<Box<[u8]>>>,
    bytes: usize,
}

impl ChangedKeys {
    /// All keys.
    pub(super) const ALL: Self = Self {
        names: None,
        bytes: 0,
    };

    /// No keys.
    pub(super) const NONE: Self = Self {
        names: Some(Vec::new()),
        bytes: 0,
    };

    /// Adds a key. Whether all count as changed now.
    pub(super) fn add(&mut self, name: &[u8]) -> bool {
        let last = self.names.as_ref().and_then(|names| names.last());
        if last.is_some_and(|last| last.as_ref() == name) {
            return false;
        }
        self.bytes = self.bytes.saturating_add(name.len() + ENTRY_BYTES);
        match &mut self.names {
            Some(names) if self.bytes <= MOST_BYTES => names.push(name.into()),
            _ => *self = Self::ALL,
        }
        self.names.is_none()
    }

    /// The keys, some of them more than once; none where all count as changed.
    pub fn names(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let names = self.names.as_ref()?;
        Some(names.iter().map(AsRef::as_ref))
    }
}

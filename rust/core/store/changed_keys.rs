//! The changed keys of a segment.

/// Above this many bytes of keys, all keys count as changed.
const MOST_BYTES: usize = 1 << 18;

/// The approximate bytes that a key takes in addition to its own.
const ENTRY_BYTES: usize = 64;

/// The keys of a segment whose windows changed: a few by name, or all.
#[derive(Clone, Debug)]
pub struct ChangedKeys {
    /// The names, possibly repeated. `None` if all keys count as changed.
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

    /// Adds a key. Returns whether all keys count as changed from now on.
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

    /// The names, possibly repeated. `None` if all keys count as changed.
    pub fn names(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let names = self.names.as_ref()?;
        Some(names.iter().map(AsRef::as_ref))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(keys: &ChangedKeys) -> Option<Vec<&[u8]>> {
        keys.names().map(Iterator::collect)
    }

    #[test]
    fn few_keys_have_names_and_many_are_all() {
        let mut keys = ChangedKeys::NONE;
        assert_eq!(names(&keys), Some(vec![]));
        for name in [b"a", b"a", b"b"] {
            assert!(!keys.add(name));
        }
        assert_eq!(names(&keys), Some(vec![b"a".as_slice(), b"b"]));
        let rest = vec![b'c'; MOST_BYTES - keys.bytes - ENTRY_BYTES];
        let mut full = keys.clone();
        assert!(!full.add(&rest));
        assert_eq!(names(&full), Some(vec![b"a".as_slice(), b"b", &rest]));
        assert!(keys.add(&[rest, vec![b'c']].concat()));
        assert_eq!(names(&keys), None);
        assert!(full.add(b""));
    }
}

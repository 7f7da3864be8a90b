//! Aggregates over strings that show their fold order: the ones of the recorded runs.

use crate::core::aggregate::slot::Slot;
use crate::core::aggregate::states::States;
use crate::core::error::Result;
use crate::core::window::Window;

/// How values are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    /// `"0"`, then `agg + "+" + value`, merged as `(a|b)`.
    Text,
    /// As `Text`; the value `DEL` makes the aggregate null.
    Nullable,
    /// The number of records.
    Count,
    /// The first value, then `a + "+" + b`.
    Reduce,
}

/// A value and the sign that its input appends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    pub(crate) text: Option<&'a str>,
    pub(crate) sign: char,
}

/// One string per slot. Slots that are given back are never read again: reading one panics.
#[derive(Debug)]
pub(crate) struct Texts<'a> {
    fold: Fold,
    slots: Vec<Option<Option<String>>>,
    free: Vec<Slot>,
    values: std::marker::PhantomData<&'a str>,
}

impl Texts<'_> {
    pub(crate) fn new(fold: Fold) -> Self {
        Self {
            fold,
            slots: Vec::new(),
            free: Vec::new(),
            values: std::marker::PhantomData,
        }
    }

    /// Number of slots in use.
    pub(crate) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn text(&self, slot: Slot) -> Option<&str> {
        self.slots[slot.0 as usize]
            .as_ref()
            .expect("the slot is in use")
            .as_deref()
    }

    fn identity(&self) -> Option<String> {
        match self.fold {
            Fold::Text | Fold::Nullable | Fold::Count => Some("0".into()),
            Fold::Reduce => None,
        }
    }

    fn set(&mut self, slot: Slot, text: Option<String>) {
        let place = &mut self.slots[slot.0 as usize];
        assert!(place.is_some(), "the slot is in use");
        *place = Some(text);
    }
}

impl<'a> States for Texts<'a> {
    type Row = Value<'a>;

    fn allocate(&mut self) -> Result<Slot> {
        let identity = Some(self.identity());
        if let Some(slot) = self.free.pop() {
            self.slots[slot.0 as usize] = identity;
            return Ok(slot);
        }
        self.slots.push(identity);
        Ok(Slot(self.slots.len() as u32 - 1))
    }

    fn release(&mut self, slot: Slot) {
        assert!(
            self.slots[slot.0 as usize].take().is_some(),
            "the slot is in use"
        );
        self.free.push(slot);
    }

    fn update(&mut self, slot: Slot, row: Value<'a>, _window: Window) -> Result<()> {
        let (old, new) = (self.text(slot), row.text.unwrap_or("null"));
        let text = match (self.fold, old) {
            (Fold::Nullable, _) if new == "DEL" => None,
            (Fold::Count, old) => Some((old.unwrap().parse::<u64>().unwrap() + 1).to_string()),
            (Fold::Reduce, None) => row.text.map(String::from),
            (Fold::Reduce, Some(old)) => Some(format!("{old}+{new}")),
            (_, old) => Some(format!("{}{}{new}", old.unwrap_or("null"), row.sign)),
        };
        self.set(slot, text);
        Ok(())
    }

    fn merge(&mut self, into: Slot, from: Slot, _window: Window) -> Result<()> {
        let text = match (self.fold, self.text(into), self.text(from)) {
            (Fold::Count, a, b) => Some(
                (a.unwrap().parse::<u64>().unwrap() + b.unwrap().parse::<u64>().unwrap())
                    .to_string(),
            ),
            (Fold::Reduce, None, b) => b.map(String::from),
            (Fold::Reduce, Some(a), b) => Some(format!("{a}+{}", b.unwrap_or("null"))),
            (_, a, b) => Some(format!("({}|{})", a.unwrap_or("null"), b.unwrap_or("null"))),
        };
        self.set(into, text);
        Ok(())
    }

    fn copy(&mut self, to: Slot, from: Slot) -> Result<()> {
        let text = self.text(from).map(String::from);
        self.set(to, text);
        Ok(())
    }

    fn is_null(&self, slot: Slot) -> bool {
        self.text(slot).is_none()
    }
}

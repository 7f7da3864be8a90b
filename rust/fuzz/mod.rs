//! What reads bytes, as the targets of a fuzzer: `make fuzz`. A target seals damaged bytes anew, so
//! that their checksum is right, and reads them. Nothing may then panic, and what is written of
//! what was read must come back the same.
//!
//! | file | targets | bytes |
//! |---|---|---|
//! | `pages` | `pages`, `heads` | a page of a saved state; the JSON of its head |
//! | `blocks` | `blocks`, `changes` | a block of a shuffle; a block of changes |
//! | `open_rows` | `rows`, `clocks` | the payload of a row in a table of open windows; the JSON of its clock row |
//! | `specs` | `specs` | a query as JSON |
//! | `queries` | | the queries of these targets, and their saved states |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "what panics here ends the fuzzer, which then says so"
)]

mod blocks;
mod open_rows;
mod pages;
mod queries;
mod specs;

#[cfg(test)]
pub(crate) use open_rows::plain;

/// Something that reads bytes.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads bytes. Whether they were read, and not refused by an error.
    pub read: fn(&[u8]) -> bool,
    /// Bytes that are read, to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All targets.
pub const TARGETS: [Target; 7] = [
    Target {
        name: "pages",
        read: pages::read_page,
        seeds: pages::pages,
    },
    Target {
        name: "heads",
        read: pages::read_head,
        seeds: pages::heads,
    },
    Target {
        name: "blocks",
        read: blocks::read_block,
        seeds: blocks::blocks,
    },
    Target {
        name: "changes",
        read: blocks::read_changes,
        seeds: blocks::changes,
    },
    Target {
        name: "rows",
        read: open_rows::read_row,
        seeds: open_rows::rows,
    },
    Target {
        name: "clocks",
        read: open_rows::read_clock,
        seeds: open_rows::clocks,
    },
    Target {
        name: "specs",
        read: specs::read_spec,
        seeds: specs::specs,
    },
];

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    static SEEDS: LazyLock<Vec<Vec<Vec<u8>>>> =
        LazyLock::new(|| TARGETS.iter().map(|target| (target.seeds)()).collect());

    #[test]
    fn each_target_reads_its_seeds() {
        for (target, seeds) in TARGETS.iter().zip(&*SEEDS) {
            assert!(seeds.len() >= 7, "{}", target.name);
            for (nth, seed) in seeds.iter().enumerate() {
                assert!((target.read)(seed), "{} {nth}", target.name);
            }
        }
    }

    /// Each character of an input is a byte.
    #[test]
    fn inputs_that_once_failed_are_refused() {
        let lines = include_str!("../../tests/vectors/fuzz.jsonl").lines();
        assert!(lines.clone().count() >= 4);
        for line in lines {
            let line: Value = serde_json::from_str(line).unwrap();
            let target = TARGETS.iter().find(|target| line["target"] == target.name);
            let characters = line["input"].as_str().unwrap().chars();
            let input = characters.map(|byte| u8::try_from(u32::from(byte)).unwrap());
            let is_read = (target.unwrap().read)(&input.collect::<Vec<u8>>());
            assert!(!is_read, "{}", line["why"]);
        }
    }

    proptest! {
        #![proptest_config(crate::core::tests::cases::usually(512))]

        #[test]
        fn damage_under_a_true_checksum_is_no_panic(target in 0..TARGETS.len(), seed in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 1..9)) {
            let mut damaged = seed.get(&SEEDS[target]).clone();
            let at = at.index(damaged.len() - bytes.len());
            damaged[at..at + bytes.len()].copy_from_slice(&bytes);
            (TARGETS[target].read)(&damaged);
        }
    }
}

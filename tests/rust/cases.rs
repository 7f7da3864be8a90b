//! How many cases a property is tried with.

use proptest::prelude::ProptestConfig;

/// The number that `PROPTEST_CASES` asks for, in proportion: `usual` where it is not set and others are tried 256 times.
pub(crate) fn usually(usual: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let cases = u64::from(asked.cases) * u64::from(usual) / 256;
    ProptestConfig { cases: u32::try_from(cases.max(1)).unwrap(), ..asked }
}

/// The same for a property whose cases take seconds: never more than twice `usual`.
pub(crate) fn costly(usual: u32) -> ProptestConfig {
    let asked = usually(usual);
    ProptestConfig { cases: asked.cases.min(2 * usual), ..asked }
}

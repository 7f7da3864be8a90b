//! How many cases a property is tried with. The variable of proptest itself would overrule what
//! each property asks for.

use std::env;

use proptest::prelude::ProptestConfig;

/// `usual` cases, or in proportion as many as `SOAK_CASES` asks for where others are tried 256
/// times.
pub(crate) fn usually(usual: u32) -> ProptestConfig {
    let asked = env::var("SOAK_CASES").map_or(256, |cases| cases.parse().unwrap());
    let cases = asked * u64::from(usual) / 256;
    // However many are tried, none is too many to be passed over.
    ProptestConfig {
        cases: u32::try_from(cases.max(1)).unwrap(),
        max_global_rejects: u32::MAX,
        ..ProptestConfig::default()
    }
}

/// The same for a property whose cases take seconds: never more than twice `usual`.
pub(crate) fn costly(usual: u32) -> ProptestConfig {
    let asked = usually(usual);
    ProptestConfig {
        cases: asked.cases.min(2 * usual),
        ..asked
    }
}

//! How many cases a property is tried with. The variable of proptest itself would overrule what
//! each property asks for.

use std::env;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// `usual` cases, the same at each run, or in proportion as many random ones as `SOAK_CASES` asks
/// for where others are tried 256 times.
pub(crate) fn usually(usual: u32) -> ProptestConfig {
    let soak: Option<u64> = env::var("SOAK_CASES")
        .ok()
        .map(|cases| cases.parse().unwrap());
    let cases = soak.unwrap_or(256) * u64::from(usual) / 256;
    // However many are tried, none is too many to be passed over.
    ProptestConfig {
        cases: u32::try_from(cases.max(1)).unwrap(),
        max_global_rejects: u32::MAX,
        rng_seed: soak.map_or(RngSeed::Fixed(0), |_| RngSeed::Random),
        ..ProptestConfig::default()
    }
}

/// The same for a property whose cases take seconds: never more than 16 times `usual`.
pub(crate) fn costly(usual: u32) -> ProptestConfig {
    let config = usually(usual);
    ProptestConfig {
        cases: config.cases.min(16 * usual),
        ..config
    }
}

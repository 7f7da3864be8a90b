//! How records in no window come back (rules 6.13), as part of a query in JSON.

use serde::{Deserialize, Serialize};

/// How records in no window come back. The operator says which they are. The caller has their columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOutSpec {
    /// The names of the columns that come back, and where the input has them.
    pub record: Vec<(String, String)>,
    /// How many columns of the input windows need. Those that only come back follow.
    pub columns: u32,
    /// The names of the inputs of a cogroup.
    pub inputs: Vec<String>,
}

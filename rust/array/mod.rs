//! Arrow arrays and the columns of the core.
//!
//! | file | noun |
//! |---|---|
//! | [`convert`] | arrays to columns of the core |
//! | [`result_array`] | columns of the core to arrays |
//! | `named` | columns by their names, and batches without |
//! | `validate` | whether an array holds what Arrow promises |
//! | [`dictionary`] | types with dictionaries replaced by their values |
//! | `type_name` | types by the names that pyarrow gives them |
//! | `comparable` | types whose values can be compared |
//! | `zero_width` | types whose values take no bytes |
//! | `canonical_float` | floats with one NaN and one zero |
//! | `halves` | rows that do not fit one array, in halves |
//! | `hidden_nulls` | nulls that a null struct hides |
//! | `value_bytes` | how many bytes values take where they are copied |

pub(crate) mod canonical_float;
pub(crate) mod comparable;
pub mod convert;
pub mod dictionary;
pub(crate) mod halves;
pub(crate) mod hidden_nulls;
pub(crate) mod named;
pub mod result_array;
pub(crate) mod type_name;
pub(crate) mod validate;
pub(crate) mod value_bytes;
pub(crate) mod zero_width;

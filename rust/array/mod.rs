//! Arrow arrays, and which of them aggregates take.
//!
//! | file | contents |
//! |---|---|
//! | [`convert`] | makes the arrays that aggregates take |
//! | [`result_array`] | converts results to the types that users see |
//! | `named` | finds columns by name; batches without column names |
//! | `validate` | checks that an array is valid |
//! | [`dictionary`] | replaces dictionary types with the types of their values |
//! | `nested` | the types inside a type |
//! | `true_values` | which values of a boolean array are true |
//! | `type_name` | types as pyarrow names them |
//! | `compact` | arrays that hold on to no values of other rows |
//! | `comparable` | which types have comparable values |
//! | `zero_width` | types whose values take no bytes |
//! | `canonical_float` | makes NaN and zero unique |
//! | `halves` | splits rows that do not fit one array |
//! | `hidden_nulls` | removes nulls that are hidden by a null struct |
//! | `untrusted` | reads bytes that may be damaged |
//! | `value_bytes` | how many bytes copied values take |

pub(crate) mod canonical_float;
pub(crate) mod compact;
pub(crate) mod comparable;
pub(crate) mod convert;
pub(crate) mod dictionary;
pub(crate) mod halves;
pub(crate) mod hidden_nulls;
pub(crate) mod named;
pub(crate) mod nested;
pub(crate) mod result_array;
pub(crate) mod true_values;
pub(crate) mod type_name;
pub(crate) mod untrusted;
pub(crate) mod validate;
pub(crate) mod value_bytes;
pub(crate) mod zero_width;

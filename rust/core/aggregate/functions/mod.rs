//! The aggregate functions, one file for each family: signature, result type, options and states.
//!
//! | file | functions |
//! |---|---|
//! | [`count`] | `count` |
//! | [`sum`], [`mean`], [`product`] | `sum`, `mean`, `product` |
//! | [`min_max`], [`min_max_by`] | `min`, `max`, `bool_and`, `bool_or`; `min_by`, `max_by` |
//! | [`first_last`] | `first`, `last`, `any_value` |
//! | [`bits`] | `bit_and`, `bit_or`, `bit_xor` |
//! | [`variance`] | `variance`, `var_pop`, `stddev`, `stddev_pop` |
//! | [`central_moments`] | `skewness`, `kurtosis` |
//! | [`covariance`] | `covar_pop`, `covar_samp`, `corr` |
//! | [`percentile`], [`approx_percentile`] | `percentile`, `median`; `approx_percentile` |
//! | [`count_distinct`], [`approx_count_distinct`] | `count_distinct`; `approx_count_distinct` |
//! | [`sum_distinct`] | `sum_distinct` |
//! | [`mode`], [`top_k`] | `mode`, `top_k` |
//! | [`histogram_numeric`] | `histogram_numeric` |
//! | [`collect_list`], [`collect_set`] | `collect_list`, `collect_set` |
//! | [`funnel`], [`path`] | `funnel`, `funnel_times`; `path` |
//! | [`active_time`] | `active_time`, `active_runs` |

use super::function::AggregateFunction;

pub(crate) mod active_time;
pub(crate) mod approx_count_distinct;
pub(crate) mod approx_percentile;
pub(crate) mod bits;
pub(crate) mod central_moments;
pub(crate) mod collect_list;
pub(crate) mod collect_set;
pub mod count;
pub(crate) mod count_distinct;
pub(crate) mod covariance;
pub(crate) mod first_last;
pub(crate) mod funnel;
pub(crate) mod histogram_numeric;
pub(crate) mod mean;
pub mod min_max;
pub(crate) mod min_max_by;
pub(crate) mod mode;
pub(crate) mod path;
pub(crate) mod percentile;
pub(crate) mod product;
pub mod sum;
pub(crate) mod sum_distinct;
pub(crate) mod top_k;
pub(crate) mod variance;

/// All functions.
pub static FUNCTIONS: &[&AggregateFunction] = &[
    &count::COUNT,
    &sum::SUM,
    &mean::MEAN,
    &min_max::MIN,
    &min_max::MAX,
    &first_last::FIRST,
    &first_last::LAST,
    &first_last::ANY_VALUE,
    &variance::STDDEV,
    &variance::STDDEV_POP,
    &variance::VARIANCE,
    &variance::VAR_POP,
    &collect_list::COLLECT_LIST,
    &collect_set::COLLECT_SET,
    &min_max_by::MIN_BY,
    &min_max_by::MAX_BY,
    &min_max::BOOL_AND,
    &min_max::BOOL_OR,
    &bits::BIT_AND,
    &bits::BIT_OR,
    &bits::BIT_XOR,
    &product::PRODUCT,
    &count_distinct::COUNT_DISTINCT,
    &sum_distinct::SUM_DISTINCT,
    &percentile::MEDIAN,
    &percentile::PERCENTILE,
    &mode::MODE,
    &central_moments::SKEWNESS,
    &central_moments::KURTOSIS,
    &covariance::COVAR_POP,
    &covariance::COVAR_SAMP,
    &covariance::CORR,
    &approx_count_distinct::APPROX_COUNT_DISTINCT,
    &approx_percentile::APPROX_PERCENTILE,
    &top_k::TOP_K,
    &histogram_numeric::HISTOGRAM_NUMERIC,
    &funnel::FUNNEL,
    &funnel::FUNNEL_TIMES,
    &path::PATH,
    &active_time::ACTIVE_TIME,
    &active_time::ACTIVE_RUNS,
];

/// The function of this name.
pub fn by_name(name: &str) -> Option<&'static AggregateFunction> {
    FUNCTIONS
        .iter()
        .copied()
        .find(|function| function.name == name)
}

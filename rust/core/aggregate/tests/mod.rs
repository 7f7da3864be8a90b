//! Tests of this room.

mod accumulators;
mod activity;
mod approx;
mod batch_states;
mod choices;
mod collections;
mod frequencies;
mod input_rows;
mod journeys;
mod laws;
mod products;
mod row_filter;
mod shape;
mod sums;
pub(crate) mod trial;
mod values;
mod variance;

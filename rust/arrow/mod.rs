//! Arrow in and out. The only room, beside the binding, that names Arrow.

pub mod block;
mod function;
mod grouping;
pub mod input;
pub mod job;
pub mod keys;
pub mod limits;
pub mod pack;
pub mod query;
mod run;
mod session;
mod sliding;
pub mod spec;
mod states;
pub mod values;

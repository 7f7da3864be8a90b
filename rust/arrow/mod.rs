//! Arrow in and out. The only room, beside the binding, that names Arrow.

pub mod block;
pub mod changes;
pub mod custom;
pub mod feed;
pub mod fingerprint;
mod function;
mod gaps;
mod grouping;
pub mod input;
pub mod job;
pub mod keys;
pub mod limits;
pub mod operator;
pub mod pack;
pub mod page;
mod parts;
pub mod query;
pub mod rows;
mod run;
pub mod sealed;
pub mod select;
mod session;
mod sliding;
pub mod spec;
mod state;
pub mod values;
pub mod worked;

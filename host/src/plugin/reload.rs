//! The one task that swaps. (The task itself follows; so far the journal's lines and the settling of files.)

pub mod journal;
pub mod settle;

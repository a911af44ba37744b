//! All SQL. One function for each question, named as the question; it returns domain types, never rows.
//!
//! SQLite today. The only room that knows which database it is; nothing outside may assume one process, but
//! `changes::overlay`, which says so.

pub mod model;

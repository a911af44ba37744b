//! tours

//! following

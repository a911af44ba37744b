//! changing

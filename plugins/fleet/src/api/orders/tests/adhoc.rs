//! adhoc

//! deleting

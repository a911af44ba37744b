//! Lists, asked for in every way.

//! Orders as callers use them.

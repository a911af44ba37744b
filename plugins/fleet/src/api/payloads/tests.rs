//! Payloads as callers use them.

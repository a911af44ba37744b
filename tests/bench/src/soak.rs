//! Length of randomised tests: short in `make test`, long in `make soak`.

/// Returns `long` if `TENON_SOAK` is set, as `make soak` does, otherwise `short`.
pub fn rounds(short: usize, long: usize) -> usize {
    if std::env::var_os("TENON_SOAK").is_some() { long } else { short }
}

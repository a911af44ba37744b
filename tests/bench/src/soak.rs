//! How long a proof runs: short in `make test`, long in `make soak`.

/// `TENON_SOAK` is set by `make soak`.
pub fn rounds(short: usize, long: usize) -> usize {
    if std::env::var_os("TENON_SOAK").is_some() { long } else { short }
}

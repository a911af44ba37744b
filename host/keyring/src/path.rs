//! The path of a key below its seed, for example `m/44'/60'/0'/0/7`.
//!
//! Invariant: a path is well-formed. It has at most [`STEPS_MAX`] steps, each below 2^31 and marked as hardened or not.
//! It is parsed and formatted in one spelling, with `'`.

use std::{fmt, str::FromStr};

use crate::KeyringError;

/// Maximum number of steps of a path. BIP-44 has five. BIP-32 allows 255, but each step costs a hash and no wallet uses
/// that many.
pub const STEPS_MAX: usize = 10;

const HARDENED: u32 = 1 << 31;

/// A derivation step: an index, hardened or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step(u32);

impl Step {
    /// Creates a hardened step `index'`, derived from the private key. Returns `None` from 2^31 on.
    pub const fn hardened(index: u32) -> Option<Step> {
        if index < HARDENED { Some(Step(index | HARDENED)) } else { None }
    }

    /// Creates a normal step `index`, derived from the public key. Returns `None` from 2^31 on.
    pub const fn normal(index: u32) -> Option<Step> {
        if index < HARDENED { Some(Step(index)) } else { None }
    }

    pub const fn is_hardened(self) -> bool {
        self.0 >= HARDENED
    }

    /// Returns the encoding that is hashed: big-endian, with the highest bit set if hardened.
    pub(crate) const fn to_bytes(self) -> [u8; 4] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.0 & !HARDENED, if self.is_hardened() { "'" } else { "" })
    }
}

impl FromStr for Step {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Step, KeyringError> {
        let (digits, make): (&str, fn(u32) -> Option<Step>) = match text.strip_suffix('\'') {
            Some(digits) => (digits, Step::hardened),
            None => (text, Step::normal),
        };
        let index: u32 = digits.parse().map_err(|_| KeyringError::Path)?;
        // Only the canonical spelling: no sign, no leading zeros.
        let step = make(index).filter(|_| index.to_string() == digits);
        step.ok_or(KeyringError::Path)
    }
}

/// The steps from a seed to a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// Creates a path of at most [`STEPS_MAX`] steps.
    pub fn new(steps: &[Step]) -> Result<Path, KeyringError> {
        if steps.len() > STEPS_MAX {
            return Err(KeyringError::Path);
        }
        Ok(Path(steps.to_vec()))
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }
}

impl fmt::Display for Path {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("m")?;
        self.0.iter().try_for_each(|step| write!(out, "/{step}"))
    }
}

impl FromStr for Path {
    type Err = KeyringError;

    fn from_str(text: &str) -> Result<Path, KeyringError> {
        let mut parts = text.split('/');
        if parts.next() != Some("m") {
            return Err(KeyringError::Path);
        }
        // Reads one step more than allowed, so that a long string is rejected without being read completely.
        let steps = parts.take(STEPS_MAX + 1).map(str::parse).collect::<Result<Vec<Step>, _>>()?;
        Path::new(&steps)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn path_formats_to_its_input() {
        for text in ["m", "m/0", "m/44'/60'/0'/0/7", "m/2147483647'/2147483647", "m/1/2/3/4/5/6/7/8/9/10"] {
            assert_eq!(text.parse::<Path>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_path_is_rejected() {
        let too_long = format!("m{}", "/0".repeat(STEPS_MAX + 1));
        let wrong =
            ["", "/", "m/", "M/0", "44'", "m/0/", "m//0", "m/-1", "m/+1", "m/ 1", "m/01", "m/0h", "m/0''", "m/'"];
        for text in wrong.into_iter().chain(["m/2147483648", "m/2147483648'", "m/4294967296", "m/0x1", &too_long]) {
            assert_eq!(text.parse::<Path>(), Err(KeyringError::Path), "{text}");
        }
    }

    #[test]
    fn step_index_is_below_2_to_the_31() {
        assert_eq!(Step::hardened(1 << 31), None);
        assert_eq!(Step::normal(1 << 31), None);
        assert_eq!(Step::hardened(0).map(Step::to_bytes), Some([0x80, 0, 0, 0]));
        assert_eq!(Step::normal((1 << 31) - 1).map(Step::to_bytes), Some([0x7f, 0xff, 0xff, 0xff]));
    }

    proptest! {
        #[test]
        fn path_round_trips(steps in prop::collection::vec(any::<u32>().prop_map(Step), 0..=STEPS_MAX)) {
            let path = Path::new(&steps).unwrap();
            prop_assert_eq!(path.to_string().parse::<Path>(), Ok(path));
        }

        #[test]
        fn parsed_path_formats_to_its_input(text in "m?[/0-9'mh]{0,24}") {
            if let Ok(path) = text.parse::<Path>() {
                prop_assert_eq!(path.to_string(), text);
            }
        }
    }
}

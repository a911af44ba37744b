//! Where a key lies below its seed: `m/44'/60'/0'/0/7`.
//!
//! Never derives. A path that exists is well-formed: at most [`STEPS_MAX`] steps, each below 2^31 and marked as hardened
//! or not. It is read from, and written in, one spelling: that with `'`.

use std::{fmt, str::FromStr};

use crate::KeyringError;

/// Steps of a path. BIP-44 has five; BIP-32 could have 255, which nobody uses and which would cost a hash each.
pub const STEPS_MAX: usize = 10;

const HARDENED: u32 = 1 << 31;

/// One step down: an index, hardened or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step(u32);

impl Step {
    /// `index'`: derived from the private key. `None` from 2^31 on.
    pub const fn hardened(index: u32) -> Option<Step> {
        if index < HARDENED { Some(Step(index | HARDENED)) } else { None }
    }

    /// `index`: derived from the public key. `None` from 2^31 on.
    pub const fn normal(index: u32) -> Option<Step> {
        if index < HARDENED { Some(Step(index)) } else { None }
    }

    pub const fn is_hardened(self) -> bool {
        self.0 >= HARDENED
    }

    /// As it goes into the hash: big-endian, the highest bit says hardened.
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
        // One spelling: no sign, no leading zeros.
        let step = make(index).filter(|_| index.to_string() == digits);
        step.ok_or(KeyringError::Path)
    }
}

/// The steps from a seed to a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// The path of these steps; refused above [`STEPS_MAX`].
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
        // One more than allowed is read, so that a long text is refused without being read through.
        let steps = parts.take(STEPS_MAX + 1).map(str::parse).collect::<Result<Vec<Step>, _>>()?;
        Path::new(&steps)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_written_as_it_was_read() {
        for text in ["m", "m/0", "m/44'/60'/0'/0/7", "m/2147483647'/2147483647", "m/1/2/3/4/5/6/7/8/9/10"] {
            assert_eq!(text.parse::<Path>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        let too_long = format!("m{}", "/0".repeat(STEPS_MAX + 1));
        let wrong =
            ["", "/", "m/", "M/0", "44'", "m/0/", "m//0", "m/-1", "m/+1", "m/ 1", "m/01", "m/0h", "m/0''", "m/'"];
        for text in wrong.into_iter().chain(["m/2147483648", "m/2147483648'", "m/4294967296", "m/0x1", &too_long]) {
            assert_eq!(text.parse::<Path>(), Err(KeyringError::Path), "{text}");
        }
    }

    #[test]
    fn a_step_ends_where_its_mark_begins() {
        assert_eq!(Step::hardened(1 << 31), None);
        assert_eq!(Step::normal(1 << 31), None);
        assert_eq!(Step::hardened(0).map(Step::to_bytes), Some([0x80, 0, 0, 0]));
        assert_eq!(Step::normal((1 << 31) - 1).map(Step::to_bytes), Some([0x7f, 0xff, 0xff, 0xff]));
    }

    proptest! {
        #[test]
        fn any_path_comes_back(steps in prop::collection::vec(any::<u32>().prop_map(Step), 0..=STEPS_MAX)) {
            let path = Path::new(&steps).unwrap();
            prop_assert_eq!(path.to_string().parse::<Path>(), Ok(path));
        }

        #[test]
        fn any_text_is_a_path_in_its_one_spelling_or_none(text in "m?[/0-9'mh]{0,24}") {
            if let Ok(path) = text.parse::<Path>() {
                prop_assert_eq!(path.to_string(), text);
            }
        }
    }
}

//! References of the client's (spec/wallet: reference): unique in a wallet. A repeat of the same request finds what the first has
//! made; the same reference on another request is refused.

use super::limits::REFERENCE_MADE_CHARS;
use super::refusal::Refusal;

/// A transaction that has this reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub transaction: String,
    /// Of the request that made it: operation, holder, and everything that it asked for.
    pub fingerprint: String,
}

/// What a reference means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    New,
    /// Answered from this transaction; nothing is done.
    Repeat {
        transaction: String,
    },
}

pub fn judge(known: Option<&Known>, fingerprint: &str) -> Result<Meaning, Refusal> {
    match known {
        None => Ok(Meaning::New),
        Some(known) if known.fingerprint == fingerprint => {
            Ok(Meaning::Repeat { transaction: known.transaction.clone() })
        }
        Some(_) => Err(Refusal::ReferenceTaken),
    }
}

/// Ten letters where the client gave none, of randomness that is given.
pub fn make(random: [u8; REFERENCE_MADE_CHARS]) -> String {
    random.into_iter().map(|byte| char::from(b'a' + byte % 26)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_finds_the_first_and_a_difference_is_refused() {
        let known = Known { transaction: "t1".into(), fingerprint: "withdraw 5".into() };
        assert_eq!(judge(None, "withdraw 5"), Ok(Meaning::New));
        assert_eq!(judge(Some(&known), "withdraw 5"), Ok(Meaning::Repeat { transaction: "t1".into() }));
        assert_eq!(judge(Some(&known), "withdraw 6"), Err(Refusal::ReferenceTaken));
    }

    #[test]
    fn a_made_reference_is_ten_letters() {
        let made = make([0, 25, 26, 51, 52, 255, 1, 2, 3, 4]);
        assert_eq!(made, "azazavbcde");
    }
}

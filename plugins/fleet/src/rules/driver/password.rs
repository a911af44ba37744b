//! What a password may be. Long counts for more than mixed: no rule about digits and signs. How it is kept is the
//! border's.

use crate::rules::invalid::Invalid;

pub const CHARS_MIN: usize = 8;
/// Hashing takes as long as the text is.
pub const CHARS_MAX: usize = 128;

/// `own`: the driver's name, email and phone, which are no secrets.
pub fn check(field: &'static str, password: &str, own: &[&str]) -> Result<(), Invalid> {
    let count = password.chars().count();
    if count < CHARS_MIN {
        return Err(Invalid::Not { field, kind: "a password of at least 8 characters" });
    }
    if count > CHARS_MAX {
        return Err(Invalid::TooLong { field, characters_max: CHARS_MAX });
    }
    let first = password.chars().next();
    let is_guessed = own.iter().any(|own| own.eq_ignore_ascii_case(password));
    if is_guessed || password.chars().all(|letter| Some(letter) == first) {
        return Err(Invalid::Not { field, kind: "a password that is not guessed at once" });
    }
    Ok(())
}

/// How a body names a new password and its confirmation.
pub struct Fields {
    pub password: &'static str,
    pub confirmation: &'static str,
    same: &'static str,
}

/// Beside the old one.
pub const CHANGED: Fields =
    Fields { password: "new_password", confirmation: "new_password_confirmation", same: "the same as new_password" };
/// Beside a code.
pub const RESET: Fields =
    Fields { password: "password", confirmation: "password_confirmation", same: "the same as password" };

/// A new one is typed twice. `confirmation`: `None` where the caller leaves it out.
pub fn check_new(
    fields: &Fields,
    password: &str,
    confirmation: Option<&str>,
    own: &[&str],
) -> Result<(), Vec<Invalid>> {
    let mut wrong = Vec::from_iter(check(fields.password, password, own).err());
    if confirmation.is_some_and(|confirmation| confirmation != password) {
        wrong.push(Invalid::Not { field: fields.confirmation, kind: fields.same });
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_long_enough_and_not_guessed_at_once() {
        let own = ["Ada Lovelace", "ada@example.com", "+6591234567"];
        for good in ["correct horse", "12345679", "пароль-пароль", &"ab".repeat(64)] {
            assert_eq!(check("password", good, &own), Ok(()), "{good}");
        }
        for bad in ["", "short", "aaaaaaaaaa", "ADA@example.com", "+6591234567", &"ab".repeat(65)] {
            assert!(check("password", bad, &own).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_new_password_is_typed_twice() {
        assert_eq!(check_new(&CHANGED, "correct horse", Some("correct horse"), &[]), Ok(()));
        assert_eq!(check_new(&CHANGED, "correct horse", None, &[]), Ok(()));
        for fields in [CHANGED, RESET] {
            let wrong = [
                Invalid::Not { field: fields.password, kind: "a password of at least 8 characters" },
                Invalid::Not { field: fields.confirmation, kind: fields.same },
            ];
            assert_eq!(check_new(&fields, "short", Some("shirt"), &[]).unwrap_err(), wrong);
        }
    }
}

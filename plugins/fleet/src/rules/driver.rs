//! Drivers (research/fleet 1.2).

pub mod code;
pub mod device;
pub mod guess;
pub mod identity;
pub mod membership;
pub mod password;
pub mod profile;
pub mod session;

use super::invalid::Invalid;

/// Longest texts of a driver, in characters: four bytes each, they fit an indexed field (512 bytes).
pub const TEXT_CHARS_MAX: usize = 128;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Driver {
    pub name: String,
    /// Lower case: two spellings of an address are one person.
    pub email: String,
    pub phone: String,
    pub status: Status,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    Active,
    #[default]
    Available,
    Inactive,
}

impl Status {
    pub fn name(self) -> &'static str {
        match self {
            Status::Active => "active",
            Status::Available => "available",
            Status::Inactive => "inactive",
        }
    }

    /// Who is inactive does not drive for the organization now: he does not log in, and is offered nothing.
    pub fn drives(self) -> bool {
        self != Status::Inactive
    }

    pub fn of_name(name: &str) -> Result<Status, Invalid> {
        let all = [Status::Active, Status::Available, Status::Inactive];
        let found = all.into_iter().find(|status| status.name() == name);
        found.ok_or(Invalid::NotOneOf { field: "status", allowed: "active, available, inactive" })
    }
}

/// Something, one "@", a host: whether it exists only a message would tell.
pub(super) fn is_email(text: &str) -> bool {
    let mut parts = text.split('@');
    let (local, host) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    !local.is_empty() && !host.is_empty() && parts.next().is_none() && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_email_has_two_sides() {
        assert!(is_email("ada@example.com"));
        for email in ["ada", "@b", "a@", "a@b@c", "a b@c", ""] {
            assert!(!is_email(email), "{email}");
        }
    }

    #[test]
    fn only_known_statuses_are_taken() {
        for status in [Status::Active, Status::Available, Status::Inactive] {
            assert_eq!(Status::of_name(status.name()), Ok(status));
        }
        assert!(matches!(Status::of_name("asleep"), Err(Invalid::NotOneOf { field: "status", .. })));
    }
}

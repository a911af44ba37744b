//! Drivers (research/fleet 1.2, as far as this version carries them).

pub mod code;
pub mod device;
pub mod identity;
pub mod password;
pub mod profile;

use super::invalid::Invalid;

/// Longest texts of a driver, in characters: four bytes each, they fit an indexed field (512 bytes).
pub const TEXT_CHARS_MAX: usize = 128;

/// What a driver is created from, before it is judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applicant {
    pub name: Option<String>,
    pub email: Option<String>,
    pub phone: Option<String>,
    pub status: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
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

    fn of_name(name: &str) -> Result<Status, Invalid> {
        let all = [Status::Active, Status::Available, Status::Inactive];
        let found = all.into_iter().find(|status| status.name() == name);
        found.ok_or(Invalid::NotOneOf { field: "status", allowed: "active, available, inactive" })
    }
}

/// Every fault at once.
pub fn admit(applicant: Applicant) -> Result<Driver, Vec<Invalid>> {
    let mut wrong = Vec::new();
    let name = required("name", applicant.name, &mut wrong);
    let email = required("email", applicant.email, &mut wrong).map(|email| email.to_ascii_lowercase());
    if email.as_deref().is_some_and(|email| !is_email(email)) {
        wrong.push(Invalid::Not { field: "email", kind: "a valid email address" });
    }
    let phone = required("phone", applicant.phone, &mut wrong);
    let status = applicant.status.map_or(Ok(Status::default()), |name| Status::of_name(&name));
    match (name, email, phone, status) {
        (Some(name), Some(email), Some(phone), Ok(status)) if wrong.is_empty() => {
            Ok(Driver { name, email, phone, status })
        }
        (_, _, _, status) => {
            wrong.extend(status.err());
            Err(wrong)
        }
    }
}

fn required(field: &'static str, text: Option<String>, wrong: &mut Vec<Invalid>) -> Option<String> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if text.is_none() {
        wrong.push(Invalid::Required(field));
    }
    text
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

    fn applicant(name: &str, email: &str, phone: &str) -> Applicant {
        let text = |text: &str| Some(text.to_owned());
        Applicant { name: text(name), email: text(email), phone: text(phone), status: None }
    }

    fn faults(applicant: Applicant) -> Vec<Invalid> {
        admit(applicant).unwrap_err()
    }

    #[test]
    fn a_driver_needs_name_email_and_phone() {
        let driver = admit(applicant(" Ada ", "Ada@Example.com", "+65 1")).unwrap();
        assert_eq!(
            (driver.name.as_str(), driver.email.as_str(), driver.status),
            ("Ada", "ada@example.com", Status::Available)
        );
        assert_eq!(faults(Applicant::default()), ["name", "email", "phone"].map(Invalid::Required));
        assert_eq!(faults(applicant("  ", "a@b", "1")), [Invalid::Required("name")]);
    }

    #[test]
    fn an_email_has_two_sides() {
        for email in ["ada", "@b", "a@", "a@b@c", "a b@c"] {
            assert_eq!(
                faults(applicant("Ada", email, "1")),
                [Invalid::Not { field: "email", kind: "a valid email address" }]
            );
        }
    }

    #[test]
    fn only_known_statuses_are_taken() {
        let known = Applicant { status: Some("inactive".to_owned()), ..applicant("Ada", "a@b", "1") };
        assert_eq!(admit(known).unwrap().status, Status::Inactive);
        let unknown = Applicant { status: Some("asleep".to_owned()), ..applicant("Ada", "a@b", "1") };
        assert!(matches!(faults(unknown).as_slice(), [Invalid::NotOneOf { field: "status", .. }]));
    }
}

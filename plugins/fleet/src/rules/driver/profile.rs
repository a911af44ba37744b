//! What changes of a driver afterwards (research/fleet 1.2: PUT): the fields that are there, and nothing else.

use super::identity::phone_key;
use super::{Driver, Status, TEXT_CHARS_MAX, is_email};
use crate::rules::change::{Change, Faults, TextField, Texts};
use crate::rules::invalid::Invalid;

/// What a driver may have besides, in one line each.
pub const TEXTS: [TextField; 6] = [
    ("internal_id", TEXT_CHARS_MAX),
    ("drivers_license_number", TEXT_CHARS_MAX),
    ("country", 2),
    ("city", TEXT_CHARS_MAX),
    ("timezone", TEXT_CHARS_MAX),
    ("currency", 3),
];

#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub driver: Driver,
    /// Of [`TEXTS`].
    pub texts: Texts,
    pub license_expiry_ms: Option<u64>,
    /// By ids; whether they exist, its reader looks.
    pub vehicle: Option<String>,
    pub vendor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub name: Change<String>,
    pub email: Change<String>,
    pub phone: Change<String>,
    pub status: Change<String>,
    pub texts: Vec<(&'static str, Change<String>)>,
    pub license_expiry_ms: Change<u64>,
    pub vehicle: Change<String>,
    pub vendor: Change<String>,
}

/// Every fault at once. A phone number is looked at where it changes: an old one stays as it was written.
pub fn amend(before: Profile, asked: Asked) -> Result<Profile, Vec<Invalid>> {
    let Profile { driver, texts, .. } = before;
    let mut faults = Faults::default();
    let changes_phone = asked.phone != Change::Absent;
    let status = match asked.status {
        Change::Absent => driver.status,
        Change::Cleared => Status::default(),
        Change::To(name) => Status::of_name(&name).unwrap_or_else(|fault| {
            faults.note(fault);
            driver.status
        }),
    };
    let driver = Driver {
        name: faults.required(("name", TEXT_CHARS_MAX), asked.name, Some(driver.name)),
        email: faults.required(("email", TEXT_CHARS_MAX), asked.email, Some(driver.email)).to_ascii_lowercase(),
        phone: faults.required(("phone", TEXT_CHARS_MAX), asked.phone, Some(driver.phone)),
        status,
    };
    if !driver.email.is_empty() && !is_email(&driver.email) {
        faults.note(Invalid::Not { field: "email", kind: "a valid email address" });
    }
    if changes_phone && !driver.phone.is_empty() && phone_key(&driver.phone).is_none() {
        faults.note(Invalid::Not { field: "phone", kind: "a phone number" });
    }
    let profile = Profile {
        driver,
        texts: faults.texts(&TEXTS, asked.texts, texts),
        license_expiry_ms: asked.license_expiry_ms.over(before.license_expiry_ms),
        vehicle: faults.line(("vehicle", 64), asked.vehicle, before.vehicle),
        vendor: faults.line(("vendor", 64), asked.vendor, before.vendor),
    };
    faults.finish(profile)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::driver::{Applicant, admit};

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    fn ada() -> Profile {
        let text = |text: &str| Some(text.to_owned());
        let applicant = Applicant { name: text("Ada"), email: text("a@b.com"), phone: text("1"), status: None };
        let texts = vec![("city", "Singapore".to_owned())];
        Profile { driver: admit(applicant).unwrap(), texts, license_expiry_ms: Some(5), vehicle: None, vendor: None }
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        assert_eq!(amend(ada(), Asked::default()), Ok(ada()));
        let asked = Asked {
            email: to("Ada@Example.com"),
            status: to("inactive"),
            texts: vec![("city", Change::Cleared), ("country", to("SG"))],
            license_expiry_ms: Change::Cleared,
            vehicle: to("vehicle_1"),
            ..Asked::default()
        };
        let changed = amend(ada(), asked).unwrap();
        assert_eq!((changed.driver.email.as_str(), changed.driver.status), ("ada@example.com", Status::Inactive));
        assert_eq!((changed.texts, changed.license_expiry_ms), (vec![("country", "SG".to_owned())], None));
        let again = Asked { status: Change::Cleared, ..Asked::default() };
        assert_eq!(amend(ada(), again).unwrap().driver.status, Status::Available);
    }

    #[test]
    fn a_driver_keeps_a_name_an_email_and_a_phone() {
        let none = Asked { name: Change::Cleared, email: to(" "), phone: Change::Cleared, ..Asked::default() };
        assert_eq!(amend(ada(), none).unwrap_err(), ["name", "email", "phone"].map(Invalid::Required));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let wrong = Asked {
            email: to("ada"),
            phone: to("call me"),
            status: to("asleep"),
            texts: vec![("country", to("SGP"))],
            ..Asked::default()
        };
        assert_eq!(amend(ada(), wrong).unwrap_err().len(), 4);
    }
}

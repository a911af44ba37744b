//! What a driver is created from, and what changes of him afterwards (research/fleet 1.2): the fields that are there, and
//! nothing else.

use super::identity::phone_key;
use super::{Driver, Status, TEXT_CHARS_MAX, is_email};
use crate::rules::change::{Change, Faults, TextField, Texts, find_text};
use crate::rules::invalid::Invalid;
use crate::rules::zone;

/// What a driver may have besides, in one line each.
pub const TEXTS: [TextField; 6] = [
    ("internal_id", TEXT_CHARS_MAX),
    ("drivers_license_number", TEXT_CHARS_MAX),
    ("country", 2),
    ("city", TEXT_CHARS_MAX),
    ("timezone", TEXT_CHARS_MAX),
    ("currency", 3),
];

/// The address of a picture.
const PHOTO_CHARS_MAX: usize = 1_000;

#[derive(Clone, Debug, PartialEq)]
pub enum Photo {
    /// By its id; whether it exists, its reader looks.
    File(String),
    Address(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    pub driver: Driver,
    /// Of [`TEXTS`].
    pub texts: Texts,
    pub photo: Option<Photo>,
    pub license_expiry_ms: Option<u64>,
    /// By its id; whether it exists, its reader looks.
    pub vehicle: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub name: Change<String>,
    pub email: Change<String>,
    pub phone: Change<String>,
    pub status: Change<String>,
    pub texts: Vec<(&'static str, Change<String>)>,
    pub photo: Change<Photo>,
    pub license_expiry_ms: Change<u64>,
    pub vehicle: Change<String>,
}

/// A new driver: with a name, an email and a phone. Every fault at once.
pub fn create(asked: Asked) -> Result<Profile, Vec<Invalid>> {
    amend(Profile::default(), asked)
}

/// Every fault at once. A phone number and a zone are looked at where they change: an old one stays as it was written.
pub fn amend(before: Profile, asked: Asked) -> Result<Profile, Vec<Invalid>> {
    let Profile { driver, texts, .. } = before;
    let zone = find_text(&texts, "timezone").map(str::to_owned);
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
        photo: photo(&mut faults, asked.photo.over(before.photo)),
        license_expiry_ms: asked.license_expiry_ms.over(before.license_expiry_ms),
        vehicle: faults.line(("vehicle", 64), asked.vehicle, before.vehicle),
    };
    faults.keep(zone::check_change(zone.as_deref(), find_text(&profile.texts, "timezone")));
    faults.finish(profile)
}

fn photo(faults: &mut Faults, photo: Option<Photo>) -> Option<Photo> {
    let address = match photo? {
        Photo::File(id) => return Some(Photo::File(id)),
        Photo::Address(address) => address,
    };
    let address = faults.line(("photo", PHOTO_CHARS_MAX), Change::To(address), None)?;
    if !is_address(&address) {
        faults.note(Invalid::Not { field: "photo", kind: "a URL" });
    }
    Some(Photo::Address(address))
}

fn is_address(text: &str) -> bool {
    let host = text.strip_prefix("https://").or(text.strip_prefix("http://")).unwrap_or_default();
    !host.is_empty() && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    fn asked(name: &str, email: &str, phone: &str) -> Asked {
        Asked { name: to(name), email: to(email), phone: to(phone), ..Asked::default() }
    }

    fn ada() -> Profile {
        let texts = vec![("city", to("Singapore"))];
        create(Asked { texts, license_expiry_ms: Change::To(5), ..asked("Ada", "a@b.com", "1") }).unwrap()
    }

    #[test]
    fn a_new_driver_needs_name_email_and_phone() {
        let driver = create(asked(" Ada ", "Ada@Example.com", "+65 1")).unwrap().driver;
        assert_eq!(
            (driver.name.as_str(), driver.email.as_str(), driver.phone.as_str(), driver.status),
            ("Ada", "ada@example.com", "+65 1", Status::Available)
        );
        assert_eq!(create(Asked::default()).unwrap_err(), ["name", "email", "phone"].map(Invalid::Required));
        assert_eq!(create(asked("  ", "a@b", "1")).unwrap_err(), [Invalid::Required("name")]);
        let nowhere = create(asked("Ada", "a@b@c", "call me")).unwrap_err();
        assert_eq!(
            nowhere,
            [
                Invalid::Not { field: "email", kind: "a valid email address" },
                Invalid::Not { field: "phone", kind: "a phone number" }
            ]
        );
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
    fn a_photo_is_the_address_of_one() {
        let address = |text: &str| Photo::Address(text.to_owned());
        let with = |photo: &str| amend(ada(), Asked { photo: Change::To(address(photo)), ..Asked::default() });
        assert_eq!(with(" https://x.org/a.png").unwrap().photo, Some(address("https://x.org/a.png")));
        assert_eq!(with(" ").unwrap().photo, None);
        for photo in ["https://", "ftp://x.org/a.png", "javascript:alert(1)", "https://x.org/a b"] {
            assert_eq!(with(photo).unwrap_err(), [Invalid::Not { field: "photo", kind: "a URL" }], "{photo}");
        }
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
            texts: vec![("country", to("SGP")), ("timezone", to("Mars/Base"))],
            photo: Change::To(Photo::Address("data:image/png;base64,iVBO".to_owned())),
            ..Asked::default()
        };
        assert_eq!(amend(ada(), wrong).unwrap_err().len(), 6);
    }
}

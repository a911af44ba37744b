//! Drivers as they are stored (research/fleet 1.2, as far as this version carries them).

use serde::Serialize;
use serde_json::value::RawValue;
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Collection, Index, Stop, json, time};

use super::common;
use super::shapes::{Number, Point, raw};
use crate::rules::driver::Driver;
use crate::rules::location::Position;

const COLLECTION: &str = "drivers";
const BY_EMAIL: &str = "by-email";
const BY_PHONE: &str = "by-phone";

pub const COLLECTIONS: &[Collection] =
    &[Collection::new(COLLECTION, &[Index::unique(BY_EMAIL, &["email"]), Index::unique(BY_PHONE, &["phone"])])];

/// What a driver may have besides what the rules ask for. `meta` is a JSON text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DriverExtras {
    pub internal_id: Option<String>,
    pub drivers_license_number: Option<String>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub license_expiry: Option<u64>,
    pub country: Option<String>,
    pub city: Option<String>,
    pub timezone: Option<String>,
    pub meta: Option<String>,
    pub position: Option<Position>,
}

pub fn load_driver(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, COLLECTION, "driver", id)
}

/// Gives the driver's text. Email and phone are unique within the organization.
pub fn insert_driver(call: &Call, driver: &Driver, extras: &DriverExtras) -> Result<String, Stop> {
    let inserted = common::insert_drawn(call, COLLECTION, "driver", |id| driver_text(call, id, driver, extras));
    let (_, body) = inserted.map_err(|refused| refused.taken(&[(BY_EMAIL, "email"), (BY_PHONE, "phone")]))?;
    Ok(body)
}

pub fn replace_driver(call: &Call, id: &str, body: &str) -> Result<(), Stop> {
    Ok(common::replace(call, COLLECTION, id, body)?)
}

#[derive(Serialize)]
struct DriverText<'a> {
    id: &'a str,
    internal_id: Option<&'a str>,
    company_name: &'a str,
    name: &'a str,
    email: &'a str,
    phone: &'a str,
    drivers_license_number: Option<&'a str>,
    /// Date only.
    license_expiry: Option<String>,
    vehicle: Option<()>,
    vendor: Option<()>,
    current_job: Option<()>,
    location: Point,
    heading: Option<Number>,
    altitude: Option<Number>,
    speed: Option<Number>,
    country: Option<&'a str>,
    city: Option<&'a str>,
    timezone: Option<&'a str>,
    online: bool,
    status: &'a str,
    token: Option<()>,
    meta: Box<RawValue>,
    updated_at: &'a str,
    created_at: &'a str,
}

fn driver_text(call: &Call, id: &str, driver: &Driver, extras: &DriverExtras) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    json::to_text(&DriverText {
        id,
        internal_id: extras.internal_id.as_deref(),
        company_name: call.organization(),
        name: &driver.name,
        email: &driver.email,
        phone: &driver.phone,
        drivers_license_number: extras.drivers_license_number.as_deref(),
        license_expiry: extras
            .license_expiry
            .map(|milliseconds| time::to_text(milliseconds).chars().take(10).collect()),
        vehicle: None,
        vendor: None,
        current_job: None,
        location: Point::of(extras.position),
        heading: None,
        altitude: None,
        speed: None,
        country: extras.country.as_deref(),
        city: extras.city.as_deref(),
        timezone: extras.timezone.as_deref(),
        online: false,
        status: driver.status.name(),
        token: None,
        meta: raw(extras.meta.as_deref().unwrap_or("{}"))?,
        updated_at: &now,
        created_at: &now,
    })
}

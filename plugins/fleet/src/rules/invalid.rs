//! What can be wrong with a field. Owns the sentences that a caller reads.

use std::borrow::Cow;

/// One thing that is wrong; the field is named as the caller wrote it.
#[derive(Clone, Debug, PartialEq)]
pub enum Invalid {
    Required(&'static str),
    RequiredWith {
        field: &'static str,
        with: &'static str,
    },
    /// `kind`: "a text", "a number", …
    Not {
        field: &'static str,
        kind: &'static str,
    },
    TooLong {
        field: &'static str,
        characters_max: usize,
    },
    /// A free-form field.
    ObjectTooLarge {
        field: &'static str,
        bytes_max: usize,
    },
    /// The resource as a whole, though no field is.
    TooLarge {
        resource: &'static str,
        bytes_max: usize,
    },
    OutOfRange {
        field: &'static str,
        least: f64,
        most: f64,
    },
    NotOneOf {
        field: &'static str,
        allowed: &'static str,
    },
    /// Another resource of the organization has this value.
    Taken(&'static str),
    /// The interface knows the field; this version does not carry it yet, and does not pretend to.
    NotSupported(&'static str),
    /// Only the server changes it.
    ReadOnly(&'static str),
    /// `why` is the host's.
    NotAccepted {
        field: &'static str,
        why: String,
    },
    /// Fields or parameters that nobody reads, of a caller who asked to be told so.
    Unknown {
        what: &'static str,
        names: String,
    },
    TooMany {
        what: &'static str,
        most: u32,
    },
    /// A key stands for one mode; its endpoints are of that mode.
    OtherMode,
    /// Neither pickup and dropoff nor at least two waypoints.
    NoStops,
}

impl Invalid {
    pub fn sentence(&self) -> Cow<'static, str> {
        match self {
            Invalid::Required(field) => Cow::Owned(["The ", field, " field is required."].concat()),
            Invalid::RequiredWith { field, with } => {
                Cow::Owned(["The ", field, " field is required when ", with, " is set."].concat())
            }
            Invalid::Not { field, kind } => Cow::Owned(["The ", field, " field must be ", kind, "."].concat()),
            Invalid::TooLong { field, characters_max } => Cow::Owned(
                ["The ", field, " field may not be longer than ", &characters_max.to_string(), " characters."].concat(),
            ),
            Invalid::ObjectTooLarge { field, bytes_max } => Cow::Owned(
                ["The ", field, " field may not have more than ", &bytes_max.to_string(), " bytes of JSON."].concat(),
            ),
            Invalid::TooLarge { resource, bytes_max } => Cow::Owned(
                ["The ", resource, " may not have more than ", &bytes_max.to_string(), " bytes of JSON."].concat(),
            ),
            Invalid::OutOfRange { field, least, most } => Cow::Owned(
                ["The ", field, " field must be between ", &least.to_string(), " and ", &most.to_string(), "."]
                    .concat(),
            ),
            Invalid::NotOneOf { field, allowed } => {
                Cow::Owned(["The ", field, " field must be one of: ", allowed, "."].concat())
            }
            Invalid::Taken(field) => Cow::Owned(["The ", field, " has already been taken."].concat()),
            Invalid::NotSupported(field) => Cow::Owned(["The ", field, " field is not supported yet."].concat()),
            Invalid::ReadOnly(field) => Cow::Owned(["The ", field, " field cannot be changed here."].concat()),
            Invalid::NotAccepted { field, why } => {
                Cow::Owned(["The ", field, " field is not accepted: ", why, "."].concat())
            }
            Invalid::Unknown { what, names } => Cow::Owned(["These ", what, " are not known: ", names, "."].concat()),
            Invalid::TooMany { what, most } => {
                Cow::Owned(["An organization has at most ", &most.to_string(), " ", what, "."].concat())
            }
            Invalid::OtherMode => Cow::Borrowed("The mode field must be the mode of the API key."),
            Invalid::NoStops => Cow::Borrowed("An order needs a pickup and a dropoff, or at least two waypoints."),
        }
    }
}

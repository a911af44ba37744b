//! What can be wrong with a field. Owns the sentences that a caller reads.

use std::borrow::Cow;

/// One thing that is wrong; the field is named as the caller wrote it. One without a name is what stands at the path of
/// [`Invalid::Within`].
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
    /// An object has a member twice: who reads the first and who reads the last would not read the same.
    Ambiguous,
    /// Filters of one list.
    TooManyConditions(usize),
    /// Neither pickup and dropoff nor at least two waypoints.
    NoStops,
    /// In an object or a list of the body. `path`: as [`joined`] makes it.
    Within {
        path: String,
        fault: Box<Invalid>,
    },
}

/// The path of a field of what stands at this path, with dots between; the items of a list count from nought:
/// "payload.entities.3.weight". Either may be empty.
pub fn joined(path: &str, field: &str) -> String {
    let dot = if path.is_empty() || field.is_empty() { "" } else { "." };
    [path, dot, field].concat()
}

impl Invalid {
    /// The same, of what stands at this path.
    pub fn within(self, path: &str) -> Invalid {
        match self {
            fault if path.is_empty() => fault,
            Invalid::Within { path: inner, fault } => Invalid::Within { path: joined(path, &inner), fault },
            fault => Invalid::Within { path: path.to_owned(), fault: Box::new(fault) },
        }
    }

    /// The same, of a field that has several names, by the one that was sent.
    pub fn renamed(mut self, name: &str, sent: &'static str) -> Invalid {
        if let Some(field) = self.field_mut().filter(|field| **field == name) {
            *field = sent;
        }
        self
    }

    fn field_mut(&mut self) -> Option<&mut &'static str> {
        match self {
            Invalid::Required(field)
            | Invalid::Taken(field)
            | Invalid::NotSupported(field)
            | Invalid::ReadOnly(field)
            | Invalid::RequiredWith { field, .. }
            | Invalid::Not { field, .. }
            | Invalid::TooLong { field, .. }
            | Invalid::ObjectTooLarge { field, .. }
            | Invalid::OutOfRange { field, .. }
            | Invalid::NotOneOf { field, .. }
            | Invalid::NotAccepted { field, .. } => Some(field),
            Invalid::Within { fault, .. } => fault.field_mut(),
            Invalid::TooLarge { .. }
            | Invalid::Unknown { .. }
            | Invalid::TooMany { .. }
            | Invalid::TooManyConditions(_)
            | Invalid::Ambiguous
            | Invalid::OtherMode
            | Invalid::NoStops => None,
        }
    }

    pub fn sentence(&self) -> Cow<'static, str> {
        self.sentence_at("")
    }

    fn sentence_at(&self, path: &str) -> Cow<'static, str> {
        let named = |field: &str| joined(path, field);
        match self {
            Invalid::Within { path: inner, fault } => fault.sentence_at(&joined(path, inner)),
            Invalid::Required(field) => Cow::Owned(["The ", &named(field), " field is required."].concat()),
            Invalid::RequiredWith { field, with } => {
                Cow::Owned(["The ", &named(field), " field is required when ", &named(with), " is set."].concat())
            }
            Invalid::Not { field, kind } => Cow::Owned(["The ", &named(field), " field must be ", kind, "."].concat()),
            Invalid::TooLong { field, characters_max } => Cow::Owned(
                ["The ", &named(field), " field may not be longer than ", &characters_max.to_string(), " characters."]
                    .concat(),
            ),
            Invalid::ObjectTooLarge { field, bytes_max } => Cow::Owned(
                ["The ", &named(field), " field may not have more than ", &bytes_max.to_string(), " bytes of JSON."]
                    .concat(),
            ),
            Invalid::TooLarge { resource, bytes_max } => Cow::Owned(
                ["The ", resource, " may not have more than ", &bytes_max.to_string(), " bytes of JSON."].concat(),
            ),
            Invalid::OutOfRange { field, least, most } => Cow::Owned(
                ["The ", &named(field), " field must be between ", &least.to_string(), " and ", &most.to_string(), "."]
                    .concat(),
            ),
            Invalid::NotOneOf { field, allowed } => {
                Cow::Owned(["The ", &named(field), " field must be one of: ", allowed, "."].concat())
            }
            Invalid::Taken(field) => Cow::Owned(["The ", &named(field), " has already been taken."].concat()),
            Invalid::NotSupported(field) => {
                Cow::Owned(["The ", &named(field), " field is not supported yet."].concat())
            }
            Invalid::ReadOnly(field) => Cow::Owned(["The ", &named(field), " field cannot be changed here."].concat()),
            Invalid::NotAccepted { field, why } => {
                Cow::Owned(["The ", &named(field), " field is not accepted: ", why, "."].concat())
            }
            Invalid::Unknown { what, names } => Cow::Owned(["These ", what, " are not known: ", names, "."].concat()),
            Invalid::TooMany { what, most } => {
                Cow::Owned(["An organization has at most ", &most.to_string(), " ", what, "."].concat())
            }
            Invalid::Ambiguous if path.is_empty() => Cow::Borrowed("The body must have each of its members once."),
            Invalid::Ambiguous => Cow::Owned(["The ", path, " field must have each of its members once."].concat()),
            Invalid::TooManyConditions(most) => {
                Cow::Owned(["The filters of a list have at most ", &most.to_string(), " conditions together."].concat())
            }
            Invalid::OtherMode => Cow::Borrowed("The mode field must be the mode of the API key."),
            Invalid::NoStops => Cow::Borrowed("An order needs a pickup and a dropoff, or at least two waypoints."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_an_object_is_named_by_its_path() {
        let fault = Invalid::Not { field: "weight", kind: "a number" }.within("entities.3").within("payload");
        assert_eq!(fault.sentence(), "The payload.entities.3.weight field must be a number.");
        assert_eq!(Invalid::Required("").within("waypoints.0").sentence(), "The waypoints.0 field is required.");
        assert_eq!(Invalid::Required("name").within(""), Invalid::Required("name"));
        let both = Invalid::RequiredWith { field: "lng", with: "lat" }.within("pickup");
        assert_eq!(both.sentence(), "The pickup.lng field is required when pickup.lat is set.");
    }

    #[test]
    fn a_field_of_several_names_is_told_by_the_one_that_was_sent() {
        let fault = Invalid::Required("filename").within("a").renamed("filename", "file_name");
        assert_eq!(fault.sentence(), "The a.file_name field is required.");
        assert_eq!(Invalid::Required("type").renamed("filename", "file_name"), Invalid::Required("type"));
    }
}

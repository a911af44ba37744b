//! Why a request was not let in: a failure to word, and what RFC 9110 wants beside the words.

use http::{HeaderName, HeaderValue, StatusCode};

use crate::{auth::Denied, failure::Failure};

#[derive(Debug)]
pub(super) struct Refused {
    pub failure: Failure,
    /// Where HTTP has a status of its own that no failure stands for (408).
    pub status: Option<StatusCode>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// For the log; never holds anything that the caller sent.
    pub why: &'static str,
    /// The rest of the request was not read: the connection cannot go on.
    pub close: bool,
}

impl Refused {
    pub fn new(failure: Failure, why: &'static str) -> Refused {
        Refused { failure, status: None, headers: Vec::new(), why, close: false }
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Refused {
        self.headers.push((name, value));
        self
    }

    pub fn with_status(mut self, status: StatusCode) -> Refused {
        self.status = Some(status);
        self
    }

    pub fn closing(mut self) -> Refused {
        self.close = true;
        self
    }
}

impl From<Denied> for Refused {
    fn from(denied: Denied) -> Refused {
        match denied {
            Denied::Store(error) => {
                tracing::warn!(%error, "a key could not be looked up");
                Refused::new(Failure::Unavailable, "the key could not be looked up")
            }
            Denied::Missing => Refused::new(Failure::Unauthenticated, "no credential"),
            Denied::Malformed => Refused::new(Failure::Unauthenticated, "not the text of a key"),
            Denied::Ambiguous => Refused::new(Failure::Unauthenticated, "two different credentials"),
            Denied::Unknown => Refused::new(Failure::Unauthenticated, "no such key"),
            Denied::Expired => Refused::new(Failure::Unauthenticated, "the key has expired"),
            Denied::Revoked => Refused::new(Failure::Unauthenticated, "the key was revoked"),
            Denied::Token(why) => Refused::new(Failure::Unauthenticated, why),
            Denied::OtherPlugin => Refused::new(Failure::Unauthenticated, "the key is for another plugin"),
        }
    }
}

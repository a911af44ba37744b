//! Outgoing HTTP calls: after the commit (effects) and before the decision (questions).
//!
//! A call names a destination and contains no address and no credential. The host adds both.

pub use crate::bindings::tenon::plugin::effects::Effect;
pub use crate::bindings::tenon::plugin::types::{Call as OutgoingCall, Response};

use crate::bindings::tenon::plugin::types::{Content, Pair};
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

impl OutgoingCall {
    /// Returns a call without headers and body. `path` is below the base URL of the destination, and may contain a
    /// query.
    pub fn new(destination: &str, method: &str, path: &str) -> OutgoingCall {
        OutgoingCall {
            destination: destination.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            content: Content::Empty,
            timeout: 0,
        }
    }

    /// Sets the body, one JSON text.
    pub fn json(mut self, body: String) -> OutgoingCall {
        self.content = Content::Json(body);
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> OutgoingCall {
        self.headers.push(Pair { name: name.to_owned(), value: value.to_owned() });
        self
    }

    /// Sets the timeout of one attempt. 0 selects the operator's timeout.
    pub fn timeout_ms(mut self, milliseconds: u32) -> OutgoingCall {
        self.timeout = milliseconds;
        self
    }
}

impl Effect {
    /// Returns an effect with one attempt. Its outcome is passed to the task `then` with `key` and `context` (one JSON
    /// text).
    pub fn new(call: OutgoingCall, then: &str, key: &str, context: String) -> Effect {
        let (then, key) = (then.to_owned(), key.to_owned());
        Effect { call, then, key, context, delays: Vec::new(), start_at: None, give_up_at: None }
    }

    /// Sets the milliseconds between attempts. There is at most one more attempt than delays.
    pub fn delays_ms(mut self, delays: &[u32]) -> Effect {
        self.delays = delays.to_vec();
        self
    }

    /// Sets the time (milliseconds since 1970) before which no attempt begins.
    pub fn start_at(mut self, at: u64) -> Effect {
        self.start_at = Some(at);
        self
    }

    /// Sets the time (milliseconds since 1970) after which no attempt begins.
    pub fn give_up_at(mut self, at: u64) -> Effect {
        self.give_up_at = Some(at);
        self
    }
}

/// The outgoing calls of this plugin and tenant.
#[derive(Clone, Copy)]
pub struct Effects<'a> {
    host: HostRef<'a>,
}

impl<'a> Effects<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Effects<'a> {
        Effects { host }
    }

    /// Starts an effect when the call commits. Returns false, and starts nothing, if an effect with the same `then` and
    /// `key` is in progress, or if the task of its outcome has not run.
    pub fn start(&self, effect: &Effect) -> bool {
        self.host.effects_start(effect)
    }

    /// Cancels an effect. Returns false if an attempt has begun or if the effect does not exist.
    pub fn cancel(&self, then: &str, key: &str) -> bool {
        self.host.effects_cancel(then, key)
    }
}

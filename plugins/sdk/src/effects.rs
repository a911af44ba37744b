//! Calls to somebody else's server: after the commit (effects) and before deciding (questions).
//!
//! Never an address or a credential: a destination has them, and the host uses them.

pub use crate::bindings::tenon::plugin::effects::Effect;
pub use crate::bindings::tenon::plugin::types::{Call as OutgoingCall, Response};

use crate::bindings::tenon::plugin::types::{Content, Pair};
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

impl OutgoingCall {
    /// `path` lies below the base address of the destination, and may carry a query.
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

    /// One JSON text.
    pub fn json(mut self, body: String) -> OutgoingCall {
        self.content = Content::Json(body);
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> OutgoingCall {
        self.headers.push(Pair { name: name.to_owned(), value: value.to_owned() });
        self
    }

    /// Of one attempt; 0 leaves it to the operator.
    pub fn timeout_ms(mut self, milliseconds: u32) -> OutgoingCall {
        self.timeout = milliseconds;
        self
    }
}

impl Effect {
    /// One attempt; what comes of it is told to the task `then` with `key` and `context` (one JSON text).
    pub fn new(call: OutgoingCall, then: &str, key: &str, context: String) -> Effect {
        let (then, key) = (then.to_owned(), key.to_owned());
        Effect { call, then, key, context, delays: Vec::new(), start_at: None, give_up_at: None }
    }

    /// Milliseconds between attempts: one attempt more than delays.
    pub fn delays_ms(mut self, delays: &[u32]) -> Effect {
        self.delays = delays.to_vec();
        self
    }

    /// No attempt begins before it. Milliseconds since 1970.
    pub fn start_at(mut self, at: u64) -> Effect {
        self.start_at = Some(at);
        self
    }

    /// No attempt begins after it. Milliseconds since 1970.
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

    /// `false` where one of the same `then` and `key` is still on its way: nothing is started.
    pub fn start(&self, effect: &Effect) -> bool {
        self.host.effects_start(effect)
    }

    /// `false` where an attempt has begun, or there is none.
    pub fn cancel(&self, then: &str, key: &str) -> bool {
        self.host.effects_cancel(then, key)
    }
}

//! A call to a plugin of this host: over no connection and with no credential, on behalf of the same tenant, or of another
//! organization that the operator has named.
//!
//! Invariants: whom it acts for follows from who calls and what the operator has named, never from what the call says. No call
//! is to the plugin and tenant that make it; of plugins that ask each other in circles each has its own deadline.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header;
use http_body_util::Full;
use tokio::time::{Instant, timeout_at};

use super::{CallFailure, Parts, answer, request::Request};
use crate::{
    changes::{outgoing::OutgoingAnswer, scope::Scope},
    outbound::Answer,
};

/// Which plugin, and for whom.
pub struct Neighbour {
    pub plugin: Arc<str>,
    /// "globex/live"
    pub tenant: Arc<str>,
}

/// Who calls, and what; the path of the request lies below the plugin's mount. `None`: there is no such plugin.
pub type Visit = Box<
    dyn for<'a> Fn(&'a Scope, &'a Neighbour, http::Request<Full<Bytes>>) -> BoxFuture<'a, Option<Answer>> + Send + Sync,
>;

/// Known once there is something that answers requests. Cheap to clone.
#[derive(Clone, Default)]
pub struct Neighbours(Arc<OnceLock<Visit>>);

impl Neighbours {
    /// Once.
    pub fn open(&self, visit: Visit) {
        let _ = self.0.set(visit);
    }
}

pub(super) async fn call(
    parts: &Parts,
    scope: &Scope,
    neighbour: &Neighbour,
    request: Request,
    until: Instant,
) -> Result<OutgoingAnswer, CallFailure> {
    let plugin = &*neighbour.plugin;
    let missing = || CallFailure::not_sent("no-such-plugin", format!("there is no plugin {plugin:.40?} here now"));
    let visit = parts.neighbours.0.get().ok_or_else(missing)?;
    if *plugin == **scope.plugin() && neighbour.tenant == *scope.tenant() {
        return Err(CallFailure::not_sent("no-such-plugin", "a plugin is no destination of its own".to_owned()));
    }
    let mut built = http::Request::builder().method(request.method).uri(request.path.as_str());
    if let Some(headers) = built.headers_mut() {
        headers.extend(request.headers);
        headers.insert(header::HOST, header::HeaderValue::from_static("localhost"));
    }
    let built = built.body(Full::new(request.body));
    let built = built.map_err(|_| CallFailure::not_sent("malformed-call", "this path is none".to_owned()))?;
    match timeout_at(until, visit(scope, neighbour, built)).await {
        Ok(Some(answered)) => answer::read(answered),
        Ok(None) => Err(missing()),
        Err(_) => Err(CallFailure::unknown("timeout", format!("{plugin} gave no answer in time"))),
    }
}

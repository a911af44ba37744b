//! Calls to a plugin of this host, without a connection or credentials, on behalf of the same tenant or of another
//! organization that the operator has configured.
//!
//! Invariants: the target tenant follows from the calling tenant and the operator's configuration, never from the call
//! itself. A plugin cannot call itself for the same tenant. Each call in a cycle of plugins has its own deadline.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header;
use http_body_util::Full;
use tokio::time::{Instant, timeout_at};

use super::{DestinationCallError, Parts, request::Request, response};
use crate::{
    changes::{outgoing::OutgoingResponse, scope::Scope},
    outbound::OutboundResponse,
};

/// The plugin that is called and the tenant that it is called for.
pub struct PluginTarget {
    pub plugin: Arc<str>,
    /// For example "globex/live".
    pub tenant: Arc<str>,
}

/// Handles a request from a plugin and tenant to a plugin. The request's path is relative to the target's mount.
/// Returns `None` if the plugin does not exist.
pub type PluginCallHandler = Box<
    dyn for<'a> Fn(&'a Scope, &'a PluginTarget, http::Request<Full<Bytes>>) -> BoxFuture<'a, Option<OutboundResponse>>
        + Send
        + Sync,
>;

/// Handler for calls between plugins. It is set once the HTTP service exists. Cheap to clone.
#[derive(Clone, Default)]
pub struct PluginCalls(Arc<OnceLock<PluginCallHandler>>);

impl PluginCalls {
    /// Sets the handler. Later calls have no effect.
    pub fn set_handler(&self, handler: PluginCallHandler) {
        let _ = self.0.set(handler);
    }
}

pub(super) async fn call(
    parts: &Parts,
    scope: &Scope,
    target: &PluginTarget,
    request: Request,
    until: Instant,
) -> Result<OutgoingResponse, DestinationCallError> {
    let plugin = &*target.plugin;
    let missing = || {
        DestinationCallError::not_sent("no-such-plugin", format!("this host runs no plugin {plugin:.40?} at present"))
    };
    let handler = parts.plugin_calls.0.get().ok_or_else(missing)?;
    if *plugin == **scope.plugin() && target.tenant == *scope.tenant() {
        return Err(DestinationCallError::not_sent(
            "no-such-plugin",
            "a plugin cannot call itself for the same tenant".to_owned(),
        ));
    }
    let mut built = http::Request::builder().method(request.method).uri(request.path.as_str());
    if let Some(headers) = built.headers_mut() {
        headers.extend(request.headers);
        headers.insert(header::HOST, header::HeaderValue::from_static("localhost"));
    }
    let built = built.body(Full::new(request.body));
    let built =
        built.map_err(|_| DestinationCallError::not_sent("malformed-call", "the path is invalid".to_owned()))?;
    match timeout_at(until, handler(scope, target, built)).await {
        Ok(Some(found)) => response::read(found),
        Ok(None) => Err(missing()),
        Err(_) => Err(DestinationCallError::unknown("timeout", format!("{plugin} did not respond in time"))),
    }
}

//! Routes requests to operations of plugins. A table is built from the manifests and replaced as a whole by a swap.
//!
//! Owns the matching of paths. Does not authenticate, and does not render errors. Rules:
//! - Paths are matched as they were sent. No slash at the end is added or removed. Two slashes in a row, and the
//!   segments "." and "..", match nothing. A percent-encoded letter is not the letter. A path has one spelling, so that
//!   the path that was signed, or that an idempotency record covers, is the path that was routed.
//! - A parameter is one segment, percent-decoded once; `%2F` becomes a slash within it. A parameter that is empty, "."
//!   or "..", not UTF-8, or contains control characters matches nothing.
//! - No path matches routes of two plugins, whatever the methods.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use http::{HeaderName, HeaderValue, Method};
use percent_encoding::percent_decode_str;

use super::{error_bodies::ErrorBodies, estimate::MemoryEstimate};
use crate::config::PluginConfig;
use crate::manifest;

pub use rendered::Rendered;

mod build;
mod pattern;
mod rendered;
#[cfg(test)]
mod tests;

/// A plugin that serves requests: the properties of a generation that routing and HTTP need. `owner` is the generation
/// itself.
pub struct Mounted<G> {
    pub owner: G,
    pub plugin: Arc<str>,
    /// Number of the generation.
    pub number: u64,
    pub manifest: Arc<manifest::Manifest>,
    pub config: Arc<PluginConfig>,
    pub error_bodies: Arc<ErrorBodies>,
}

/// An operation, prepared for requests.
#[derive(Debug)]
pub struct Route {
    /// Declaration in the manifest.
    pub declared: manifest::Route,
    pub method: Method,
    /// Request headers that the plugin receives.
    pub headers: Vec<HeaderName>,
    pub context: Vec<ContextValue>,
    /// Names of the parameters, in the order of the path.
    parameters: Vec<String>,
    /// Estimate of the memory of a call.
    pub memory: MemoryEstimate,
}

impl Route {
    /// Returns true unless the method is GET. A GET request takes no idempotency key.
    pub fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// A context value that a route may request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextValue {
    BaseUrl,
    ClientAddress,
    IdempotencyKey,
}

impl ContextValue {
    const ALL: [ContextValue; 3] = [ContextValue::BaseUrl, ContextValue::ClientAddress, ContextValue::IdempotencyKey];

    /// Returns the name in the manifest and in `request.context`.
    pub fn name(self) -> &'static str {
        match self {
            ContextValue::BaseUrl => "base-url",
            ContextValue::ClientAddress => "client-address",
            ContextValue::IdempotencyKey => "idempotency-key",
        }
    }
}

/// Reason why plugins cannot be served together, or why a route is not valid. The message is for operators.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteConflict {
    #[error("plugin \"{plugin}\": {route}: {reason}")]
    Invalid { plugin: Arc<str>, route: String, reason: String },
    #[error("plugin \"{plugin}\": {route} and {other} have the same method and the same paths")]
    Duplicate { plugin: Arc<str>, route: String, other: String },
    #[error("plugin \"{plugin}\": {route} would hide the host's page {page}")]
    HostPage { plugin: Arc<str>, route: String, page: &'static str },
    #[error("plugin \"{plugin}\": {route} overlaps with {other} of plugin \"{other_plugin}\": some path matches both")]
    OtherPlugin { plugin: Arc<str>, route: String, other_plugin: Arc<str>, other: String },
}

/// Result of routing a request.
#[derive(Debug)]
pub enum RouteMatch<'t, G> {
    Route {
        owner: &'t Arc<Mounted<G>>,
        route: &'t Arc<Route>,
        parameters: Vec<(String, String)>,
    },
    /// OPTIONS: the host answers with `allow`.
    Options {
        owner: &'t Arc<Mounted<G>>,
        allow: &'t HeaderValue,
    },
    MethodNotAllowed {
        owner: &'t Arc<Mounted<G>>,
        allow: &'t HeaderValue,
    },
    /// The path would match in another version that this plugin serves.
    UnsupportedVersion {
        owner: &'t Arc<Mounted<G>>,
    },
    /// No route matches. `owner`: the plugin whose error body applies, if one is nearest.
    NotFound {
        owner: Option<&'t Arc<Mounted<G>>>,
    },
}

/// All routes of all plugins.
pub struct RouteTable<G> {
    mounted: Vec<Arc<Mounted<G>>>,
    paths: matchit::Router<Path<G>>,
    versions: Vec<Versions<G>>,
    /// Static prefixes of routes, of two segments or more. `None` if several plugins have the prefix.
    prefixes: HashMap<String, Option<Arc<Mounted<G>>>>,
    /// Pages of the host about the table.
    pub rendered: Rendered,
}

/// A normalized pattern and its routes.
struct Path<G> {
    owner: Arc<Mounted<G>>,
    routes: Vec<Arc<Route>>,
    allow: HeaderValue,
}

/// The paths of one plugin below its mount, without the version segment.
struct Versions<G> {
    owner: Arc<Mounted<G>>,
    /// "" for the mount "/".
    mount: String,
    served: Vec<String>,
    paths: matchit::Router<()>,
}

impl<G> RouteTable<G> {
    /// Returns a table without plugins.
    pub fn empty() -> RouteTable<G> {
        RouteTable {
            mounted: Vec::new(),
            paths: matchit::Router::new(),
            versions: Vec::new(),
            prefixes: HashMap::new(),
            rendered: Rendered::default(),
        }
    }

    /// Builds a table.
    ///
    /// # Errors
    ///
    /// All conflicts, not only the first.
    pub fn build(mounted: Vec<Mounted<G>>) -> Result<RouteTable<G>, Vec<RouteConflict>> {
        build::build(mounted)
    }

    /// Returns the plugins that are served, in the order in which they were given.
    pub fn mounted(&self) -> &[Arc<Mounted<G>>] {
        &self.mounted
    }

    /// Returns the serving version of a plugin.
    pub fn find_plugin(&self, name: &str) -> Option<&Arc<Mounted<G>>> {
        self.mounted.iter().find(|mounted| *mounted.plugin == *name)
    }

    /// Returns the version segments ("v1") that a plugin serves, in the order of its routes.
    pub fn served_versions(&self, plugin: &str) -> &[String] {
        let of_plugin = |versions: &&Versions<G>| &*versions.owner.plugin == plugin;
        self.versions.iter().find(of_plugin).map_or(&[], |versions| &versions.served)
    }

    /// Returns true if a path that has no route here may belong to a plugin below one of `mounts`: no plugin of this
    /// table has a longer mount in front of the path.
    pub fn may_belong_below(&self, path: &str, mounts: &[&str]) -> bool {
        let lengths = |mount: &str| below_mount(path, mount).map(|_| mount.len());
        let served = self.versions.iter().filter_map(|versions| lengths(&versions.mount)).max();
        let absent = mounts.iter().filter_map(|mount| lengths(mount.trim_end_matches('/'))).max();
        absent.is_some_and(|absent| served.is_none_or(|served| absent >= served))
    }

    pub fn find(&self, method: &Method, path: &str) -> RouteMatch<'_, G> {
        let Ok(matched) = self.paths.at(path) else { return self.find_miss(path) };
        let Path { owner, routes, allow } = matched.value;
        let routed = if *method == Method::HEAD { &Method::GET } else { method };
        let Some(route) = routes.iter().find(|route| route.method == *routed) else {
            return if *method == Method::OPTIONS {
                RouteMatch::Options { owner, allow }
            } else {
                RouteMatch::MethodNotAllowed { owner, allow }
            };
        };
        match decode_parameters(&route.parameters, matched.params.iter().map(|(_, value)| value)) {
            Some(parameters) => RouteMatch::Route { owner, route, parameters },
            None => RouteMatch::NotFound { owner: Some(owner) },
        }
    }

    fn find_miss(&self, path: &str) -> RouteMatch<'_, G> {
        match self.versions.iter().find(|versions| versions.would_match(path)) {
            Some(versions) => RouteMatch::UnsupportedVersion { owner: &versions.owner },
            None => RouteMatch::NotFound { owner: self.find_nearest(path) },
        }
    }

    /// Returns the plugin with the longest static prefix of two segments or more, else the only plugin of the longest
    /// mount in front of the path. Returns `None` if no plugin or several plugins qualify.
    fn find_nearest(&self, path: &str) -> Option<&Arc<Mounted<G>>> {
        // Not beyond the longest prefix: a path of 60 000 slashes must be cheap.
        let longest = self.prefixes.keys().map(String::len).max().unwrap_or_default();
        let ends = path.match_indices('/').map(|(at, _)| at).take_while(|at| *at <= longest);
        let full_length = (path.len() <= longest).then_some(path.len());
        let ends: Vec<usize> = ends.chain(full_length).collect();
        let known = ends.iter().rev().find_map(|end| self.prefixes.get(path.get(..*end)?));
        if let Some(owner) = known {
            return owner.as_ref();
        }
        let is_below = |versions: &&Versions<G>| below_mount(path, &versions.mount).is_some();
        let longest = self.versions.iter().filter(is_below).map(|versions| versions.mount.len()).max()?;
        let mut nearest = self.versions.iter().filter(is_below).filter(|versions| versions.mount.len() == longest);
        match (nearest.next(), nearest.next()) {
            (Some(only), None) => Some(&only.owner),
            _ => None,
        }
    }
}

impl<G> Versions<G> {
    fn would_match(&self, path: &str) -> bool {
        let Some(rest) = below_mount(path, &self.mount).and_then(|rest| rest.strip_prefix('/')) else { return false };
        let version_bytes = rest.find('/').unwrap_or(rest.len());
        let (version, rest) = rest.split_at(version_bytes);
        pattern::is_version(version)
            && !self.served.iter().any(|served| served == version)
            && self.paths.at(rest).is_ok_and(|matched| matched.params.iter().all(|(_, value)| decode(value).is_some()))
    }
}

/// Returns the rest of the path after the mount: empty, or with a slash at the start.
fn below_mount<'p>(path: &'p str, mount: &str) -> Option<&'p str> {
    path.strip_prefix(mount).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn decode_parameters<'p>(names: &[String], values: impl Iterator<Item = &'p str>) -> Option<Vec<(String, String)>> {
    names.iter().zip(values).map(|(name, value)| Some((name.clone(), decode(value)?))).collect()
}

/// Decodes a segment once. Returns `None` if a parameter cannot have the value.
fn decode(segment: &str) -> Option<String> {
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    let valid = !text.is_empty() && text != "." && text != ".." && !text.chars().any(char::is_control);
    valid.then(|| text.into_owned())
}

impl<G> fmt::Debug for Mounted<G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mounted").field("plugin", &self.plugin).field("number", &self.number).finish()
    }
}

impl<G> fmt::Debug for RouteTable<G> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RouteTable").field("mounted", &self.mounted).finish()
    }
}

/// Paths by normalized pattern, collected before the router is filled.
type PathsByPattern<G> = BTreeMap<String, Path<G>>;

//! Which request belongs to which operation of which plugin. Built from the manifests, replaced as a whole at a swap.
//!
//! Owns the matching of addresses. Never authenticates, never words a failure. Rules:
//! - Addresses are matched as they were sent: no slash at the end is added or removed, two slashes in a row and "." or
//!   ".." match nothing, a percent-encoded letter is not the letter. One address has one spelling, so that what was
//!   signed or kept for an idempotency key is what was routed.
//! - A parameter is one segment, percent-decoded once; `%2F` becomes a slash within it. One that is empty, "." or "..",
//!   not UTF-8, or holds control characters matches nothing.
//! - Addresses of two plugins never meet, whatever the methods.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};

use http::{HeaderName, HeaderValue, Method};
use percent_encoding::percent_decode_str;

use super::{estimate::MemoryEstimate, wording::Wording};
use crate::config::PluginConfig;
use crate::manifest;

pub use rendered::Rendered;

mod build;
mod pattern;
mod rendered;
#[cfg(test)]
mod tests;

/// A plugin that serves requests: what routing and HTTP must know of a generation. `owner` is the generation itself.
pub struct Mounted<G> {
    pub owner: G,
    pub plugin: Arc<str>,
    /// Number of the generation.
    pub number: u64,
    pub manifest: Arc<manifest::Manifest>,
    pub config: Arc<PluginConfig>,
    pub wording: Arc<Wording>,
}

/// One operation, prepared for requests.
#[derive(Debug)]
pub struct Route {
    /// As in the manifest.
    pub declared: manifest::Route,
    pub method: Method,
    /// Request headers that the plugin sees.
    pub headers: Vec<HeaderName>,
    pub context: Vec<ContextValue>,
    /// Names of the parameters, in the order of the path.
    parameters: Vec<String>,
    /// Memory that its recent calls have needed.
    pub memory: MemoryEstimate,
}

impl Route {
    /// GET is for looking: such a call takes no idempotency key.
    pub fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// A value that a route may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextValue {
    BaseUrl,
    ClientAddress,
    IdempotencyKey,
}

impl ContextValue {
    const ALL: [ContextValue; 3] = [ContextValue::BaseUrl, ContextValue::ClientAddress, ContextValue::IdempotencyKey];

    /// The name in the manifest and in `request.context`.
    pub fn name(self) -> &'static str {
        match self {
            ContextValue::BaseUrl => "base-url",
            ContextValue::ClientAddress => "client-address",
            ContextValue::IdempotencyKey => "idempotency-key",
        }
    }
}

/// Why a set of plugins cannot be served together, or one of them at all. Each is a sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    #[error("plugin \"{plugin}\": {route}: {reason}")]
    Unsound { plugin: Arc<str>, route: String, reason: String },
    #[error("plugin \"{plugin}\": {route} and {other} have the same method and the same addresses")]
    Twice { plugin: Arc<str>, route: String, other: String },
    #[error("plugin \"{plugin}\": {route} would hide the host's own page {page}")]
    HostPage { plugin: Arc<str>, route: String, page: &'static str },
    #[error("plugin \"{plugin}\": {route} meets {other} of plugin \"{other_plugin}\": some address matches both")]
    Plugins { plugin: Arc<str>, route: String, other_plugin: Arc<str>, other: String },
}

/// What became of an address.
#[derive(Debug)]
pub enum Found<'t, G> {
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
    /// The address would match in another version that this plugin serves.
    UnsupportedVersion {
        owner: &'t Arc<Mounted<G>>,
    },
    /// The plugin that should word it, if one is nearest.
    NotFound {
        owner: Option<&'t Arc<Mounted<G>>>,
    },
}

/// All routes of all plugins.
pub struct RouteTable<G> {
    mounted: Vec<Arc<Mounted<G>>>,
    paths: matchit::Router<Path<G>>,
    versions: Vec<Versions<G>>,
    /// Static beginnings of routes; `None` where several plugins have it.
    prefixes: HashMap<String, Option<Arc<Mounted<G>>>>,
    /// Pages of the host about it.
    pub rendered: Rendered,
}

/// One shape of address and what may be done with it.
struct Path<G> {
    owner: Arc<Mounted<G>>,
    routes: Vec<Arc<Route>>,
    allow: HeaderValue,
}

/// What one plugin serves below its mount, the version segment taken away.
struct Versions<G> {
    owner: Arc<Mounted<G>>,
    /// "" for the mount "/".
    mount: String,
    served: Vec<String>,
    paths: matchit::Router<()>,
}

impl<G> RouteTable<G> {
    /// A table that serves nothing but the host's own pages.
    pub fn empty() -> RouteTable<G> {
        RouteTable {
            mounted: Vec::new(),
            paths: matchit::Router::new(),
            versions: Vec::new(),
            prefixes: HashMap::new(),
            rendered: Rendered::default(),
        }
    }

    /// # Errors
    /// Every clash, not only the first.
    pub fn build(mounted: Vec<Mounted<G>>) -> Result<RouteTable<G>, Vec<Clash>> {
        build::build(mounted)
    }

    /// The plugins that are served, in the order in which they were given.
    pub fn mounted(&self) -> &[Arc<Mounted<G>>] {
        &self.mounted
    }

    /// "v1": the version segments that a plugin serves, in the order of its routes.
    pub fn served_versions(&self, plugin: &str) -> &[String] {
        let of_plugin = |versions: &&Versions<G>| &*versions.owner.plugin == plugin;
        self.versions.iter().find(of_plugin).map_or(&[], |versions| &versions.served)
    }

    /// Returns true if a path that has no route here may belong to a plugin below one of `mounts`: no plugin of this table
    /// has a longer mount in front of the path.
    pub fn may_belong_below(&self, path: &str, mounts: &[&str]) -> bool {
        let lengths = |mount: &str| below_mount(path, mount).map(|_| mount.len());
        let served = self.versions.iter().filter_map(|versions| lengths(&versions.mount)).max();
        let absent = mounts.iter().filter_map(|mount| lengths(mount.trim_end_matches('/'))).max();
        absent.is_some_and(|absent| served.is_none_or(|served| absent >= served))
    }

    pub fn find(&self, method: &Method, path: &str) -> Found<'_, G> {
        let Ok(matched) = self.paths.at(path) else { return self.find_miss(path) };
        let Path { owner, routes, allow } = matched.value;
        let wanted = if *method == Method::HEAD { &Method::GET } else { method };
        let Some(route) = routes.iter().find(|route| route.method == *wanted) else {
            return if *method == Method::OPTIONS {
                Found::Options { owner, allow }
            } else {
                Found::MethodNotAllowed { owner, allow }
            };
        };
        match decode_parameters(&route.parameters, matched.params.iter().map(|(_, value)| value)) {
            Some(parameters) => Found::Route { owner, route, parameters },
            None => Found::NotFound { owner: Some(owner) },
        }
    }

    fn find_miss(&self, path: &str) -> Found<'_, G> {
        match self.versions.iter().find(|versions| versions.would_match(path)) {
            Some(versions) => Found::UnsupportedVersion { owner: &versions.owner },
            None => Found::NotFound { owner: self.find_nearest(path) },
        }
    }

    /// The longest static beginning of two segments or more that a single plugin has; else the only plugin of the longest
    /// mount that the address lies below.
    fn find_nearest(&self, path: &str) -> Option<&Arc<Mounted<G>>> {
        // No further than the longest beginning there is: an address of 60 000 slashes must cost nothing.
        let longest = self.prefixes.keys().map(String::len).max().unwrap_or_default();
        let ends = path.match_indices('/').map(|(at, _)| at).take_while(|at| *at <= longest);
        let whole = (path.len() <= longest).then_some(path.len());
        let ends: Vec<usize> = ends.chain(whole).collect();
        let known = ends.iter().rev().find_map(|end| self.prefixes.get(path.get(..*end)?));
        if let Some(owner) = known {
            return owner.as_ref();
        }
        let below = |versions: &&Versions<G>| below_mount(path, &versions.mount).is_some();
        let longest = self.versions.iter().filter(below).map(|versions| versions.mount.len()).max()?;
        let mut nearest = self.versions.iter().filter(below).filter(|versions| versions.mount.len() == longest);
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

/// What follows the mount: empty, or beginning with a slash.
fn below_mount<'p>(path: &'p str, mount: &str) -> Option<&'p str> {
    path.strip_prefix(mount).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn decode_parameters<'p>(names: &[String], values: impl Iterator<Item = &'p str>) -> Option<Vec<(String, String)>> {
    names.iter().zip(values).map(|(name, value)| Some((name.clone(), decode(value)?))).collect()
}

/// One segment, decoded once. `None` for what no id can be.
fn decode(segment: &str) -> Option<String> {
    let text = percent_decode_str(segment).decode_utf8().ok()?;
    let sound = !text.is_empty() && text != "." && text != ".." && !text.chars().any(char::is_control);
    sound.then(|| text.into_owned())
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

/// By shape: what `build` gathers before it fills the router.
type Shapes<G> = BTreeMap<String, Path<G>>;

//! Builds a route table from manifests, or returns all conflicts.
//!
//! Validates routes, and checks that no path matches routes of two plugins. Handles no requests.

use super::{
    BTreeMap, ContextValue, HashMap, HeaderName, HeaderValue, Method, Mounted, Path, PathsByPattern, Route,
    RouteConflict, RouteTable, Versions, pattern::Pattern,
};
use crate::manifest;
use std::sync::Arc;

/// Paths of the host, which no route may match.
const HOST_PAGES: [&str; 6] = [
    "/",
    "/docs",
    "/openapi/{plugin}",
    "/oauth2/token",
    "/oauth2/jwks.json",
    "/.well-known/oauth-authorization-server",
];

/// A route while the table is built.
struct Candidate<G> {
    owner: Arc<Mounted<G>>,
    pattern: Pattern,
    /// Normalized pattern. Computed once, because every pair of routes is compared.
    normalized: String,
    route: Arc<Route>,
}

impl<G> Candidate<G> {
    /// Returns a title such as "GET /v1/notes (list-notes)".
    fn title(&self) -> String {
        title(&self.route.declared)
    }
}

fn title(route: &manifest::Route) -> String {
    format!("{} {} ({})", route.method, route.path, route.operation)
}

pub(super) fn build<G>(mounted: Vec<Mounted<G>>) -> Result<RouteTable<G>, Vec<RouteConflict>> {
    let mounted: Vec<Arc<Mounted<G>>> = mounted.into_iter().map(Arc::new).collect();
    let mut conflicts = Vec::new();
    let mut candidates = Vec::new();
    for owner in &mounted {
        for declared in &owner.manifest.routes {
            match prepare(owner, declared) {
                Ok(candidate) => candidates.push(candidate),
                Err(reason) => conflicts.push(RouteConflict::Invalid {
                    plugin: Arc::clone(&owner.plugin),
                    route: title(declared),
                    reason,
                }),
            }
        }
    }
    conflicts.extend(candidates.iter().flat_map(find_host_pages));
    conflicts.extend(find_overlaps(&candidates));
    if conflicts.is_empty() { fill(mounted, candidates) } else { Err(conflicts) }
}

fn prepare<G>(owner: &Arc<Mounted<G>>, declared: &manifest::Route) -> Result<Candidate<G>, String> {
    let pattern = Pattern::parse(&owner.config.mount, &declared.path)?;
    let method = match declared.method.as_str() {
        "GET" => Method::GET,
        "POST" => Method::POST,
        "PUT" => Method::PUT,
        "PATCH" => Method::PATCH,
        "DELETE" => Method::DELETE,
        other => return Err(format!("the method \"{other}\" is none of GET, POST, PUT, PATCH, DELETE")),
    };
    check_key_parameter(declared, &pattern)?;
    let route = Route {
        method,
        headers: prepare_headers(declared, &owner.manifest.authentication)?,
        context: prepare_context(declared)?,
        parameters: pattern.parameters(),
        memory: Default::default(),
        declared: declared.clone(),
    };
    Ok(Candidate { owner: Arc::clone(owner), normalized: pattern.normalized(), pattern, route: Arc::new(route) })
}

/// Parses the headers of a route. A plugin never receives a credential, so it cannot request the header that carries
/// one.
fn prepare_headers(
    declared: &manifest::Route,
    authentication: &manifest::Authentication,
) -> Result<Vec<HeaderName>, String> {
    declared
        .headers
        .iter()
        .map(|name| {
            let credential = ["authorization", "proxy-authorization"].contains(&name.as_str())
                || authentication.header.as_ref() == Some(name);
            if credential {
                return Err(format!("the header \"{name}\" carries credentials, which a plugin never receives"));
            }
            // `from_lowercase` rejects capitals: names reach the plugin in lower case.
            HeaderName::from_lowercase(name.as_bytes())
                .map_err(|_| format!("\"{name}\" is not the name of a header in lower case"))
        })
        .collect()
}

fn check_key_parameter(declared: &manifest::Route, pattern: &Pattern) -> Result<(), String> {
    let Some(name) = &declared.key_parameter else { return Ok(()) };
    if declared.open {
        return Err("an open route takes no token: it is either open or has a key-parameter".to_owned());
    }
    if pattern.parameters().iter().filter(|parameter| *parameter == name).count() != 1 {
        return Err(format!("the path has no parameter \"{name}\" to carry a token (key-parameter)"));
    }
    Ok(())
}

fn prepare_context(declared: &manifest::Route) -> Result<Vec<ContextValue>, String> {
    let find = |name: &String| {
        ContextValue::ALL
            .into_iter()
            .find(|value| value.name() == name)
            .ok_or_else(|| format!("the host has no context value \"{name}\""))
    };
    declared.context.iter().map(find).collect()
}

fn find_host_pages<G>(candidate: &Candidate<G>) -> Vec<RouteConflict> {
    let hides = |page: &&str| Pattern::parse("/", page).is_ok_and(|page| page.overlaps(&candidate.pattern));
    let conflict =
        |page| RouteConflict::HostPage { plugin: Arc::clone(&candidate.owner.plugin), route: candidate.title(), page };
    HOST_PAGES.into_iter().filter(hides).map(conflict).collect()
}

fn find_overlaps<G>(candidates: &[Candidate<G>]) -> Vec<RouteConflict> {
    let mut conflicts = Vec::new();
    for (position, later) in candidates.iter().enumerate() {
        for earlier in candidates.iter().take(position) {
            let same_plugin = Arc::ptr_eq(&earlier.owner, &later.owner);
            if same_plugin && earlier.route.method == later.route.method && earlier.normalized == later.normalized {
                conflicts.push(RouteConflict::Duplicate {
                    plugin: Arc::clone(&later.owner.plugin),
                    route: later.title(),
                    other: earlier.title(),
                });
            } else if !same_plugin && earlier.pattern.overlaps(&later.pattern) {
                conflicts.push(RouteConflict::OtherPlugin {
                    plugin: Arc::clone(&later.owner.plugin),
                    route: later.title(),
                    other_plugin: Arc::clone(&earlier.owner.plugin),
                    other: earlier.title(),
                });
            }
        }
    }
    conflicts
}

fn fill<G>(mounted: Vec<Arc<Mounted<G>>>, candidates: Vec<Candidate<G>>) -> Result<RouteTable<G>, Vec<RouteConflict>> {
    let mut conflicts = Vec::new();
    let mut by_pattern: PathsByPattern<G> = BTreeMap::new();
    for candidate in &candidates {
        let path = by_pattern.entry(candidate.normalized.clone()).or_insert_with(|| Path {
            owner: Arc::clone(&candidate.owner),
            routes: Vec::new(),
            allow: HeaderValue::from_static(""),
        });
        path.routes.push(Arc::clone(&candidate.route));
    }
    let mut paths = matchit::Router::new();
    for (normalized, mut path) in by_pattern {
        path.allow = allow(&path.routes);
        let plugin = Arc::clone(&path.owner.plugin);
        if let Err(error) = paths.insert(normalized.as_str(), path) {
            conflicts.push(RouteConflict::Invalid { plugin, route: normalized, reason: error.to_string() });
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let versions = mounted.iter().map(|owner| gather_versions(owner, &candidates)).collect();
    let (prefixes, rendered) = (gather_prefixes(&candidates), Default::default());
    Ok(RouteTable { versions, prefixes, paths, mounted, rendered })
}

/// Returns the value of `Allow`: "GET, HEAD, POST, OPTIONS".
fn allow(routes: &[Arc<Route>]) -> HeaderValue {
    let mut methods: Vec<&str> = Vec::new();
    for route in routes {
        methods.push(route.method.as_str());
        if route.method == Method::GET {
            methods.push("HEAD");
        }
    }
    methods.push("OPTIONS");
    HeaderValue::from_str(&methods.join(", ")).unwrap_or(HeaderValue::from_static("OPTIONS"))
}

fn gather_versions<G>(owner: &Arc<Mounted<G>>, candidates: &[Candidate<G>]) -> Versions<G> {
    let mount = owner.config.mount.trim_end_matches('/').to_owned();
    let mount_segments = mount.matches('/').count();
    let mut versions = Versions { owner: Arc::clone(owner), mount, served: Vec::new(), paths: matchit::Router::new() };
    for candidate in candidates.iter().filter(|candidate| Arc::ptr_eq(&candidate.owner, owner)) {
        let Some(version) = candidate.pattern.version_at(mount_segments) else { continue };
        if !versions.served.iter().any(|served| served == version) {
            versions.served.push(version.to_owned());
        }
        let rest = candidate.pattern.normalized_from(mount_segments + 1);
        if !rest.is_empty() {
            // The insertion fails if another method or version has the same path. One entry is enough.
            let _ = versions.paths.insert(rest, ());
        }
    }
    versions
}

fn gather_prefixes<G>(candidates: &[Candidate<G>]) -> HashMap<String, Option<Arc<Mounted<G>>>> {
    let mut prefixes: HashMap<String, Option<Arc<Mounted<G>>>> = HashMap::new();
    for candidate in candidates {
        for prefix in candidate.pattern.static_prefixes().into_iter().skip(1) {
            let owner = prefixes.entry(prefix).or_insert_with(|| Some(Arc::clone(&candidate.owner)));
            if owner.as_ref().is_some_and(|owner| !Arc::ptr_eq(owner, &candidate.owner)) {
                *owner = None;
            }
        }
    }
    prefixes
}

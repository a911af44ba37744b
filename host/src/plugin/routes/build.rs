//! From manifests to a route table, or to every reason why not.
//!
//! Owns the soundness of routes and the rule that addresses of two plugins never meet. Never sees a request.

use super::{
    BTreeMap, Clash, ContextValue, HashMap, HeaderName, HeaderValue, Method, Mounted, Path, Route, RouteTable, Shapes,
    Versions, pattern::Pattern,
};
use crate::manifest;
use std::sync::Arc;

/// Addresses of the host itself, which no route may match.
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
    /// Of the pattern; made once, since every pair of routes is compared.
    shape: String,
    route: Arc<Route>,
}

impl<G> Candidate<G> {
    /// "GET /v1/notes (list-notes)".
    fn title(&self) -> String {
        title(&self.route.declared)
    }
}

fn title(route: &manifest::Route) -> String {
    format!("{} {} ({})", route.method, route.path, route.operation)
}

pub(super) fn build<G>(mounted: Vec<Mounted<G>>) -> Result<RouteTable<G>, Vec<Clash>> {
    let mounted: Vec<Arc<Mounted<G>>> = mounted.into_iter().map(Arc::new).collect();
    let mut clashes = Vec::new();
    let mut candidates = Vec::new();
    for owner in &mounted {
        for declared in &owner.manifest.routes {
            match prepare(owner, declared) {
                Ok(candidate) => candidates.push(candidate),
                Err(reason) => {
                    clashes.push(Clash::Unsound { plugin: Arc::clone(&owner.plugin), route: title(declared), reason })
                }
            }
        }
    }
    clashes.extend(candidates.iter().flat_map(find_host_pages));
    clashes.extend(find_meetings(&candidates));
    if clashes.is_empty() { fill(mounted, candidates) } else { Err(clashes) }
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
    Ok(Candidate { owner: Arc::clone(owner), shape: pattern.shape(), pattern, route: Arc::new(route) })
}

/// A plugin never sees a credential, so it cannot ask for the header that carries one.
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
                return Err(format!("the header \"{name}\" carries credentials, which a plugin never sees"));
            }
            // `from_lowercase` refuses capitals as well: names reach the plugin in lower case.
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

fn find_host_pages<G>(candidate: &Candidate<G>) -> Vec<Clash> {
    let hides = |page: &&str| Pattern::parse("/", page).is_ok_and(|page| page.meets(&candidate.pattern));
    let clash = |page| Clash::HostPage { plugin: Arc::clone(&candidate.owner.plugin), route: candidate.title(), page };
    HOST_PAGES.into_iter().filter(hides).map(clash).collect()
}

fn find_meetings<G>(candidates: &[Candidate<G>]) -> Vec<Clash> {
    let mut clashes = Vec::new();
    for (position, later) in candidates.iter().enumerate() {
        for earlier in candidates.iter().take(position) {
            let same_plugin = Arc::ptr_eq(&earlier.owner, &later.owner);
            if same_plugin && earlier.route.method == later.route.method && earlier.shape == later.shape {
                clashes.push(Clash::Twice {
                    plugin: Arc::clone(&later.owner.plugin),
                    route: later.title(),
                    other: earlier.title(),
                });
            } else if !same_plugin && earlier.pattern.meets(&later.pattern) {
                clashes.push(Clash::Plugins {
                    plugin: Arc::clone(&later.owner.plugin),
                    route: later.title(),
                    other_plugin: Arc::clone(&earlier.owner.plugin),
                    other: earlier.title(),
                });
            }
        }
    }
    clashes
}

fn fill<G>(mounted: Vec<Arc<Mounted<G>>>, candidates: Vec<Candidate<G>>) -> Result<RouteTable<G>, Vec<Clash>> {
    let mut clashes = Vec::new();
    let mut shapes: Shapes<G> = BTreeMap::new();
    for candidate in &candidates {
        let path = shapes.entry(candidate.shape.clone()).or_insert_with(|| Path {
            owner: Arc::clone(&candidate.owner),
            routes: Vec::new(),
            allow: HeaderValue::from_static(""),
        });
        path.routes.push(Arc::clone(&candidate.route));
    }
    let mut paths = matchit::Router::new();
    for (shape, mut path) in shapes {
        path.allow = allow(&path.routes);
        let plugin = Arc::clone(&path.owner.plugin);
        if let Err(error) = paths.insert(shape.as_str(), path) {
            clashes.push(Clash::Unsound { plugin, route: shape, reason: error.to_string() });
        }
    }
    if !clashes.is_empty() {
        return Err(clashes);
    }
    let versions = mounted.iter().map(|owner| gather_versions(owner, &candidates)).collect();
    let (prefixes, rendered) = (gather_prefixes(&candidates), Default::default());
    Ok(RouteTable { versions, prefixes, paths, mounted, rendered })
}

/// "GET, HEAD, POST, OPTIONS".
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
        let rest = candidate.pattern.shape_from(mount_segments + 1);
        if !rest.is_empty() {
            // A second method or version of the same address is refused here, and is the same answer anyway.
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

//! Route table of a plugin: one route for each operation, built at compile time.

use crate::answer::Outcome;
use crate::call::Call;

/// Handler of an operation.
pub type Handler = for<'a> fn(&Call<'a>) -> Outcome;

/// A route of a plugin.
#[derive(Clone, Copy)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub operation: &'static str,
    /// Names of the parameters that the query may contain. `None`: any.
    pub query: Option<&'static [&'static str]>,
    pub(crate) handler: Handler,
    pub(crate) open: bool,
    pub(crate) key_parameter: Option<&'static str>,
    pub(crate) scopes: &'static [&'static str],
    pub(crate) body_bytes_max: Option<u64>,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) headers: &'static [&'static str],
    pub(crate) context: &'static [&'static str],
    pub(crate) media_types: &'static [&'static str],
    pub(crate) on_fault: Option<&'static str>,
    pub(crate) on_deadline: Option<&'static str>,
}

impl Route {
    const fn new(method: &'static str, path: &'static str, operation: &'static str, handler: Handler) -> Route {
        Route {
            method,
            path,
            operation,
            query: Some(&[]),
            handler,
            open: false,
            key_parameter: None,
            scopes: &[],
            body_bytes_max: None,
            deadline_ms: None,
            headers: &[],
            context: &[],
            media_types: &[],
            on_fault: None,
            on_deadline: None,
        }
    }

    /// Requires no key. A call of the route finds no records and can change nothing.
    pub const fn open(mut self) -> Route {
        self.open = true;
        self
    }

    /// Requires a token of this plugin in this parameter of the path, and no other credential: for links that are
    /// opened without headers. The handler gets the id of the token as the value of the parameter.
    pub const fn key_parameter(mut self, name: &'static str) -> Route {
        self.key_parameter = Some(name);
        self
    }

    /// Requires all of these scopes. A key without scopes has full access.
    pub const fn scopes(mut self, scopes: &'static [&'static str]) -> Route {
        self.scopes = scopes;
        self
    }

    /// Sets the maximum size of a body.
    pub const fn body_bytes_max(mut self, bytes: u64) -> Route {
        self.body_bytes_max = Some(bytes);
        self
    }

    /// Sets the deadline of a call.
    pub const fn deadline_ms(mut self, milliseconds: u64) -> Route {
        self.deadline_ms = Some(milliseconds);
        self
    }

    /// Declares the request headers that the handler reads, in lower case.
    pub const fn headers(mut self, names: &'static [&'static str]) -> Route {
        self.headers = names;
        self
    }

    /// Declares the parameters that the query may contain, if the plugin checks queries ([`Plugin::strict_queries`]).
    /// Without this, the query must be empty.
    ///
    /// [`Plugin::strict_queries`]: crate::Plugin::strict_queries
    pub const fn query(mut self, names: &'static [&'static str]) -> Route {
        self.query = Some(names);
        self
    }

    /// Skips the check of the query, for callers that add their own parameters, such as external systems and browsers
    /// that follow a link.
    pub const fn any_query(mut self) -> Route {
        self.query = None;
        self
    }

    /// Declares the context values that the handler reads: "base-url", "client-address", "idempotency-key".
    pub const fn context(mut self, names: &'static [&'static str]) -> Route {
        self.context = names;
        self
    }

    /// Sets the task that runs after a request which ended in a fault. Its payload is a
    /// [`FailedRequest`](crate::tasks::FailedRequest).
    pub const fn on_fault(mut self, task: &'static str) -> Route {
        self.on_fault = Some(task);
        self
    }

    /// Sets the task that runs after a request which missed its deadline.
    pub const fn on_deadline(mut self, task: &'static str) -> Route {
        self.on_deadline = Some(task);
        self
    }

    /// Accepts bodies of these media types besides application/json.
    pub const fn media_types(mut self, names: &'static [&'static str]) -> Route {
        self.media_types = names;
        self
    }
}

/// Sets the scopes of all routes that require a key and have no scopes.
pub const fn scoped<const N: usize>(mut routes: [Route; N], scopes: &'static [&'static str]) -> [Route; N] {
    let mut rest = routes.as_mut_slice();
    while let [route, others @ ..] = rest {
        if route.scopes.is_empty() && !route.open && route.key_parameter.is_none() {
            route.scopes = scopes;
        }
        rest = others;
    }
    routes
}

pub const fn get(path: &'static str, operation: &'static str, handler: Handler) -> Route {
    Route::new("GET", path, operation, handler)
}

pub const fn post(path: &'static str, operation: &'static str, handler: Handler) -> Route {
    Route::new("POST", path, operation, handler)
}

pub const fn put(path: &'static str, operation: &'static str, handler: Handler) -> Route {
    Route::new("PUT", path, operation, handler)
}

pub const fn patch(path: &'static str, operation: &'static str, handler: Handler) -> Route {
    Route::new("PATCH", path, operation, handler)
}

pub const fn delete(path: &'static str, operation: &'static str, handler: Handler) -> Route {
    Route::new("DELETE", path, operation, handler)
}

//! The route table of a plugin: one line for each operation, built at compile time.

use crate::answer::Outcome;
use crate::call::Call;

pub type Handler = for<'a> fn(&Call<'a>) -> Outcome;

/// Describes one route of a plugin: a line of its route table.
#[derive(Clone, Copy)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub operation: &'static str,
    /// Names of the parameters that the query may give. `None`: any.
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

    /// No key needed: such a call finds no records and can change nothing.
    pub const fn open(mut self) -> Route {
        self.open = true;
        self
    }

    /// A token that this plugin issued, in this parameter of the path, is all that opens the route: for links that are opened
    /// without headers. The handler sees the id of the token in its place.
    pub const fn key_parameter(mut self, name: &'static str) -> Route {
        self.key_parameter = Some(name);
        self
    }

    /// All of them must be among the scopes of the key; a key without any may do everything.
    pub const fn scopes(mut self, scopes: &'static [&'static str]) -> Route {
        self.scopes = scopes;
        self
    }

    pub const fn body_bytes_max(mut self, bytes: u64) -> Route {
        self.body_bytes_max = Some(bytes);
        self
    }

    pub const fn deadline_ms(mut self, milliseconds: u64) -> Route {
        self.deadline_ms = Some(milliseconds);
        self
    }

    /// Request headers that the handler reads, in lower case.
    pub const fn headers(mut self, names: &'static [&'static str]) -> Route {
        self.headers = names;
        self
    }

    /// Names of the parameters that the query may give, where the plugin checks queries ([`Plugin::strict_queries`]). Without
    /// this: none.
    ///
    /// [`Plugin::strict_queries`]: crate::Plugin::strict_queries
    pub const fn query(mut self, names: &'static [&'static str]) -> Route {
        self.query = Some(names);
        self
    }

    /// The query is not checked: for callers that add parameters of their own, such as other parties and browsers that follow a
    /// link.
    pub const fn any_query(mut self) -> Route {
        self.query = None;
        self
    }

    /// Named values that the handler reads: "base-url", "client-address", "idempotency-key".
    pub const fn context(mut self, names: &'static [&'static str]) -> Route {
        self.context = names;
        self
    }

    /// The task that follows a request which ended in a fault: see [`FailedRequest`](crate::tasks::FailedRequest).
    pub const fn on_fault(mut self, task: &'static str) -> Route {
        self.on_fault = Some(task);
        self
    }

    /// The task that follows a request which missed its deadline.
    pub const fn on_deadline(mut self, task: &'static str) -> Route {
        self.on_deadline = Some(task);
        self
    }

    /// Media types of bodies besides application/json.
    pub const fn media_types(mut self, names: &'static [&'static str]) -> Route {
        self.media_types = names;
        self
    }
}

/// Those that a key opens and that name no scopes of their own want these.
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

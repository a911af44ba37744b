//! A list of routes, as each topic declares them.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    handler::Handler,
    middleware,
    routing::{MethodRouter, get, post},
};

use super::{
    Services, actions,
    inputs::{Action, reject_options},
};

/// The routes of a topic.
#[derive(Default)]
pub struct Routes {
    pub router: Router<Arc<Services>>,
    /// Names of the actions of the routes.
    pub actions: Vec<&'static str>,
    /// Paths of the routes.
    pub paths: Vec<String>,
}

/// Names of the actions of all routes. An extension of every request.
#[derive(Clone)]
pub struct ActionNames(pub Arc<[&'static str]>);

impl Routes {
    /// Adds a route for GET, which only reads and takes no options.
    pub fn read<H: Handler<T, Arc<Services>>, T: 'static>(self, path: &str, handler: H) -> Routes {
        self.add(path, without_options(get(handler)))
    }

    /// Adds a route for GET whose handler parses options with `read_options`.
    pub fn read_with_options<H: Handler<T, Arc<Services>>, T: 'static>(self, path: &str, handler: H) -> Routes {
        self.add(path, get(handler))
    }

    /// Adds a route for GET that needs no token. It ignores options: an option that a load balancer or a monitoring
    /// system adds must not make the host appear unhealthy.
    pub fn probe<H: Handler<T, Arc<Services>>, T: 'static>(self, path: &str, handler: H) -> Routes {
        self.add(path, get(handler))
    }

    /// Adds a route for POST whose request has a body of at most `bytes_max`, changes nothing, and takes no options.
    pub fn read_by_post<H: Handler<T, Arc<Services>>, T: 'static>(
        self,
        path: &str,
        handler: H,
        bytes_max: usize,
    ) -> Routes {
        self.add(path, without_options(post(handler).layer(DefaultBodyLimit::max(bytes_max))))
    }

    /// Adds a route that changes something and takes no options. `action` is its name in the log and in the operators'
    /// journal.
    pub fn action(self, action: &'static str, path: &str, handler: MethodRouter<Arc<Services>>) -> Routes {
        self.action_with_options(action, path, without_options(handler))
    }

    /// Adds a route like [`Routes::action`] whose handler parses options with `read_options`.
    pub fn action_with_options(
        mut self,
        action: &'static str,
        path: &str,
        handler: MethodRouter<Arc<Services>>,
    ) -> Routes {
        self.actions.push(action);
        let handler = handler.route_layer(middleware::from_fn_with_state(Action(action), actions::perform));
        self.add(path, handler)
    }

    /// Adds the routes of another topic.
    pub fn merge(mut self, topic: Routes) -> Routes {
        self.actions.extend(topic.actions);
        self.paths.extend(topic.paths);
        Routes { router: self.router.merge(topic.router), ..self }
    }

    fn add(mut self, path: &str, handler: MethodRouter<Arc<Services>>) -> Routes {
        self.paths.push(path.to_owned());
        Routes { router: self.router.route(path, handler), ..self }
    }
}

fn without_options(handler: MethodRouter<Arc<Services>>) -> MethodRouter<Arc<Services>> {
    handler.route_layer(middleware::from_fn(reject_options))
}

//! A list of routes, as each topic declares them.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    handler::Handler,
    middleware,
    routing::{MethodRouter, get, post},
};

use super::{Services, actions, inputs::Action};

/// The routes of a topic.
#[derive(Default)]
pub struct Routes {
    pub router: Router<Arc<Services>>,
    /// Names of the actions of the routes.
    pub actions: Vec<&'static str>,
}

/// Names of the actions of all routes. An extension of every request.
#[derive(Clone)]
pub struct ActionNames(pub Arc<[&'static str]>);

impl Routes {
    /// Adds a route for GET, which only reads.
    pub fn read<H: Handler<T, Arc<Services>>, T: 'static>(self, path: &str, handler: H) -> Routes {
        Routes { router: self.router.route(path, get(handler)), ..self }
    }

    /// Adds a route for POST whose request has a body of at most `bytes_max`, and changes nothing.
    pub fn read_by_post<H: Handler<T, Arc<Services>>, T: 'static>(
        self,
        path: &str,
        handler: H,
        bytes_max: usize,
    ) -> Routes {
        Routes { router: self.router.route(path, post(handler).layer(DefaultBodyLimit::max(bytes_max))), ..self }
    }

    /// Adds a route that changes something. `action` is its name in the log and in the operators' journal.
    pub fn action(mut self, action: &'static str, path: &str, handler: MethodRouter<Arc<Services>>) -> Routes {
        self.actions.push(action);
        let handler = handler.route_layer(middleware::from_fn_with_state(Action(action), actions::perform));
        Routes { router: self.router.route(path, handler), ..self }
    }

    /// Adds the routes of another topic.
    pub fn merge(mut self, topic: Routes) -> Routes {
        self.actions.extend(topic.actions);
        Routes { router: self.router.merge(topic.router), ..self }
    }
}

//! The routes and the calls, as HTTP sees them.

use std::sync::Arc;

use crate::{
    failure::Failure,
    http::{self, HttpMetrics, Observed},
    plugin::{
        call::{Calls, Ended},
        exchange::{Admitted, Answer},
        generation::Generation,
        registry::Registry,
        routes::{Found, Mounted, RouteTable},
    },
};

/// What requests look into: one value, replaced as a whole at a swap.
pub type Table = RouteTable<Arc<Generation>>;

/// The table of everything that is to serve; every clash at once where it cannot.
pub fn build_table(serving: &[Arc<Generation>]) -> Result<Table, Vec<String>> {
    let mounted = serving.iter().map(|generation| Mounted {
        owner: generation.clone(),
        plugin: generation.plugin().clone(),
        number: generation.number(),
        manifest: generation.manifest.clone(),
        config: generation.config.clone(),
        wording: generation.wording.clone(),
    });
    RouteTable::build(mounted.collect()).map_err(|clashes| clashes.iter().map(ToString::to_string).collect())
}

pub struct Serving {
    pub registry: Arc<Registry<Table>>,
    pub calls: Arc<Calls>,
}

impl http::Calls for Serving {
    type Owner = Arc<Generation>;

    fn current(&self) -> Arc<Table> {
        self.registry.current()
    }

    async fn call(&self, admitted: Admitted<Arc<Generation>>) -> Result<Answer, Failure> {
        match self.calls.perform(&admitted).await {
            Ok(answer) => Ok(answer),
            Err(Ended::Failed(failure) | Ended::Broken(failure)) => Err(failure),
            Err(Ended::Outdated) => self.call_newest(admitted).await,
        }
    }
}

impl Serving {
    /// A call that began before a swap and meets data that was written after it: it belongs to the new generation.
    async fn call_newest(&self, admitted: Admitted<Arc<Generation>>) -> Result<Answer, Failure> {
        let table = self.registry.current();
        let before = admitted.mounted.number;
        let again = match table.find(&admitted.method, &admitted.path) {
            Found::Route { owner, route, parameters }
                if owner.number > before && owner.plugin == admitted.mounted.plugin =>
            {
                Admitted { mounted: owner.clone(), route: route.clone(), parameters, ..admitted }
            }
            _ => {
                let plugin = &*admitted.mounted.plugin;
                tracing::error!(
                    plugin,
                    generation = before,
                    "a record has a data version that no generation here can read"
                );
                return Err(Failure::PluginFailed);
            }
        };
        self.calls.perform(&again).await.map_err(|ended| match ended {
            Ended::Failed(failure) | Ended::Broken(failure) => failure,
            Ended::Outdated => Failure::PluginFailed,
        })
    }
}

/// Requests are counted on the generation that answered them.
pub struct RequestMetrics;

impl HttpMetrics<Arc<Generation>> for RequestMetrics {
    fn observe(&self, owner: &Arc<Generation>, request: &Observed<'_>) {
        let operation = (!request.operation.is_empty()).then_some(request.operation);
        owner.metrics.observe(operation, request.status, request.seconds);
    }
}

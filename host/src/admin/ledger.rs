//! The check of the ledger: every asset of every tenant must sum to zero.

use std::sync::Arc;

use axum::{Json, extract::State};

use super::{
    AdminError, Services,
    routes::Routes,
    wire::{LedgerReport, LedgerSum},
};

pub fn routes() -> Routes {
    Routes::default().read("/v1/ledger/check", check)
}

async fn check(State(host): State<Arc<Services>>) -> Result<Json<LedgerReport>, AdminError> {
    let sums = host.stores.ledger_sums().await.map_err(AdminError::failed)?;
    let balanced = sums.iter().all(|sum| sum.sum == 0);
    let sums = sums.into_iter().map(|sum| LedgerSum {
        plugin: sum.plugin,
        tenant: sum.tenant,
        asset: sum.asset,
        sum: sum.sum.to_string(),
    });
    Ok(Json(LedgerReport { balanced, sums: sums.collect() }))
}

//! Networks of blockchains: which there are, what stands on them, and what is done to simulated ones.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::{HeaderMap, Uri};
use serde::Deserialize;

use super::{
    asked::{read_json, read_options},
    operations::{BalanceQuestion, Operations, TransactionQuestion},
    plugins::operator,
    problem::Rejection,
    wire::{BalanceReport, ControlReport, NetworkControl, NetworkSide, NetworkStatus, TransactionStatus},
};

type Answer<T> = Result<Json<T>, Rejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalanceOptions {
    blockchain: String,
    #[serde(default)]
    network: NetworkSide,
    address: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionOptions {
    blockchain: String,
    #[serde(default)]
    network: NetworkSide,
    hash: String,
}

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> Answer<Vec<NetworkStatus>> {
    Ok(Json(operations.networks().await?))
}

pub async fn balance<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<BalanceReport> {
    let hint = "The options are blockchain, network (test, main), and address.";
    let BalanceOptions { blockchain, network, address } = read_options(&uri, hint)?;
    Ok(Json(operations.network_balance(BalanceQuestion { blockchain, network, address }).await?))
}

pub async fn transaction<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<TransactionStatus> {
    let hint = "The options are blockchain, network (test, main), and hash.";
    let TransactionOptions { blockchain, network, hash } = read_options(&uri, hint)?;
    Ok(Json(operations.network_transaction(TransactionQuestion { blockchain, network, hash }).await?))
}

pub async fn control<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> Answer<ControlReport> {
    let hint = "Send blockchain, network (test, main) and control: an object whose kind is give (address, amount, token), \
                mine (blocks), reorganise (depth, drop), fail (count), stick (count), release, slow (ms), \
                silent (silence: off, lost, taken) or off.";
    let wish: NetworkControl = read_json(request, hint).await?;
    Ok(Json(operations.control_network(wish, operator(&headers)).await?))
}

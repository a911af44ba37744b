//! Handlers of blockchain networks: status, balances, transactions, and the control of simulated networks.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
};
use http::{HeaderMap, Uri};
use serde::Deserialize;

use super::{
    error::HttpError,
    inputs::{read_json, read_options},
    operations::{BalanceQuery, Operations, TransactionQuery},
    plugins::operator,
    wire::{BalanceReport, ControlReport, NetworkControl, NetworkSide, NetworkStatus, TransactionStatus},
};

type JsonResult<T> = Result<Json<T>, HttpError>;

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

pub async fn list<O: Operations>(State(operations): State<Arc<O>>) -> JsonResult<Vec<NetworkStatus>> {
    Ok(Json(operations.networks().await?))
}

pub async fn balance<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<BalanceReport> {
    let hint = "The options are blockchain, network (test, main), and address.";
    let BalanceOptions { blockchain, network, address } = read_options(&uri, hint)?;
    Ok(Json(operations.network_balance(BalanceQuery { blockchain, network, address }).await?))
}

pub async fn transaction<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<TransactionStatus> {
    let hint = "The options are blockchain, network (test, main), and hash.";
    let TransactionOptions { blockchain, network, hash } = read_options(&uri, hint)?;
    Ok(Json(operations.network_transaction(TransactionQuery { blockchain, network, hash }).await?))
}

pub async fn control<O: Operations>(
    State(operations): State<Arc<O>>,
    headers: HeaderMap,
    request: Request,
) -> JsonResult<ControlReport> {
    let hint = "Send blockchain, network (test, main) and control: an object whose kind is give (address, amount, token), \
                mine (blocks), reorganise (depth, drop), fail (count), stick (count), release, slow (ms), \
                silent (silence: off, lost, taken) or off.";
    let control: NetworkControl = read_json(request, hint).await?;
    Ok(Json(operations.control_network(control, operator(&headers)).await?))
}

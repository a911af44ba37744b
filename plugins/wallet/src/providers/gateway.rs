//! The unified USDC balance: where it can be reached, and the orders.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Stop};

use super::client;

pub const DESTINATION: &str = "gateway";

#[derive(Deserialize)]
struct Networks {
    networks: Vec<Network>,
}

#[derive(Deserialize)]
pub struct Network {
    pub blockchain: String,
    /// What is sent there directly is lost.
    pub contract_address: String,
}

pub fn networks(call: &Call) -> Result<Vec<Network>, Stop> {
    let found: Networks = client::understood(client::ask(call, DESTINATION, "/v1/gateway/networks", None)?)?;
    Ok(found.networks)
}

#[derive(Serialize)]
pub struct Deposit<'a> {
    pub id: &'a str,
    pub blockchain: &'a str,
    pub amount: String,
    pub refund_address: &'a str,
}

#[derive(Serialize)]
pub struct Withdrawal<'a> {
    pub id: &'a str,
    pub blockchain: &'a str,
    pub amount: String,
    pub recipient_address: &'a str,
}

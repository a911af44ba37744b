//! `tenon chain …`: blockchain networks, and the control of simulated networks.

mod fault;
mod render;

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    output,
};
use crate::admin::wire::{
    BalanceReport, Control, ControlReport, NetworkControl, NetworkSide, NetworkStatus, TransactionStatus,
};

/// Inspect blockchain networks, and control simulated ones
#[derive(Args)]
#[command(after_help = "Example:\n  tenon chain list\n  \
    tenon chain faucet base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94 25 --token USDC\n  \
    tenon chain balance base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94\n  \
    tenon chain reorganise base 3")]
pub struct Chain {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the networks with their coins, tokens, and numbers of watched addresses and followed transactions
    #[command(after_help = "Example:\n  tenon chain list\n  tenon chain list --network main --json")]
    List {
        /// List only test or only main networks
        #[arg(long, value_enum)]
        network: Option<NetworkSide>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create coins or tokens for an address (simulated networks only)
    #[command(after_help = "Example:\n  tenon chain faucet base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94 2.5\n  \
        tenon chain faucet base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94 100 --token USDC")]
    Faucet {
        #[command(flatten)]
        network_args: NetworkArgs,
        /// Recipient address
        address: String,
        /// Amount in decimal whole units, such as 2.5
        amount: String,
        /// Token symbol; without it the coin of the network
        #[arg(long, value_name = "SYMBOL")]
        token: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the balances of an address in the newest block
    #[command(after_help = "Example:\n  tenon chain balance base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94")]
    Balance {
        #[command(flatten)]
        network_args: NetworkArgs,
        address: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a transaction: its state, transfers and fee
    #[command(after_help = "Example:\n  tenon chain transaction base HASH --json")]
    Transaction {
        #[command(flatten)]
        network_args: NetworkArgs,
        hash: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add blocks immediately (simulated networks only)
    #[command(after_help = "Example:\n  tenon chain mine base\n  tenon chain mine base 64")]
    Mine {
        #[command(flatten)]
        network_args: NetworkArgs,
        /// Number of blocks
        #[arg(default_value_t = 1)]
        blocks: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace the last blocks (simulated networks only)
    #[command(after_help = "Example:\n  tenon chain reorganise base 3\n  tenon chain reorganise base 3 --drop")]
    Reorganise {
        #[command(flatten)]
        network_args: NetworkArgs,
        /// Number of blocks to replace
        depth: u64,
        /// Drop their transactions; without it they wait for the next block
        #[arg(long)]
        drop: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make transactions fail or hang, or nodes slow or silent (simulated networks only)
    #[command(after_help = fault::EXAMPLES)]
    Fault(fault::Fault),
}

#[derive(Args)]
struct NetworkArgs {
    /// Blockchain name, as listed by `tenon chain list`
    blockchain: String,
    /// Network: tenants of the test environment use test, live tenants use main
    #[arg(long, value_enum, default_value_t = NetworkSide::Test)]
    network: NetworkSide,
}

impl Chain {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let access = self.access;
        match self.action {
            Action::List { network, json } => list(&access, network, json).await,
            Action::Balance { network_args, address, json } => {
                let report: BalanceReport = access.get(&network_args.path("balance", "address", &address)).await?;
                if json { output::json(&report) } else { Ok(Outcome::success(render::balance(&report))) }
            }
            Action::Transaction { network_args, hash, json } => {
                let found: TransactionStatus = access.get(&network_args.path("transaction", "hash", &hash)).await?;
                if json { output::json(&found) } else { Ok(Outcome::success(render::transaction(&found))) }
            }
            Action::Faucet { network_args, address, amount, token, json } => {
                network_args.control(&access, Control::Give { address, amount, token }, json).await
            }
            Action::Mine { network_args, blocks, json } => {
                network_args.control(&access, Control::Mine { blocks }, json).await
            }
            Action::Reorganise { network_args, depth, drop, json } => {
                network_args.control(&access, Control::Reorganise { depth, drop }, json).await
            }
            Action::Fault(fault) => {
                let control = fault.control()?;
                fault.network_args.control(&access, control, fault.json).await
            }
        }
    }
}

async fn list(access: &Access, network: Option<NetworkSide>, json: bool) -> Result<Outcome, CliError> {
    let mut networks: Vec<NetworkStatus> = access.get("/v1/chains").await?;
    networks.retain(|status| network.is_none_or(|network| network == status.network));
    if json { output::json(&networks) } else { Ok(Outcome::success(render::networks(&networks))) }
}

impl NetworkArgs {
    fn path(&self, resource: &str, name: &str, value: &str) -> String {
        let (blockchain, network) = (segment(&self.blockchain), self.network.name());
        format!("/v1/chains/{resource}?blockchain={blockchain}&network={network}&{name}={}", segment(value))
    }

    async fn control(self, access: &Access, control: Control, json: bool) -> Result<Outcome, CliError> {
        let request = NetworkControl { blockchain: self.blockchain, network: self.network, control };
        let report: ControlReport = access.post_json("/v1/chains/control", &request).await?;
        if json {
            output::json(&report)
        } else {
            Ok(Outcome::success(render::control_report(&request.control, &report)))
        }
    }
}

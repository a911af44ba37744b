//! `tenon chain …`: networks of blockchains, and what can be done to simulated ones.

mod fault;
mod words;

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    show,
};
use crate::admin::wire::{
    BalanceReport, Control, ControlReport, NetworkControl, NetworkSide, NetworkStatus, TransactionStatus,
};

/// Blockchains: what there is, and what is done to simulated ones
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
    /// Show the networks, their coins and tokens, and what is watched on them
    #[command(after_help = "Example:\n  tenon chain list\n  tenon chain list --network main --json")]
    List {
        /// Only these networks
        #[arg(long, value_enum)]
        network: Option<NetworkSide>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give an address coins or tokens, out of nothing (simulated)
    #[command(after_help = "Example:\n  tenon chain faucet base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94 2.5\n  \
        tenon chain faucet base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94 100 --token USDC")]
    Faucet {
        #[command(flatten)]
        place: Place,
        /// Who gets it
        address: String,
        /// Whole units in decimal
        amount: String,
        /// Symbol of a token; without it the coin
        #[arg(long, value_name = "SYMBOL")]
        token: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what an address has in the newest block
    #[command(after_help = "Example:\n  tenon chain balance base 0x9858EfFD232B4033E47d90003D41EC34EcaEda94")]
    Balance {
        #[command(flatten)]
        place: Place,
        address: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a transaction: where it stands, what it moved, what it cost
    #[command(after_help = "Example:\n  tenon chain transaction base HASH --json")]
    Transaction {
        #[command(flatten)]
        place: Place,
        hash: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add blocks at once (simulated)
    #[command(after_help = "Example:\n  tenon chain mine base\n  tenon chain mine base 64")]
    Mine {
        #[command(flatten)]
        place: Place,
        /// How many
        #[arg(default_value_t = 1)]
        blocks: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put others in place of the last blocks (simulated)
    #[command(after_help = "Example:\n  tenon chain reorganise base 3\n  tenon chain reorganise base 3 --drop")]
    Reorganise {
        #[command(flatten)]
        place: Place,
        /// How many blocks
        depth: u64,
        /// Their transactions are gone; without it they wait for the next block
        #[arg(long)]
        drop: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make transactions fail or hang, and nodes slow or silent (simulated)
    #[command(after_help = fault::EXAMPLES)]
    Fault(fault::Fault),
}

#[derive(Args)]
struct Place {
    /// As `tenon chain list` calls it
    blockchain: String,
    /// Tenants of the test environment see the test network, live ones the main network
    #[arg(long, value_enum, default_value_t = NetworkSide::Test)]
    network: NetworkSide,
}

impl Chain {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let access = self.access;
        match self.action {
            Action::List { network, json } => list(&access, network, json).await,
            Action::Balance { place, address, json } => {
                let report: BalanceReport = access.get(&place.path("balance", "address", &address)).await?;
                if json { show::json(&report) } else { Ok(Outcome::good(words::balance(&report))) }
            }
            Action::Transaction { place, hash, json } => {
                let found: TransactionStatus = access.get(&place.path("transaction", "hash", &hash)).await?;
                if json { show::json(&found) } else { Ok(Outcome::good(words::transaction(&found))) }
            }
            Action::Faucet { place, address, amount, token, json } => {
                place.control(&access, Control::Give { address, amount, token }, json).await
            }
            Action::Mine { place, blocks, json } => place.control(&access, Control::Mine { blocks }, json).await,
            Action::Reorganise { place, depth, drop, json } => {
                place.control(&access, Control::Reorganise { depth, drop }, json).await
            }
            Action::Fault(fault) => {
                let control = fault.control()?;
                fault.place.control(&access, control, fault.json).await
            }
        }
    }
}

async fn list(access: &Access, network: Option<NetworkSide>, json: bool) -> Result<Outcome, CliError> {
    let mut networks: Vec<NetworkStatus> = access.get("/v1/chains").await?;
    networks.retain(|status| network.is_none_or(|network| network == status.network));
    if json { show::json(&networks) } else { Ok(Outcome::good(words::networks(&networks))) }
}

impl Place {
    fn path(&self, what: &str, name: &str, value: &str) -> String {
        let (blockchain, network) = (segment(&self.blockchain), self.network.name());
        format!("/v1/chains/{what}?blockchain={blockchain}&network={network}&{name}={}", segment(value))
    }

    async fn control(self, access: &Access, control: Control, json: bool) -> Result<Outcome, CliError> {
        let wish = NetworkControl { blockchain: self.blockchain, network: self.network, control };
        let report: ControlReport = access.post_json("/v1/chains/control", &wish).await?;
        if json { show::json(&report) } else { Ok(Outcome::good(words::done(&wish.control, &report))) }
    }
}

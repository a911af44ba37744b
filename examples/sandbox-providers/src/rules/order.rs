//! What a customer has ordered and where it stands: payouts, swaps, deposits and withdrawals of the gateway, payments to virtual
//! accounts. Owns the edges between states; nothing leaves `Success` or `Failed`.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::amount::Units;
use super::fate::Fate;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Payout,
    Swap,
    GatewayDeposit,
    GatewayWithdrawal,
    Payment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    AwaitingDeposit,
    Processing,
    Success,
    Failed,
}

/// Why one failed, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Reason {
    DepositMissing,
    DepositTooSmall,
    AccountClosed,
    BankRefused,
    RateMoved,
    DeliveryFailed,
}

/// Of one blockchain; without `token` the coin that fees are paid in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    pub blockchain: String,
    pub symbol: String,
    pub token: Option<String>,
    pub decimals: u32,
}

/// Where the customer's coins go, and what came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deposit {
    pub asset: Asset,
    pub address: String,
    pub units: Units,
    pub expires_at: u64,
    pub received: Option<Units>,
    pub hash: Option<String>,
}

/// Coins that the sandbox sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    pub asset: Asset,
    pub address: String,
    pub units: Units,
    /// Of the transaction that is signed; another one only where it is certain that this one moved nothing.
    pub hash: Option<String>,
    pub stage: Stage,
    pub attempt: u32,
    pub sequence: Option<u64>,
    pub raw: Option<String>,
}

/// What a delivery does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Ask the faucet for the coin.
    Coin,
    /// Ask the faucet for the token.
    Token,
    Send,
    /// Wait until it is final.
    Sent,
    Done,
}

/// Forward or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    Delivery,
    Refund,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub kind: Kind,
    pub id: String,
    /// What was asked for, to tell a repeat from another request.
    pub request: String,
    pub status: Status,
    pub reason: Option<Reason>,
    pub fate: Fate,
    /// Whatever else is shown of it.
    pub shown: Map<String, Value>,
    pub refund_address: Option<String>,
    pub deposit: Option<Deposit>,
    pub delivery: Option<Delivery>,
    pub refund: Option<Delivery>,
    /// Of a payment: the virtual account.
    pub account: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What has to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Nothing,
    /// Pay into the bank account, a while later.
    PayOut,
    /// Add to the balance of the gateway.
    Credit,
    Send(Way),
    /// Give back what was taken off the balance of the gateway.
    GiveBack,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Payout => "payout",
            Kind::Swap => "swap",
            Kind::GatewayDeposit => "gateway-deposit",
            Kind::GatewayWithdrawal => "gateway-withdrawal",
            Kind::Payment => "payment",
        }
    }
}

impl Delivery {
    pub fn new(asset: Asset, address: String, units: Units) -> Delivery {
        let (hash, sequence, raw) = (None, None, None);
        Delivery { asset, address, units, hash, stage: Stage::Coin, attempt: 0, sequence, raw }
    }
}

impl Order {
    /// With nothing in it.
    pub fn new(kind: Kind, id: String, status: Status, now: u64) -> Order {
        Order {
            kind,
            id,
            request: String::new(),
            status,
            reason: None,
            fate: Fate::Succeeds,
            shown: Map::new(),
            refund_address: None,
            deposit: None,
            delivery: None,
            refund: None,
            account: None,
            created_at: now,
            updated_at: now,
        }
    }

    pub fn way(&self, way: Way) -> Option<&Delivery> {
        match way {
            Way::Delivery => self.delivery.as_ref(),
            Way::Refund => self.refund.as_ref(),
        }
    }

    pub fn way_mut(&mut self, way: Way) -> Option<&mut Delivery> {
        match way {
            Way::Delivery => self.delivery.as_mut(),
            Way::Refund => self.refund.as_mut(),
        }
    }

    /// Coins are final at the address of the deposit. A second transaction changes nothing.
    pub fn receive(&mut self, units: Units, hash: String) -> Next {
        let Some(deposit) = self.deposit.as_mut().filter(|deposit| deposit.received.is_none()) else {
            return Next::Nothing;
        };
        (deposit.received, deposit.hash) = (Some(units), Some(hash));
        if self.status == Status::Failed {
            return self.send_back();
        }
        let is_enough = units >= deposit.units;
        self.status = Status::Processing;
        if !is_enough {
            return self.refuse(Reason::DepositTooSmall);
        }
        match (self.kind, self.fate) {
            (_, Fate::Stalls) => Next::Nothing,
            (Kind::Payout, _) => Next::PayOut,
            (Kind::Swap, Fate::Fails) => self.refuse(Reason::RateMoved),
            (Kind::Swap, _) => Next::Send(Way::Delivery),
            (Kind::GatewayDeposit, _) => {
                self.status = Status::Success;
                Next::Credit
            }
            (Kind::GatewayWithdrawal | Kind::Payment, _) => Next::Nothing,
        }
    }

    /// Nothing came in time.
    pub fn expire(&mut self) -> bool {
        let is_due = self.status == Status::AwaitingDeposit;
        if is_due {
            (self.status, self.reason) = (Status::Failed, Some(Reason::DepositMissing));
        }
        is_due
    }

    /// The bank has done its part, or will not.
    pub fn pay_out(&mut self, is_account_closed: bool) -> Next {
        match (self.status, self.fate) {
            (Status::Processing, Fate::Fails) if self.refund.is_none() => {
                self.refuse(if is_account_closed { Reason::AccountClosed } else { Reason::BankRefused })
            }
            (Status::Processing, Fate::Succeeds | Fate::FallsShort) => {
                self.status = Status::Success;
                Next::Nothing
            }
            _ => Next::Nothing,
        }
    }

    /// What was sent is final.
    pub fn arrive(&mut self, way: Way) {
        if let Some(delivery) = self.way_mut(way) {
            delivery.stage = Stage::Done;
        }
        if self.status == Status::Processing {
            self.status = if way == Way::Refund { Status::Failed } else { Status::Success };
        }
    }

    /// It will not arrive: nothing has moved, and nobody tries any more. Never called for a refund.
    pub fn give_up(&mut self) -> Next {
        match self.kind {
            _ if self.status != Status::Processing => Next::Nothing,
            Kind::Swap => self.refuse(Reason::DeliveryFailed),
            Kind::GatewayWithdrawal | Kind::Payment => {
                (self.status, self.reason) = (Status::Failed, Some(Reason::DeliveryFailed));
                if self.kind == Kind::GatewayWithdrawal { Next::GiveBack } else { Next::Nothing }
            }
            Kind::Payout | Kind::GatewayDeposit => Next::Nothing,
        }
    }

    /// It stays in processing until what arrived is back.
    fn refuse(&mut self, reason: Reason) -> Next {
        self.reason = Some(reason);
        self.send_back()
    }

    fn send_back(&mut self) -> Next {
        let (Some(deposit), Some(address)) = (&self.deposit, &self.refund_address) else { return Next::Nothing };
        let Some(units) = deposit.received else { return Next::Nothing };
        self.refund = Some(Delivery::new(deposit.asset.clone(), address.clone(), units));
        Next::Send(Way::Refund)
    }
}

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
    /// What the faucet has been asked for at this stage, and how often in all.
    pub asked: Units,
    pub gifts: u32,
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
        let (hash, sequence, asked) = (None, None, Units::ZERO);
        Delivery { asset, address, units, hash, stage: Stage::Coin, attempt: 0, sequence, asked, gifts: 0 }
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
            self.delivery = None;
        }
        is_due
    }

    /// The bank has done its part, or will not.
    pub fn pay_out(&mut self, is_account_closed: bool) -> Next {
        let is_under_way = self.kind == Kind::Payout && self.status == Status::Processing && self.refund.is_none();
        match self.fate {
            _ if !is_under_way => Next::Nothing,
            Fate::Fails => self.refuse(if is_account_closed { Reason::AccountClosed } else { Reason::BankRefused }),
            Fate::Stalls => Next::Nothing,
            Fate::Succeeds | Fate::Refused | Fate::FallsShort => {
                self.status = Status::Success;
                Next::Nothing
            }
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
        (self.reason, self.delivery) = (Some(reason), None);
        self.send_back()
    }

    fn send_back(&mut self) -> Next {
        let (Some(deposit), Some(address)) = (&self.deposit, &self.refund_address) else { return Next::Nothing };
        let Some(units) = deposit.received else { return Next::Nothing };
        self.refund = Some(Delivery::new(deposit.asset.clone(), address.clone(), units));
        Next::Send(Way::Refund)
    }
}

#[cfg(test)]
mod tests {
    use ethnum::U256;
    use proptest::prelude::*;

    use super::*;

    fn asset() -> Asset {
        Asset { blockchain: "base".to_owned(), symbol: "USDC".to_owned(), token: None, decimals: 6 }
    }

    fn order(kind: Kind, fate: Fate) -> Order {
        let units = Units::new(U256::new(100));
        let (asset, address) = (asset(), String::new());
        let (received, hash) = (None, None);
        let deposit = Deposit { asset: asset.clone(), address: address.clone(), units, expires_at: 0, received, hash };
        let delivery = (kind == Kind::Swap).then(|| Delivery::new(asset, address.clone(), units));
        let order = Order::new(kind, "1".to_owned(), Status::AwaitingDeposit, 0);
        Order { fate, deposit: Some(deposit), delivery, refund_address: Some(address), ..order }
    }

    /// What may happen next, by a number; what cannot happen now does nothing.
    fn step(order: &mut Order, begun: &[Way], command: u8) -> Next {
        let is_underway = |order: &Order, way: Way| {
            begun.contains(&way) && order.way(way).is_some_and(|delivery| delivery.stage != Stage::Done)
        };
        match command {
            0 => return order.receive(Units::new(U256::new(100)), "0x1".to_owned()),
            1 => return order.receive(Units::new(U256::new(99)), "0x1".to_owned()),
            2 => drop(order.expire()),
            3 => return order.pay_out(true),
            4 if is_underway(order, Way::Delivery) => order.arrive(Way::Delivery),
            5 if is_underway(order, Way::Refund) => order.arrive(Way::Refund),
            6 if is_underway(order, Way::Delivery) => return order.give_up(),
            _ => {}
        }
        Next::Nothing
    }

    proptest! {
        #[test]
        fn an_end_stays_and_coins_go_one_way_once(
            kind in prop::sample::select(vec![Kind::Payout, Kind::Swap, Kind::GatewayDeposit]),
            fate in prop::sample::select(vec![Fate::Succeeds, Fate::Fails, Fate::Stalls, Fate::FallsShort]),
            commands in prop::collection::vec(0..7u8, 0..20),
        ) {
            let (mut order, mut begun) = (order(kind, fate), Vec::new());
            for command in commands {
                let before = order.clone();
                if let Next::Send(way) = step(&mut order, &begun, command) {
                    prop_assert!(!begun.contains(&way), "{way:?} twice");
                    begun.push(way);
                }
                let is_over = matches!(before.status, Status::Success | Status::Failed);
                prop_assert!(!is_over || (order.status, order.reason) == (before.status, before.reason));
                let is_back = order.refund.as_ref().is_some_and(|refund| refund.stage == Stage::Done);
                let received = order.deposit.as_ref().is_some_and(|deposit| deposit.received.is_some());
                prop_assert!(order.status != Status::Success || (received && order.refund.is_none()));
                prop_assert!(order.status != Status::Failed || before.status == Status::Failed || is_back || !received);
                prop_assert!(order.status != Status::Failed || order.reason.is_some());
            }
        }
    }
}

//! Whose something is that arrives at a balance of ours: a provider's delivery or refund, or nobody's, which is a deposit.
//!
//! Invariant: what a provider may have sent is nobody's only when the provider has said so.

use tenon_plugin::{Call, Stop};

use crate::delivered::{self, Owner, Place};
use crate::providers::client::{self, Reply};
use crate::providers::orders::{self, Order};
use crate::providing;
use crate::records::outgoing::{self, Out};
use crate::records::provided::{self, Kind, Provided};
use crate::rules::books::Holder;
use crate::rules::deposit::Sighting;
use crate::rules::status::Status;

/// Orders that one arrival is compared with: each is a question.
const COMPARED_MAX: usize = 12;
/// Orders of one place that are under way at a time.
const OPEN_MAX: u32 = 500;

/// Whose something is that arrives at a balance of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// A transaction books it that a provider moves.
    Provider,
    Nobody,
    /// Somebody who may have sent it does not answer.
    Unanswered,
    /// Not one of those up to this id; the others are still to be asked.
    Unclear {
        after: String,
    },
}

/// Asks those who may have sent it; orders up to `after` were asked before.
pub fn claim(call: &Call, holder: &Holder, sighting: &Sighting, after: Option<&str>) -> Result<Claim, Stop> {
    let place = Place { holder, asset: sighting.money.asset, hash: &sighting.transaction_hash };
    // First those whose hash is not known, then those whose is: one of which it becomes known in between is among either.
    let mut open = open(call, holder, sighting)?;
    let naming = delivered::naming(call, place)?;
    let claimed = judge(call, place, &naming, sighting)?;
    if claimed != Claim::Nobody {
        return Ok(claimed);
    }
    open.retain(|out| after.is_none_or(|after| out.record.id.as_str() > after));
    let is_all = open.len() <= COMPARED_MAX;
    open.truncate(COMPARED_MAX);
    let last = open.last().map(|out| out.record.id.clone()).filter(|_| !is_all);
    let claim = compare(call, open, (place, naming), sighting)?;
    Ok(match last {
        Some(after) if claim == Claim::Nobody => Claim::Unclear { after },
        _ => claim,
    })
}

/// Among those who name its transaction: each of them has one movement of it, and the others are nobody's yet.
fn judge(call: &Call, place: Place, naming: &[Out], sighting: &Sighting) -> Result<Claim, Stop> {
    if naming.is_empty() {
        return Ok(Claim::Nobody);
    }
    Ok(match delivered::owner(call, place, naming, sighting)? {
        Owner::Order(id) => {
            naming.iter().filter(|out| out.record.id == id).for_each(|out| look(call, out, sighting));
            Claim::Provider
        }
        Owner::Nobody => Claim::Nobody,
        Owner::Unclear => Claim::Unanswered,
    })
}

/// Orders whose delivery or refund may be what arrives, by their ids.
fn open(call: &Call, holder: &Holder, sighting: &Sighting) -> Result<Vec<Out>, Stop> {
    let place = provided::delivery_place(holder, sighting.money.asset);
    let mut open = provided::waiting(call, "outgoing.way.provider.delivers", &place, OPEN_MAX)?;
    open.retain(|out| out.way.provider.as_ref().is_some_and(may_deliver));
    let place = provided::refund_place(holder, sighting.money);
    let mut back = provided::waiting(call, "outgoing.way.provider.refunds", &place, OPEN_MAX)?;
    back.retain(|out| out.record.hash.is_some());
    open.extend(back);
    open.sort_by(|one, other| one.record.id.cmp(&other.record.id));
    open.dedup_by(|one, other| one.record.id == other.record.id);
    Ok(open)
}

/// A gateway mints as soon as it has the order, whether its answer has come back or not. Everybody else waits for our coins, which
/// are sent when it has said yes.
fn may_deliver(provider: &Provided) -> bool {
    provider.is_taken || provider.kind == Kind::GatewayWithdrawal
}

fn compare(
    call: &Call,
    open: Vec<Out>,
    (place, mut naming): (Place, Vec<Out>),
    sighting: &Sighting,
) -> Result<Claim, Stop> {
    let asked = |out: &Out| {
        let provider = out.way.provider.as_ref()?;
        client::ask_beside(call, orders::destination(provider.kind), &providing::order_path(provider))
    };
    let replies: Vec<Option<Reply>> = open.iter().map(asked).collect();
    if replies.iter().any(Option::is_none) {
        return Err(Stop::Wait);
    }
    let (mut claim, known) = (Claim::Nobody, naming.len());
    for (mut out, reply) in open.into_iter().zip(replies.into_iter().flatten()) {
        let order = match reply {
            Reply::Good(text) => Order::read(&text),
            Reply::Refused { .. } => continue,
            Reply::Silent => None,
        };
        let Some(order) = order else {
            claim = Claim::Unanswered;
            continue;
        };
        if [order.delivery_hash(), order.refund_hash()].contains(&Some(&sighting.transaction_hash)) {
            providing::note(&mut out, &order);
            outgoing::save(call, &out)?;
            if delivered::is_naming(&out, place) && naming.iter().all(|known| known.record.id != out.record.id) {
                naming.push(out);
            }
        }
    }
    // Who names it now may have it.
    let judged = if naming.len() > known { judge(call, place, &naming, sighting)? } else { Claim::Nobody };
    Ok(if judged == Claim::Nobody { claim } else { judged })
}

/// What it has waited for may be final now.
fn look(call: &Call, out: &Out, sighting: &Sighting) {
    let is_final = sighting.confirmations >= sighting.blockchain.confirmations();
    if is_final && out.record.status == Status::Processing {
        providing::poll_at(call, &out.record.id, call.now(), 0);
    }
}

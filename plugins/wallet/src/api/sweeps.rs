//! A sweep that somebody asks for: of one deposit, or of all that rest or have failed.

use tenon_plugin::records::Search;
use tenon_plugin::{Call, Outcome, Route, Stop, post};

use super::form::Form;
use super::{access, envelope};
use crate::following::{DEPOSITS_MAX, schedule_sweep};
use crate::records::addresses;
use crate::records::sweeps::Lot;
use crate::records::transactions::{self, Transaction};
use crate::rules::kind::Kind;
use crate::rules::status::Status;
use crate::rules::sweep::is_sweepable;
use crate::show::Text;
use crate::words;

pub const ROUTES: &[Route] = &[
    post("/v1/wallets/{walletId}/sweep/assets", "sweep-assets", sweep),
    post("/v1/wallets/{walletId}/transactions/sweep/assets", "sweep-transaction", sweep),
];

/// Also where sweeping is off: who asks for it wants it.
fn sweep(call: &Call) -> Outcome {
    let wallet = access::wallet(call)?;
    let mut form = Form::of(call)?;
    let wanted = form.text(&["transaction_id", "transactionId", "id"]);
    form.finish()?;
    let is_named = wanted.is_some();
    let found = match wanted {
        Some(id) => {
            let found = transactions::load(call, &id)?.filter(|found| found.body.listed.as_ref() == Some(&wallet.id));
            vec![found.ok_or_else(words::not_found)?]
        }
        None => {
            let deposits = Search::first(DEPOSITS_MAX).is("listed", &wallet.id).is("kind", Kind::Deposit.name());
            transactions::find(call, &deposits.is("status", Status::Success.name()).descending("@created-at"))?
        }
    };
    let mut lots: Vec<Lot> = Vec::new();
    for lot in found.iter().filter_map(lot) {
        if lots.contains(&lot) {
            continue;
        }
        let Some(address) = addresses::load(call, &lot.address)? else { continue };
        match address.body.check_active() {
            Err(refusal) if is_named => return Err(words::refused(&refusal)),
            Ok(()) => lots.push(lot),
            Err(_) => {}
        }
    }
    let scheduled: Result<Vec<()>, Stop> = lots.iter().map(|lot| schedule_sweep(call, lot)).collect();
    let text = Text::new().with("sweeps", &scheduled?.len())?;
    envelope::ok("Sweep initiated successfully", &text.to_text())
}

/// `None`: there is nothing to sweep, or it is swept already.
fn lot(found: &Transaction) -> Option<Lot> {
    let incoming = found.incoming()?;
    let is_free = is_sweepable(&incoming.record) && incoming.sweep.is_free();
    incoming.lot().filter(|_| is_free)
}

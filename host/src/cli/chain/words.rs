//! Networks, balances and transactions, for people.

use crate::{
    admin::wire::{BalanceReport, Control, ControlReport, FaultStatus, NetworkStatus, Silence, TransactionStatus},
    cli::{
        show::printable,
        table::{Column, Row, render},
    },
};

pub fn networks(networks: &[NetworkStatus]) -> String {
    if networks.is_empty() {
        return "There are no blockchains here: simulated = true in [chains] of plugins.toml brings simulated ones.\n"
            .to_owned();
    }
    let columns = [
        Column::Left("BLOCKCHAIN"),
        Column::Left("NETWORK"),
        Column::Left("NAME"),
        Column::Right("CHAIN"),
        Column::Right("HEIGHT"),
        Column::Right("BLOCK MS"),
        Column::Left("COIN"),
        Column::Right("WATCHED"),
        Column::Right("FOLLOWED"),
        Column::Left("TOKENS"),
    ];
    let rows = networks.iter().map(|network| {
        let symbols: Vec<&str> = network.tokens.iter().map(|token| token.symbol.as_str()).collect();
        let chain_id = if network.chain_id == 0 { String::new() } else { network.chain_id.to_string() };
        Row {
            cells: vec![
                network.blockchain.clone(),
                network.network.name().to_owned(),
                network.name.clone(),
                chain_id,
                network.height.map(|height| height.to_string()).unwrap_or_default(),
                network.block_time_ms.to_string(),
                network.coin.symbol.clone(),
                network.watched.to_string(),
                network.followed.to_string(),
                symbols.join(" "),
            ],
            notes: network.faults.as_ref().and_then(disturbed).into_iter().collect(),
        }
    });
    render(&columns, &rows.collect::<Vec<_>>())
}

/// `None`: nothing is wrong.
fn disturbed(faults: &FaultStatus) -> Option<String> {
    let mut all = Vec::new();
    if faults.fail_next > 0 {
        all.push(format!("the next {} transactions fail", faults.fail_next));
    }
    if faults.stick_next > 0 {
        all.push(format!("the next {} transactions are stuck", faults.stick_next));
    }
    if faults.slow_ms > 0 {
        all.push(format!("every answer takes {} ms", faults.slow_ms));
    }
    match faults.silence {
        Silence::Off => {}
        Silence::Lost => all.push("silent, and loses what is submitted".to_owned()),
        Silence::Taken => all.push("silent, and takes what is submitted".to_owned()),
    }
    (!all.is_empty()).then(|| all.join("; "))
}

pub fn balance(report: &BalanceReport) -> String {
    let rows = report
        .balances
        .iter()
        .map(|balance| Row { cells: vec![balance.symbol.clone(), balance.amount.clone()], notes: Vec::new() });
    render(&[Column::Left("ASSET"), Column::Right("AMOUNT")], &rows.collect::<Vec<_>>())
}

pub fn transaction(found: &TransactionStatus) -> String {
    let place = match found.block {
        Some(block) => format!("in block {block}, {} confirmations", found.confirmations),
        None => "in no block yet".to_owned(),
    };
    let mut text = format!("{}: {}, {place}\n", printable(&found.hash), printable(&found.state));
    text.push_str(&format!(
        "from {}, fee {} {}\n",
        printable(&found.sender),
        printable(&found.fee),
        printable(&found.coin)
    ));
    for movement in &found.movements {
        let [amount, symbol, sender, recipient] =
            [&movement.amount, &movement.symbol, &movement.sender, &movement.recipient].map(|part| printable(part));
        text.push_str(&format!("  {amount} {symbol} from {sender} to {recipient}\n"));
    }
    text
}

pub fn done(control: &Control, report: &ControlReport) -> String {
    let place = format!("{} ({})", printable(&report.blockchain), report.network.name());
    let said = match (control, report) {
        (Control::Give { address, amount, token }, ControlReport { hash: Some(hash), .. }) => {
            let what = token.as_deref().map_or_else(|| "of the coin".to_owned(), printable);
            let (amount, address, hash) = (printable(amount), printable(address), printable(hash));
            format!("{amount} {what} to {address} in the next block, transaction {hash}")
        }
        (_, ControlReport { height: Some(height), .. }) => format!("the newest block is {height}"),
        (Control::Reorganise { drop, .. }, ControlReport { transactions: Some(count), .. }) => {
            let fate = if *drop { "were dropped" } else { "wait for the next block" };
            format!("the last blocks are others; {count} transactions {fate}")
        }
        (_, ControlReport { transactions: Some(count), faults, .. }) => {
            let faults = disturbed(faults).unwrap_or_else(|| "nothing is wrong any more".to_owned());
            format!("{count} transactions were released; {faults}")
        }
        (_, ControlReport { faults, .. }) => {
            disturbed(faults).unwrap_or_else(|| "nothing is wrong any more".to_owned())
        }
    };
    format!("{place}: {said}.\n")
}

//! Text output of `tenon chain`.

use crate::{
    admin::wire::{BalanceReport, Control, ControlReport, FaultStatus, NetworkStatus, Silence, TransactionStatus},
    cli::{
        output::printable,
        table::{Column, Row, render_table},
    },
};

pub fn networks(networks: &[NetworkStatus]) -> String {
    if networks.is_empty() {
        return "This host has no blockchains. Set simulated = true in [chains] of plugins.toml for simulated ones.\n"
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
            notes: network.faults.as_ref().and_then(describe_faults).into_iter().collect(),
        }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

/// Describes the active faults. Returns `None` if no fault is active.
fn describe_faults(faults: &FaultStatus) -> Option<String> {
    let mut all = Vec::new();
    if faults.fail_next > 0 {
        all.push(format!("the next {} transactions fail", faults.fail_next));
    }
    if faults.stick_next > 0 {
        all.push(format!("the next {} transactions are stuck", faults.stick_next));
    }
    if faults.slow_ms > 0 {
        all.push(format!("every response takes {} ms", faults.slow_ms));
    }
    match faults.silence {
        Silence::Off => {}
        Silence::Lost => all.push("silent, submitted transactions are lost".to_owned()),
        Silence::Taken => all.push("silent, submitted transactions are accepted".to_owned()),
    }
    (!all.is_empty()).then(|| all.join("; "))
}

pub fn balance(report: &BalanceReport) -> String {
    let rows = report
        .balances
        .iter()
        .map(|balance| Row { cells: vec![balance.symbol.clone(), balance.amount.clone()], notes: Vec::new() });
    render_table(&[Column::Left("ASSET"), Column::Right("AMOUNT")], &rows.collect::<Vec<_>>())
}

pub fn transaction(found: &TransactionStatus) -> String {
    let position = match found.block {
        Some(block) => format!("in block {block}, {} confirmations", found.confirmations),
        None => "in no block yet".to_owned(),
    };
    let mut text = format!("{}: {}, {position}\n", printable(&found.hash), printable(&found.state));
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

pub fn control_report(control: &Control, report: &ControlReport) -> String {
    let network = format!("{} ({})", printable(&report.blockchain), report.network.name());
    let result = match (control, report) {
        (Control::Give { address, amount, token }, ControlReport { hash: Some(hash), .. }) => {
            let asset = token.as_deref().map_or_else(|| "of the coin".to_owned(), printable);
            let (amount, address, hash) = (printable(amount), printable(address), printable(hash));
            format!("{amount} {asset} to {address} in the next block, transaction {hash}")
        }
        (_, ControlReport { height: Some(height), .. }) => format!("the newest block is {height}"),
        (Control::Reorganise { drop, .. }, ControlReport { transactions: Some(count), .. }) => {
            let effect = if *drop { "were dropped" } else { "wait for the next block" };
            format!("the last blocks were replaced; {count} transactions {effect}")
        }
        (_, ControlReport { transactions: Some(count), faults, .. }) => {
            let faults = describe_faults(faults).unwrap_or_else(|| "no faults are active".to_owned());
            format!("{count} transactions were released; {faults}")
        }
        (_, ControlReport { faults, .. }) => {
            describe_faults(faults).unwrap_or_else(|| "no faults are active".to_owned())
        }
    };
    format!("{network}: {result}.\n")
}

//! `tenon ledger check`: verifies the sums of all balances.

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::Access,
    output,
    table::{Column, Row, render_table},
};
use crate::admin::wire::LedgerReport;

/// Check the ledger
#[derive(Args)]
#[command(after_help = "Example:\n  tenon ledger check")]
pub struct Ledger {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check that the balances of each asset of each tenant sum to zero (exit code 1 if not)
    #[command(after_help = "Example:\n  tenon ledger check --json")]
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Ledger {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let Action::Check { json } = self.action;
        let report: LedgerReport = self.access.get("/v1/ledger/check").await?;
        let text = if json { output::json(&report)?.text } else { render(&report) };
        Ok(Outcome { text, success: report.balanced })
    }
}

pub(super) fn render(report: &LedgerReport) -> String {
    let columns = [Column::Left("PLUGIN"), Column::Left("TENANT"), Column::Left("ASSET"), Column::Right("SUM")];
    let rows = report.sums.iter().map(|sum| {
        let cells = [&sum.plugin, &sum.tenant, &sum.asset].map(String::clone).into_iter();
        Row { cells: cells.chain([sum.sum.clone()]).collect(), notes: vec![] }
    });
    let verdict = match (report.balanced, report.sums.is_empty()) {
        (true, true) => return "The ledger is empty.\n".to_owned(),
        (true, false) => "Every sum is zero: the ledger balances.",
        (false, _) => {
            "A sum is not zero: the ledger does NOT balance. Keep the data folder unchanged and check the journal."
        }
    };
    format!("{}\n{verdict}\n", render_table(&columns, &rows.collect::<Vec<_>>()))
}

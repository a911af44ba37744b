//! `tenon plugin versions`: the stored components of a plugin.

use clap::Args;

use crate::{
    admin::wire::{Publication, StoredVersion},
    cli::{
        CliError, Outcome,
        client::{Access, segment},
        output,
        table::{Column, Row, render_table},
    },
};

#[derive(Args)]
pub struct Versions {
    /// Plugin name in plugins.toml
    plugin: String,
    #[command(flatten)]
    access: Access,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Versions {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let path = format!("/v1/plugins/{}/versions", segment(&self.plugin));
        let versions: Vec<StoredVersion> = self.access.get(&path).await?;
        if self.json { output::json(&versions) } else { Ok(Outcome::success(render(&versions))) }
    }
}

fn render(versions: &[StoredVersion]) -> String {
    if versions.is_empty() {
        return "No version of the plugin was published yet.\n".to_owned();
    }
    let columns = [
        Column::Left("HASH"),
        Column::Left("VERSION"),
        Column::Left("PUBLISHED"),
        Column::Left("BY"),
        Column::Left("ENDED"),
        Column::Left("BY"),
    ];
    let by = |publication: &Publication| format!("{} ({})", publication.who, publication.action);
    let rows = versions.iter().map(|version| {
        let (ended, ended_by) = match &version.ended {
            Some(ended) => (ended.at.to_string(), by(ended)),
            None => ("serving".to_owned(), String::new()),
        };
        let hash = output::short(&version.hash);
        let (published, published_by) = (version.published.at.to_string(), by(&version.published));
        let name = version.version.clone().unwrap_or_default();
        Row { cells: vec![hash, name, published, published_by, ended, ended_by], notes: Vec::new() }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::wire::TimestampText;

    #[test]
    fn table_shows_the_serving_version_and_what_ended_the_others() {
        let publication = |at, who: &str, action: &str| Publication {
            at: TimestampText(at),
            who: who.to_owned(),
            action: action.to_owned(),
        };
        let versions = [
            StoredVersion {
                hash: "0123456789abcdef".to_owned(),
                version: Some("0.2.0".to_owned()),
                published: publication(1, "ada", "deploy"),
                ended: None,
            },
            StoredVersion {
                hash: "fedcba9876543210".to_owned(),
                version: None,
                published: publication(0, "file watch", "file"),
                ended: Some(publication(1, "ada", "deploy")),
            },
        ];
        let table = render(&versions);
        let cells =
            |line: &str| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join("|");
        let expected = [
            "HASH|VERSION|PUBLISHED|BY|ENDED|BY",
            "0123456789ab|0.2.0|1970-01-01T00:00:00.001Z|ada (deploy)|serving|-",
            "fedcba987654|-|1970-01-01T00:00:00.000Z|file watch (file)|1970-01-01T00:00:00.001Z|ada (deploy)",
        ];
        assert_eq!(table.lines().map(cells).collect::<Vec<_>>(), expected);
    }
}

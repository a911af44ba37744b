//! `tenon plugin versions`: the stored components of a plugin.

use crate::{
    admin::wire::{Publication, StoredVersion},
    cli::{
        output,
        table::{Column, Row, render_table},
    },
};

pub fn render(versions: &[StoredVersion]) -> String {
    if versions.is_empty() {
        return "The data folder has no component of the plugin.\n".to_owned();
    }
    let columns = [
        Column::Left("HASH"),
        Column::Left("VERSION"),
        Column::Left("PUBLISHED"),
        Column::Left("BY"),
        Column::Left("ENDED"),
        Column::Left("BY"),
    ];
    let at = |change: &Option<Publication>| change.as_ref().map(|change| change.at.to_string()).unwrap_or_default();
    let by = |change: &Option<Publication>| {
        let by = change.as_ref().map(|change| format!("{} ({})", change.operator, change.action));
        by.unwrap_or_default()
    };
    let rows = versions.iter().map(|version| {
        let (hash, name) = (output::short(&version.hash), version.version.clone().unwrap_or_default());
        let ended = if version.serving { "serving".to_owned() } else { at(&version.ended) };
        let cells = vec![hash, name, at(&version.published), by(&version.published), ended, by(&version.ended)];
        Row { cells, notes: Vec::new() }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::wire::TimestampText;

    #[test]
    fn table_shows_the_serving_version_and_the_end_of_earlier_versions() {
        let publication = |at, operator: &str, action: &str| Publication {
            at: TimestampText(at),
            operator: operator.to_owned(),
            action: action.to_owned(),
        };
        let versions = [
            StoredVersion {
                hash: "0123456789abcdef".to_owned(),
                version: Some("0.2.0".to_owned()),
                serving: true,
                published: Some(publication(1, "ada", "deploy")),
                ended: None,
            },
            StoredVersion {
                hash: "fedcba9876543210".to_owned(),
                version: None,
                serving: false,
                published: Some(publication(0, "file watch", "file")),
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

//! Text output of `tenon key`.

use crate::{
    admin::wire::{CreatedKey, KeyStatus},
    cli::{
        output,
        table::{Column, Row, render_table},
    },
};

pub fn created_key(key: &CreatedKey) -> String {
    let [id, tenant, plugin] = [&key.id, &key.tenant, &key.plugin].map(|text| output::printable(text));
    let text = output::printable(key.key.expose());
    let environment = key.environment.name();
    format!(
        "{text}\n\nThe key is shown only once. It grants access to {plugin} for {tenant} ({environment}).\n\
         Its id is {id}. Revoke it with `tenon key revoke {id}`.\n"
    )
}

fn issuer(plugin: &str, label: &str) -> String {
    if label.is_empty() { plugin.to_owned() } else { format!("{plugin}: {}", output::printable(label)) }
}

pub fn keys(keys: &[KeyStatus]) -> String {
    let columns = [
        "ID",
        "KIND",
        "PLUGIN",
        "TENANT",
        "ENV",
        "CREATED BY",
        "SCOPES",
        "SIGNS",
        "CREATED",
        "LAST USED",
        "EXPIRES",
        "REVOKED",
    ]
    .map(Column::Left);
    let rows = keys.iter().map(|key| {
        let scopes = match key.scopes.is_empty() {
            false => key.scopes.join(","),
            true if key.kind == "token" => "-".to_owned(),
            true => "all".to_owned(),
        };
        let names = [&key.id, &key.kind, &key.plugin, &key.tenant].map(String::clone).into_iter();
        let times = [Some(key.created_at), key.last_used_at, key.expires_at, key.revoked_at].map(output::timestamp);
        let issuer = key.label.as_ref().map_or("operator".to_owned(), |label| issuer(&key.plugin, label));
        let signs = if key.signs { "yes" } else { "-" }.to_owned();
        Row {
            cells: names.chain([key.environment.name().to_owned(), issuer, scopes, signs]).chain(times).collect(),
            notes: vec![],
        }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}

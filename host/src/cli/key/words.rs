//! Keys for people.

use crate::{
    admin::wire::{CreatedKey, KeyStatus},
    cli::{
        show,
        table::{Column, Row, render},
    },
};

pub fn created(key: &CreatedKey) -> String {
    let [id, tenant, plugin] = [&key.id, &key.tenant, &key.plugin].map(|text| show::printable(text));
    let text = show::printable(key.key.expose());
    let environment = key.environment.name();
    format!(
        "{text}\n\nThis is the only time that the key is shown. It opens {plugin} for {tenant} ({environment}).\n\
         Its id is {id}; `tenon key revoke {id}` ends it.\n"
    )
}

fn made_by(plugin: &str, label: &str) -> String {
    if label.is_empty() { plugin.to_owned() } else { format!("{plugin}: {}", show::printable(label)) }
}

pub fn table(keys: &[KeyStatus]) -> String {
    let columns = [
        "ID",
        "KIND",
        "PLUGIN",
        "TENANT",
        "ENV",
        "MADE BY",
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
        let who = [&key.id, &key.kind, &key.plugin, &key.tenant].map(String::clone).into_iter();
        let times = [Some(key.created_at), key.last_used_at, key.expires_at, key.revoked_at].map(show::moment);
        let maker = key.label.as_ref().map_or("operator".to_owned(), |label| made_by(&key.plugin, label));
        let signs = if key.signs { "yes" } else { "-" }.to_owned();
        Row {
            cells: who.chain([key.environment.name().to_owned(), maker, scopes, signs]).chain(times).collect(),
            notes: vec![],
        }
    });
    render(&columns, &rows.collect::<Vec<_>>())
}

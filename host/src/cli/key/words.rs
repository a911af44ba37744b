//! Keys for people.

use crate::{
    admin::wire::{CreatedKey, KeyStatus},
    cli::{
        show,
        table::{Column, Row, render},
    },
};

pub fn created(key: &CreatedKey) -> String {
    let [id, text, tenant, plugin] = [&key.id, &key.key, &key.tenant, &key.plugin].map(|text| show::printable(text));
    let environment = key.environment.name();
    format!(
        "{text}\n\nThis is the only time that the key is shown. It opens {plugin} for {tenant} ({environment}).\n\
         Its id is {id}; `tenon key revoke {id}` ends it.\n"
    )
}

pub fn table(keys: &[KeyStatus]) -> String {
    let columns = ["ID", "PLUGIN", "TENANT", "ENV", "SCOPES", "SIGNS", "CREATED", "LAST USED", "EXPIRES", "REVOKED"]
        .map(Column::Left);
    let rows = keys.iter().map(|key| {
        let scopes = if key.scopes.is_empty() { "all".to_owned() } else { key.scopes.join(",") };
        let who = [&key.id, &key.plugin, &key.tenant].map(String::clone).into_iter();
        let times = [Some(key.created_at), key.last_used_at, key.expires_at, key.revoked_at].map(show::moment);
        let signs = if key.signs { "yes" } else { "-" }.to_owned();
        Row {
            cells: who.chain([key.environment.name().to_owned(), scopes, signs]).chain(times).collect(),
            notes: vec![],
        }
    });
    render(&columns, &rows.collect::<Vec<_>>())
}

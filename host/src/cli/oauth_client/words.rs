//! Clients for people.

use crate::{
    admin::wire::{ClientStatus, CreatedClient},
    cli::{
        show,
        table::{Column, Row, render},
    },
};

pub fn created(client: &CreatedClient) -> String {
    let [id, tenant, plugin] = [&client.client_id, &client.tenant, &client.plugin].map(|text| show::printable(text));
    let environment = client.environment.name();
    let proof = match &client.client_secret {
        Some(secret) => format!(
            "client_id      {id}\nclient_secret  {}\n\nThis is the only time that the secret is shown.",
            show::printable(secret.expose())
        ),
        None => format!("client_id      {id}\n\nIt has no secret: it signs with its own keys."),
    };
    let scopes = match client.scopes.is_empty() {
        true => "no scopes".to_owned(),
        false => show::printable(&client.scopes.join(" ")),
    };
    format!(
        "{proof} Its tokens open {plugin} for {tenant} ({environment}), with {scopes}.\n`tenon client revoke {id}` ends it.\n"
    )
}

pub fn rotated(client: &CreatedClient) -> String {
    let secret = client.client_secret.as_ref().map_or("", |secret| secret.expose());
    format!(
        "client_id      {}\nclient_secret  {}\n\nThis is the only time that the secret is shown. The one before is good for a day \
         more.\n",
        show::printable(&client.client_id),
        show::printable(secret)
    )
}

pub fn table(clients: &[ClientStatus]) -> String {
    let columns = ["ID", "PLUGIN", "TENANT", "ENV", "SCOPES", "PROVES ITSELF WITH", "CREATED", "REVOKED"];
    let rows = clients.iter().map(|client| {
        let who = [&client.client_id, &client.plugin, &client.tenant].map(String::clone).into_iter();
        let what = [client.environment.name().to_owned(), client.scopes.join(","), client.authentication.clone()];
        let times = [Some(client.created_at), client.revoked_at].map(show::moment);
        Row { cells: who.chain(what).chain(times).collect(), notes: vec![] }
    });
    render(&columns.map(Column::Left), &rows.collect::<Vec<_>>())
}

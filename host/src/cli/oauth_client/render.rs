//! Text output of `tenon client`.

use crate::{
    admin::wire::{ClientStatus, CreatedClient},
    cli::{
        output,
        table::{Column, Row, render_table},
    },
};

pub fn created_client(client: &CreatedClient) -> String {
    let [id, tenant, plugin] = [&client.client_id, &client.tenant, &client.plugin].map(|text| output::printable(text));
    let environment = client.environment.name();
    let credentials = match &client.client_secret {
        Some(secret) => format!(
            "client_id      {id}\nclient_secret  {}\n\nThe secret is shown only once.",
            output::printable(secret.expose())
        ),
        None => format!("client_id      {id}\n\nThe client has no secret: it signs with its own keys."),
    };
    let scopes = match client.scopes.is_empty() {
        true => "no scopes".to_owned(),
        false => output::printable(&client.scopes.join(" ")),
    };
    format!(
        "{credentials} Its tokens grant access to {plugin} for {tenant} ({environment}), with {scopes}.\n\
         Revoke it with `tenon client revoke {id}`.\n"
    )
}

pub fn rotated_client(client: &CreatedClient) -> String {
    let secret = client.client_secret.as_ref().map_or("", |secret| secret.expose());
    format!(
        "client_id      {}\nclient_secret  {}\n\nThe secret is shown only once. The previous secret is valid for one more day.\n",
        output::printable(&client.client_id),
        output::printable(secret)
    )
}

pub fn clients(clients: &[ClientStatus]) -> String {
    let columns = ["ID", "PLUGIN", "TENANT", "ENV", "SCOPES", "AUTHENTICATION", "CREATED", "REVOKED"];
    let rows = clients.iter().map(|client| {
        let names = [&client.client_id, &client.plugin, &client.tenant].map(String::clone).into_iter();
        let settings = [client.environment.name().to_owned(), client.scopes.join(","), client.authentication.clone()];
        let times = [Some(client.created_at), client.revoked_at].map(output::timestamp);
        Row { cells: names.chain(settings).chain(times).collect(), notes: vec![] }
    });
    render_table(&columns.map(Column::Left), &rows.collect::<Vec<_>>())
}

//! Source of the tenants' journal: a running host, or its database if no host runs. Both return the same types.

use crate::{
    admin::{
        AdminError, audit,
        wire::{AuditChainsQuery, AuditLine, AuditLinesQuery, ChainStatus, Page},
    },
    cli::{
        CliError,
        backup::database_in,
        client::{Access, segment},
    },
    db::{Database, DbOptions},
};

pub enum Source<'a> {
    Host(&'a Access),
    /// Opened read-only.
    File(Database),
}

impl<'a> Source<'a> {
    /// Returns the running host, or the database if no host runs. `database` is its URL if it is not in the data
    /// folder.
    pub async fn find(access: &'a Access, database: Option<&str>) -> Result<Source<'a>, CliError> {
        match access.get::<Page<AuditLine>>("/v1/audit/lines?limit=1").await {
            Ok(_) => Ok(Source::Host(access)),
            Err(no_host @ (CliError::NotRunning(_) | CliError::NoToken(_))) => {
                let url = database.map_or_else(|| database_in(access.data_dir()), str::to_owned);
                let both_failed = |error| {
                    CliError::Failed(format!("{no_host} The database cannot be read without a host either: {error}."))
                };
                Ok(Source::File(Database::open_read_only(&url, &DbOptions::default()).await.map_err(both_failed)?))
            }
            Err(error) => Err(error),
        }
    }

    pub async fn chains(&self, query: &AuditChainsQuery) -> Result<Page<ChainStatus>, CliError> {
        let AuditChainsQuery { plugin, tenant, after } = query;
        match self {
            Source::Host(access) => {
                let options = [("plugin", plugin), ("tenant", tenant), ("after", after)];
                access.get(&path("/v1/audit/chains?", &options)).await
            }
            Source::File(database) => audit::verify_chains(database, query).await.map_err(failed),
        }
    }

    pub async fn lines(&self, query: &AuditLinesQuery) -> Result<Page<AuditLine>, CliError> {
        let AuditLinesQuery { plugin, tenant, operation, subject, request, since, until, after, limit } = query;
        match self {
            Source::Host(access) => {
                let [since, until] = [since, until].map(|time| time.map(|timestamp| timestamp.to_string()));
                let options = [
                    ("plugin", plugin),
                    ("tenant", tenant),
                    ("operation", operation),
                    ("subject", subject),
                    ("request", request),
                    ("since", &since),
                    ("until", &until),
                    ("after", &after.map(|after| after.to_string())),
                    ("limit", &limit.map(|limit| limit.to_string())),
                ];
                access.get(&path("/v1/audit/lines?", &options)).await
            }
            Source::File(database) => audit::list_lines(database, query).await.map_err(failed),
        }
    }
}

fn path(prefix: &str, options: &[(&str, &Option<String>)]) -> String {
    let parameters = options.iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, segment(value))));
    parameters.fold(prefix.to_owned(), |path, (name, value)| format!("{path}&{name}={value}"))
}

fn failed(error: AdminError) -> CliError {
    CliError::failed(&error)
}

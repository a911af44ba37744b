//! Whom the journal is asked of: the host that runs, or its database where none does. Both give the same words.

use crate::{
    admin::{
        Refusal,
        operations::{ChainsQuestion, LinesQuestion},
        wire::{AuditLine, ChainStatus, Page},
    },
    boot::audit,
    cli::{
        CliError,
        backup::database_in,
        client::{Access, segment},
    },
    db::{Database, DbOptions},
};

pub enum Source<'a> {
    Host(&'a Access),
    /// Read, never written.
    File(Database),
}

impl<'a> Source<'a> {
    /// `database`: where it is not in the data folder.
    pub async fn find(access: &'a Access, database: Option<&str>) -> Result<Source<'a>, CliError> {
        match access.get::<Page<AuditLine>>("/v1/audit/lines?limit=1").await {
            Ok(_) => Ok(Source::Host(access)),
            Err(nobody @ (CliError::NotRunning(_) | CliError::NoToken(_))) => {
                let url = database.map_or_else(|| database_in(access.data_dir()), str::to_owned);
                let nor = |error| CliError::Failed(format!("{nobody} Nor can it be read without a host: {error}."));
                Ok(Source::File(Database::open_read_only(&url, &DbOptions::default()).await.map_err(nor)?))
            }
            Err(error) => Err(error),
        }
    }

    pub async fn chains(&self, question: &ChainsQuestion) -> Result<Page<ChainStatus>, CliError> {
        let ChainsQuestion { plugin, tenant, after } = question;
        match self {
            Source::Host(access) => {
                let options = [("plugin", plugin), ("tenant", tenant), ("after", after)];
                access.get(&path("/v1/audit/chains?", &options)).await
            }
            Source::File(database) => audit::follow_chains(database, question.clone()).await.map_err(failed),
        }
    }

    pub async fn lines(&self, question: &LinesQuestion) -> Result<Page<AuditLine>, CliError> {
        let LinesQuestion { plugin, tenant, operation, subject, request, since, until, after, limit } = question;
        match self {
            Source::Host(access) => {
                let [since, until] = [since, until].map(|moment| moment.map(|moment| moment.to_string()));
                let options = [
                    ("plugin", plugin),
                    ("tenant", tenant),
                    ("operation", operation),
                    ("subject", subject),
                    ("request", request),
                    ("since", &since),
                    ("until", &until),
                    ("after", &after.map(|after| after.to_string())),
                ];
                access.get(&path(&format!("/v1/audit/lines?limit={limit}"), &options)).await
            }
            Source::File(database) => audit::list_lines(database, question.clone()).await.map_err(failed),
        }
    }
}

fn path(begin: &str, options: &[(&str, &Option<String>)]) -> String {
    let given = options.iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, segment(value))));
    given.fold(begin.to_owned(), |path, (name, value)| format!("{path}&{name}={value}"))
}

fn failed(refusal: Refusal) -> CliError {
    CliError::failed(&refusal)
}

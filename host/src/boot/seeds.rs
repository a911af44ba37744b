//! Operator requests for seeds.
//!
//! Invariant: the words of a seed are passed only between the keyring and the operator. No log, error or journal
//! contains them.

use tenon_keyring::SeedPhrase;

use super::operations::{HostOperations, failed, invalid_tenant};
use crate::{
    admin::{AdminError, wire},
    changes::{operator_action::OperatorAction, scope::Scope},
    config,
    keyring::{SEED_PURPOSE, SeedError},
    secrets::{SealedRows, SecretText},
};

impl HostOperations {
    /// Lists the owners of seeds, without unsealing any.
    pub(super) async fn list_seeds(&self) -> Result<Vec<wire::SeedOwner>, AdminError> {
        let rows = self.stores.list().await.map_err(|error| failed(error.to_string()))?;
        let seeds = rows.into_iter().filter(|row| row.name.purpose == SEED_PURPOSE);
        let mut names: Vec<wire::SeedOwner> =
            seeds.map(|row| wire::SeedOwner { plugin: row.name.name, tenant: row.name.tenant }).collect();
        names.sort();
        Ok(names)
    }

    /// Returns a seed after the export was recorded in the journal. If the recording fails, the seed is not returned.
    pub(super) async fn export_tenant_seed(
        &self,
        owner: wire::SeedOwner,
        operator: String,
    ) -> Result<wire::SeedCopy, AdminError> {
        let wire::SeedOwner { plugin, tenant } = owner;
        let found =
            self.keyring.export(&scope_of(&plugin, &tenant)?).await.map_err(|error| seed_error(error, &tenant))?;
        let phrase = found.ok_or_else(|| AdminError::NotFound {
            message: format!("{tenant} has no seed for {plugin}."),
            hint: "List the seeds with `tenon seed list`. A seed is created at its first use.".to_owned(),
        })?;
        let target = format!("the words of the seed of {tenant} were exported");
        let action = OperatorAction::done(self.clock.now(), &operator, (&plugin, "export-seed"), target);
        self.stores.record_action(&action).await.map_err(failed)?;
        Ok(wire::SeedCopy { plugin, tenant, phrase: SecretText::new(std::mem::take(&mut *phrase.expose())) })
    }

    pub(super) async fn import_tenant_seed(
        &self,
        copy: wire::SeedCopy,
        operator: String,
    ) -> Result<wire::SeedReport, AdminError> {
        let wire::SeedCopy { plugin, tenant, phrase } = copy;
        self.find_plugin(&plugin).await?;
        let scope = scope_of(&plugin, &tenant)?;
        let phrase = SeedPhrase::parse(phrase.expose()).map_err(|error| AdminError::Invalid {
            message: format!("phrase must be the words of a seed: {error}."),
            hint: "Send 12 to 24 words of the English BIP-39 list in lower case, separated by spaces.".to_owned(),
        })?;
        let target = format!("a seed for {tenant} was imported");
        let action = OperatorAction::done(self.clock.now(), &operator, (&plugin, "import-seed"), target);
        let is_new = self.keyring.import(&scope, &phrase, action).await.map_err(|error| seed_error(error, &tenant))?;
        Ok(wire::SeedReport { plugin, tenant, is_new })
    }
}

fn scope_of(plugin: &str, tenant: &str) -> Result<Scope, AdminError> {
    let scope = Scope::new(plugin.into(), tenant.into()).filter(|_| config::is_tenant(tenant));
    scope.ok_or_else(|| invalid_tenant(tenant))
}

fn seed_error(error: SeedError, tenant: &str) -> AdminError {
    match error {
        SeedError::Taken => AdminError::Conflict {
            message: format!("{tenant} already has another seed. Nothing was changed."),
            reasons: Vec::new(),
            hint: "A seed is never replaced, because the funds on its addresses would become inaccessible. Import this one for a \
                   tenant that has none yet."
                .to_owned(),
        },
        error => failed(error.to_string()),
    }
}

//! What operators do with seeds, connected. Their words go from the keyring to the operator and back, and into no log, no
//! error and no journal.

use tenon_keyring::SeedPhrase;

use super::operations::{Connected, failed, invalid_tenant};
use crate::{
    admin::{Refusal, wire},
    changes::{operator_action::OperatorAction, scope::Scope},
    config,
    keyring::{SEED_PURPOSE, SeedError},
    secrets::{SealedRows, SecretText},
};

impl Connected {
    /// Nothing is opened for it.
    pub(super) async fn list_seeds(&self) -> Result<Vec<wire::SeedName>, Refusal> {
        let rows = self.stores.list().await.map_err(|error| failed(error.to_string()))?;
        let seeds = rows.into_iter().filter(|row| row.name.purpose == SEED_PURPOSE);
        let mut names: Vec<wire::SeedName> =
            seeds.map(|row| wire::SeedName { plugin: row.name.name, tenant: row.name.tenant }).collect();
        names.sort();
        Ok(names)
    }

    /// What cannot be noted is not shown.
    pub(super) async fn give_seed(&self, name: wire::SeedName, who: String) -> Result<wire::SeedCopy, Refusal> {
        let wire::SeedName { plugin, tenant } = name;
        let found = self.keyring.export(&scope_of(&plugin, &tenant)?).await.map_err(|error| refusal(error, &tenant))?;
        let phrase = found.ok_or_else(|| Refusal::NotFound {
            message: format!("{tenant} has no seed for {plugin}."),
            hint: "`tenon seed list` shows who has one; it is made at its first use.".to_owned(),
        })?;
        let what = format!("the words of the seed of {tenant} were given out");
        let action = OperatorAction::done(self.clock.now(), &who, (&plugin, "export-seed"), what);
        self.stores.note_action(&action).await.map_err(failed)?;
        Ok(wire::SeedCopy { plugin, tenant, phrase: SecretText::new(std::mem::take(&mut *phrase.expose())) })
    }

    pub(super) async fn take_seed(&self, copy: wire::SeedCopy, who: String) -> Result<wire::SeedReport, Refusal> {
        let wire::SeedCopy { plugin, tenant, phrase } = copy;
        self.find_plugin(&plugin).await?;
        let scope = scope_of(&plugin, &tenant)?;
        let phrase = SeedPhrase::parse(phrase.expose()).map_err(|error| Refusal::Invalid {
            message: format!("These are not the words of a seed: {error}."),
            hint: "12 to 24 words of the English BIP-39 list in lower case, with blanks between.".to_owned(),
        })?;
        let target = format!("a seed for {tenant} was brought");
        let action = OperatorAction::done(self.clock.now(), &who, (&plugin, "import-seed"), target);
        let is_new = self.keyring.import(&scope, &phrase, action).await.map_err(|error| refusal(error, &tenant))?;
        Ok(wire::SeedReport { plugin, tenant, is_new })
    }
}

fn scope_of(plugin: &str, tenant: &str) -> Result<Scope, Refusal> {
    let scope = Scope::new(plugin.into(), tenant.into()).filter(|_| config::is_tenant(tenant));
    scope.ok_or_else(|| invalid_tenant(tenant))
}

fn refusal(error: SeedError, tenant: &str) -> Refusal {
    match error {
        SeedError::Taken => Refusal::Refused {
            message: format!("{tenant} has a seed already, and it is another one; nothing was changed."),
            reasons: Vec::new(),
            hint: "A seed is never replaced: what lies on its addresses would be out of reach. Bring this one to a tenant that \
                   has none yet."
                .to_owned(),
        },
        error => failed(error.to_string()),
    }
}

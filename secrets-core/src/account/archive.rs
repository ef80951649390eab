//! Export of all secret values a user can read, as an archive encrypted with a passphrase.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize, Serializer};

use super::export::ExportRate;
use crate::crypto::{Archive, ArchiveKey, Cost, Passphrase, to_json};
use crate::engine::Engine;
use crate::engine::{Audit, AuditContext, Caller, Callers, Context, Operation, Read, Task};
use crate::model::{
    DisplayName, EnvironmentId, EnvironmentName, EnvironmentPath, Error, ProjectId, Result, Slug,
    Time, UserId,
};
use crate::secrets::Secret;
use crate::secrets::reading::shown_secrets;
use crate::secrets::sealing::{reveal, without_value};
use crate::store::{EnvironmentRecord, ProjectRecord, Selection};

/// Exports the secrets of every environment the caller may read, with values, as an encrypted
/// archive. The archive does not include hidden secrets. The export of each environment is recorded
/// in the audit log of its team.
#[derive(Debug)]
pub struct ExportAccountSecrets {
    /// Passphrase that encrypts the archive.
    pub passphrase: Passphrase,
}

/// Last step of [`ExportAccountSecrets`]: reads the secrets and encrypts them into an archive.
struct SealArchive {
    key: ArchiveKey,
}

/// Settings for a new account archive.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewArchive {
    /// Must be `true`, to confirm that secret values are included.
    #[cfg_attr(feature = "openapi", schema(schema_with = agreed))]
    pub include_secrets: bool,
    /// Passphrase that encrypts the archive: 12 to 1,024 characters.
    #[cfg_attr(feature = "openapi", schema(
        value_type = String, min_length = 12, max_length = 1_024,
        example = "correct horse battery staple",
    ))]
    pub passphrase: Passphrase,
}

/// Contents of an encrypted archive file. Serialized as base64.
pub struct AccountArchive(pub Vec<u8>);

/// Decrypted content of the archive, as JSON.
#[derive(Serialize)]
struct Contents {
    format_version: u32,
    generated_at: Time,
    user_id: UserId,
    projects: Vec<ArchivedProject>,
}

#[derive(Serialize)]
struct ArchivedProject {
    id: ProjectId,
    name: DisplayName,
    slug: Slug,
    environments: Vec<ArchivedEnvironment>,
}

#[derive(Serialize)]
struct ArchivedEnvironment {
    id: EnvironmentId,
    name: EnvironmentName,
    secrets: Vec<Secret>,
}

#[cfg(feature = "openapi")]
fn agreed() -> utoipa::openapi::Object {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([true])).build()
}

impl NewArchive {
    /// Returns the passphrase. Fails if `include_secrets` is not `true`.
    pub fn passphrase(self) -> Result<Passphrase> {
        if !self.include_secrets {
            return Err(Error::invalid("include_secrets", "must be true"));
        }
        Ok(self.passphrase)
    }
}

impl Task for ExportAccountSecrets {
    const NAME: &'static str = <SealArchive as Operation>::NAME;
    const CALLERS: Callers = <SealArchive as Operation>::CALLERS;
    const HAS_LARGE_OUTPUT: bool = true;
    type Output = AccountArchive;

    async fn run(self, engine: &Engine, caller: &Caller) -> Result<AccountArchive> {
        engine.shared::<ExportRate>().count(caller.person()?.id, engine.now())?;
        let derive = move || ArchiveKey::derive(&self.passphrase);
        let key = engine.offload(caller, Cost::NEW_BYTES, derive).await?;
        engine.perform(caller, SealArchive { key }).await
    }
}

impl Operation for SealArchive {
    const NAME: &'static str = "account.export_secrets";
    const CALLERS: Callers = Callers::People;
    const AUDIT: Audit = Audit::Export("account.exported");
    const IS_LONG: bool = true;
    type Access = Read;
    type Output = AccountArchive;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<AccountArchive> {
        let user = cx.caller.person()?.clone();
        let principal = cx.caller.principal()?;
        let mut projects = Vec::new();
        let mut exported = Vec::new();
        for project in cx.reads().projects(principal).await? {
            let mut environments = Vec::new();
            for environment in cx.reads().environments(project.id, principal).await? {
                let archived = archived(cx, &project, environment).await?;
                // Reading the environment has filled the audit context. Use it for a separate entry
                // of the environment's team.
                let context = std::mem::take(&mut cx.audit);
                if let Some(archived) = archived {
                    exported.push(AuditContext { action: Some("secrets.exported"), ..context });
                    environments.push(archived);
                }
            }
            let ProjectRecord { id, name, slug, .. } = project;
            projects.push(ArchivedProject { id, name, slug, environments });
        }
        cx.audit.resource = Some(("account", Some(user.id.uuid()), None));
        cx.audit.others = exported;
        cx.add_detail("include_secrets", true);

        let (generated_at, user_id) = (cx.now(), user.id);
        let contents = Contents { format_version: 1, generated_at, user_id, projects };
        let contents = to_json(&contents).map_err(Error::internal)?;
        Ok(AccountArchive(Archive::seal(&self.key, &contents)))
    }
}

/// Loads the secrets of an environment, with the values that the caller may read. Returns `None` if
/// the caller has no access to the environment, or if it was deleted.
async fn archived(
    cx: &mut Context<'_, Read>,
    project: &ProjectRecord,
    environment: EnvironmentRecord,
) -> Result<Option<ArchivedEnvironment>> {
    let at = EnvironmentPath::new(project.id, environment.id);
    let view = match cx.view(&at, Selection::All).await {
        Ok(view) => view,
        // No access, or the environment was deleted since it was listed.
        Err(Error::Forbidden(_) | Error::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (scope, shown) = shown_secrets(cx, view).await?;
    let mut secrets = Vec::with_capacity(shown.len());
    for seen in shown {
        secrets.push(if seen.is_restricted {
            without_value(cx, &scope, seen).await?
        } else {
            reveal(cx, &scope, seen).await?
        });
    }
    cx.add_detail("format", "account");
    Ok(Some(ArchivedEnvironment { id: environment.id, name: environment.name, secrets }))
}

impl Serialize for AccountArchive {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for AccountArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountArchive(…)")
    }
}

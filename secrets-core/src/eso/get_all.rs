//! Reading all secret values of an environment for the External Secrets Operator (ESO).

use serde::{Serialize, Serializer};

use crate::crypto::Plaintext;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result, SecretKey};
use crate::secrets::etag::view_if_changed;
use crate::secrets::reading::{effective_secrets, values};
use crate::secrets::{Precondition, WithETag};

/// Reads all effective (own or inherited) secret values of an environment, for the External Secrets
/// Operator (ESO). Hidden secrets are not included.
#[derive(Debug)]
pub struct GetEsoSecrets {
    /// Environment to read from.
    pub at: EnvironmentPath,
    /// Precondition (`If-None-Match`): ETags of the responses that the caller already has.
    pub precondition: Precondition,
}

/// Values of all secrets of an environment, by secret key.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EsoSecrets {
    /// Secret keys and their decrypted values, sorted by key.
    #[serde(serialize_with = "revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, String>))]
    pub secrets: Vec<(SecretKey, Plaintext)>,
}

impl Operation for GetEsoSecrets {
    const NAME: &'static str = "eso.secrets";
    const CALLERS: Callers = Callers::Tokens;
    const AUDIT: Audit = Audit::Export("eso.secrets_read");
    const HAS_LARGE_OUTPUT: bool = true;
    type Access = Read;
    type Output = WithETag<EsoSecrets>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<WithETag<EsoSecrets>> {
        let (tag, view) = view_if_changed(cx, &self.at, "eso", &self.precondition).await?;
        let Some(view) = view else { return Ok(WithETag { tag, answer: None }) };
        let (scope, shown) = effective_secrets(cx, view).await?;
        let secrets = values(cx, &scope, shown).await?;
        Ok(WithETag { tag, answer: Some(EsoSecrets { secrets }) })
    }
}

fn revealed<S: Serializer>(
    secrets: &[(SecretKey, Plaintext)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(secrets.iter().map(|(key, value)| (key, value.reveal())))
}

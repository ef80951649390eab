//! Reading all values of an environment for ESO.

use serde::{Serialize, Serializer};

use crate::secrets::reading::{all_visible, values};
use crate::secrets::tagged::view_unless_held;
use crate::crypto::Plaintext;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result, SecretKey};
use crate::secrets::{Held, Tagged};

/// Reads all values visible in an environment. Hidden secrets are left out.
#[derive(Debug)]
pub struct GetEsoSecrets {
    /// Environment to read.
    pub at: EnvironmentPath,
    /// Precondition: the versions of the response that the caller already has.
    pub held: Held,
}

/// Secret values by key.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EsoSecrets {
    /// Map of secret key to value, sorted by key.
    #[serde(serialize_with = "revealed")]
    #[cfg_attr(feature = "openapi", schema(value_type = std::collections::BTreeMap<String, String>))]
    pub secrets: Vec<(SecretKey, Plaintext)>,
}

impl Operation for GetEsoSecrets {
    const NAME: &'static str = "eso.secrets";
    const CALLERS: Callers = Callers::Tokens;
    const AUDIT: Audit = Audit::Export("eso.secrets_read");
    type Access = Read;
    type Output = Tagged<EsoSecrets>;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<Tagged<EsoSecrets>> {
        let (tag, view) = view_unless_held(cx, &self.at, "eso", &self.held).await?;
        let Some(view) = view else { return Ok(Tagged { tag, answer: None }) };
        let (scope, shown) = all_visible(cx, view).await?;
        let secrets = values(cx, &scope, shown).await?;
        Ok(Tagged { tag, answer: Some(EsoSecrets { secrets }) })
    }
}

fn revealed<S: Serializer>(
    secrets: &[(SecretKey, Plaintext)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(secrets.iter().map(|(key, value)| (key, value.reveal())))
}

//! Reading one secret value for the External Secrets Operator (ESO).

use serde::Serialize;

use crate::crypto::Plaintext;
use crate::engine::{Audit, Callers, Context, Operation, Read};
use crate::model::{EnvironmentPath, Result};
use crate::secrets::KeyRef;
use crate::secrets::reading::effective_secret;
use crate::secrets::sealing::open_value;

/// Reads the effective value (own or inherited) of one secret key in an environment, for the
/// External Secrets Operator (ESO).
#[derive(Debug)]
pub struct GetEsoSecret {
    /// Environment to read from.
    pub at: EnvironmentPath,
    /// Secret key to read.
    pub key: KeyRef,
}

/// Value of one secret.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EsoSecret {
    /// Decrypted value of the secret.
    #[serde(serialize_with = "crate::crypto::revealed")]
    pub value: Plaintext,
}

impl Operation for GetEsoSecret {
    const NAME: &'static str = "eso.secret";
    const CALLERS: Callers = Callers::Tokens;
    const AUDIT: Audit = Audit::Read("eso.secret_read");
    type Access = Read;
    type Output = EsoSecret;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<EsoSecret> {
        let (scope, seen) = effective_secret(cx, &self.at, &self.key).await?;
        let value = open_value(cx, &scope, &seen.secret).await?;
        Ok(EsoSecret { value })
    }
}

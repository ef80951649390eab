//! All secrets.

use serde::{Serialize, Serializer};

use crate::access::EnvironmentPath;
use crate::caller::Callers;
use crate::crypto::Plaintext;
use crate::error::Result;
use crate::names::SecretKey;
use crate::operation::{Audit, Context, Operation, Read};

/// Reads every value an environment sees; hidden keys are left out.
#[derive(Debug)]
pub struct GetEsoSecrets {
    /// Where.
    pub at: EnvironmentPath,
}

/// Values by key.
#[derive(Debug, Serialize)]
pub struct EsoSecrets {
    /// The values, ordered by key.
    #[serde(serialize_with = "revealed")]
    pub secrets: Vec<(SecretKey, Plaintext)>,
}

impl Operation for GetEsoSecrets {
    const NAME: &'static str = "eso.secrets";
    const CALLERS: Callers = Callers::Tokens;
    const AUDIT: Audit = Audit::Export("eso.secrets_read");
    type Access = Read;
    type Output = EsoSecrets;

    async fn run(self, cx: &mut Context<'_, Read>) -> Result<EsoSecrets> {
        let (scope, shown) = cx.all_visible(&self.at).await?;
        let mut secrets = Vec::with_capacity(shown.len());
        for seen in shown {
            let value = cx.open_value(&scope, &seen.secret).await?;
            secrets.push((seen.secret.key, value));
        }
        Ok(EsoSecrets { secrets })
    }
}

fn revealed<S: Serializer>(
    secrets: &[(SecretKey, Plaintext)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(secrets.iter().map(|(key, value)| (key, value.reveal())))
}

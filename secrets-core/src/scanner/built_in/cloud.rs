//! Detection rules for credentials of cloud, storage and database providers.

use super::Form::{Assigned, Written};
use super::{Definition, token};
use crate::model::scans::Severity::{High, Medium};

pub(super) static ALL: [Definition; 33] = [
    token(
        "aws-access-key-id",
        "AWS access key id",
        High,
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
        &["akia", "asia", "abia", "acca"],
    ),
    token("aws-secret-access-key", "AWS secret access key", High, "", &["secret"])
        .form(Assigned("(?:aws[_.-]?secret|secret[_.-]?access[_.-]?key)", "[A-Za-z0-9/+]{40}"))
        .entropy(4.0),
    token("aws-session-token", "AWS session token", High, "", &["session"])
        .form(Assigned("session[_.-]?token", "[A-Za-z0-9/+]{100,1500}={0,2}"))
        .entropy(4.0),
    token(
        "aws-mws-token",
        "Amazon marketplace token",
        High,
        "amzn[.]mws[.][0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        &["amzn.mws."],
    ),
    token(
        "aws-bedrock-api-key",
        "Amazon Bedrock API key",
        High,
        "ABSK[A-Za-z0-9+/]{109,269}={0,2}",
        &["absk"],
    ),
    token("google-api-key", "Google API key", High, r"AIza[0-9A-Za-z_\-]{35}", &["aiza"]),
    token(
        "google-oauth-client-secret",
        "Google OAuth client secret",
        High,
        r"GOCSPX-[0-9A-Za-z_\-]{28}",
        &["gocspx-"],
    ),
    token(
        "google-oauth-access-token",
        "Google OAuth access token",
        Medium,
        r"ya29[.][0-9A-Za-z_\-]{30,1000}",
        &["ya29."],
    ),
    token(
        "google-oauth-refresh-token",
        "Google OAuth refresh token",
        High,
        r"1//0[0-9A-Za-z_\-]{40,200}",
        &["1//0"],
    ),
    token("azure-storage-account-key", "Azure storage account key", High, "", &["accountkey="])
        .form(Written(r"(?i:AccountKey)=([A-Za-z0-9+/]{86}==)"))
        .entropy(4.0),
    token(
        "azure-shared-access-key",
        "Azure Service Bus or Event Hubs key",
        High,
        "",
        &["sharedaccesskey="],
    )
    .form(Written(r"(?i:SharedAccessKey)=([A-Za-z0-9+/]{43}=)"))
    .entropy(4.0),
    token("azure-sas-signature", "Azure shared access signature", High, "", &["sig="])
        .form(Written(r"[?&](?:sig)=([A-Za-z0-9%+/]{40,66}(?:%3D|%3d|=))"))
        .entropy(3.5),
    token("azure-client-secret", "Microsoft Entra client secret", High, "", &["q~"])
        .form(Written(concat!(
            r"(?:^|[^A-Za-z0-9_~.\-])([A-Za-z0-9_~.\-]{3}[0-9]Q~",
            r"[A-Za-z0-9_~.\-]{31,34})(?:[^A-Za-z0-9_~.\-]|$)"
        )))
        .entropy(3.5),
    token(
        "azure-devops-token",
        "Azure DevOps personal access token",
        High,
        "[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}",
        &["azdo"],
    ),
    token(
        "digitalocean-personal-token",
        "DigitalOcean personal access token",
        High,
        "dop_v1_[0-9a-f]{64}",
        &["dop_v1_"],
    ),
    token(
        "digitalocean-oauth-token",
        "DigitalOcean OAuth token",
        High,
        "doo_v1_[0-9a-f]{64}",
        &["doo_v1_"],
    ),
    token(
        "digitalocean-refresh-token",
        "DigitalOcean OAuth refresh token",
        High,
        "dor_v1_[0-9a-f]{64}",
        &["dor_v1_"],
    ),
    token(
        "alibaba-access-key-id",
        "Alibaba Cloud access key id",
        High,
        "LTAI[0-9A-Za-z]{16,20}",
        &["ltai"],
    ),
    token("tencent-secret-id", "Tencent Cloud secret id", High, "AKID[0-9A-Za-z]{32}", &["akid"]),
    token(
        "cloudflare-api-token",
        "Cloudflare API token",
        High,
        "",
        &["cloudflare", "cf_api", "cf-api"],
    )
    .form(Assigned(
        "(?:cloudflare|cf[_-]api)[a-z0-9_.-]{0,20}(?:token|key)",
        r"[A-Za-z0-9_\-]{37,40}",
    ))
    .entropy(3.5),
    token(
        "cloudflare-origin-ca-key",
        "Cloudflare origin CA key",
        High,
        "v1[.]0-[0-9a-f]{24}-[0-9a-f]{146}",
        &["v1.0-"],
    ),
    token("heroku-api-key", "Heroku API key", High, r"HRKU-[0-9A-Za-z_\-]{60}", &["hrku-"]),
    token("heroku-legacy-api-key", "Heroku API key of the older form", High, "", &["heroku"])
        .form(Assigned("heroku", "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")),
    token("fly-access-token", "Fly.io access token", High, "", &["fm1_", "fm2_", "fo1_"])
        .form(Written(r"\b(f(?:m[12]|o1)_[0-9A-Za-z+/_\-]{43,1500}={0,2})")),
    token(
        "netlify-token",
        "Netlify access token",
        High,
        "nf[pcoub]_[0-9A-Za-z]{36}",
        &["nfp_", "nfc_", "nfo_", "nfu_", "nfb_"],
    ),
    token("supabase-token", "Supabase access token", High, "sbp_[0-9a-f]{40}", &["sbp_"]),
    token(
        "supabase-secret-key",
        "Supabase secret key",
        High,
        r"sb_secret_[0-9A-Za-z_\-]{31}",
        &["sb_secret_"],
    ),
    token(
        "planetscale-token",
        "PlanetScale token or password",
        High,
        r"pscale_(?:tkn|pw|oauth)_[0-9A-Za-z_.=\-]{32,64}",
        &["pscale_"],
    ),
    token(
        "databricks-token",
        "Databricks access token",
        High,
        "dapi[0-9a-f]{32}(?:-[0-9])?",
        &["dapi"],
    ),
    token(
        "terraform-cloud-token",
        "HCP Terraform token",
        High,
        r"[0-9A-Za-z]{14}[.]atlasv1[.][0-9A-Za-z_=\-]{60,70}",
        &[".atlasv1."],
    ),
    token(
        "vault-token",
        "Vault token",
        High,
        r"hv[sbr][.][0-9A-Za-z_\-]{24,300}",
        &["hvs.", "hvb.", "hvr."],
    ),
    token(
        "doppler-token",
        "Doppler token",
        High,
        concat!(
            r"dp[.](?:pt|st|ct|sa|scim|audit)[.](?:[0-9a-z_\-]{2,35}[.])?",
            r"[0-9A-Za-z]{40,44}"
        ),
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
    ),
    token("pulumi-token", "Pulumi access token", High, "pul-[0-9a-f]{40}", &["pul-"]),
];

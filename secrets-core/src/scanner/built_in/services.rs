//! Detection rules for credentials of services that are in no other category.

use super::Form::{Assigned, Written};
use super::{Definition, token};
use crate::model::scans::Severity::{High, Medium};

pub(super) static ALL: [Definition; 29] = [
    token("datadog-app-key", "Datadog application key", High, "", &["datadog", "dd_", "dd-"])
        .form(Assigned("(?:datadog|dd)[_.-]?(?:app|application)[_.-]?key", "[0-9a-f]{40}")),
    token("datadog-api-key", "Datadog API key", High, "", &["datadog", "dd_", "dd-"])
        .form(Assigned("(?:datadog|dd)[_.-]?(?:api)?[_.-]?key", "[0-9a-f]{32}")),
    token("newrelic-user-key", "New Relic user key", High, "NRAK-[0-9A-Z]{27}", &["nrak-"]),
    token(
        "newrelic-license-key",
        "New Relic license key",
        High,
        "(?:[0-9a-f]{36}NRAL|eu01xx[0-9a-f]{30}NRAL)",
        &["nral"],
    ),
    token(
        "newrelic-ingest-key",
        "New Relic ingest key",
        High,
        r"NRI[IQ]-[0-9A-Za-z_\-]{32}",
        &["nrii-", "nriq-"],
    ),
    token("newrelic-browser-key", "New Relic browser key", Medium, "NRJS-[0-9a-f]{19}", &["nrjs-"]),
    token(
        "grafana-service-token",
        "Grafana service account token",
        High,
        "glsa_[0-9A-Za-z]{32}_[0-9A-Fa-f]{8}",
        &["glsa_"],
    ),
    token(
        "grafana-cloud-token",
        "Grafana Cloud token",
        High,
        "glc_eyJ[0-9A-Za-z+/]{60,400}={0,2}",
        &["glc_eyj"],
    ),
    token(
        "dynatrace-token",
        "Dynatrace token",
        High,
        "dt0[a-z][0-9]{2}[.][0-9A-Z]{24}[.][0-9A-Z]{64}",
        &["dt0"],
    ),
    token("linear-api-key", "Linear API key", High, "lin_api_[0-9A-Za-z]{40}", &["lin_api_"]),
    token(
        "linear-oauth-token",
        "Linear OAuth token",
        High,
        "lin_oauth_[0-9A-Za-z]{40,64}",
        &["lin_oauth_"],
    ),
    token("notion-token", "Notion integration token", High, "ntn_[0-9A-Za-z]{46}", &["ntn_"]),
    token(
        "notion-legacy-token",
        "Notion integration token of the older form",
        High,
        "secret_[0-9A-Za-z]{43}",
        &["secret_"],
    )
    .entropy(3.8),
    token(
        "figma-token",
        "Figma personal access token",
        High,
        r"fig[do]_[0-9A-Za-z_\-]{40,64}",
        &["figd_", "figo_"],
    ),
    token(
        "airtable-token",
        "Airtable personal access token",
        High,
        "pat[0-9A-Za-z]{14}[.][0-9a-f]{64}",
        &["pat"],
    ),
    token(
        "asana-token",
        "Asana personal access token",
        High,
        "[0-9]/[0-9]{13,19}(?:/[0-9]{13,19})?:[0-9a-f]{32}",
        &["asana"],
    ),
    token(
        "hubspot-private-app-token",
        "HubSpot private app token",
        High,
        "pat-(?:na|eu|ap)[0-9]-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        &["pat-na", "pat-eu", "pat-ap"],
    ),
    token(
        "launchdarkly-key",
        "LaunchDarkly SDK or API key",
        High,
        "(?:sdk|api)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        &["sdk-", "api-"],
    ),
    token("okta-api-token", "Okta API token", High, "", &["okta"])
        .form(Assigned("okta[a-z0-9_.-]{0,20}token", r"00[0-9A-Za-z_\-]{40}"))
        .entropy(3.5),
    token("algolia-admin-key", "Algolia API key", High, "", &["algolia"])
        .form(Assigned("algolia[a-z0-9_.-]{0,20}key", "[0-9a-f]{32}")),
    token(
        "mapbox-secret-token",
        "Mapbox secret token",
        High,
        r"sk[.]eyJ[0-9A-Za-z_\-]{40,200}[.][0-9A-Za-z_\-]{20,40}",
        &["sk.eyj"],
    ),
    token(
        "contentful-token",
        "Contentful management token",
        High,
        r"CFPAT-[0-9A-Za-z_\-]{43}",
        &["cfpat-"],
    ),
    token("typeform-token", "Typeform token", High, r"tfp_[0-9A-Za-z_.=\-]{40,60}", &["tfp_"]),
    token("cloudinary-url", "Cloudinary address with its secret", High, "", &["cloudinary://"])
        .form(Written(r"cloudinary://[0-9]{10,18}:([0-9A-Za-z_\-]{20,40})@")),
    token(
        "dropbox-token",
        "Dropbox access token",
        High,
        r"sl[.](?:u[.])?[0-9A-Za-z_\-]{130,1500}",
        &["sl."],
    ),
    token(
        "facebook-token",
        "Facebook access token",
        High,
        "EAA[MC][0-9A-Za-z]{80,300}",
        &["eaam", "eaac"],
    ),
    token("prefect-key", "Prefect API key", High, "pn[ub]_[0-9A-Za-z]{36}", &["pnu_", "pnb_"]),
    token("shippo-token", "Shippo token", High, "shippo_(?:live|test)_[0-9a-f]{40}", &["shippo_"]),
    token("easypost-key", "EasyPost key", High, "EZ[AT]K[0-9A-Za-z]{54}", &["ezak", "eztk"]),
];

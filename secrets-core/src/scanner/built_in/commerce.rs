//! Detection rules for credentials of payment and shop services.

use super::{Definition, token};
use crate::model::scans::Severity::{High, Low, Medium};

pub(super) static ALL: [Definition; 13] = [
    token(
        "stripe-live-key",
        "Stripe secret key",
        High,
        "(?:sk|rk)_live_[0-9A-Za-z]{24,150}",
        &["sk_live_", "rk_live_"],
    ),
    token(
        "stripe-test-key",
        "Stripe secret key for tests",
        Low,
        "(?:sk|rk)_test_[0-9A-Za-z]{24,150}",
        &["sk_test_", "rk_test_"],
    ),
    token(
        "stripe-webhook-secret",
        "Stripe webhook signing secret",
        Medium,
        "whsec_[0-9A-Za-z+/]{32,64}",
        &["whsec_"],
    ),
    token(
        "square-access-token",
        "Square access token",
        High,
        r"(?:sq0atp-[0-9A-Za-z_\-]{22}|EAAA[lE][0-9A-Za-z_\-]{55,59})",
        &["sq0atp-", "eaaa"],
    ),
    token(
        "square-application-secret",
        "Square application secret",
        High,
        r"sq0csp-[0-9A-Za-z_\-]{43}",
        &["sq0csp-"],
    ),
    token(
        "shopify-access-token",
        "Shopify access token",
        High,
        "shpat_[0-9A-Fa-f]{32}",
        &["shpat_"],
    ),
    token(
        "shopify-custom-app-token",
        "Shopify custom app token",
        High,
        "shp(?:ca|pa)_[0-9A-Fa-f]{32}",
        &["shpca_", "shppa_"],
    ),
    token(
        "shopify-shared-secret",
        "Shopify shared secret",
        High,
        "shpss_[0-9A-Fa-f]{32}",
        &["shpss_"],
    ),
    token(
        "braintree-access-token",
        "Braintree access token",
        High,
        "access_token[$]production[$][0-9a-z]{16}[$][0-9a-f]{32}",
        &["access_token$production$"],
    ),
    token("razorpay-key", "Razorpay key id", Medium, "rzp_live_[0-9A-Za-z]{14}", &["rzp_live_"]),
    token(
        "plaid-access-token",
        "Plaid access token",
        High,
        "access-(?:sandbox|development|production)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        &["access-sandbox-", "access-development-", "access-production-"],
    ),
    token(
        "flutterwave-secret-key",
        "Flutterwave secret key",
        High,
        "FLWSECK-[0-9a-f]{32}-X",
        &["flwseck-"],
    ),
    token(
        "paddle-api-key",
        "Paddle API key",
        High,
        "pdl_(?:live|sdbx)_apikey_[0-9a-z]{26}_[0-9A-Za-z]{22}_[0-9A-Za-z]{3}",
        &["pdl_"],
    ),
];

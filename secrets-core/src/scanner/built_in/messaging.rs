//! Detection rules for credentials of chat, e-mail and telephony services.

use super::Form::{Assigned, Written};
use super::{Definition, token};
use crate::model::scans::Severity::{High, Medium};

pub(super) static ALL: [Definition; 18] = [
    token(
        "slack-bot-token",
        "Slack bot token",
        High,
        "xoxb-[0-9]{9,14}-[0-9]{9,14}-[0-9A-Za-z]{20,34}",
        &["xoxb-"],
    ),
    token(
        "slack-user-token",
        "Slack user token",
        High,
        "xox[pe](?:-[0-9]{9,14}){2,3}-[0-9A-Za-z]{28,64}",
        &["xoxp-", "xoxe-"],
    ),
    token(
        "slack-legacy-token",
        "Slack token of an older form",
        High,
        "xox[aors]-(?:[0-9]{1,14}-){1,3}[0-9A-Za-z]{10,64}",
        &["xoxa-", "xoxo-", "xoxr-", "xoxs-"],
    ),
    token(
        "slack-app-token",
        "Slack app-level token",
        High,
        "xapp-[0-9]-[0-9A-Z]{8,14}-[0-9]{9,14}-[0-9a-f]{64}",
        &["xapp-"],
    ),
    token(
        "slack-configuration-token",
        "Slack configuration token",
        High,
        "xoxe[.]xox[bp]-[0-9]-[0-9A-Za-z]{140,200}",
        &["xoxe.xox"],
    ),
    token("slack-webhook", "Slack incoming webhook", Medium, "", &["hooks.slack.com"]).form(
        Written(concat!(
            r"hooks[.]slack[.]com/(?:services|workflows|triggers)/",
            r"(T[0-9A-Z]{8,12}/[0-9A-Z]{8,20}/[0-9A-Za-z]{20,32})"
        )),
    ),
    token(
        "discord-bot-token",
        "Discord bot token",
        High,
        r"[MNO][0-9A-Za-z_\-]{23,27}[.][0-9A-Za-z_\-]{6}[.][0-9A-Za-z_\-]{27,40}",
        &["discord", "bot", "token", "login"],
    )
    .entropy(4.0),
    token("discord-webhook", "Discord webhook", Medium, "", &["/api/webhooks/"])
        .form(Written(r"discord(?:app)?[.]com/api/webhooks/[0-9]{17,20}/([0-9A-Za-z_\-]{60,80})")),
    token(
        "telegram-bot-token",
        "Telegram bot token",
        High,
        r"[0-9]{8,10}:AA[0-9A-Za-z_\-]{33}",
        &[":aa"],
    ),
    token("twilio-api-key", "Twilio API key", High, "SK[0-9a-f]{32}", &["sk"]),
    token("twilio-auth-token", "Twilio auth token", High, "", &["twilio"])
        .form(Assigned("twilio[a-z0-9_.-]{0,20}(?:token|secret)", "[0-9a-f]{32}")),
    token(
        "sendgrid-api-key",
        "SendGrid API key",
        High,
        r"SG[.][0-9A-Za-z_\-]{22}[.][0-9A-Za-z_\-]{43}",
        &["sg."],
    ),
    token("mailgun-api-key", "Mailgun API key", High, "key-[0-9a-f]{32}", &["key-"]),
    token("mailchimp-api-key", "Mailchimp API key", High, "[0-9a-f]{32}-us[0-9]{1,2}", &["-us"]),
    token(
        "brevo-api-key",
        "Brevo API key",
        High,
        "xkeysib-[0-9a-f]{64}-[0-9A-Za-z]{16}",
        &["xkeysib-"],
    ),
    token("resend-api-key", "Resend API key", High, "re_[0-9A-Za-z]{8}_[0-9A-Za-z]{24}", &["re_"])
        .entropy(3.5),
    token("postmark-server-token", "Postmark server token", High, "", &["postmark"])
        .form(Assigned("postmark", "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
    token("teams-webhook", "Microsoft Teams webhook", Medium, "", &["webhook.office.com"]).form(
        Written(concat!(
            r"webhook[.]office[.]com/webhookb2/([0-9a-f\-]{36}@[0-9a-f\-]{36}",
            r"/IncomingWebhook/[0-9a-f]{32}/[0-9a-f\-]{36})"
        )),
    ),
];

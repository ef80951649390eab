//! Detection rules for credentials of language model providers.

use super::Form::Assigned;
use super::{Definition, token};
use crate::model::scans::Severity::High;

pub(super) static ALL: [Definition; 11] = [
    token(
        "openai-project-key",
        "OpenAI API key",
        High,
        r"sk-(?:proj|svcacct|admin)-[0-9A-Za-z_\-]{20,100}T3BlbkFJ[0-9A-Za-z_\-]{20,100}",
        &["t3blbkfj"],
    ),
    token(
        "openai-legacy-key",
        "OpenAI API key of the older form",
        High,
        "sk-[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20}",
        &["t3blbkfj"],
    ),
    token(
        "anthropic-api-key",
        "Anthropic API key",
        High,
        r"sk-ant-[a-z]{3,6}[0-9]{2}-[0-9A-Za-z_\-]{80,120}",
        &["sk-ant-"],
    ),
    token("hugging-face-token", "Hugging Face access token", High, "hf_[0-9A-Za-z]{34}", &["hf_"])
        .entropy(3.5),
    token(
        "hugging-face-org-token",
        "Hugging Face organization token",
        High,
        "api_org_[0-9A-Za-z]{34}",
        &["api_org_"],
    )
    .entropy(3.5),
    token("replicate-token", "Replicate API token", High, "r8_[0-9A-Za-z]{37}", &["r8_"]),
    token("groq-api-key", "Groq API key", High, "gsk_[0-9A-Za-z]{52}", &["gsk_"]),
    token("perplexity-api-key", "Perplexity API key", High, "pplx-[0-9A-Za-z]{48}", &["pplx-"]),
    token("xai-api-key", "xAI API key", High, "xai-[0-9A-Za-z]{80}", &["xai-"]),
    token(
        "openrouter-api-key",
        "OpenRouter API key",
        High,
        "sk-or-v1-[0-9a-f]{64}",
        &["sk-or-v1-"],
    ),
    token("cohere-api-key", "Cohere API key", High, "", &["cohere"])
        .form(Assigned("cohere[a-z0-9_.-]{0,20}(?:key|token)", "[0-9A-Za-z]{40}"))
        .entropy(3.5),
];

//! Forms of the page `/device`.

use std::fmt::Write as _;

use secrets_core::device_login::DeviceRequest;

use crate::routes::page::escape_html;

/// HTML of the form field for the access token.
const TOKEN_FIELD: &str = "<div class=\"field\">
<label for=\"token\">Your access token</label>
<input id=\"token\" name=\"access_token\" type=\"password\" aria-describedby=\"about-token\" required autocomplete=\"off\">
<p id=\"about-token\" class=\"quiet\">A token of your identity provider, with which you have signed in to this service before. Service tokens are not accepted. The operators of this service know where to get a token.</p>
</div>
";

/// Way in which the user of the page signs in.
pub(super) enum Entry {
    /// The user enters an access token in the form.
    Token,
    /// The user signs in at the identity provider, by following this link.
    SignIn { link: String },
    /// The browser already has a session of the user with this e-mail address.
    Session { email: String },
}

/// Renders the form that asks for the user code.
pub(super) fn code_form(user_code: &str, message: &str, entry: &Entry) -> String {
    let mut content = String::new();
    if !message.is_empty() {
        let _ = writeln!(
            content,
            "<p class=\"notice bad\" role=\"alert\">{}</p>",
            escape_html(message)
        );
    }
    let user_code = escape_html(user_code);
    let (signed_in, token) = match entry {
        Entry::SignIn { link } => {
            let link = escape_html(link);
            let _ = write!(
                content,
                "<p>Sign in to approve the login of a command-line client. The code is kept.</p>
<div class=\"actions\"><a class=\"main\" href=\"{link}\">Sign in and return</a></div>
"
            );
            return content;
        }
        Entry::Session { email } => (signed_in_as(email), ""),
        Entry::Token => (String::new(), TOKEN_FIELD),
    };
    let _ = write!(
        content,
        "{signed_in}<form method=\"post\" action=\"device\">
<div class=\"field\">
<label for=\"code\">Code shown by the command-line client</label>
<input id=\"code\" name=\"user_code\" value=\"{user_code}\" placeholder=\"BCDF-GHJK\" required autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\">
</div>
{token}<div class=\"actions\"><button class=\"main\">Continue</button></div>
</form>
"
    );
    content
}

fn signed_in_as(email: &str) -> String {
    format!("<p class=\"quiet\">Signed in as {}</p>\n", escape_html(email))
}

/// Renders the details of the login request, with buttons to approve or deny it.
pub(super) fn decision_form(user_code: &str, request: &DeviceRequest, email: &str) -> String {
    let mut content = signed_in_as(email);
    content.push_str(
        "<p>A command-line client requests access to your account for 30 days.</p>\n<dl class=\"facts\">\n",
    );
    let unknown = || "unknown".to_owned();
    let name = |name: &Option<secrets_core::model::DisplayName>| {
        name.as_ref().map_or_else(unknown, ToString::to_string)
    };
    for (term, value) in [
        ("Client", name(&request.client_name)),
        ("Host", name(&request.hostname)),
        ("Operating system", name(&request.os)),
        ("IP address", request.ip_address.map_or_else(unknown, |address| address.to_string())),
        ("Requested at", request.created_at.format("%Y-%m-%d %H:%M:%S UTC").to_string()),
        ("Status", request.status.to_owned()),
    ] {
        let _ = writeln!(content, "<div><dt>{term}</dt><dd>{}</dd></div>", escape_html(&value));
    }
    let _ = write!(
        content,
        "</dl>
<p>Approve only if you started this login yourself, on this host, just now.</p>
<form method=\"post\" action=\"device\">
<input type=\"hidden\" name=\"user_code\" value=\"{}\">
<div class=\"actions\">
<button class=\"main\" name=\"decision\" value=\"approve\">Approve</button>
<button name=\"decision\" value=\"deny\">Deny</button>
</div>
</form>
",
        escape_html(user_code)
    );
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_are_escaped() {
        let content = code_form("\"><script>alert('x')</script>&", "<b>", &Entry::Token);

        assert!(!content.contains("<script>") && !content.contains("<b>"), "{content}");
        assert!(content.contains("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)"), "{content}");
    }
}

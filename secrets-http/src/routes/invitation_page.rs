//! `/invitations/{token}`: the page behind the link in an invitation e-mail.

use secrets_core::engine::Caller;
use secrets_core::invitations::{AcceptInvitation, InvitationPublicInfo, LookUpInvitation};
use secrets_core::model::BaseUrl;
use warp::http::{Method, StatusCode};
use warp::reply::Response;

use super::page::{self, Visit, email, escape_html, page_filter};
use super::page_session;
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::router::Route;

const PAGE: &str = "/invitations/{token}";

const TITLE: &str = "You have been invited to a team";

/// HTML of the page for users who are not signed in. The page is the same for valid and invalid
/// tokens, apart from the token in the address.
const PAGE_HTML: &str = include_str!("invitation.html");

pub(super) fn routes(api: &Api) -> Vec<Route> {
    vec![
        Route::public(Method::GET, PAGE, "invitation.page", page_filter(api, Visit::show)),
        Route::public(Method::POST, PAGE, "invitation.page", page_filter(api, Visit::accept)),
    ]
}

impl Visit {
    /// Shows the page of the invitation. If the user is signed in, the page contains a button to
    /// accept the invitation.
    async fn show(self) -> Response {
        let caller = match page_session::caller(&self).await {
            Ok(Some(caller)) => caller,
            Ok(None) => return self.unauthenticated(),
            Err(error) => return self.invitation_failure(error.into(), None),
        };
        let token = self.token().into();
        let found =
            self.api.perform(async { Ok(LookUpInvitation { token }) }, caller.clone()).await;
        match found {
            Ok(invitation) => {
                self.invitation_page(StatusCode::OK, &acceptance_form(&invitation, &email(&caller)))
            }
            Err(fault) => self.invitation_failure(fault, Some(&caller)),
        }
    }

    /// Accepts the invitation for the signed-in user. Refuses a form that another site has
    /// submitted.
    async fn accept(self) -> Response {
        if page_session::is_cross_site(&self) {
            return self.invitation_page(StatusCode::FORBIDDEN, page_session::CROSS_SITE);
        }
        let caller = match page_session::caller(&self).await {
            Ok(Some(caller)) => caller,
            Ok(None) => return self.unauthenticated(),
            Err(error) => return self.invitation_failure(error.into(), None),
        };
        let token = self.token().into();
        let joined =
            self.api.perform(async { Ok(AcceptInvitation { token }) }, caller.clone()).await;
        match joined {
            Ok(team) => {
                let team = escape_html(team.name.as_str());
                let base = self.head.base().map_or("", BaseUrl::path);
                self.invitation_page(StatusCode::OK, &format!(
                    "<p>You are a member of {team}.</p>\n<p><a href=\"{base}/\">Continue</a></p>\n"
                ))
            }
            Err(fault) => self.invitation_failure(fault, Some(&caller)),
        }
    }

    fn token(&self) -> &str {
        self.head.target.parameter("token")
    }

    fn unauthenticated(&self) -> Response {
        let token = Some(self.token()).filter(|token| is_plain(token, "-_"));
        let path = token.map(|token| format!("/invitations/{token}"));
        let link = path.and_then(|path| page_session::sign_in_link(self, &path));
        let Some(link) = link else { return commands(self.token(), self.head.base()) };
        self.invitation_page(StatusCode::OK, &format!(
            "<p>To join the team, sign in with the email address that received the invitation. The invitation \
             can be accepted once and expires after seven days.</p>\n\
             <div class=\"actions\"><a class=\"main\" href=\"{}\">Sign in and return</a></div>\n\
             <p>If you did not expect this invitation, ignore it: you join the team only if you accept.</p>\n",
            escape_html(&link)
        ))
    }

    fn invitation_failure(&self, fault: Fault, caller: Option<&Caller>) -> Response {
        if let (Some(caller), (StatusCode::NOT_FOUND, _)) = (caller, fault.status_and_message()) {
            let email = escape_html(&email(caller));
            let content = format!(
                "<p class=\"notice bad\" role=\"alert\">There is no pending invitation with this link \
                 for {email}.</p>\n<p>It may be for another email address, accepted already, or expired \
                 after seven days.</p>\n"
            );
            return self.invitation_page(StatusCode::NOT_FOUND, &content);
        }
        self.failure_page(fault, TITLE, "")
    }

    fn invitation_page(&self, status: StatusCode, content: &str) -> Response {
        self.card_page(status, TITLE, content)
    }
}

/// Renders a form with the details of the invitation and a button to accept it. The form is
/// submitted to the address of the page itself.
fn acceptance_form(invitation: &InvitationPublicInfo, email: &str) -> String {
    let rows = [
        ("Team", invitation.team_name.to_string()),
        ("Role", invitation.role.as_str().to_owned()),
        ("Invited by", invitation.invited_by_name.clone()),
        ("Valid until", invitation.expires_at.format("%Y-%m-%d %H:%M UTC").to_string()),
    ];
    let rows = rows.map(|(term, value)| {
        format!("<div><dt>{term}</dt><dd>{}</dd></div>\n", escape_html(&value))
    });
    format!(
        "<p class=\"quiet\">Signed in as {}</p>\n<dl class=\"facts\">\n{}</dl>\n\
         <p>If you did not expect this invitation, ignore it: you join the team only if you accept.</p>\n\
         <form method=\"post\"><div class=\"actions\"><button class=\"main\">Accept</button></div></form>\n",
        escape_html(email),
        rows.concat()
    )
}

/// Renders a page with commands that accept the invitation. If the token or the address contains
/// characters that a shell could interpret, a placeholder is shown instead.
fn commands(token: &str, base: Option<&BaseUrl>) -> Response {
    let token = if is_plain(token, "-_") { token } else { "TOKEN" };
    let address = base.map(BaseUrl::as_str).filter(|address| is_plain(address, "-_.:/[]"));
    let content =
        PAGE_HTML.replace("{token}", token).replace("{address}", address.unwrap_or("ADDRESS"));
    page::page(StatusCode::OK, TITLE, base, &content)
}

fn is_plain(text: &str, others: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

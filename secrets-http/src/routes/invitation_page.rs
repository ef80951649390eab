//! `/invitations/{token}`: the page behind the link in an invitation e-mail.

use secrets_core::engine::Caller;
use secrets_core::invitations::{AcceptInvitation, InvitationPublicInfo, LookUpInvitation};
use secrets_core::model::{BaseUrl, Error, Origin};
use warp::Filter as _;
use warp::http::{HeaderMap, Method, StatusCode};
use warp::reply::Response;

use super::page::{self, escape_html};
use super::page_session;
use crate::serve::api::Api;
use crate::serve::fault::Fault;
use crate::serve::links::base_url;
use crate::serve::router::Route;
use crate::serve::target::{Target, target};

const PAGE: &str = "/invitations/{token}";

const TITLE: &str = "You have been invited to a team";

/// HTML of the page for users who are not signed in. The page is the same for valid and invalid
/// tokens, apart from the token in the address.
const PAGE_HTML: &str = include_str!("invitation.html");

/// Request for the page of an invitation.
struct Visit {
    api: Api,
    token: String,
    headers: HeaderMap,
    origin: Origin,
    base: Option<BaseUrl>,
}

pub(super) fn routes(api: &Api) -> Vec<Route> {
    let api = api.clone();
    let visit = target()
        .and(warp::header::headers_cloned())
        .and(warp::ext::get::<Origin>())
        .and(base_url())
        .map(move |target: Target, headers, origin, base: Result<BaseUrl, Error>| {
            let (api, token) = (api.clone(), target.parameter("token").to_owned());
            Visit { api, token, headers, origin, base: base.ok() }
        });
    let show = visit.clone().then(async |visit: Visit| visit.show().await);
    let accept = visit.then(async |visit: Visit| visit.accept().await);
    vec![
        Route::public(Method::GET, PAGE, "invitation.page", show.boxed()),
        Route::public(Method::POST, PAGE, "invitation.page", accept.boxed()),
    ]
}

impl Visit {
    /// Shows the page of the invitation. If the user is signed in, the page contains a button to
    /// accept the invitation.
    async fn show(self) -> Response {
        let caller = match self.caller(&Method::GET).await {
            Ok(Some(caller)) => caller,
            Ok(None) => return self.unauthenticated(),
            Err(error) => return self.failure(error.into(), None),
        };
        let token = self.token.as_str().into();
        let found =
            self.api.perform(async { Ok(LookUpInvitation { token }) }, caller.clone()).await;
        match found {
            Ok(invitation) => {
                self.page(StatusCode::OK, &acceptance_form(&invitation, &email(&caller)))
            }
            Err(fault) => self.failure(fault, Some(&caller)),
        }
    }

    /// Accepts the invitation for the signed-in user. Refuses a form that another site has
    /// submitted.
    async fn accept(self) -> Response {
        if page_session::is_cross_site(&self.headers, self.base.as_ref()) {
            return self.page(StatusCode::FORBIDDEN, page_session::CROSS_SITE);
        }
        let caller = match self.caller(&Method::POST).await {
            Ok(Some(caller)) => caller,
            Ok(None) => return self.unauthenticated(),
            Err(error) => return self.failure(error.into(), None),
        };
        let token = self.token.as_str().into();
        let joined =
            self.api.perform(async { Ok(AcceptInvitation { token }) }, caller.clone()).await;
        match joined {
            Ok(team) => {
                let (team, start) = (escape_html(team.name.as_str()), self.start());
                self.page(StatusCode::OK, &format!(
                    "<p>You are a member of {team}.</p>\n<p><a href=\"{start}\">Continue</a></p>\n"
                ))
            }
            Err(fault) => self.failure(fault, Some(&caller)),
        }
    }

    async fn caller(&self, method: &Method) -> Result<Option<Caller>, Error> {
        match page_session::credential(&self.headers, method, self.base.as_ref()) {
            Some(credential) => {
                page_session::caller(&self.api, credential, self.origin.clone()).await
            }
            None => Ok(None),
        }
    }

    fn unauthenticated(&self) -> Response {
        let base = self.base.as_ref();
        let token = Some(self.token.as_str()).filter(|token| is_plain(token, "-_"));
        let path = token.map(|token| format!("/invitations/{token}"));
        let link = path.and_then(|path| page_session::sign_in_link(&self.api, base, &path));
        let Some(link) = link else { return commands(&self.token, base) };
        self.page(StatusCode::OK, &format!(
            "<p>To join the team, sign in with the email address that received the invitation. The invitation \
             can be accepted once and expires after seven days.</p>\n\
             <div class=\"actions\"><a class=\"main\" href=\"{}\">Sign in and return</a></div>\n\
             <p>If you did not expect this invitation, ignore it: you join the team only if you accept.</p>\n",
            escape_html(&link)
        ))
    }

    fn failure(&self, fault: Fault, caller: Option<&Caller>) -> Response {
        if let (Some(caller), (StatusCode::NOT_FOUND, _)) = (caller, fault.status_and_message()) {
            let email = escape_html(&email(caller));
            let content = format!(
                "<section class=\"card\">\n<p class=\"notice bad\" role=\"alert\">There is no pending \
                 invitation with this link for {email}.</p>\n<p>It may be for another email address, \
                 accepted already, or expired after seven days.</p>\n</section>\n"
            );
            return page::page(StatusCode::NOT_FOUND, TITLE, self.base.as_ref(), &content);
        }
        let place = (self.base.as_ref(), self.api.clock.now());
        page::failure_page(fault, TITLE, place, (self.origin.request, ""))
    }

    fn page(&self, status: StatusCode, content: &str) -> Response {
        let content = format!("<section class=\"card\">\n{content}</section>\n");
        page::page(status, TITLE, self.base.as_ref(), &content)
    }

    /// Returns the path of the service's start page.
    fn start(&self) -> String {
        format!("{}/", self.base.as_ref().map_or("", BaseUrl::path))
    }
}

fn email(caller: &Caller) -> String {
    caller.person().map(|user| user.email.clone()).unwrap_or_default()
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

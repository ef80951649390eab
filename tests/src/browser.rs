//! Imitation of a browser: a client that stores cookies and sends the header `Sec-Fetch-Site`
//! (Fetch Metadata).

use std::collections::BTreeMap;

use hyper::Method;
use hyper::header::SET_COOKIE;

use crate::{Client, Reply};

/// Imitation of a browser that visits one site.
pub struct Browser {
    client: Client,
    host: String,
    cookies: BTreeMap<String, Cookie>,
}

#[derive(Clone)]
struct Cookie {
    value: String,
    is_strict: bool,
}

impl Browser {
    /// Creates a browser without cookies. It sends its requests through `client`, with this `Host`
    /// header.
    #[must_use]
    pub fn new(client: Client, host: &str) -> Self {
        Self { client, host: host.to_owned(), cookies: BTreeMap::new() }
    }

    /// Returns a copy of this browser, with its cookies, that sends its requests through another
    /// client. The client can connect to another server of the same site, as behind a load
    /// balancer.
    #[must_use]
    pub fn at(&self, client: Client) -> Self {
        Self { client, host: self.host.clone(), cookies: self.cookies.clone() }
    }

    /// Requests a page as after the user entered its address.
    pub async fn open(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, "none", "").await
    }

    /// Requests a page as after a link or redirect of another site.
    pub async fn arrive(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, "cross-site", "").await
    }

    /// Requests a page as after a link of this site, or data as a script of this site does.
    pub async fn follow(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, "same-origin", "").await
    }

    /// Submits these fields as a form of a page of this site.
    pub async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let body = serde_urlencoded::to_string(fields).unwrap();
        self.send(Method::POST, path, "same-origin", &body).await
    }

    /// Returns the value of the cookie with this name, if the browser has it.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.get(name).map(|cookie| cookie.value.as_str())
    }

    /// Sets the cookie with this name, or deletes it if `value` is `None`.
    pub fn set_cookie(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => {
                let cookie = Cookie { value: value.to_owned(), is_strict: false };
                self.cookies.insert(name.to_owned(), cookie);
            }
            None => drop(self.cookies.remove(name)),
        }
    }

    async fn send(&mut self, method: Method, path: &str, site: &str, body: &str) -> Reply {
        let sent =
            self.cookies.iter().filter(|(_, cookie)| site != "cross-site" || !cookie.is_strict);
        let sent: Vec<_> = sent.map(|(name, cookie)| format!("{name}={}", cookie.value)).collect();
        let sent = sent.join("; ");
        let mut headers = vec![("host", self.host.as_str()), ("sec-fetch-site", site)];
        if !sent.is_empty() {
            headers.push(("cookie", &sent));
        }
        if method == Method::POST {
            headers.push(("content-type", "application/x-www-form-urlencoded"));
        }
        let reply = self.client.raw(method, path, &headers, body.to_owned()).await;
        for line in reply.headers.get_all(SET_COOKIE) {
            self.keep(line.to_str().unwrap());
        }
        reply
    }

    fn keep(&mut self, line: &str) {
        let mut parts = line.split(';').map(str::trim);
        let (name, value) = parts.next().unwrap().split_once('=').unwrap();
        let attributes: Vec<_> = parts.map(str::to_ascii_lowercase).collect();
        let has = |text: &str| attributes.iter().any(|attribute| attribute == text);
        let is_over = has("max-age=0") || has("expires=thu, 01 jan 1970 00:00:00 gmt");
        if is_over {
            self.cookies.remove(name);
        } else {
            let is_strict = has("samesite=strict");
            self.cookies.insert(name.to_owned(), Cookie { value: value.to_owned(), is_strict });
        }
    }
}

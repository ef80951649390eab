//! Browsers: clients with cookies and Fetch Metadata.

use std::collections::BTreeMap;

use hyper::Method;
use hyper::header::SET_COOKIE;

use crate::{Client, Reply};

/// Browser that uses one site.
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
    /// Creates a browser without cookies. Its requests name this host.
    #[must_use]
    pub fn new(client: Client, host: &str) -> Self {
        Self { client, host: host.to_owned(), cookies: BTreeMap::new() }
    }

    /// Returns a copy of this browser that sends its requests elsewhere, as behind a load balancer.
    #[must_use]
    pub fn at(&self, client: Client) -> Self {
        Self { client, host: self.host.clone(), cookies: self.cookies.clone() }
    }

    /// Opens an address that the user has entered.
    pub async fn open(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, "none", "").await
    }

    /// Follows a link, or a redirection, of another site.
    pub async fn arrive(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, "cross-site", "").await
    }

    /// Follows a link of this site, or requests data of its scripts.
    pub async fn follow(&mut self, path: &str) -> Reply {
        self.send(Method::GET, path, "same-origin", "").await
    }

    /// Submits a form of this site.
    pub async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let body = serde_urlencoded::to_string(fields).unwrap();
        self.send(Method::POST, path, "same-origin", &body).await
    }

    /// Returns the value of a cookie.
    #[must_use]
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies.get(name).map(|cookie| cookie.value.as_str())
    }

    /// Sets a cookie, or deletes it.
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

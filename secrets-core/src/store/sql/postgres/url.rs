//! Parsing of the URL of a database with one or several hosts, in the form that `libpq` accepts:
//! `postgres://USER:PASSWORD@HOST:PORT,HOST:PORT/DATABASE`.

use zeroize::Zeroizing;

/// URL parameter with which `libpq` selects a server by its state, such as `read-write`.
const TARGET: &str = "target_session_attrs";

/// Maximum number of hosts in a URL.
const MAX_HOSTS: usize = 8;

/// Splits a URL with several hosts into one URL for each host. The error names the violated rule
/// and never repeats the URL.
pub(crate) fn split(url: &str) -> Result<Vec<Zeroizing<String>>, &'static str> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let user = Zeroizing::new(user);
    let rest = Zeroizing::new(without_target(rest)?);
    let hosts: Vec<_> = hosts.split(',').collect();
    if hosts.len() > 1 && hosts.iter().any(|host| host.is_empty() || host.starts_with(':')) {
        return Err("must name each host between commas: postgres://USER@HOST,HOST/DATABASE");
    }
    if hosts.len() > MAX_HOSTS {
        return Err("must name at most 8 hosts");
    }
    let url = |host: &&str| Zeroizing::new(format!("{scheme}://{}{host}{}", *user, *rest));
    Ok(hosts.iter().map(url).collect())
}

/// Removes the parameter `target_session_attrs` from the path and query of a URL, because the
/// service always uses the server that accepts writes.
fn without_target(rest: &str) -> Result<String, &'static str> {
    let Some((path, query)) = rest.split_once('?') else { return Ok(rest.to_owned()) };
    let mut kept = Vec::new();
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some((TARGET, "read-write" | "primary")) => {}
            Some((TARGET, _)) => return Err("must have target_session_attrs=read-write, or none"),
            Some(("host" | "hostaddr" | "port", value)) if value.contains([',', '%']) => {
                return Err(
                    "must name several hosts before the database: postgres://USER@HOST,HOST/DATABASE",
                );
            }
            _ => kept.push(parameter),
        }
    }
    if kept.is_empty() { Ok(path.to_owned()) } else { Ok(format!("{path}?{}", kept.join("&"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_its_port_and_the_rest_of_the_url() {
        for (url, expected) in [
            ("postgres://db/s", vec!["postgres://db/s"]),
            ("postgres:///s?host=/run/postgresql", vec!["postgres:///s?host=/run/postgresql"]),
            (
                "postgres://u:p@a:5433,b/s?sslmode=require&target_session_attrs=read-write",
                vec![
                    "postgres://u:p@a:5433/s?sslmode=require",
                    "postgres://u:p@b/s?sslmode=require",
                ],
            ),
            (
                "postgres://u:p,q@h@[::1]:1,10.0.0.2/s",
                vec!["postgres://u:p,q@h@[::1]:1/s", "postgres://u:p,q@h@10.0.0.2/s"],
            ),
            (
                "postgresql://a,b?target_session_attrs=primary",
                vec!["postgresql://a", "postgresql://b"],
            ),
        ] {
            let split: Vec<_> = split(url).unwrap().iter().map(|one| one.to_string()).collect();
            assert_eq!(split, expected, "{url}");
        }
    }

    #[test]
    fn a_list_that_is_ambiguous_is_refused() {
        for url in [
            "postgres://u@a,/s",
            "postgres://u@a,:5432/s",
            "postgres://u@a/s?target_session_attrs=any",
            "postgres://u@a/s?target_session_attrs=standby",
            "postgres:///s?host=a,b",
            "postgres:///s?host=a%2Cb",
            "postgres://a,b,c,d,e,f,g,h,i/s",
        ] {
            assert!(split(url).is_err(), "{url}");
        }
    }
}

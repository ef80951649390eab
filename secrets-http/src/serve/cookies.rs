//! Cookies in requests.

use warp::http::HeaderMap;
use warp::http::header::COOKIE;

/// Returns the values of all cookies with this name. There can be several, because another site of
/// the same domain can set a cookie with this name.
pub(crate) fn cookies<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';'));
    let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(found, _)| *found == name).map(|(_, value)| value).collect()
}

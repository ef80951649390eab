//! Fuzz target of the header `X-Forwarded-For`.

use std::net::{IpAddr, Ipv4Addr};

use hyper::HeaderMap;
use hyper::header::HeaderValue;

use crate::serve::client_address::{BadForwarding, Networks, client};

const HEADER: &str = "x-forwarded-for";

/// IP address of a trusted proxy, in the network `10.0.0.0/8`.
const PROXY: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// IP address of a client, outside the networks of trusted proxies.
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9));

/// Determines the client address of a request whose `X-Forwarded-For` headers are the lines of the
/// input, and checks that a client cannot forge it. Also parses the input as a list of networks.
pub fn forwarded_for(bytes: &[u8]) {
    if let Ok(list) = std::str::from_utf8(bytes) {
        networks(list);
    }
    let trusted = Networks::parse("10.0.0.0/8, fd00::/8").unwrap();
    let lines = bytes.split(|byte| *byte == b'\n').map(HeaderValue::from_bytes);
    let Ok(lines) = lines.collect::<Result<Vec<_>, _>>() else { return };
    assert_eq!(seen(&trusted, CLIENT, &lines), Ok(CLIENT), "a client cannot forge its address");
    assert_eq!(seen(&Networks::default(), PROXY, &lines), Ok(PROXY));

    let last = HeaderValue::from_static("203.0.113.9");
    let appended = [lines.as_slice(), &[last]].concat();
    assert_eq!(seen(&trusted, PROXY, &appended), Ok(CLIENT), "the nearest client is the client");

    let found = seen(&trusted, PROXY, &lines);
    let forged = [&[HeaderValue::from_static("192.0.2.1, x")], lines.as_slice()].concat();
    match found {
        Ok(address) if trusted.contain(address) => {
            assert_eq!(seen(&trusted, PROXY, &forged), Err(BadForwarding));
            assert!(is_listed(address, &lines));
        }
        Ok(address) => {
            assert_eq!(seen(&trusted, PROXY, &forged), Ok(address), "a forged entry has an effect");
            assert!(is_listed(address, &lines));
        }
        Err(BadForwarding) => assert_eq!(seen(&trusted, PROXY, &forged), Err(BadForwarding)),
    }
}

fn seen(trusted: &Networks, peer: IpAddr, lines: &[HeaderValue]) -> Result<IpAddr, BadForwarding> {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(HEADER, line.clone());
    }
    client(trusted, peer, &headers)
}

/// True if an entry of the `X-Forwarded-For` lines is this address, alone or with brackets, a zone
/// or a port.
fn is_listed(address: IpAddr, lines: &[HeaderValue]) -> bool {
    let entries =
        lines.iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    let is_same =
        |text: &str| text.parse().is_ok_and(|listed: IpAddr| listed.to_canonical() == address);
    entries.map(str::trim).any(|entry| {
        let bare = entry.trim_start_matches('[').split([']', '%']).next().unwrap_or_default();
        let without_port = entry.rsplit_once(':').map_or(entry, |(address, _)| address);
        is_same(entry) || is_same(bare) || is_same(without_port)
    })
}

/// Parses the input as a list of networks, and checks that they contain each address in the list.
fn networks(list: &str) {
    let Ok(networks) = Networks::parse(list) else { return };
    assert_eq!(networks.is_empty(), list.split(',').all(|item| item.trim().is_empty()));
    for item in list.split(',') {
        if let Ok(address) = item.trim().parse() {
            assert!(networks.contain(address), "a listed address is trusted");
        }
    }
    assert_eq!(Networks::default().and(&networks), networks);
}

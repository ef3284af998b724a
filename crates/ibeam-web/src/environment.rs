//! The variables by which programs find the proxy.

use std::ffi::OsString;
use std::net::IpAddr;

use crate::grant::Grants;

const PROXY: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The environment of commands whose proxy listens at `port` of their own loopback.
///
/// Their own loopback is reached directly, but for those of its addresses that are granted by number: these are
/// meant outside.
pub fn proxy_environment(port: u16, grants: &Grants) -> Vec<(OsString, OsString)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let granted = grants.addresses();
    let outside = |own: &&str| {
        own.parse::<IpAddr>().is_ok_and(|own| granted.iter().any(|(address, _)| *address == own))
    };
    let own: Vec<_> = ["localhost", "127.0.0.1", "::1"].into_iter().filter(|own| !outside(own)).collect();
    let direct = own.join(",");
    let set = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let proxies = PROXY.iter().map(|name| set(name, &proxy));
    proxies.chain(DIRECT.iter().map(|name| set(name, &direct))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(grants: &[&str], direct: &str) {
        let allow = grants.iter().map(|grant| grant.parse().unwrap()).collect();
        let environment = proxy_environment(4567, &Grants { allow, deny: Vec::new() });
        let value = |name: &str| {
            let (_, value) = environment.iter().find(|(found, _)| found == name).unwrap();
            value.to_str().unwrap().to_owned()
        };
        for name in PROXY {
            assert_eq!(value(name), "http://127.0.0.1:4567", "{name}");
        }
        assert_eq!((value("NO_PROXY").as_str(), value("no_proxy").as_str()), (direct, direct));
        assert_eq!(environment.len(), 8);
    }

    #[test]
    fn the_own_loopback_is_reached_directly() {
        check(&["example.org:443"], "localhost,127.0.0.1,::1");
    }

    #[test]
    fn a_loopback_address_that_is_granted_is_that_of_the_host() {
        check(&["127.0.0.1:8080"], "localhost,::1");
    }
}

//! Decides whether a `Host` header names this machine.
//!
//! A web page can point a name of its own here (DNS rebinding), but the browser then sends that name.

use std::net::{IpAddr, SocketAddr};

/// Whether the name is loopback in any spelling, the configured host, or the connection's local address.
#[must_use]
pub fn is_this_machine(name: &str, configured: &str, local: Option<SocketAddr>) -> bool {
    if name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case(configured) {
        return true;
    }
    name.parse::<IpAddr>().is_ok_and(|address| {
        address.to_canonical().is_loopback()
            || local.is_some_and(|local| local.ip().to_canonical() == address.to_canonical())
    })
}

/// `127.0.0.1:80` → `127.0.0.1`, `[::1]:80` → `::1`
#[must_use]
pub fn without_port(host: &str) -> &str {
    if let Some(bracketed) = host.strip_prefix('[') {
        return bracketed.split(']').next().unwrap_or_default();
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_loopback_the_configured_host_and_the_address_it_was_reached_by() {
        let local = "172.17.0.1:80".parse().ok();
        for name in ["LocalHost", "127.1.2.3", "::1", "ide.internal", "172.17.0.1", "::ffff:172.17.0.1"] {
            assert!(is_this_machine(name, "ide.internal", local), "{name}");
        }
        for name in ["evil.example", "localhost.evil.example", "172.17.0.2", "127.0.0.1.evil", ""] {
            assert!(!is_this_machine(name, "ide.internal", local), "{name}");
        }
    }

    #[test]
    fn a_port_is_no_part_of_the_name() {
        for (host, name) in [("127.0.0.1:80", "127.0.0.1"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("box", "box")] {
            assert_eq!(without_port(host), name);
        }
    }
}

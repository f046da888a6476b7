//! Who may knock: requests for this machine by a name of its own, and from no other page.
//!
//! A web page can make a name of its own point here (DNS rebinding); it cannot make a browser send another `Host`. A page of
//! another origin can send requests here; it cannot make a browser hide where they come from.

use std::net::SocketAddr;

use claude_ide_system::host::{is_this_machine, without_port};
use hyper::header::{HOST, HeaderMap, HeaderName, ORIGIN};

/// Why a request is refused before anything is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Host,
    Origin,
}

/// What requests are measured against.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    /// The configured host.
    pub(crate) host: String,
    /// Other names, of tunnels and proxies. They may speak https.
    pub(crate) names: Vec<String>,
}

impl Door {
    /// Judges the headers of a request that came in on `local`. An absent `Origin` is no page's: browsers send it with each
    /// upgrade and with each request that could change something.
    pub(crate) fn judge(&self, headers: &HeaderMap, local: Option<SocketAddr>) -> Result<(), Refusal> {
        let host = only(headers, &HOST).ok_or(Refusal::Host)?;
        let name = without_port(host);
        let is_named = self.names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !is_named && !is_this_machine(name, &self.host, local) {
            return Err(Refusal::Host);
        }
        let fits = |origin: &str| {
            let is_ours = |scheme: &str| {
                origin.strip_prefix(scheme).is_some_and(|authority| authority.eq_ignore_ascii_case(host))
            };
            is_ours("http://") || (is_named && is_ours("https://"))
        };
        match headers.get_all(ORIGIN).iter().count() {
            0 => Ok(()),
            1 if only(headers, &ORIGIN).is_some_and(fits) => Ok(()),
            _ => Err(Refusal::Origin),
        }
    }

    /// Whether a browser says that another site's page asks. Browsers send this with what has no `Origin`, too.
    pub(crate) fn is_of_another_site(headers: &HeaderMap) -> bool {
        let sites = headers.get_all(HeaderName::from_static("sec-fetch-site"));
        sites.iter().any(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"))
    }
}

fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(value), None) => value.to_str().ok().map(str::trim),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(lines: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let door = Door { host: "127.0.0.1".to_owned(), names: vec!["box.tail.ts.net".to_owned()] };
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        door.judge(&headers, None)
    }

    #[test]
    fn knows_this_machine_by_its_own_names_alone() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:12345", "127.1.2.3", "[::1]:8", "box.tail.ts.net"] {
            assert_eq!(judge(&[("host", host)]), Ok(()), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:1", "192.168.0.9", "127.0.0.1.evil", ""] {
            assert_eq!(judge(&[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(judge(&[]), Err(Refusal::Host));
        assert_eq!(judge(&[("host", "localhost"), ("host", "evil.example")]), Err(Refusal::Host));
    }

    #[test]
    fn takes_the_origin_that_it_is_and_no_other() {
        assert_eq!(judge(&[("host", "localhost:8"), ("origin", "http://localhost:8")]), Ok(()));
        assert_eq!(judge(&[("host", "box.tail.ts.net"), ("origin", "https://box.tail.ts.net")]), Ok(()));
        for origin in
            ["http://localhost:9", "http://127.0.0.1:8", "https://localhost:8", "null", "", "http://evil.example"]
        {
            assert_eq!(judge(&[("host", "localhost:8"), ("origin", origin)]), Err(Refusal::Origin), "{origin}");
        }
        let twice = [("host", "localhost:8"), ("origin", "http://localhost:8"), ("origin", "http://evil.example")];
        assert_eq!(judge(&twice), Err(Refusal::Origin));
    }
}

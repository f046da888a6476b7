//! Maps paths to routes.

use std::borrow::Cow;

/// The route of a path under `/api`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Login,
    List,
    One(&'a str),
    Messages(&'a str),
    Subscribe(&'a str),
    Agents(&'a str),
    Agent(&'a str, &'a str),
    SubscribeAgent(&'a str, &'a str),
}

/// The route of a path, if there is one.
pub(crate) fn route(path: &str) -> Option<Route<'_>> {
    if path == "/api/login" {
        return Some(Route::Login);
    }
    let rest = path.strip_prefix("/api/claude/sessions")?;
    if rest.is_empty() {
        return Some(Route::List);
    }
    let parts: Vec<_> = rest.strip_prefix('/')?.splitn(5, '/').collect();
    match *parts.as_slice() {
        [id] => Some(Route::One(id)),
        [id, "messages"] => Some(Route::Messages(id)),
        [id, "subscribe"] => Some(Route::Subscribe(id)),
        [id, "agents"] => Some(Route::Agents(id)),
        [id, "agents", agent] => Some(Route::Agent(id, agent)),
        [id, "agents", agent, "subscribe"] => Some(Route::SubscribeAgent(id, agent)),
        _ => None,
    }
}

/// One value of a query.
pub(crate) fn query<'a>(query: Option<&'a str>, name: &str) -> Option<Cow<'a, str>> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.filter(|(known, _)| *known == name).map(|(_, value)| decode(value)).next()
}

/// `%41+b` → `A b`; invalid UTF-8 becomes U+FFFD.
fn decode(value: &str) -> Cow<'_, str> {
    if !value.contains(['%', '+']) {
        return Cow::Borrowed(value);
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (byte, escaped) {
            (b'%', Some(escaped)) => {
                bytes.push(escaped);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_the_seed_says() {
        assert_eq!(route("/api/claude/sessions"), Some(Route::List));
        assert_eq!(route("/api/claude/sessions/a"), Some(Route::One("a")));
        assert_eq!(route("/api/claude/sessions/a/messages"), Some(Route::Messages("a")));
        assert_eq!(route("/api/claude/sessions/a/subscribe"), Some(Route::Subscribe("a")));
        assert_eq!(route("/api/claude/sessions/a/agents"), Some(Route::Agents("a")));
        assert_eq!(route("/api/claude/sessions/a/agents/b"), Some(Route::Agent("a", "b")));
        assert_eq!(route("/api/claude/sessions/a/agents/b/subscribe"), Some(Route::SubscribeAgent("a", "b")));
        for path in [
            "/",
            "/api",
            "/api/claude/sessionsx",
            "/api/claude/sessions/a/subscribe/b",
            "/api/claude/sessions/a/x",
            "/api/claude/sessions/a/agents/b/x",
            "/api/claude/sessions/a/agents/b/subscribe/c",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
    }

    #[test]
    fn a_query_is_decoded() {
        assert_eq!(query(Some("a=1&b=%2Fhome+x%"), "b").as_deref(), Some("/home x%"));
        assert_eq!(query(Some("a=1"), "b"), None);
        assert_eq!(query(None, "b"), None);
    }
}

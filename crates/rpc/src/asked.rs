//! Our requests that are still unanswered.
//!
//! Invariants: a response counts once, and only while its request is open; the number of open requests is limited. A
//! deadline only reports that the time is up; the request stays open until it is answered or withdrawn with
//! [`Asked::withdraw`].

use std::{collections::HashMap, time::Instant};

use serde::Serialize;

use claude_ide_protocol::jsonrpc::{self, RequestId};

/// The limit of open requests is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests are unanswered")]
pub struct TooMany;

/// Our open requests, each with the caller's data.
#[derive(Debug)]
pub struct Asked<T> {
    open: HashMap<u64, Entry<T>>,
    last: u64,
    limit: usize,
}

#[derive(Debug)]
struct Entry<T> {
    about: T,
    deadline: Option<Instant>,
}

impl<T> Asked<T> {
    /// At most `limit` requests may be open.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { open: HashMap::new(), last: 0, limit }
    }

    /// Opens a request and returns the message to send.
    ///
    /// # Errors
    /// [`TooMany`]: nothing was opened.
    pub fn ask<P: Serialize + ?Sized>(
        &mut self,
        method: &str,
        params: Option<&P>,
        about: T,
        deadline: Option<Instant>,
    ) -> Result<Vec<u8>, TooMany> {
        if self.open.len() >= self.limit {
            return Err(TooMany);
        }
        self.last = self.last.wrapping_add(1);
        // Our parameters always serialise; a request without a message would never be answered.
        let message = jsonrpc::request(self.last, method, params).map_err(|_| TooMany)?;
        self.open.insert(self.last, Entry { about, deadline });
        Ok(message)
    }

    /// Handles a response. `None` if no open request has this id.
    pub fn answered(&mut self, id: Option<&RequestId>) -> Option<T> {
        let id = id?.as_json().parse().ok()?;
        self.open.remove(&id).map(|entry| entry.about)
    }

    /// Whether a matching request is open.
    pub fn is_open(&self, which: impl Fn(&T) -> bool) -> bool {
        self.open.values().any(|entry| which(&entry.about))
    }

    /// The ids of matching requests, which stay open.
    pub fn ids(&self, which: impl Fn(&T) -> bool) -> Vec<u64> {
        self.open.iter().filter(|(_, entry)| which(&entry.about)).map(|(id, _)| *id).collect()
    }

    /// Closes matching requests: their responses will be ignored. Returns their ids, for a cancellation.
    pub fn withdraw(&mut self, which: impl Fn(&T) -> bool) -> Vec<u64> {
        self.open.extract_if(|_, entry| which(&entry.about)).map(|(id, _)| id).collect()
    }

    /// When [`Self::overdue`] must be called next.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.open.values().filter_map(|entry| entry.deadline).min()
    }

    /// Requests past their deadline, each reported once. They stay open: a late response still counts.
    pub fn overdue(&mut self, now: Instant) -> Vec<&T> {
        let mut reported = Vec::new();
        for entry in self.open.values_mut() {
            if entry.deadline.take_if(|deadline| *deadline <= now).is_some() {
                reported.push(&entry.about);
            }
        }
        reported
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::value::RawValue;

    use super::*;

    fn id(json: &str) -> RequestId {
        RequestId::from_raw(&RawValue::from_string(json.to_owned()).unwrap()).unwrap()
    }

    fn ask(asked: &mut Asked<&'static str>, about: &'static str, deadline: Option<Instant>) -> String {
        String::from_utf8(asked.ask("m", None::<&()>, about, deadline).unwrap()).unwrap()
    }

    #[test]
    fn an_answer_counts_once_and_only_if_it_was_asked_for() {
        let mut asked = Asked::new(8);
        assert_eq!(ask(&mut asked, "a", None), r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#);
        ask(&mut asked, "b", None);
        for odd in ["3", "1.0", r#""1""#, "-1", "18446744073709551616"] {
            assert_eq!(asked.answered(Some(&id(odd))), None, "{odd}");
        }
        assert_eq!(asked.answered(None), None);
        assert_eq!(asked.answered(Some(&id("2"))), Some("b"));
        assert_eq!(asked.answered(Some(&id("2"))), None);
        assert_eq!(asked.answered(Some(&id("1"))), Some("a"));
    }

    #[test]
    fn an_answer_to_a_withdrawn_request_is_ignored() {
        let mut asked = Asked::new(8);
        ask(&mut asked, "roots", None);
        ask(&mut asked, "ping", None);
        assert_eq!(asked.withdraw(|about| *about == "roots"), [1]);
        assert!(asked.is_open(|about| *about == "ping") && !asked.is_open(|about| *about == "roots"));
        assert_eq!(asked.answered(Some(&id("1"))), None);
    }

    #[test]
    fn no_more_are_open_than_allowed() {
        let mut asked = Asked::new(1);
        ask(&mut asked, "a", None);
        assert_eq!(asked.ask("m", None::<&()>, "b", None), Err(TooMany));
        asked.answered(Some(&id("1")));
        ask(&mut asked, "c", None);
    }

    #[test]
    fn a_deadline_is_reported_once_and_a_late_answer_counts() {
        let mut asked = Asked::new(8);
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        ask(&mut asked, "late", Some(later));
        ask(&mut asked, "soon", Some(now));
        ask(&mut asked, "whenever", None);
        assert_eq!(asked.next_deadline(), Some(now));
        assert_eq!(asked.overdue(now), [&"soon"]);
        assert!(asked.overdue(now).is_empty());
        assert_eq!(asked.next_deadline(), Some(later));
        assert_eq!(asked.answered(Some(&id("2"))), Some("soon"));
        assert_eq!(asked.answered(Some(&id("1"))), Some("late"));
        assert_eq!(asked.next_deadline(), None);
    }
}

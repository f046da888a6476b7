//! Detects dead peers.
//!
//! Any byte counts, so a peer that takes minutes to send or read one large message is alive.

use std::time::{Duration, Instant};

use claude_ide_http::Liveness;

use crate::options::Keepalive;

/// Lower limit of the interval, whatever is configured.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The next step of the keepalive timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Send a ping; check again at this time.
    Ask(Instant),
    /// Check again at this time.
    Wait(Instant),
    /// Nothing came for the whole timeout.
    Dead,
}

/// Pings once per interval; gives up when nothing came within the timeout after the first unanswered ping. A check that is
/// late by much begins anew: this process was stopped, or the machine slept, and the answer may have come, unread.
#[derive(Debug)]
pub(crate) struct Watch {
    liveness: Liveness,
    interval: Duration,
    timeout: Duration,
    signs: u64,
    ask_at: Instant,
    silent_since: Option<Instant>,
}

impl Watch {
    pub(crate) fn new(liveness: Liveness, keepalive: &Keepalive, now: Instant) -> Self {
        let signs = liveness.signs();
        let interval = keepalive.interval.max(MIN_INTERVAL);
        let ask_at = later(now, interval);
        Self { liveness, interval, timeout: keepalive.timeout, signs, ask_at, silent_since: None }
    }

    /// When the next check is due.
    pub(crate) fn due(&self) -> Instant {
        self.silent_since.map_or(self.ask_at, |since| later(since, self.timeout).min(self.ask_at))
    }

    /// Must be called when a check is due.
    pub(crate) fn look(&mut self, now: Instant) -> Verdict {
        let is_late = now.saturating_duration_since(self.due()) > self.timeout / 2;
        let signs = self.liveness.signs();
        if signs != self.signs {
            self.signs = signs;
            self.silent_since = None;
        }
        if is_late {
            self.silent_since = self.silent_since.map(|_| now);
        }
        if self.silent_since.is_some_and(|since| now >= later(since, self.timeout)) {
            return Verdict::Dead;
        }
        let ask = now >= self.ask_at;
        if ask {
            self.ask_at = later(now, self.interval);
            self.silent_since.get_or_insert(now);
        }
        if ask { Verdict::Ask(self.due()) } else { Verdict::Wait(self.due()) }
    }
}

/// An absurdly long duration never passes.
fn later(from: Instant, by: Duration) -> Instant {
    const A_YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    from.checked_add(by.min(A_YEAR)).unwrap_or(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Clock {
        start: Instant,
        watch: Watch,
        liveness: Liveness,
    }

    impl Clock {
        fn new(interval: u64, timeout: u64) -> Self {
            let (start, liveness) = (Instant::now(), Liveness::default());
            let keepalive = Keepalive {
                interval: Duration::from_secs(interval),
                timeout: Duration::from_secs(timeout),
                mcp_ping: true,
            };
            Self { start, watch: Watch::new(liveness.clone(), &keepalive, start), liveness }
        }

        fn at(&self, seconds: u64) -> Instant {
            self.start + Duration::from_secs(seconds)
        }

        fn look(&mut self, seconds: u64) -> Verdict {
            self.watch.look(self.start + Duration::from_secs(seconds))
        }
    }

    #[test]
    fn a_silent_peer_is_asked_each_interval_and_dead_after_the_timeout() {
        let mut clock = Clock::new(30, 90);
        assert_eq!(clock.look(30), Verdict::Ask(clock.at(60)));
        assert_eq!(clock.look(60), Verdict::Ask(clock.at(90)));
        assert_eq!(clock.look(90), Verdict::Ask(clock.at(120)));
        assert_eq!(clock.look(120), Verdict::Dead);
    }

    #[test]
    fn the_strict_mode_gives_three_seconds_after_the_question() {
        let mut clock = Clock::new(5, 3);
        assert_eq!(clock.look(5), Verdict::Ask(clock.at(8)));
        assert_eq!(clock.look(8), Verdict::Dead);
    }

    #[test]
    fn any_sign_of_life_answers_the_question() {
        let mut clock = Clock::new(5, 3);
        assert_eq!(clock.look(5), Verdict::Ask(clock.at(8)));
        clock.liveness.sign();
        assert_eq!(clock.look(8), Verdict::Wait(clock.at(10)));
        assert_eq!(clock.look(10), Verdict::Ask(clock.at(13)));
        clock.liveness.sign();
        assert_eq!(clock.look(13), Verdict::Wait(clock.at(15)));
    }

    #[test]
    fn time_in_which_this_process_did_not_run_is_no_silence() {
        let mut clock = Clock::new(5, 3);
        assert_eq!(clock.look(5), Verdict::Ask(clock.at(8)));
        assert_eq!(clock.look(1000), Verdict::Ask(clock.at(1003))); // the answer may lie in the socket
        clock.liveness.sign();
        assert_eq!(clock.look(1003), Verdict::Wait(clock.at(1005)));
    }

    #[test]
    fn an_absurd_configuration_neither_panics_nor_spins() {
        let now = Instant::now();
        for duration in [Duration::ZERO, Duration::MAX] {
            let keepalive = Keepalive { interval: duration, timeout: duration, mcp_ping: true };
            let watch = Watch::new(Liveness::default(), &keepalive, now);
            assert!(watch.due() >= now + MIN_INTERVAL);
        }
    }

    #[test]
    fn a_busy_peer_is_kept_as_long_as_bytes_come_now_and_then() {
        let mut clock = Clock::new(30, 90);
        for minute in 1..60 {
            clock.liveness.sign();
            assert_ne!(clock.look(minute * 60), Verdict::Dead);
        }
    }
}

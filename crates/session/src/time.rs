//! Times of the transcript: RFC 3339 in UTC, stored as Unix milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970 (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Millis(pub i64);

impl Millis {
    /// Later than any.
    pub(crate) const MAX: Self = Self(i64::MAX);

    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self::from_system(SystemTime::now())
    }

    /// A time of the system's clock, such as a file's.
    #[must_use]
    pub fn from_system(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)),
            Err(before) => Self(i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms)),
        }
    }

    /// Parses `2026-01-19T04:45:15.012Z`, the CLI's only form; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if !separators.iter().all(|(at, byte)| bytes.get(*at) == Some(byte)) {
            return None;
        }
        let part = |from: usize, to: usize| number(bytes.get(from..to)?);
        let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
        let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
        let millis = match bytes.get(19..)?.strip_suffix(b"Z")? {
            [] => 0,
            [b'.', fraction @ ..] => {
                number(fraction)? * 1000 / 10_i64.checked_pow(u32::try_from(fraction.len()).ok()?)?
            }
            _ => return None,
        };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let seconds = ((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
        Some(Self(seconds * 1000 + millis))
    }
}

/// A duration in at most four characters.
#[must_use]
pub fn age(milliseconds: i64) -> String {
    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    match milliseconds {
        ..MINUTE => "now".to_owned(), // also for times in the future, after the clock was set back
        MINUTE..HOUR => format!("{}m", milliseconds / MINUTE),
        HOUR..DAY => format!("{}h", milliseconds / HOUR),
        _ if milliseconds < 14 * DAY => format!("{}d", milliseconds / DAY),
        _ if milliseconds < 60 * DAY => format!("{}w", milliseconds / (7 * DAY)),
        _ if milliseconds < 730 * DAY => format!("{}mo", milliseconds / (30 * DAY)),
        _ => format!("{}y", milliseconds / (365 * DAY)),
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    if digits.is_empty() || digits.len() > 9 {
        return None;
    }
    digits.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. Years count from March, so that the leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_cli_writes() {
        assert_eq!(Millis::parse("1970-01-01T00:00:00.000Z"), Some(Millis(0)));
        assert_eq!(Millis::parse("2026-01-19T04:45:15.012Z"), Some(Millis(1_768_797_915_012)));
        assert_eq!(Millis::parse("2024-02-29T23:59:59Z"), Some(Millis(1_709_251_199_000)));
        assert_eq!(Millis::parse("2000-03-01T00:00:00.5Z"), Some(Millis(951_868_800_500)));
    }

    #[test]
    fn an_age_is_as_short_as_it_can_be() {
        const HOUR: i64 = 3_600_000;
        let ages = [-HOUR, 60_000, HOUR - 1, 13 * 24 * HOUR, 14 * 24 * HOUR, 90 * 24 * HOUR, 800 * 24 * HOUR];
        assert_eq!(ages.map(age), ["now", "1m", "59m", "13d", "2w", "3mo", "2y"]);
    }

    #[test]
    fn anything_else_is_none() {
        for text in
            ["", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01 00:00:00", "2026-01-01T00:00:00+01:00", "-1-1-1T::Z"]
        {
            assert_eq!(Millis::parse(text), None, "{text}");
        }
    }
}

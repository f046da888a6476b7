//! Times in the user's time zone.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::time::Millis;

/// Looked up once: it depends on the environment, which the editor may change while other threads read it.
static ZONE: LazyLock<TimeZone> = LazyLock::new(TimeZone::system);

/// Looks up the time zone. Must be called on the thread that changes the environment.
pub fn look_up_time_zone() {
    LazyLock::force(&ZONE);
}

fn zoned(time: Millis) -> Option<Zoned> {
    Timestamp::from_millisecond(time.0).ok().map(|time| time.to_zoned(ZONE.clone()))
}

pub(super) fn day_and_time(time: Millis) -> String {
    zoned(time).map(|time| time.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
}

/// The time, with the day unless it is today.
pub(super) fn moment(time: Millis) -> String {
    match zoned(time) {
        Some(time) if Some(time.date()) == zoned(Millis::now()).map(|now| now.date()) => {
            time.strftime("%H:%M").to_string()
        }
        _ => day_and_time(time),
    }
}

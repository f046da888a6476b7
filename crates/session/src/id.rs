//! Ids of lines and tool calls (128 bits), of messages in a transcript, of sessions.

use std::borrow::Borrow;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

/// The id of a session: the stem of its transcript's file name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Box<str>);

impl SessionId {
    /// Takes an id from a file name or a session record.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message of one transcript. Valid until the transcript is reset because its file was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The message's number: messages count in the order in which they begin in the file.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// The message with a number from [`NodeId::get`].
    #[must_use]
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// A repeated name (of a tool, of a model), stored once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// A name.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// An id of the transcript (line, message, tool call) in 128 bits, so that an index of a million lines stays small.
///
/// A UUID is its own value; anything else is hashed (FNV-1a). Zero means "none": the CLI writes the nil UUID for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u128);

impl Key {
    pub(crate) fn of(text: &str) -> Option<Self> {
        let value = uuid_value(text).unwrap_or_else(|| fnv1a(text));
        (value != 0 && !text.is_empty()).then_some(Self(value))
    }
}

impl std::hash::Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.0);
    }
}

/// Keys are random already; folding them is enough.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn write_u128(&mut self, value: u128) {
        let folded = value ^ (value >> 64);
        let low = u64::try_from(folded & u128::from(u64::MAX)).unwrap_or_default();
        self.0 = low.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

pub(crate) type KeyMap<V> = std::collections::HashMap<Key, V, BuildHasherDefault<KeyHasher>>;

fn uuid_value(text: &str) -> Option<u128> {
    if text.len() != 36 {
        return None;
    }
    let mut value: u128 = 0;
    for (at, byte) in text.bytes().enumerate() {
        match (at, byte) {
            (8 | 13 | 18 | 23, b'-') => {}
            (8 | 13 | 18 | 23, _) => return None,
            (_, b'0'..=b'9') => value = (value << 4) | u128::from(byte - b'0'),
            (_, b'a'..=b'f') => value = (value << 4) | u128::from(byte - b'a' + 10),
            _ => return None,
        }
    }
    Some(value)
}

fn fnv1a(text: &str) -> u128 {
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_its_own_value_and_the_nil_uuid_is_none() {
        assert_eq!(Key::of("00000000-0000-0000-0000-00000000002a"), Some(Key(42)));
        assert_eq!(Key::of("00000000-0000-0000-0000-000000000000"), None);
        assert_eq!(Key::of(""), None);
    }

    #[test]
    fn other_ids_are_told_apart() {
        assert_ne!(Key::of("toolu_a"), Key::of("toolu_b"));
        assert_ne!(Key::of("0000000000000000-0000-0000-0000000000"), None, "36 characters, but not a UUID");
    }
}

//! Parses the editor's replies. The editor is ours, so an unexpected shape is a bug, reported and not fatal.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// A reply that breaks the editor's contract.
#[derive(Debug, thiserror::Error)]
#[error("the editor gave an unexpected answer: {0}")]
pub(crate) struct UnexpectedReply(#[from] serde_json::Error);

/// Parses a reply, or a part of one.
pub(crate) fn parse<'a, T: Deserialize<'a>>(reply: &'a RawValue) -> Result<T, UnexpectedReply> {
    Ok(serde_json::from_str(reply.get())?)
}

/// A list. Lua encodes an empty list as `{}`, which is accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LenientList<T>(pub(crate) Vec<T>);

impl<T> Default for LenientList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Serialize> Serialize for LenientList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = LenientList<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(LenientList(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        match map.next_entry::<IgnoredAny, IgnoredAny>()? {
            None => Ok(LenientList::default()),
            Some(_) => Err(serde::de::Error::invalid_type(serde::de::Unexpected::Map, &self)),
        }
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(LenientList::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_table_is_an_empty_list() {
        for json in ["[]", "{}", "null"] {
            assert!(serde_json::from_str::<LenientList<u8>>(json).unwrap().0.is_empty());
        }
        assert_eq!(serde_json::from_str::<LenientList<u8>>("[1,2]").unwrap().0, [1, 2]);
        assert!(serde_json::from_str::<LenientList<u8>>(r#"{"a":1}"#).is_err());
    }
}

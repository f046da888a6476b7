//! Lenient JSON: a value of an unexpected type counts as absent, never as an error.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A string or boolean; anything else counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scalar<'a> {
    #[default]
    None,
    Null,
    Text(Cow<'a, str>),
    Bool(bool),
}

impl Scalar<'_> {
    /// The text, or "".
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::None | Self::Null | Self::Bool(_) => "",
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    pub(crate) fn is_set(&self) -> bool {
        !matches!(self, Self::None | Self::Null)
    }
}

/// A token count; anything but a number is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens(pub(crate) u64);

/// An object, if there is one.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// Builds a value from each kind of JSON; kinds without a method count as absent.
pub(crate) trait Lenient<'de>: Default {
    fn from_str(_: &str) -> Self {
        Self::default()
    }
    fn from_borrowed(text: &'de str) -> Self {
        Self::from_str(text)
    }
    fn from_bool(_: bool) -> Self {
        Self::default()
    }
    fn from_number(_: u64) -> Self {
        Self::default()
    }
    fn from_null() -> Self {
        Self::default()
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

pub(crate) struct LenientVisitor<T>(pub(crate) PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_borrowed(text))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_str(text))
    }
    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::from_bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(T::from_number(value))
    }
    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::from_null())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::from_seq(seq)
    }
}

impl<'de> Lenient<'de> for Scalar<'de> {
    fn from_str(text: &str) -> Self {
        Self::Text(Cow::Owned(text.to_owned()))
    }
    fn from_borrowed(text: &'de str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
    fn from_bool(value: bool) -> Self {
        Self::Bool(value)
    }
    fn from_null() -> Self {
        Self::Null
    }
}

impl Lenient<'_> for Tokens {
    fn from_number(value: u64) -> Self {
        Self(value)
    }
}

impl<'de, T: Deserialize<'de>> Lenient<'de> for Object<T> {
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Self(Some(value)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value: Scalar<'de> = deserializer.deserialize_any(LenientVisitor(PhantomData))?;
        Ok(value)
    }
}

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor(PhantomData))
    }
}

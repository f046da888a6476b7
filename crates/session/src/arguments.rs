//! The arguments of a tool call.

use std::sync::OnceLock;

use serde::{Serialize, Serializer};
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// Arguments as Claude wrote them, read when they are first needed: that takes 15 ms for 10 MB.
#[derive(Clone, Debug)]
pub struct Arguments {
    raw: Box<RawValue>,
    read: OnceLock<Json>,
}

impl Arguments {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        RawValue::NULL.to_owned().into()
    }

    /// As they were written.
    #[must_use]
    pub const fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Null if they nest too deep.
    pub fn read(&self) -> &Json {
        self.read.get_or_init(|| serde_json::from_str(self.raw.get()).unwrap_or_default())
    }
}

impl From<Box<RawValue>> for Arguments {
    fn from(raw: Box<RawValue>) -> Self {
        Self { raw, read: OnceLock::new() }
    }
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

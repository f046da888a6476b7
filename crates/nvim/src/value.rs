//! Values for Lua, and the conversion of JSON to them.
//!
//! Values are pushed straight from parsed JSON: this takes 1.5 ms for an 11.7 MB string, `vim.json.decode` 31 ms. The
//! rules:
//! - a null field of an object is left out, so Lua reads nil; a null in an array is `vim.NIL`, so positions hold;
//! - numbers are doubles, as all of LuaJIT's: an integer beyond 2^53 is rounded;
//! - strings are bytes.
//!
//! Invariant: nothing deeper than [`MAX_DEPTH`] is pushed, and stack slots for that depth are reserved first.

use core::ffi::c_int;

use serde_json::{Map, Value as Json};

use crate::lua::Stack;

/// Limit of nesting in values for Lua.
pub(crate) const MAX_DEPTH: usize = 64;

/// Stack slots needed to push one value: a table, a key and a value a level, and a margin.
pub(crate) const MAX_SLOTS: c_int = 3 * 64 + 16;

/// A value for Lua.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Nil,
    Bool(bool),
    Id(u64),
    Text(&'static str),
    Bytes(Box<[u8]>),
    Json(Json),
    Object(Map<String, Json>),
    Table(Vec<(&'static str, Value)>),
    List(Vec<Value>),
}

impl Value {
    /// Pushes this value; the caller reserved [`MAX_SLOTS`].
    pub(crate) fn push(&self, stack: Stack) {
        match self {
            Self::Nil => stack.push_nil(),
            Self::Bool(value) => stack.push_boolean(*value),
            Self::Id(id) => stack.push_number(id_to_number(*id)),
            Self::Text(text) => stack.push_bytes(text.as_bytes()),
            Self::Bytes(bytes) => stack.push_bytes(bytes),
            Self::Json(json) => push_json(stack, json, MAX_DEPTH),
            Self::Object(fields) => push_object(stack, fields, MAX_DEPTH),
            Self::Table(fields) => {
                stack.push_table(0, fields.len());
                for (key, value) in fields {
                    stack.push_bytes(key.as_bytes());
                    value.push(stack);
                    stack.set_pair();
                }
            }
            Self::List(items) => {
                stack.push_table(items.len(), 0);
                for (item, position) in items.iter().zip(1..) {
                    item.push(stack);
                    stack.set_item(position);
                }
            }
        }
    }
}

/// The approximate size of `fields` in bytes; `None` if they nest deeper than [`MAX_DEPTH`].
pub(crate) fn measure(fields: &Map<String, Json>) -> Option<usize> {
    measure_object(fields, MAX_DEPTH)
}

fn measure_object(fields: &Map<String, Json>, depth: usize) -> Option<usize> {
    let depth = depth.checked_sub(1)?;
    let mut total = 0_usize;
    for (key, value) in fields {
        total = total.saturating_add(key.len()).saturating_add(measure_json(value, depth)?);
    }
    Some(total)
}

fn measure_json(json: &Json, depth: usize) -> Option<usize> {
    /// Size of a value beside its strings.
    const OVERHEAD: usize = size_of::<Json>();
    let inner = match json {
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        Json::String(text) => text.len(),
        Json::Array(items) => {
            let depth = depth.checked_sub(1)?;
            let mut total = 0_usize;
            for item in items {
                total = total.saturating_add(measure_json(item, depth)?);
            }
            total
        }
        Json::Object(fields) => measure_object(fields, depth)?,
    };
    Some(inner.saturating_add(OVERHEAD))
}

fn push_json(stack: Stack, json: &Json, depth: usize) {
    match json {
        Json::Null => stack.push_nil(),
        Json::Bool(value) => stack.push_boolean(*value),
        Json::Number(number) => stack.push_number(number.as_f64().unwrap_or(0.0)),
        Json::String(text) => stack.push_bytes(text.as_bytes()),
        Json::Array(items) => push_array(stack, items, depth),
        Json::Object(fields) => push_object(stack, fields, depth),
    }
}

fn push_array(stack: Stack, items: &[Json], depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return stack.push_nil() };
    stack.push_table(items.len(), 0);
    for (item, position) in items.iter().zip(1..) {
        if item.is_null() {
            stack.push_null();
        } else {
            push_json(stack, item, depth);
        }
        stack.set_item(position);
    }
}

fn push_object(stack: Stack, fields: &Map<String, Json>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return stack.push_nil() };
    stack.push_table(0, fields.len());
    for (key, value) in fields {
        if value.is_null() {
            continue;
        }
        stack.push_bytes(key.as_bytes());
        push_json(stack, value, depth);
        stack.set_pair();
    }
}

/// Ids count up from 1, so they stay exact as doubles for longer than a process lives.
#[expect(clippy::as_conversions, reason = "ids stay far below 2^53")]
fn id_to_number(id: u64) -> f64 {
    id as f64
}

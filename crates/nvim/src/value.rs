//! What goes into Lua, and how JSON becomes Lua values.
//!
//! Values are pushed straight from the parsed JSON: an 11.7 MB string takes 1.5 ms so, and 31 ms through
//! `vim.json.decode`. The rules:
//! - a null field of an object is left out, so Lua reads nil; a null in an array is `vim.NIL`, so positions hold;
//! - numbers are doubles, as all of LuaJIT's: an integer beyond 2^53 arrives rounded to the nearest double;
//! - strings are bytes, whatever they hold.
//!
//! Invariant: nothing deeper than [`MAX_DEPTH`] is pushed, and room for that is reserved before.

use core::ffi::c_int;

use serde_json::{Map, Value as Json};

use crate::lua::Stack;

/// How deep arrays and objects may nest in what is handed to Lua.
pub(crate) const MAX_DEPTH: usize = 64;

/// Slots on the Lua stack that pushing one value takes at most: a table, a key and a value a level, and some air.
pub(crate) const MAX_SLOTS: c_int = 3 * 64 + 16;

/// An answer to Lua.
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

/// Whether `fields` nest no deeper than [`MAX_DEPTH`], and about how many bytes they hold.
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
    /// What a value weighs beside the bytes of its strings.
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

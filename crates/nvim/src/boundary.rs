//! Calls from Lua: reads the arguments, runs the function, pushes the result.
//!
//! Invariant: no error crosses the boundary. Arguments of any type and number are accepted, a panic of the body is
//! caught and logged, and every function returns `value` or `nil, message`. An `Err` or a panic that reached nvim-oxi
//! or C would end Neovim.

use core::ffi::c_int;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use nvim_oxi::lua::{Error as LuaError, Poppable, Pushable};

use crate::error::Error;
use crate::lua::{
    AsyncHandle, Function, LUA_TBOOLEAN, LUA_TFUNCTION, LUA_TLIGHTUSERDATA, LUA_TNIL, LUA_TNONE, LUA_TNUMBER,
    LUA_TSTRING, LUA_TTABLE, LUA_TTHREAD, LUA_TUSERDATA, Stack, State,
};
use crate::value::{MAX_SLOTS, Value};

/// No function takes more; further arguments are dropped.
const MAX_ARGUMENTS: c_int = 12;

/// An argument as Lua passed it.
#[derive(Debug, PartialEq)]
pub(crate) enum Argument {
    Nil,
    Bool(bool),
    Number(f64),
    Bytes(Vec<u8>),
    Async(AsyncHandle),
    /// A type that no function takes, by name.
    Other(&'static str),
}

impl Argument {
    fn read(stack: Stack, index: c_int) -> Self {
        match stack.kind(index) {
            LUA_TNONE | LUA_TNIL => Self::Nil,
            LUA_TBOOLEAN => Self::Bool(stack.boolean(index)),
            LUA_TNUMBER => Self::Number(stack.number(index)),
            LUA_TSTRING => stack.bytes(index).map_or(Self::Nil, Self::Bytes),
            LUA_TUSERDATA => stack.async_handle(index).map_or(Self::Other("userdata"), Self::Async),
            other => Self::Other(type_name(other)),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Bytes(_) => "string",
            Self::Async(_) => "uv_async_t",
            Self::Other(name) => name,
        }
    }
}

pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// The parts of a list, joined by zero bytes in Lua.
pub(crate) fn parts(joined: &[u8]) -> impl Iterator<Item = &[u8]> {
    joined.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

fn type_name(kind: c_int) -> &'static str {
    /// Defined by LuaJIT, not by lua.h 5.1.
    const LUA_TCDATA: c_int = 10;
    match kind {
        LUA_TLIGHTUSERDATA => "light userdata",
        LUA_TTABLE => "table",
        LUA_TFUNCTION => "function",
        LUA_TTHREAD => "thread",
        LUA_TCDATA => "cdata",
        _ => "unknown type",
    }
}

/// The arguments of one call. Reading them never fails; requesting another type than the one passed is an error.
#[derive(Debug)]
pub(crate) struct Arguments(std::vec::IntoIter<Argument>, usize);

impl Arguments {
    fn next(&mut self) -> (usize, Argument) {
        self.1 += 1;
        (self.1, self.0.next().unwrap_or(Argument::Nil))
    }

    fn wrong<T>(position: usize, name: &'static str, expected: &'static str, found: &Argument) -> Result<T, Error> {
        Err(Error::Argument { position, name, expected, found: found.type_name() })
    }

    /// The next argument as bytes.
    pub(crate) fn bytes(&mut self, name: &'static str) -> Result<Vec<u8>, Error> {
        match self.next() {
            (_, Argument::Bytes(bytes)) => Ok(bytes),
            (position, other) => Self::wrong(position, name, "string", &other),
        }
    }

    /// The next argument as bytes; `None` if it is nil or missing.
    pub(crate) fn optional_bytes(&mut self, name: &'static str) -> Result<Option<Vec<u8>>, Error> {
        match self.next() {
            (_, Argument::Bytes(bytes)) => Ok(Some(bytes)),
            (_, Argument::Nil) => Ok(None),
            (position, other) => Self::wrong(position, name, "string or nil", &other),
        }
    }

    /// The next argument as a boolean; nil is false.
    pub(crate) fn flag(&mut self, name: &'static str) -> Result<bool, Error> {
        match self.next() {
            (_, Argument::Bool(flag)) => Ok(flag),
            (_, Argument::Nil) => Ok(false),
            (position, other) => Self::wrong(position, name, "boolean", &other),
        }
    }

    /// The next argument as text; invalid UTF-8 is replaced.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<String, Error> {
        self.bytes(name).map(into_text)
    }

    /// The next argument as an id, an integer from 0.
    pub(crate) fn id(&mut self, name: &'static str) -> Result<u64, Error> {
        match self.next() {
            (_, Argument::Number(number)) => {
                number_to_id(number).ok_or(Error::Argument { position: self.1, name, expected: "id", found: "number" })
            }
            (position, other) => Self::wrong(position, name, "id", &other),
        }
    }

    /// The next argument as an integer.
    pub(crate) fn integer(&mut self, name: &'static str) -> Result<i64, Error> {
        match self.next() {
            (_, Argument::Number(number)) => {
                let size = number_to_id(number.abs()).and_then(|size| i64::try_from(size).ok());
                let signed = size.map(|size| if number < 0.0 { -size } else { size });
                signed.ok_or(Error::Argument { position: self.1, name, expected: "integer", found: "number" })
            }
            (position, other) => Self::wrong(position, name, "integer", &other),
        }
    }

    /// The next argument as an id; `None` if it is nil or missing.
    pub(crate) fn optional_id(&mut self, name: &'static str) -> Result<Option<u64>, Error> {
        match self.0.as_slice().first() {
            None | Some(Argument::Nil) => {
                self.next();
                Ok(None)
            }
            Some(_) => self.id(name).map(Some),
        }
    }

    /// The next argument as an async handle of Neovim's event loop.
    pub(crate) fn async_handle(&mut self, name: &'static str) -> Result<AsyncHandle, Error> {
        match self.next() {
            (_, Argument::Async(handle)) => Ok(handle),
            (position, other) => Self::wrong(position, name, "uv_async_t", &other),
        }
    }
}

impl Poppable for Arguments {
    unsafe fn pop(state: *mut State) -> Result<Self, LuaError> {
        // SAFETY: the caller passes the state of the running call.
        let stack = unsafe { Stack::new(state) };
        let count = stack.len().min(MAX_ARGUMENTS);
        let arguments: Vec<Argument> = (1..=count).map(|index| Argument::read(stack, index)).collect();
        stack.truncate(0);
        Ok(Self(arguments.into_iter(), 0))
    }
}

/// The return values of a function.
struct Answer(Result<Value, Error>);

impl Pushable for Answer {
    unsafe fn push(self, state: *mut State) -> Result<c_int, LuaError> {
        // SAFETY: the caller passes the state of the running call.
        let stack = unsafe { Stack::new(state) };
        match self.0 {
            Ok(value) => {
                value.push(stack);
                Ok(1)
            }
            Err(error) => {
                stack.push_nil();
                stack.push_bytes(error.to_string().as_bytes());
                Ok(2)
            }
        }
    }
}

/// Exports `body` as a Lua function.
///
/// `body` is identified by its type alone: nothing is stored in Lua's registry and no Lua state is remembered, so the
/// library may be required from a coroutine, also after that coroutine has ended.
pub(crate) const fn export<F>(_body: F) -> Function
where
    F: Fn(Arguments) -> Result<Value, Error> + Copy + 'static,
{
    const { assert!(size_of::<F>() == 0, "a closure that captures cannot be exported") };
    trampoline::<F>
}

unsafe extern "C-unwind" fn trampoline<F>(state: *mut State) -> c_int
where
    F: Fn(Arguments) -> Result<Value, Error> + Copy + 'static,
{
    // SAFETY: Lua calls this with a live state; everything below ends with the call.
    let stack = unsafe { Stack::new(state) };
    if !stack.reserve(MAX_SLOTS) {
        stack.truncate(0);
        stack.push_nil();
        return 1;
    }
    // SAFETY: `F` is zero-sized (asserted in `export`), and a value of it existed there, so a reference to one may be
    // made.
    let body = unsafe { core::ptr::NonNull::<F>::dangling().as_ref() };
    // SAFETY: the state is live.
    let arguments = match unsafe { Arguments::pop(state) } {
        Ok(arguments) => arguments,
        Err(never) => return unpoppable(stack, &never),
    };
    let answer = catch_unwind(AssertUnwindSafe(|| body(arguments))).unwrap_or(Err(Error::Panicked));
    // SAFETY: the state is live and has room.
    unsafe { Answer(answer).push(state) }.unwrap_or(0)
}

/// `Arguments::pop` never fails; if it did, Lua gets the error.
fn unpoppable(stack: Stack, error: &LuaError) -> c_int {
    stack.push_nil();
    stack.push_bytes(error.to_string().as_bytes());
    2
}

/// The table returned by `require`.
pub(crate) struct Module(pub(crate) &'static [(&'static str, Function)]);

impl Pushable for Module {
    unsafe fn push(self, state: *mut State) -> Result<c_int, LuaError> {
        // SAFETY: Lua calls the entry point with a live state.
        let stack = unsafe { Stack::new(state) };
        if !stack.reserve(MAX_SLOTS) {
            return Ok(0);
        }
        stack.push_table(0, self.0.len());
        for (name, function) in self.0 {
            stack.push_bytes(name.as_bytes());
            stack.push_function(*function);
            stack.set_pair();
        }
        Ok(1)
    }
}

/// Converts bytes to text, copied only if they are invalid UTF-8, which becomes U+FFFD.
pub(crate) fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The largest integer that a double represents exactly.
const MAX_ID: f64 = 9_007_199_254_740_991.0;

#[expect(clippy::as_conversions, reason = "checked to be whole and in range")]
fn number_to_id(number: f64) -> Option<u64> {
    (number.fract() == 0.0 && (0.0..=MAX_ID).contains(&number)).then_some(number as u64)
}

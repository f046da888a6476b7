//! The part of Neovim's C interface that this library uses: Lua, and three functions of libuv.
//!
//! Invariant: every symbol that the library takes from Neovim is declared here or in nvim-oxi's `lua::ffi`, and all
//! have the same meaning on every supported Neovim. None begins with `nvim_`; a test reads the symbol table.
//!
//! nvim-oxi declares Lua's functions `extern "C"`. An error raised inside one (out of memory, a failing `__gc` of
//! another plugin) would then reach a frame that must not unwind, and end Neovim. Those that can raise are therefore
//! declared here as `extern "C-unwind"`: the error runs the destructors on its way and arrives in Lua.

use core::ffi::{CStr, c_char, c_int, c_void};

pub(crate) use nvim_oxi::lua::ffi::{
    LUA_GLOBALSINDEX, LUA_REGISTRYINDEX, LUA_TBOOLEAN, LUA_TFUNCTION, LUA_TLIGHTUSERDATA, LUA_TNIL, LUA_TNONE,
    LUA_TNUMBER, LUA_TSTRING, LUA_TTABLE, LUA_TTHREAD, LUA_TUSERDATA, State,
};

/// A function called by Lua. Unlike nvim-oxi's `CFunction` it lets a Lua error through.
pub(crate) type Function = unsafe extern "C-unwind" fn(*mut State) -> c_int;

/// Larger tables grow while they are filled.
const MAX_PREALLOCATED: usize = 4096;

/// `UV_ASYNC` of `uv_handle_type`, whose value is fixed in libuv 1.x (uv.h, `UV_HANDLE_TYPE_MAP`).
const UV_ASYNC: c_int = 1;

unsafe extern "C-unwind" {
    fn lua_checkstack(state: *mut State, slots: c_int) -> c_int;
    fn lua_createtable(state: *mut State, items: c_int, fields: c_int);
    fn lua_getfield(state: *mut State, index: c_int, key: *const c_char);
    fn lua_getmetatable(state: *mut State, index: c_int) -> c_int;
    fn lua_gettop(state: *mut State) -> c_int;
    fn lua_objlen(state: *mut State, index: c_int) -> usize;
    fn lua_pushboolean(state: *mut State, value: c_int);
    fn lua_pushcclosure(state: *mut State, function: Function, upvalues: c_int);
    fn lua_pushlstring(state: *mut State, bytes: *const c_char, len: usize);
    fn lua_pushnil(state: *mut State);
    fn lua_pushnumber(state: *mut State, value: f64);
    fn lua_pushvalue(state: *mut State, index: c_int);
    fn lua_rawequal(state: *mut State, left: c_int, right: c_int) -> c_int;
    fn lua_rawset(state: *mut State, index: c_int);
    fn lua_rawseti(state: *mut State, index: c_int, position: c_int);
    fn lua_remove(state: *mut State, index: c_int);
    fn lua_settop(state: *mut State, index: c_int);
    fn lua_toboolean(state: *mut State, index: c_int) -> c_int;
    fn lua_tolstring(state: *mut State, index: c_int, len: *mut usize) -> *const c_char;
    fn lua_tonumber(state: *mut State, index: c_int) -> f64;
    fn lua_touserdata(state: *mut State, index: c_int) -> *mut c_void;
    fn lua_type(state: *mut State, index: c_int) -> c_int;
}

unsafe extern "C" {
    fn uv_async_send(handle: *mut c_void) -> c_int;
    fn uv_handle_get_type(handle: *const c_void) -> c_int;
    fn uv_is_closing(handle: *const c_void) -> c_int;
}

/// A Lua stack during one call.
///
/// Holds a raw pointer, so it cannot leave its thread.
#[derive(Clone, Copy)]
pub(crate) struct Stack(*mut State);

impl Stack {
    /// # Safety
    /// `state` is the live state that Lua passed to the function running now, and the value does not outlive that call.
    pub(crate) unsafe fn new(state: *mut State) -> Self {
        Self(state)
    }

    /// Reserves stack slots; if it returns `false`, nothing may be pushed.
    pub(crate) fn reserve(self, slots: c_int) -> bool {
        // SAFETY: the state is live (`new`); lua_checkstack reports failure instead of raising it.
        unsafe { lua_checkstack(self.0, slots) != 0 }
    }

    /// The number of values on the stack: at entry, of arguments.
    pub(crate) fn len(self) -> c_int {
        // SAFETY: the state is live (`new`).
        unsafe { lua_gettop(self.0) }
    }

    pub(crate) fn truncate(self, len: c_int) {
        // SAFETY: the state is live; callers only shrink the stack, so no slot is exposed uninitialised.
        unsafe { lua_settop(self.0, len) }
    }

    pub(crate) fn kind(self, index: c_int) -> c_int {
        // SAFETY: the state is live; lua_type accepts any index and answers LUA_TNONE beyond the top.
        unsafe { lua_type(self.0, index) }
    }

    pub(crate) fn boolean(self, index: c_int) -> bool {
        // SAFETY: the state is live; any index and any type are accepted.
        unsafe { lua_toboolean(self.0, index) != 0 }
    }

    pub(crate) fn number(self, index: c_int) -> f64 {
        // SAFETY: the state is live; what is not a number gives 0.
        unsafe { lua_tonumber(self.0, index) }
    }

    /// A copy of the string at `index`; `None` for other types (a number is not converted in place).
    pub(crate) fn bytes(self, index: c_int) -> Option<Vec<u8>> {
        if self.kind(index) != LUA_TSTRING {
            return None;
        }
        let mut len = 0;
        // SAFETY: the state is live and the value is a string, so the pointer is valid for `len` bytes while it stays
        // on the stack, which is until after the copy.
        unsafe {
            let start = lua_tolstring(self.0, index, &raw mut len);
            if start.is_null() {
                return None;
            }
            Some(core::slice::from_raw_parts(start.cast::<u8>(), len).to_vec())
        }
    }

    /// The libuv handle inside the `uv_async_t` userdata at `index`; `None` for other values.
    ///
    /// luv stores a pointer to the handle in the userdata and registers the metatable as "uv_async". The userdata is
    /// anchored in the registry, once: the handle is freed with it, and a thread may still send to it.
    pub(crate) fn async_handle(self, index: c_int) -> Option<AsyncHandle> {
        if self.kind(index) != LUA_TUSERDATA || !self.has_metatable(index, c"uv_async") {
            return None;
        }
        // SAFETY: the value is luv's userdata for an async handle, which holds one pointer; its size is checked first.
        // The handle is alive as long as the userdata is, and both queries only read its fixed header.
        unsafe {
            if lua_objlen(self.0, index) < size_of::<*mut c_void>() {
                return None;
            }
            let slot = lua_touserdata(self.0, index).cast::<*mut c_void>();
            let handle = if slot.is_null() { core::ptr::null_mut() } else { slot.read_unaligned() };
            if handle.is_null() || uv_handle_get_type(handle) != UV_ASYNC || uv_is_closing(handle) != 0 {
                return None;
            }
            lua_pushvalue(self.0, index);
            lua_pushboolean(self.0, 1);
            lua_rawset(self.0, LUA_REGISTRYINDEX);
            Some(AsyncHandle(handle))
        }
    }

    fn has_metatable(self, index: c_int, name: &CStr) -> bool {
        // SAFETY: the state is live, the caller's `reserve` included two slots, the registry has no metamethods, and
        // both values pushed are popped again.
        unsafe {
            if lua_getmetatable(self.0, index) == 0 {
                return false;
            }
            lua_getfield(self.0, LUA_REGISTRYINDEX, name.as_ptr());
            let same = lua_rawequal(self.0, -1, -2) != 0;
            lua_settop(self.0, -3);
            same
        }
    }

    pub(crate) fn push_nil(self) {
        // SAFETY: the state is live and has space: `reserve` came first. This holds for every push below.
        unsafe { lua_pushnil(self.0) }
    }

    pub(crate) fn push_boolean(self, value: bool) {
        // SAFETY: see push_nil.
        unsafe { lua_pushboolean(self.0, c_int::from(value)) }
    }

    pub(crate) fn push_number(self, value: f64) {
        // SAFETY: see push_nil.
        unsafe { lua_pushnumber(self.0, value) }
    }

    pub(crate) fn push_bytes(self, bytes: &[u8]) {
        // SAFETY: see push_nil; Lua copies the bytes.
        unsafe { lua_pushlstring(self.0, bytes.as_ptr().cast(), bytes.len()) }
    }

    pub(crate) fn push_function(self, function: Function) {
        // SAFETY: see push_nil; without upvalues nothing is taken off the stack.
        unsafe { lua_pushcclosure(self.0, function, 0) }
    }

    /// Pushes `vim.NIL`, Neovim's null; nil in a bare Lua state.
    pub(crate) fn push_null(self) {
        // SAFETY: see push_nil; both fields are raw ones in Neovim, and only tables are indexed.
        unsafe {
            lua_getfield(self.0, LUA_GLOBALSINDEX, c"vim".as_ptr());
            if lua_type(self.0, -1) != LUA_TTABLE {
                lua_settop(self.0, -2);
                return lua_pushnil(self.0);
            }
            lua_getfield(self.0, -1, c"NIL".as_ptr());
            lua_remove(self.0, -2);
        }
    }

    pub(crate) fn push_table(self, items: usize, fields: usize) {
        let hint = |len: usize| c_int::try_from(len.min(MAX_PREALLOCATED)).unwrap_or(0);
        // SAFETY: see push_nil; the sizes are hints.
        unsafe { lua_createtable(self.0, hint(items), hint(fields)) }
    }

    /// `table[key] = value`, with table, key and value on the stack; pops key and value.
    pub(crate) fn set_pair(self) {
        // SAFETY: callers pushed table, key and value in this order; the key is a string, never nil or NaN.
        unsafe { lua_rawset(self.0, -3) }
    }

    /// `table[position] = value` (1-based), with table and value on the stack; pops the value.
    pub(crate) fn set_item(self, position: c_int) {
        // SAFETY: callers pushed table and value in this order.
        unsafe { lua_rawseti(self.0, -2, position) }
    }
}

/// A `uv_async_t` of Neovim's event loop, anchored for the life of the process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AsyncHandle(*mut c_void);

// SAFETY: the handle's memory is never freed (`Stack::async_handle` anchors its owner), and the one function called on
// it, `uv_async_send`, is the one that libuv allows from any thread.
unsafe impl Send for AsyncHandle {}

impl AsyncHandle {
    /// Makes Neovim's event loop run the handle's callback soon; several sends may cause one run.
    pub(crate) fn send(&self) {
        // SAFETY: see `Send` above. It fails only for a handle that is no async handle.
        unsafe {
            uv_async_send(self.0);
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! A stand-in for libuv in unit tests, which run without a Neovim.

    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::{AsyncHandle, c_int, c_void};

    /// A handle that counts its rings.
    pub(crate) fn counting_handle() -> (AsyncHandle, &'static AtomicUsize) {
        let rings: &'static AtomicUsize = Box::leak(Box::default());
        (AsyncHandle(core::ptr::from_ref(rings).cast_mut().cast()), rings)
    }

    #[unsafe(no_mangle)]
    extern "C" fn uv_async_send(handle: *mut c_void) -> c_int {
        // SAFETY: in the unit tests every handle comes from `counting_handle`, and its counter is never freed.
        unsafe { &*handle.cast::<AtomicUsize>() }.fetch_add(1, Ordering::Relaxed);
        0
    }
}

-- Installs the library for these sources: an existing one, else a download, else a build with cargo. `build.lua` runs it, and it runs
-- itself in a child Neovim to test a library.
-- It requires no module of ours: after an update, Neovim has older ones loaded.
-- Invariants: a library is moved into place by rename, so that a Neovim with the old one loaded keeps it; before that, a child has loaded
-- it, and it was compiled from these sources; a download has the expected checksum.

local bit = require("bit")

local M = {}

local RELEASES = "https://github.com/claude-ide/claude-ide.nvim/releases/download"
local ENTRY_POINT = "luaopen_claude_ide_native"
local LINES_OF_FAILURE = 20
---Leftovers of a killed installation are removed after this time.
local LEFT_BEHIND_S = 3600

-- ── Which library ──

local KINDS = { rs = true, html = true, css = true, js = true }

---Like `collect` in crates/nvim/src/sources.rs.
---@param root string
---@param folder string
---@param found string[]
local function collect(root, folder, found)
  for name, kind in vim.fs.dir(root .. "/" .. folder) do
    local path = folder .. "/" .. name
    if kind == "directory" then
      collect(root, path, found)
    elseif KINDS[name:match("%.([^.]+)$")] then
      found[#found + 1] = path
    end
  end
end

---@param path string
---@return string? text
local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

---FNV-1a over four-byte words.
---@param hash integer
---@param text string
---@return integer
local function mix(hash, text)
  local whole = #text - #text % 4
  local function step(word)
    local mixed = bit.bxor(hash, word) % 0x100000000
    hash = (mixed * 0x193 + mixed % 0x100 * 0x1000000) % 0x100000000 --[[@as integer]]
  end
  for at = 1, whole, 4 do
    local a, b, c, d = text:byte(at, at + 3)
    step(a + b * 0x100 + c * 0x10000 + d * 0x1000000)
  end
  for at = whole + 1, #text do
    step(text:byte(at))
  end
  return hash
end

---The hash of the sources, which the library has compiled in (crates/nvim/src/sources.rs).
---@param root string
---@return string
function M.key(root)
  ---@type string[]
  local found = vim.tbl_filter(function(path)
    return vim.uv.fs_stat(root .. "/" .. path) ~= nil
  end, { "Cargo.toml", "Cargo.lock" })
  if vim.uv.fs_stat(root .. "/web") then
    collect(root, "web", found)
  end
  for name in vim.fs.dir(root .. "/crates") do
    local crate = "crates/" .. name
    for _, file in ipairs({ crate .. "/Cargo.toml", crate .. "/build.rs" }) do
      if vim.uv.fs_stat(root .. "/" .. file) then
        found[#found + 1] = file
      end
    end
    if vim.uv.fs_stat(("%s/%s/src"):format(root, crate)) then
      collect(root, crate .. "/src", found)
    end
  end
  table.sort(found)
  local hash = 0x811c9dc5
  for _, path in ipairs(found) do
    hash = mix(hash, ("%s\0%s\0"):format(path, read(root .. "/" .. path) or ""))
  end
  return ("%08x"):format(hash)
end

---Derived from this Neovim's libc, not from the machine's compilers.
---@return string[] triples the likeliest first; empty: no release for this machine
function M.triples()
  local system = vim.uv.os_uname()
  local machine = ({ arm64 = "aarch64", aarch64 = "aarch64", x86_64 = "x86_64" })[system.machine]
  if machine and system.sysname == "Darwin" then
    return { machine .. "-apple-darwin" }
  elseif machine and system.sysname == "Linux" then
    local gnu, musl = machine .. "-unknown-linux-gnu", machine .. "-unknown-linux-musl"
    local mapped = read("/proc/self/maps") or ""
    if mapped:find("/bin/linker64", 1, true) then
      return {} -- Android
    end
    return mapped:find("/ld-musl-", 1, true) and { musl, gnu } or { gnu, musl }
  end
  return {}
end

-- ── Doing it ──

---@class claude-ide.install.Opts
---@field root string of the plugin
---@field tell fun(message: string) shows progress
---@field pause fun() returns after a moment, in which the event loop runs

---@class claude-ide.install.Run
---@field opts claude-ide.install.Opts
---@field key string
---@field temporary string[] files to remove at the end
---@field is_unreleased? boolean a release was found, and nothing in it for these sources

---@class claude-ide.install.Call
---@field line? fun(line: string) called with each line of output
---@field waits? fun() called while it runs

---@class claude-ide.install.Answer
---@field ok boolean
---@field code? integer nil: it did not start
---@field out string stdout
---@field err string stderr, where a wrapper or the loader may write too; or why it did not start

---An error of `pause`, as for CTRL-C, ends the program.
---@param run claude-ide.install.Run
---@param command string[]
---@param opts? claude-ide.install.Call
---@return claude-ide.install.Answer
local function call(run, command, opts)
  opts = opts or {}
  local function taker(chunks)
    return function(_, chunk)
      chunks[#chunks + 1] = chunk
      local line = opts.line or function() end
      for text in (chunk or ""):gmatch("[^\r\n]+") do
        line(text)
      end
    end
  end
  local out, err = {}, {} ---@type string[], string[]
  local done ---@type vim.SystemCompleted?
  local started, process = pcall(
    vim.system,
    command,
    { cwd = run.opts.root, stdout = taker(out), stderr = taker(err), env = { LC_ALL = "C" } },
    function(result)
      done = result
    end
  )
  if not started then
    return { ok = false, out = "", err = tostring(process) }
  end
  while not done do
    local goes_on, reason = pcall(function()
      run.opts.pause()
      if opts.waits then
        opts.waits()
      end
    end)
    if not goes_on then
      process:kill("sigterm")
      error(reason, 0)
    end
  end
  ---@cast done -nil
  return {
    ok = done.code == 0,
    code = done.code,
    out = vim.trim(table.concat(out)),
    err = vim.trim(table.concat(err)),
  }
end

---@param run claude-ide.install.Run
---@return string? path of a new file in `build/`
---@return string? err
local function new_file(run)
  local folder = run.opts.root .. "/build"
  vim.uv.fs_mkdir(folder, 493) -- 0755; usually exists
  local fd, path = vim.uv.fs_mkstemp(folder .. "/.new.XXXXXX")
  if not fd then
    return nil, ("%s cannot be written to: %s"):format(folder, path)
  end
  vim.uv.fs_close(fd)
  run.temporary[#run.temporary + 1] = path
  return path
end

---@param run claude-ide.install.Run
---@param path string
---@return string? err
local function fails_to_load(run, path)
  local command =
    { vim.v.progpath, "--clean", "-l", run.opts.root .. "/lua/claude-ide/library/install.lua", path }
  local answer = call(run, command)
  local key = ("\n" .. answer.out):match("\nsources (%x+)$")
  if answer.ok and key == run.key then
    return nil
  elseif answer.ok and key then
    return "it was compiled from other sources"
  end
  return "it cannot be loaded: " .. (answer.err:match("[^\n]+") or "Neovim ended")
end

---@param run claude-ide.install.Run
---@param path string
---@return string? err
local function put_in_place(run, path)
  local fd = vim.uv.fs_open(path, "r", 0)
  if fd then
    vim.uv.fs_fsync(fd)
    vim.uv.fs_close(fd)
  end
  vim.uv.fs_chmod(path, 493) -- 0755
  local ok, reason = vim.uv.fs_rename(path, M.library(run.opts.root))
  return not ok and reason or nil
end

---Aborts a server that has fallen silent.
local SILENT_S = 30
local REDIRECTS = 10

---@param url string
---@param path string
---@param more string[]
---@return string[]
local function curl(url, path, more)
  -- Only the user's own mirror may be unencrypted.
  local protocol = vim.startswith(url, "https:") and "=https" or "=http,https"
  local command = { "curl", "--fail", "--location", "--proto", protocol, "--silent", "--show-error" }
  vim.list_extend(command, { "--retry", "2", "--connect-timeout", "10" })
  vim.list_extend(command, { "--speed-limit", "1", "--speed-time", tostring(SILENT_S) })
  return vim.list_extend(vim.list_extend(command, more), { "--output", path, "--", url })
end

---Without redirects: wget would follow one from HTTPS to HTTP.
---@param url string
---@param path string
---@param more string[]
---@return string[]
local function wget(url, path, more)
  local command = { "wget", "--no-verbose", "--server-response", "--max-redirect=0", "--tries=2" }
  vim.list_extend(command, { "--timeout=" .. SILENT_S })
  return vim.list_extend(vim.list_extend(command, more), { "--output-document=" .. path, "--", url })
end

---What a program that fetches says of its failure, without the headers that wget shows.
---@param answer claude-ide.install.Answer
---@param program string
---@return string
local function reason_of(answer, program)
  local last
  for line in answer.err:gmatch("[^\r\n]+") do
    last = not line:find("^%s") and line or last
  end
  local reason = vim.trim((last or ""):gsub("^http%S+:$", ""):gsub("^%d+%-%d+%-%d+ %S+ ", ""))
  reason = reason ~= "" and reason or vim.trim(answer.err:match("%s*HTTP/%S+ ([^\r\n]+)") or "failed")
  return vim.startswith(reason, program) and reason or ("%s: %s"):format(program, reason)
end

---@param run claude-ide.install.Run
---@param url string
---@param path string
---@return string? err
local function fetch(run, url, path)
  local more, file = vim.g.claude_ide_download_args or {}, vim.fs.basename(url)
  local function waits()
    local stat = vim.uv.fs_stat(path)
    run.opts.tell(("%s, %.1f MB so far"):format(file, (stat and stat.size or 0) / 1e6))
  end
  run.opts.tell("asks for " .. url)
  if vim.fn.executable("curl") == 1 then
    local answer = call(run, curl(url, path, more), { waits = waits })
    return not answer.ok and reason_of(answer, "curl") or nil
  elseif vim.fn.executable("wget") ~= 1 then
    return "there is neither curl nor wget"
  end
  for _ = 0, REDIRECTS do
    local answer = call(run, wget(url, path, more), { waits = waits })
    if answer.ok then
      return nil
    end
    local at = answer.err:lower():match("\n%s+location: ()") --[[@as integer?]]
    local next_url = at and answer.err:match("^%S+", at)
    if not next_url then
      return reason_of(answer, "wget")
    end
    next_url = vim.startswith(next_url, "/") and url:match("^%a+://[^/]+") .. next_url or next_url
    if vim.startswith(url, "https:") and not vim.startswith(next_url, "https:") then
      return ("wget: redirected from HTTPS to %s, which is not followed"):format(next_url)
    end
    url = next_url
  end
  return "wget: too many redirects"
end

---@param run claude-ide.install.Run
---@param path string
---@return string? sum
local function checksum(run, path)
  for _, command in ipairs({
    { "sha256sum" },
    { "shasum", "-a", "256" },
    { "openssl", "dgst", "-sha256", "-r" },
  }) do
    if vim.fn.executable(command[1]) == 1 then
      local answer = call(run, vim.list_extend(command, { path }))
      return answer.ok and ("\n" .. answer.out):match("\n\\?(%x+)[^\n]*$") or nil
    end
  end
  return nil
end

---The user's mirror; false: nothing is downloaded. `make install` and `nvim -l build.lua` read no init.lua, so the environment has it, too.
---@return string|false|nil
local function mirror()
  local chosen = vim.g.claude_ide_release_url
  if chosen == nil then
    chosen = vim.env.CLAUDE_IDE_RELEASE_URL
  end
  if chosen == false or chosen == "false" then
    return false
  end
  return chosen ~= "" and chosen or nil
end

---The releases' addresses: the user's mirror, or this version's tag, then the latest build.
---@param root string
---@return string[]
local function addresses(root)
  local chosen = mirror()
  if type(chosen) == "string" then
    return { (chosen:gsub("/+$", "")) }
  end
  local version = (read(root .. "/Cargo.toml") or ""):match('\nversion = "([^"]+)"')
  return { ("%s/v%s"):format(RELEASES, version), RELEASES .. "/edge" }
end

---The expected checksums of a release's files; a tag's are in the checkout.
---@param run claude-ide.install.Run
---@param address string
---@return string? sums
---@return string? err
local function checksums(run, address)
  local sums = read(run.opts.root .. "/release/checksums.txt")
  if sums and sums:find(run.key, 1, true) then
    return sums
  end
  local path, err = new_file(run)
  if not path then
    return nil, err
  end
  err = fetch(run, address .. "/SHA256SUMS", path)
  local list = not err and read(path) or ""
  if not err and not list:find("^%x+  %S") then
    err = "no list of checksums, but perhaps the login page of a proxy"
  end
  if err then
    return nil, ("%s/SHA256SUMS: %s"):format(address, err)
  end
  return list
end

---@param run claude-ide.install.Run
---@param address string
---@param asset string
---@param sums string
---@return string? err
local function download_asset(run, address, asset, sums)
  local expected = sums:match("(%x+)  " .. vim.pesc(asset) .. "\n")
  if not expected or #expected ~= 64 then
    run.is_unreleased = true
    return ("%s: nothing for these sources (%s)"):format(address, asset)
  end
  local path, err = new_file(run)
  if not path then
    return err
  end
  err = fetch(run, ("%s/%s"):format(address, asset), path)
  if err then
    return ("%s/%s: %s"):format(address, asset, err)
  end
  local found = checksum(run, path)
  if found ~= expected then
    return ("%s/%s: its checksum is %s, not %s"):format(address, asset, found or "not to be had", expected)
  end
  return fails_to_load(run, path) or put_in_place(run, path)
end

---@param run claude-ide.install.Run
---@return boolean done
---@return string[] why not, a sentence each
local function download(run)
  if mirror() == false then
    return false, { "`vim.g.claude_ide_release_url` or $CLAUDE_IDE_RELEASE_URL is false" }
  elseif vim.startswith(vim.uv.fs_realpath(vim.v.progpath) or "", "/nix/store/") then
    return false, { "Nix keeps libraries in other places" }
  end
  local reasons, triples = {}, M.triples()
  for _, address in ipairs(#triples > 0 and addresses(run.opts.root) or {}) do
    local sums, unknown = checksums(run, address)
    reasons[#reasons + 1] = unknown
    for _, triple in ipairs(sums and triples or {}) do
      local reason = download_asset(run, address, M.asset(run.key, triple), sums or "")
      if not reason then
        return true, {}
      end
      reasons[#reasons + 1] = reason
    end
  end
  return false, #reasons > 0 and reasons or { "nothing is released for this machine" }
end

---Whether a fitting library exists: in its place, or as downloaded by hand.
---@param run claude-ide.install.Run
---@return boolean
local function is_there(run)
  local library = M.library(run.opts.root)
  if vim.uv.fs_stat(library) and not fails_to_load(run, library) then
    return true
  end
  for _, triple in ipairs(M.triples()) do
    local path = ("%s/build/%s"):format(run.opts.root, M.asset(run.key, triple))
    if vim.uv.fs_stat(path) and not fails_to_load(run, path) and not put_in_place(run, path) then
      return true
    end
  end
  return false
end

---As scripts/build.sh exits.
local NO_CARGO = 127
local WHAT_HELPS = "There is no release for these sources (a new commit has none for some time, a fork never) and no cargo to "
  .. 'build them: use a released version (`version = "*"` in lazy.nvim\'s spec), or install Rust (https://rustup.rs).'

---@param run claude-ide.install.Run
---@return string? err
local function build(run)
  local lines = {} ---@type string[]
  local answer = call(run, { "sh", run.opts.root .. "/scripts/build.sh" }, {
    line = function(line)
      lines[#lines + 1] = line
      run.opts.tell(vim.trim(line))
    end,
  })
  if answer.code == NO_CARGO and run.is_unreleased then
    lines[#lines + 1] = WHAT_HELPS
  end
  return not answer.ok and table.concat(lines, "\n", math.max(#lines - LINES_OF_FAILURE + 1, 1)) or nil
end

---@param run claude-ide.install.Run
local function tidy(run)
  for _, path in ipairs(run.temporary) do
    vim.uv.fs_unlink(path)
  end
  local folder = run.opts.root .. "/build"
  for name in vim.fs.dir(folder) do
    local stat = name:find("^%.new%.") and vim.uv.fs_stat(folder .. "/" .. name)
    if stat and os.time() - stat.mtime.sec > LEFT_BEHIND_S then
      vim.uv.fs_unlink(folder .. "/" .. name)
    end
  end
end

---@param root string
---@return string
function M.library(root)
  return root .. "/build/claude_ide_native.so"
end

---The library's file name in a release.
---@param key string
---@param triple string
---@return string
function M.asset(key, triple)
  return ("claude_ide_native-%s-%s.so"):format(key, triple)
end

---For the health check, and for an installation by hand.
---@class claude-ide.install.Names
---@field key string the hash of the sources
---@field path string of the library
---@field asset? string its name in a release; nil: no release for this machine
---@field urls string[] of releases, in the order of the search

---@param root string
---@return claude-ide.install.Names
function M.names(root)
  local key, triple = M.key(root), M.triples()[1]
  local asset = triple and M.asset(key, triple)
  local urls = {} ---@type string[]
  for _, address in ipairs(asset and mirror() ~= false and addresses(root) or {}) do
    urls[#urls + 1] = ("%s/%s"):format(address, asset)
  end
  return { key = key, path = M.library(root), asset = asset, urls = urls }
end

---Raises errors as sentences for the user.
---@param opts claude-ide.install.Opts
---@return "there"|"downloaded"|"built"
function M.run(opts)
  local run = { opts = opts, key = M.key(opts.root), temporary = {} } ---@type claude-ide.install.Run
  local how, reasons, err ---@type "there"|"downloaded"|"built", string[], string?
  local ok, stopped = pcall(function()
    if is_there(run) then
      how = "there"
      return
    end
    local downloaded
    downloaded, reasons = download(run)
    how = downloaded and "downloaded" or "built"
    err = not downloaded and build(run) or nil
  end)
  tidy(run)
  if not ok then
    error(stopped, 0)
  elseif err then
    local all = "claude-ide.nvim: no library was downloaded:\n  %s\nand it could not be built:\n%s"
    error(all:format(table.concat(reasons, "\n  "), err), 0)
  end
  return how
end

-- `nvim -l library/install.lua {library}`: prints the hash of the sources of a library.
if arg and arg[0] and arg[0]:find("install%.lua$") and arg[1] then
  local open = assert(package.loadlib(arg[1], ENTRY_POINT))
  io.stdout:write("sources ", open().sources(), "\n") -- stderr is the loader's too
end

return M

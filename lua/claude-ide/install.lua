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

---@param run claude-ide.install.Run
---@param command string[]
---@param line? fun(line: string) called with each line of output
---@return boolean ok
---@return string said the output, or why it did not start
local function call(run, command, line)
  local chunks = {}
  local function take(_, chunk)
    chunks[#chunks + 1] = chunk
    for text in (line and chunk or ""):gmatch("[^\r\n]+") do
      line(text)
    end
  end
  local done ---@type vim.SystemCompleted?
  local started, reason = pcall(
    vim.system,
    command,
    { cwd = run.opts.root, stdout = take, stderr = take },
    function(result)
      done = result
    end
  )
  if not started then
    return false, tostring(reason)
  end
  while not done do
    run.opts.pause()
  end
  return done.code == 0, vim.trim(table.concat(chunks))
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
  local command = { vim.v.progpath, "--clean", "-l", run.opts.root .. "/lua/claude-ide/install.lua", path }
  local ok, said = call(run, command)
  local key = said:match("^sources (%x+)$")
  if ok and key == run.key then
    return nil
  elseif ok and key then
    return "it was compiled from other sources"
  end
  return "it cannot be loaded: " .. (said:match("[^\n]+") or "Neovim ended")
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

---@param url string
---@param path string
---@return string[]? command nil: no download program
local function fetch_command(url, path)
  local more = vim.g.claude_ide_download_args or {}
  if vim.fn.executable("curl") == 1 then
    -- Only the user's own mirror may be unencrypted.
    local protocol = vim.startswith(url, "https:") and "=https" or "=http,https"
    local command = { "curl", "--fail", "--location", "--proto", protocol, "--silent", "--show-error" }
    vim.list_extend(command, { "--retry", "2", "--connect-timeout", "10" })
    return vim.list_extend(vim.list_extend(command, more), { "--output", path, "--", url })
  elseif vim.fn.executable("wget") == 1 then
    return vim.list_extend(
      vim.list_extend({ "wget", "--quiet" }, more),
      { "--output-document=" .. path, "--", url }
    )
  end
  return nil
end

---@param run claude-ide.install.Run
---@param url string
---@param path string
---@return string? err
local function fetch(run, url, path)
  local command = fetch_command(url, path)
  if command then
    local ok, said = call(run, command)
    return not ok and (said:match("[^\n]+") or command[1] .. " failed") or nil
  elseif not (vim.net and vim.net.request) then
    return "there is neither curl nor wget"
  end
  local done, err = false, nil ---@type boolean, string?
  vim.net.request(url, { outpath = path }, function(failed)
    done, err = true, failed
  end)
  while not done do
    run.opts.pause()
  end
  return err
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
      local ok, said = call(run, vim.list_extend(command, { path }))
      return ok and said:match("^\\?(%x+)") or nil
    end
  end
  return nil
end

---The releases' addresses: the user's mirror, or this version's tag, then the latest build.
---@param root string
---@return string[]
local function addresses(root)
  local mirror = vim.g.claude_ide_release_url
  if type(mirror) == "string" then
    return { (mirror:gsub("/+$", "")) }
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
  if err then
    return nil, ("%s/SHA256SUMS: %s"):format(address, err)
  end
  return read(path)
end

---@param run claude-ide.install.Run
---@param address string
---@param asset string
---@param sums string
---@return string? err
local function download_asset(run, address, asset, sums)
  local expected = sums:match("(%x+)  " .. vim.pesc(asset) .. "\n")
  if not expected or #expected ~= 64 then
    return ("%s: nothing for these sources (%s)"):format(address, asset)
  end
  local path, err = new_file(run)
  if not path then
    return err
  end
  run.opts.tell("downloads " .. asset)
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
  if vim.g.claude_ide_release_url == false then
    return false, { "`vim.g.claude_ide_release_url` is false" }
  elseif vim.startswith(vim.uv.fs_realpath(vim.v.progpath) or "", "/nix/store/") then
    return false, { "libraries of Nix lie elsewhere" }
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

---@param run claude-ide.install.Run
---@return string? err
local function build(run)
  local lines = {} ---@type string[]
  local ok = call(run, { "sh", run.opts.root .. "/scripts/build.sh" }, function(line)
    lines[#lines + 1] = line
    run.opts.tell(vim.trim(line))
  end)
  return not ok and table.concat(lines, "\n", math.max(#lines - LINES_OF_FAILURE + 1, 1)) or nil
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
  for _, address in ipairs(asset and vim.g.claude_ide_release_url ~= false and addresses(root) or {}) do
    urls[#urls + 1] = ("%s/%s"):format(address, asset)
  end
  return { key = key, path = M.library(root), asset = asset, urls = urls }
end

---Raises errors as sentences for the user.
---@param opts claude-ide.install.Opts
---@return "there"|"downloaded"|"built"
function M.run(opts)
  local run = { opts = opts, key = M.key(opts.root), temporary = {} }
  if is_there(run) then
    tidy(run)
    return "there"
  end
  local downloaded, reasons = download(run)
  local err = not downloaded and build(run) or nil
  tidy(run)
  if err then
    local all = "claude-ide.nvim: no library was downloaded:\n  %s\nand it could not be built:\n%s"
    error(all:format(table.concat(reasons, "\n  "), err), 0)
  end
  return downloaded and "downloaded" or "built"
end

-- `nvim -l install.lua {library}`: prints the hash of the sources of a library.
if arg and arg[0] and arg[0]:find("install%.lua$") and arg[1] then
  local open = assert(package.loadlib(arg[1], ENTRY_POINT))
  print("sources " .. open().sources())
end

return M

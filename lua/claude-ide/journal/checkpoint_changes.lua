-- What changed between two checkpoints, and what files held at one.
-- Invariant: what is told is bounded, and told in steps; of the rest it is said that it changed.
local M = {}

---More changed files than this are no edit but a checkout or a build: so many are looked at, changed and deleted ones first.
M.MAX_FILES = 200
local MAX_FILE_BYTES = 4 * 1024 * 1024

---Found files are told in steps of so long, so that the user's keys get their turn.
local STEP_NS = 4 * 1000 * 1000

---@return table
local function repositories()
  return require("claude-ide.journal.repositories")
end

---@class claude-ide.journal.TreeChange
---@field path string absolute
---@field name string as git names it, from the top
---@field blob? string nil: the file was made
---@field mode? integer permissions that it had
---@field rest claude-ide.journal.Rest the same, for where the journal has no room for it

---@param mode string of git
---@return boolean
local function is_file(mode)
  return mode == "000000" or mode:sub(1, 3) == "100"
end

local ENTRY = ":(%d+) (%d+) (%x+) (%x+) %a%d*%z([^%z]+)%z"

---What files are of which the first checkpoint knows nothing. One that was there all the time was not made, so an undo must not
---remove it.
---@param repository claude-ide.journal.Repository
---@param out string of `diff-tree --raw -z`
---@param moved table<string, true> names of files that were somewhere else
---@return fun(name: string, blob: string): "made"|"there"|"unknown"
local function origins(repository, out, moved)
  local gone ---@type table<string, true>? blobs of files that are gone
  ---@param blob string
  ---@return boolean
  local function is_gone(blob)
    if not gone then
      gone = {}
      for _, new_mode, old_blob in out:gmatch(ENTRY) do
        gone[old_blob] = new_mode == "000000" or gone[old_blob]
      end
    end
    return gone[blob] == true
  end
  return function(name, blob)
    local met = repository.met[name]
    if (met ~= "unchanged" and met ~= "changed") or moved[name] or is_gone(blob) then
      return "made"
    end
    return met == "unchanged" and "there" or "unknown"
  end
end

---Which files were somewhere else and have been changed besides: asked where that is a question only.
---@param repository claude-ide.journal.Repository
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param out string of `diff-tree --raw -z`
---@param done fun(moved: table<string, true>) names
local function find_moved(repository, from, to, out, done)
  local is_asked = false
  for old_mode, _, _, _, name in out:gmatch(ENTRY) do
    is_asked = is_asked or (old_mode == "000000" and repository.met[name] == "changed")
  end
  if not is_asked then
    return done({})
  end
  local ask = ([[exec "$@" diff-tree -r -z -M30%% --diff-filter=R --name-status %s %s]]):format(
    from.tree,
    to.tree
  )
  repositories().read(repository, ask, function(renames)
    local moved = {}
    for name in (renames or ""):gmatch("R%d+%z[^%z]+%z([^%z]+)%z") do
      moved[name] = true
    end
    done(moved)
  end)
end

---@param repository claude-ide.journal.Repository
---@param out string of `diff-tree --raw -z`
---@param wanted fun(path: string): boolean
---@param ignored table<string, true> names
---@param moved table<string, true> names of files that were somewhere else
---@return claude-ide.journal.TreeChange[] changed and deleted ones first
---@return string[] left_out repositories within this one, and files that came from nobody knows where
---@return claude-ide.journal.Rest[] rest links and permissions
local function parse(repository, out, wanted, ignored, moved)
  local found, made_since, left_out, rest = {}, {}, {}, {}
  local origin = origins(repository, out, moved)
  for old_mode, new_mode, blob, new_blob, name in out:gmatch(ENTRY) do
    local path = repository.top .. "/" .. name
    local counts = not ignored[name] and wanted(path)
    local came = old_mode == "000000" and counts and origin(name, new_blob) or "made"
    if came ~= "made" then
      counts = false
      left_out[#left_out + 1] = came == "unknown" and path or nil
    end
    local are_files = is_file(old_mode) and is_file(new_mode)
    ---@type claude-ide.journal.Rest
    local item = {
      path = path,
      name = name,
      folder = "",
      old_mode = old_mode,
      new_mode = new_mode,
      blob = blob,
      new_blob = new_blob,
    }
    if counts and are_files and blob ~= new_blob then
      local is_new = blob:find("^0+$") ~= nil
      table.insert(is_new and made_since or found, {
        path = path,
        name = name,
        blob = not is_new and blob or nil,
        mode = not is_new and tonumber(old_mode:sub(4), 8) or nil,
        rest = item,
      })
    elseif counts and (old_mode:sub(1, 3) == "160" or new_mode:sub(1, 3) == "160") then
      left_out[#left_out + 1] = path
    elseif counts and not are_files then
      rest[#rest + 1] = item
    end
    if counts and are_files and old_mode:sub(1, 3) == new_mode:sub(1, 3) and old_mode ~= new_mode then
      rest[#rest + 1] = vim.tbl_extend("force", item, { mode_only = true })
    end
  end
  return vim.list_extend(found, made_since), left_out, rest
end

---Leaves out files that a filter (as LFS) changes on their way: their bytes are not in the checkpoint.
---@param repository claude-ide.journal.Repository
---@generic T: { name: string }
---@param changes T[]
---@param done fun(changes: T[])
local function unfiltered(repository, changes, done)
  if #changes == 0 then
    return done({})
  end
  local names = {}
  for i, change in ipairs(changes) do
    names[i] = change.name .. "\0"
  end
  local ask = [[exec "$@" check-attr -z --stdin filter working-tree-encoding]]
  repositories().read(repository, ask, function(out)
    local fields, filtered = vim.split(out or "", "\0", { plain = true }), {}
    for i = 1, #fields - 2, 3 do
      if fields[i + 2] ~= "unspecified" and fields[i + 2] ~= "unset" then
        filtered[fields[i]] = true
      end
    end
    done(out and vim.tbl_filter(function(change)
      return not filtered[change.name]
    end, changes) or {})
  end, table.concat(names))
end

---What files held at a checkpoint, with the ends of line that a checkout would give them, as they lay on the disk.
---@param repository claude-ide.journal.Repository
---@param changes { name: string, blob?: string }[]
---@param done fun(contents: table<string, string>) by name
local function contents_of(repository, changes, done)
  -- Sizes are told as they were before the ends of line are converted, so names that do not exist stand between the files.
  local mark = ("between-%d-%d"):format(vim.uv.hrtime() % 1e9, math.random(1e9))
  local lines, asked = {}, {}
  for _, change in ipairs(changes) do
    if change.blob and not change.name:find("\n", 1, true) then
      asked[#asked + 1] = change.name
      vim.list_extend(lines, { change.blob .. " " .. change.name, ("%s-%d x"):format(mark, #asked) })
    end
  end
  if #asked == 0 then
    return done({})
  end
  local ask = [[exec "$@" cat-file --batch --buffer --filters]]
  repositories().read(repository, ask, function(answer)
    local out, contents, at = answer or "", {}, 1
    for i, name in ipairs(asked) do
      local _, header = out:find("^%x+ blob %d+\n", at)
      local last, next_at = out:find(("\n%s-%d missing\n"):format(mark, i), header or at, true)
      if header and last and last - 1 - header <= MAX_FILE_BYTES then
        contents[name] = out:sub(header + 1, last - 1)
      end
      at = (next_at or #out) + 1
    end
    done(contents)
  end, table.concat(lines, "\n") .. "\n")
end

---@class claude-ide.journal.FoundChange
---@field path string
---@field before? string what it held at the first checkpoint; nil: it was made since
---@field mode? integer permissions that it had
---@field since integer when the first checkpoint was begun, in the nanoseconds of `store.now()`
---@field taken integer the same, at which it was complete
---@field is_start? boolean it is that of the start of the turn

---Files that at least one of two checkpoints has not copied, and that differ: what they held is not known.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param top string
---@param wanted fun(path: string): boolean
---@return string[] paths
---@return table<string, true> names of all that were not copied
local function unknown(from, to, top, wanted)
  local paths, names = {}, {}
  for _, skipped in ipairs({ from.skipped, to.skipped }) do
    for name in pairs(skipped) do
      if not names[name] and from.skipped[name] ~= to.skipped[name] and wanted(top .. "/" .. name) then
        paths[#paths + 1] = top .. "/" .. name
      end
      names[name] = true
    end
  end
  return paths, names
end

---Which files differ between two checkpoints, with what they held at the first.
---@param from claude-ide.journal.Checkpoint
---@param to claude-ide.journal.Checkpoint
---@param wanted fun(path: string): boolean
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun(left_out: string[], rest: claude-ide.journal.Rest[], too_many?: integer) paths of which nothing more is known;
---what can be taken back without the journal; how many files changed, where that is more than the journal has room for
function M.compare(from, to, wanted, each, done)
  local repository = repositories().get(from.folder)
  if not repository or from.folder ~= to.folder then
    return done({}, {})
  end
  local left_out, names = unknown(from, to, repository.top, wanted)
  if from.tree == to.tree then
    return done(left_out, {})
  end
  repositories().readers = repositories().readers + 1
  local ask = ([[exec "$@" diff-tree -r -z --raw --no-renames %s %s]]):format(from.tree, to.tree)
  ---@param out string
  ---@param moved table<string, true>
  local function tell(out, moved)
    local changes, others, rest = parse(repository, out, wanted, names, moved)
    vim.list_extend(left_out, others)
    for i = M.MAX_FILES + 1, #changes do
      rest[#rest + 1] = changes[i].rest
    end
    for _, item in ipairs(rest) do
      item.folder = from.folder
    end
    local looked_at = vim.list_slice(changes, 1, M.MAX_FILES)
    unfiltered(repository, looked_at, function(left)
      local is_left = {} ---@type table<claude-ide.journal.TreeChange, true>
      for _, change in ipairs(left) do
        rawset(is_left, change, true)
      end
      for _, change in ipairs(looked_at) do
        left_out[#left_out + 1] = not is_left[change] and change.path or nil
      end
      contents_of(repository, left, function(contents)
        repositories().readers = repositories().readers - 1
        local next_one = 1
        local function step()
          local began = vim.uv.hrtime()
          while left[next_one] and vim.uv.hrtime() - began < STEP_NS do
            local change = left[next_one]
            next_one = next_one + 1
            if not change.blob or contents[change.name] then
              local before = contents[change.name]
              each({
                path = change.path,
                before = before,
                mode = change.mode,
                since = from.began,
                taken = from.taken,
              })
            else
              left_out[#left_out + 1] = change.path
            end
          end
          if left[next_one] then
            return vim.defer_fn(step, 1)
          end
          done(left_out, rest, #changes > M.MAX_FILES and #changes or nil)
        end
        step()
      end)
    end)
  end
  repositories().read(repository, ask, function(out)
    find_moved(repository, from, to, out or "", function(moved)
      tell(out or "", moved)
    end)
  end)
end

---Neither a link nor another repository.
local REGULAR = "^(100%d+) blob (%x+)\t(.+)$"

---What a checkpoint holds of a file that git sees as unchanged: with its ends of line, which git may convert.
---@param path string
---@param content string
---@return string
local function as_on_disk(path, content)
  local bytes = require("claude-ide.file").read_now(path, MAX_FILE_BYTES)
  return bytes and bytes:gsub("\r\n", "\n") == content:gsub("\r\n", "\n") and bytes or content
end

---Files that a checkpoint holds, with what they held then: of those that are not in it nothing is told.
---@param from claude-ide.journal.Checkpoint
---@param paths string[] with links followed
---@param each fun(change: claude-ide.journal.FoundChange) on the main loop
---@param done fun()
function M.held(from, paths, each, done)
  local repository = repositories().get(from.folder)
  local names = {}
  for _, path in ipairs(vim.list_slice(paths, 1, M.MAX_FILES)) do
    local name = repository
      and require("claude-ide.path").within(path, repository.top)
      and path:sub(#repository.top + 2)
    if name and name ~= "" and not from.skipped[name] then
      names[#names + 1] = "'" .. name:gsub("'", "'\\''") .. "'"
    end
  end
  if not repository or #names == 0 then
    return done()
  end
  repositories().readers = repositories().readers + 1
  local ask = [[exec "$@" --literal-pathspecs ls-tree -z %s -- %s]]
  repositories().read(repository, ask:format(from.tree, table.concat(names, " ")), function(out)
    local files = {}
    for line in (out or ""):gmatch("[^%z]+") do
      local mode, blob, name = line:match(REGULAR)
      files[#files + 1] = name and { name = name, blob = blob, mode = tonumber(mode:sub(4), 8) } or nil
    end
    M.read(from.folder, files, function(contents)
      repositories().readers = repositories().readers - 1
      for _, file in ipairs(files) do
        if contents[file.name] then
          each({
            path = repository.top .. "/" .. file.name,
            before = as_on_disk(repository.top .. "/" .. file.name, contents[file.name]),
            mode = file.mode,
            since = from.began,
            taken = from.taken,
          })
        end
      end
      done()
    end)
  end)
end

---What files held, as far as the copies are still there. Not of those that a filter changes.
---@param folder string of the checkpoints
---@param files { name: string, blob: string }[]
---@param done fun(contents: table<string, string>) by name
function M.read(folder, files, done)
  local repository = repositories().get(folder)
  if not repository or #files == 0 then
    return done({})
  end
  repositories().readers = repositories().readers + 1
  unfiltered(repository, files, function(left)
    contents_of(repository, left, function(contents)
      repositories().readers = repositories().readers - 1
      done(contents)
    end)
  end)
end

return M

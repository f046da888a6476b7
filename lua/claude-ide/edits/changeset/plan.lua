-- Applies steps to files in memory: what each file holds and what it would hold. Reads through the `World` that it is given.
-- Invariants: nothing is written; a step that cannot be done refuses the whole list.
local short = require("claude-ide.base.path").short
local lazy = require("claude-ide.lazy")
local paths = lazy("claude-ide.base.path")
local text_edits = lazy("claude-ide.edits.changeset.text_edits")

local M = {}

---One changed file.
---@class claude-ide.changeset.File
---@field path string absolute, after the change
---@field from? string absolute; the old path of a moved file
---@field kind "modified"|"created"|"deleted"|"renamed"
---@field before? claude-ide.changeset.Text nil: no such file
---@field after? claude-ide.changeset.Text nil: deleted
---@field source? claude-ide.changeset.Source as read; of `from` if moved
---@field replaced? claude-ide.changeset.Source another file at `path`, which is overwritten
---@field vacated? boolean the file at `path` is moved elsewhere by the same changes
---@field comparison claude-ide.diffview.Comparison of before and after; filled in by init.lua

---A file as read.
---@class claude-ide.changeset.Source
---@field path string
---@field text claude-ide.changeset.Text
---@field bytes? string on disk; nil: only the buffer has it
---@field buf? integer loaded
---@field unsaved boolean the text is the buffer's, which has unsaved changes
---@field tick? integer of the buffer
---@field version? integer of the document, as the language servers know it
---@field mode? integer permissions
---@field node? string the file's identity: equal for two names of one file

---Access to files.
---@class claude-ide.changeset.World
---@field read fun(path: string): claude-ide.changeset.Source?, string? nil without an error: no such file
---@field list fun(folder: string): string[]?, string? all files below; nil without an error: not a folder
---@field pause fun() called between two steps; may yield to the event loop
---@field stamp? fun(path: string): string what a file is like, for edits that were made earlier

---@class claude-ide.changeset.Node a file between two steps
---@field text claude-ide.changeset.Text
---@field origin? claude-ide.changeset.Source

---@class claude-ide.changeset.Tree
---@field world claude-ide.changeset.World
---@field sources table<string, claude-ide.changeset.Source|false> by path
---@field now table<string, claude-ide.changeset.Node|false>
---@field order string[] paths, in the order of first use

---@param tree claude-ide.changeset.Tree
---@param path string
---@return claude-ide.changeset.Node? nil: no such file
---@return string? err
local function node_at(tree, path)
  if tree.now[path] == nil then
    local source, err = tree.world.read(path)
    if err then
      return nil, err
    end
    tree.sources[path] = source or false
    tree.now[path] = source and { text = source.text, origin = source } or false
    tree.order[#tree.order + 1] = path
    tree.world.pause()
  end
  return tree.now[path] or nil
end

---@param tree claude-ide.changeset.Tree
---@param step claude-ide.changeset.Step
---@return string? err
local function edit(tree, step)
  local node, err = node_at(tree, step.path)
  if err then
    return err
  elseif not node then
    return short(step.path) .. " does not exist"
  end
  local source, asked = node.origin, step.asked or { encoding = "utf-8" }
  local version = step.version or (asked.versions or {})[step.path]
  local is_other = version and source and source.version and source.version ~= version
  local stamp_of = tree.world.stamp
  local stamp = source and stamp_of and (asked.stamps or {})[step.path]
  if is_other or stamp and stamp_of and stamp ~= stamp_of(step.path) then
    return ("%s has changed since the server looked at it: ask again"):format(short(step.path))
  end
  local text, why = text_edits.apply(node.text, step.edits or {}, asked, tree.world.pause)
  if not text then
    return ("%s: the server's edit %s"):format(short(step.path), why)
  end
  tree.now[step.path] = { text = text, origin = node.origin }
end

---@param tree claude-ide.changeset.Tree
---@param step claude-ide.changeset.Step
---@return string? err
local function create(tree, step)
  local node, err = node_at(tree, step.path)
  if err then
    return err
  elseif node and not step.overwrite then
    return not step.ignore and short(step.path) .. " exists already" or nil
  end
  local format = { bom = false, eol = "\n", final = false, empty = true }
  tree.now[step.path] = { text = { lines = { "" }, format = format }, origin = node and node.origin }
end

---@param tree claude-ide.changeset.Tree
---@param from string
---@param to string
---@param step claude-ide.changeset.Step
---@return string? err
local function move(tree, from, to, step)
  local node, err = node_at(tree, from)
  if err then
    return err
  elseif not node then
    return short(from) .. " does not exist"
  end
  local there
  there, err = node_at(tree, to)
  if err then
    return err
  elseif there and not step.overwrite then
    return not step.ignore and short(to) .. " exists already" or nil
  end
  tree.now[to], tree.now[from] = node, false
end

---@param tree claude-ide.changeset.Tree
---@param step claude-ide.changeset.Step
---@return string? err
local function rename(tree, step)
  local to = step.to --[[@as string]]
  local inside, err = tree.world.list(step.path)
  if err then
    return err
  elseif not inside then
    return move(tree, step.path, to, step)
  elseif paths.within(to, step.path) then
    return ("%s cannot be moved into itself"):format(short(step.path))
  end
  for _, path in ipairs(inside) do
    err = move(tree, path, to .. path:sub(#step.path + 1), step)
    if err then
      return err
    end
  end
end

---@param tree claude-ide.changeset.Tree
---@param step claude-ide.changeset.Step
---@return string? err
local function delete(tree, step)
  local inside, err = tree.world.list(step.path)
  if err then
    return err
  elseif inside and not step.recursive and #inside > 0 then
    return short(step.path) .. " is a folder that is not empty"
  end
  for _, path in ipairs(inside or { step.path }) do
    local node
    node, err = node_at(tree, path)
    if err then
      return err
    elseif not node and not step.ignore then
      return short(path) .. " does not exist"
    end
    tree.now[path] = false
  end
end

---@param tree claude-ide.changeset.Tree
---@return claude-ide.changeset.File[]
local function files_of(tree)
  local same = text_edits.same
  local moved, files = {}, {} ---@type table<string, true>, claude-ide.changeset.File[]
  for _, path in ipairs(tree.order) do
    local node = tree.now[path]
    local origin = node and node.origin
    if origin and origin.path ~= path then
      moved[origin.path] = true
    end
  end
  for _, path in ipairs(tree.order) do
    local node, source = tree.now[path] or nil, tree.sources[path] or nil
    local origin, vacated = node and node.origin, moved[path]
    if node and origin and origin.path ~= path then
      files[#files + 1] = {
        path = path,
        from = origin.path,
        kind = "renamed",
        before = origin.text,
        after = node.text,
        source = origin,
        replaced = not vacated and source or nil,
        vacated = vacated,
      }
    elseif node and source and not vacated then
      tree.world.pause()
      if not same(node.text, source.text) then
        files[#files + 1] =
          { path = path, kind = "modified", before = source.text, after = node.text, source = source }
      end
    elseif node then
      files[#files + 1] = { path = path, kind = "created", after = node.text, vacated = vacated }
    elseif source and not vacated then
      files[#files + 1] = { path = path, kind = "deleted", before = source.text, source = source }
    end
  end
  table.sort(files, function(left, right)
    return left.path < right.path
  end)
  return files
end

---A file with two names (links) is changed once, by the name that is not a link. Refused if the two would become different texts.
---@param files claude-ide.changeset.File[]
---@return claude-ide.changeset.File[]? files
---@return string? err
local function each_once(files)
  local names, once = {}, {} ---@type table<string, integer>, claude-ide.changeset.File[]
  for _, file in ipairs(files) do
    local node = file.after and file.source and file.source.node
    local at = node and names[node]
    local other = at and once[at]
    if other and file.kind == "modified" and other.kind == "modified" then
      local same = text_edits.same
      if
        not same(
          file.after --[[@as claude-ide.changeset.Text]],
          other.after --[[@as claude-ide.changeset.Text]]
        )
      then
        return nil, ("%s and %s are the same file"):format(short(other.path), short(file.path))
      end
      local is_real = paths.real(file.path) == file.path
      once[
        at --[[@as integer]]
      ] = is_real and file or other
    elseif other and (file.kind == "modified" or other.kind == "modified") then
      return nil, ("%s and %s are the same file"):format(short(other.path), short(file.path))
    else
      once[#once + 1] = file
      if node then
        names[node] = #once
      end
    end
  end
  return once
end

---@param tree claude-ide.changeset.Tree
---@param step claude-ide.changeset.Step
---@return string? err
local function make(tree, step)
  local node, err = node_at(tree, step.path)
  if err then
    return err
  end
  local make_text = step.make --[[@as function]]
  local text, why = make_text(node and node.text)
  if not text then
    return ("%s: %s"):format(short(step.path), why)
  end
  tree.now[step.path] = { text = text, origin = node and node.origin }
end

local STEPS = {
  edit = edit,
  make = make,
  create = create,
  rename = rename,
  delete = delete,
}

---@param steps claude-ide.changeset.Step[]
---@param world claude-ide.changeset.World
---@return claude-ide.changeset.File[]? files those that change, by path
---@return string? err a sentence without a full stop
function M.make(steps, world)
  local tree = { world = world, sources = {}, now = {}, order = {} } ---@type claude-ide.changeset.Tree
  for _, step in ipairs(steps) do
    local err = STEPS[step.kind](tree, step)
    if err then
      return nil, err
    end
    world.pause()
  end
  return each_once(files_of(tree))
end

return M

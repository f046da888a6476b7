-- A WorkspaceEdit as one list of steps, in order. Pure.
-- LSP 3.17, "WorkspaceEdit", "CreateFile", "RenameFile", "DeleteFile"; 3.18, "SnippetTextEdit".
local lazy = require("claude-ide.lazy")
local changeset_snippet = lazy("claude-ide.edits.changeset.snippet")
local ide_path = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")

local M = {}

---More than a user can review, or a faulty server.
local MAX_STEPS = 2000

---@class claude-ide.changeset.Step
---@field kind "edit"|"create"|"rename"|"delete"|"make" make: not from a language server
---@field path string absolute
---@field to? string rename
---@field version? integer edit: of the document that the server edited
---@field edits? lsp.TextEdit[] edit
---@field asked? claude-ide.changeset.Asked edit
---@field overwrite? boolean create, rename
---@field ignore? boolean create, rename: keep an existing file; delete: a missing file is no error
---@field recursive? boolean delete: a folder with its contents
---@field make? fun(text?: claude-ide.changeset.Text): claude-ide.changeset.Text?, string? make: new text from the old (nil: no such
---  file), or an error

---@param value any
---@return any? nil also for null
local function given(value)
  if value == vim.NIL then
    return nil
  end
  return value
end

---@param uri any
---@return string? path
---@return string? err
local function path_of(uri)
  if type(uri) ~= "string" or not vim.startswith(uri, "file:") then
    return nil, ("%s is not a file"):format(type(uri) == "string" and uri or "what the edit names")
  end
  local ok, path = pcall(vim.uri_to_fname, uri)
  if not ok or path:sub(1, 1) ~= "/" or path:find("%z") then
    return nil, uri .. " names no file"
  end
  return ide_path.normalize(path)
end

---The snippet of an edit: of a SnippetTextEdit, or as rust-analyzer marks it for clients with `snippetTextEdit`.
---@param edit any
---@return string?
local function snippet_of(edit)
  if type(edit) ~= "table" then
    return nil
  end
  local snippet = given(edit.snippet)
  if type(snippet) == "table" then
    return type(snippet.value) == "string" and snippet.value or "${"
  end
  return edit.insertTextFormat == 2 and type(edit.newText) == "string" and edit.newText or nil
end

---@param edits any
---@param notes table<string, true>
---@return lsp.TextEdit[]? edits
---@return string? err
local function text_edits(edits, notes)
  if type(edits) ~= "table" then
    return nil, "an edit of the server's has no list of changes"
  end
  local kept = {}
  for _, edit in ipairs(edits) do
    local snippet = snippet_of(edit)
    local plain = snippet and changeset_snippet.plain(snippet)
    if plain then
      kept[#kept + 1] = vim.tbl_extend("force", edit, { newText = plain })
    elseif snippet then
      notes["a snippet was left out: it has places for a user to type in"] = true
    else
      kept[#kept + 1] = edit
    end
  end
  return kept
end

---@param change table
---@return claude-ide.changeset.Step?
---@return string? err
local function file_step(change)
  local options = given(change.options) or {}
  local from = change.kind == "rename" and change.oldUri or change.uri
  local path, err = path_of(from)
  if not path then
    return nil, err
  end
  local step = { kind = change.kind, path = path } ---@type claude-ide.changeset.Step
  if change.kind == "rename" then
    step.to, err = path_of(change.newUri)
    if not step.to then
      return nil, err
    end
  end
  step.overwrite = given(options.overwrite) == true
  step.ignore = given(options.ignoreIfExists) == true or given(options.ignoreIfNotExists) == true
  step.recursive = given(options.recursive) == true
  return step
end

---@param change any
---@param notes table<string, true>
---@return claude-ide.changeset.Step?
---@return string? err
local function step_of(change, notes)
  if type(change) ~= "table" then
    return nil, "the edit has an invalid change"
  end
  local kind = given(change.kind)
  if kind == "create" or kind == "rename" or kind == "delete" then
    return file_step(change)
  elseif kind ~= nil then
    return nil, ("the edit has a change of the unknown kind %q"):format(tostring(kind))
  end
  local document = given(change.textDocument)
  if type(document) ~= "table" then
    return nil, "the edit has a change without a file"
  end
  local path, err = path_of(document.uri)
  if not path then
    return nil, err
  end
  local edits
  edits, err = text_edits(change.edits, notes)
  if not edits then
    return nil, err
  end
  local version = given(document.version)
  local is_known = type(version) == "number" and version > 0
  local step = { kind = "edit", path = path, edits = edits } ---@type claude-ide.changeset.Step
  step.version = is_known and version --[[@as integer]] or nil
  return step
end

---Notes the changes that the server wants confirmed, by their labels.
---@param edit table
---@param notes table<string, true>
---@return boolean whether there are some
local function note_annotations(edit, notes)
  local needs_confirmation = false
  for _, annotation in pairs(given(edit.changeAnnotations) or {}) do
    if type(annotation) == "table" and annotation.needsConfirmation == true then
      local label = type(annotation.label) == "string" and annotation.label or "a change"
      notes["the server asks to look at: " .. position.truncate(label, 120)] = true
      needs_confirmation = true
    end
  end
  return needs_confirmation
end

---The files of an edit.
---@param edit any lsp.WorkspaceEdit
---@return string[] paths
function M.paths(edit)
  local uris, paths = {}, {}
  local changes = type(edit) == "table" and given(edit.documentChanges)
  if type(changes) == "table" and #changes > 0 then
    for _, change in ipairs(changes) do
      local document = type(change) == "table" and given(change.textDocument)
      uris[#uris + 1] = type(document) == "table" and document.uri or nil
    end
  elseif type(edit) == "table" then
    uris = vim.tbl_keys(given(edit.changes) or {})
  end
  for _, uri in ipairs(uris) do
    paths[#paths + 1] = path_of(uri)
  end
  return paths
end

---@param edit any lsp.WorkspaceEdit
---@return claude-ide.changeset.Step[]? steps
---@return string? err a sentence without a full stop
---@return string[] notes omitted parts, and the server's labels
---@return boolean? needs_confirmation the server wants the user to look
function M.steps(edit)
  local notes, steps = {}, {} ---@type table<string, true>, claude-ide.changeset.Step[]
  if type(edit) ~= "table" then
    return nil, "the server gave no edit", {}
  end
  local err ---@type string?
  local changes = given(edit.documentChanges)
  if type(changes) == "table" and #changes > 0 then
    for _, change in ipairs(changes) do
      local step
      step, err = step_of(change, notes)
      if not step then
        return nil, err, {}
      end
      steps[#steps + 1] = step
    end
  else
    for uri, edits in vim.spairs(given(edit.changes) or {}) do
      local path, kept
      path, err = path_of(uri)
      if path then
        kept, err = text_edits(edits, notes)
      end
      if not path or not kept then
        return nil, err, {}
      end
      steps[#steps + 1] = { kind = "edit", path = path, edits = kept }
    end
  end
  if #steps > MAX_STEPS then
    return nil, ("the edit has %d changes, more than %d"):format(#steps, MAX_STEPS), {}
  end
  local needs_confirmation = note_annotations(edit, notes)
  local said = vim.tbl_keys(notes)
  table.sort(said)
  return steps, nil, said, needs_confirmation
end

return M

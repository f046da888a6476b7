-- Which folders are the person's project, and what this Neovim is called in the CLI's list of editors.
-- A CLI finds the server whose folders hold its own, so these are project roots, not the folder that happens to be
-- current: with 'autochdir' that one follows every file.
local M = {}

local GROUP = "claude-ide.workspace"

---The folder that a person made current last, not 'autochdir'.
---@type string?
local chosen_cwd

---@class claude-ide.workspace.Announcement
---@field folders string[]
---@field ideName string

---What the server was told last; nil while it does not run.
---@type claude-ide.workspace.Announcement?
local announced

---@param path string
---@return string
local function normalize(path)
  return require("claude-ide.path").normalize(path)
end

---Whether a project can begin here. The home folder and what lies above it hold everything: a stray `~/.git` must not
---make one project of them.
---@param folder string
---@return boolean
local function may_be_root(folder)
  local home = vim.uv.os_homedir()
  return folder ~= "/" and not (home and require("claude-ide.path").within(home, folder))
end

---@param folder string
---@param marker string
---@return string? root the nearest folder from `folder` upwards that holds the marker
local function find_marker(folder, marker)
  local current = folder
  while may_be_root(current) do
    if vim.uv.fs_stat(current .. "/" .. marker) then
      return current
    end
    current = vim.fs.dirname(current)
  end
end

---The top folder of the project that holds a folder, or nothing when no root marker is found.
---The markers count in their order: a `.git` further up wins over a `package.json` close by.
---@param folder string
---@return string?
local function marked_root(folder)
  for _, marker in ipairs(require("claude-ide.config").get().workspace.root_markers) do
    local root = find_marker(folder, marker)
    if root then
      return root
    end
  end
end

---The top folder of the project that holds a path; without a root marker the folder itself.
---@param path string a folder, or a file
---@return string
function M.root(path)
  local folder = normalize(path)
  local stat = vim.uv.fs_stat(folder)
  if not stat or stat.type ~= "directory" then
    folder = vim.fs.dirname(folder)
  end
  return marked_root(folder) or folder
end

---Every folder that a person made current: of Neovim, of tab pages (`:tcd`) and of windows (`:lcd`), the one they are in
---first.
---@return string[]
local function current_folders()
  if vim.o.autochdir then
    -- Where it was on from the beginning, the shell knows where Neovim was started.
    chosen_cwd = chosen_cwd or vim.env.PWD or vim.fn.getcwd()
    return { chosen_cwd }
  end
  -- `getcwd()` has no name for one that was removed meanwhile.
  local folders = { require("claude-ide.path").cwd(), vim.fn.getcwd(-1, -1) }
  for tab = 1, vim.fn.tabpagenr("$") do
    for window = 1, vim.fn.tabpagewinnr(tab, "$") do
      folders[#folders + 1] = vim.fn.getcwd(window, tab)
    end
  end
  return folders
end

---@return string[]?
local function configured_folders()
  local folders = require("claude-ide.config").get().workspace.folders
  if type(folders) == "function" then
    local ok, result = pcall(folders)
    if not ok or type(result) ~= "table" then
      require("claude-ide.log").error("workspace.folders: the function failed: %s", result)
      return nil
    end
    folders = result
  end
  return folders and #folders > 0 and vim.tbl_map(vim.fs.normalize, folders) or nil
end

---The folders of the workspace: absolute, the main one first, each once.
---@return string[]
function M.folders()
  local configured = configured_folders()
  local folders, seen, looked_at = {}, {}, {}
  for _, folder in ipairs(configured or current_folders()) do
    -- Most windows are in the same one: the disk is looked at once for it.
    local path = folder ~= "" and not looked_at[folder] and normalize(folder)
    path = path and (configured and path or marked_root(path) or path)
    looked_at[folder] = true
    if path and not seen[path] then
      seen[path] = true
      folders[#folders + 1] = path
    end
  end
  return folders
end

---What other programs are told of the workspace. The name is what the CLI shows: it begins with "Neovim" and tells
---several apart by their project.
---@return claude-ide.workspace.Announcement
function M.announcement()
  local folders = M.folders()
  local project = vim.fs.basename(folders[1] or "")
  return { folders = folders, ideName = project == "" and "Neovim" or "Neovim: " .. project }
end

---Tells the server where the workspace is now, if that changed.
function M.announce()
  local workspace = M.announcement()
  if not announced or vim.deep_equal(workspace, announced) then
    return
  end
  local ok, err = require("claude-ide.native").set_workspace(vim.json.encode(workspace))
  if ok then
    announced = workspace
  else
    require("claude-ide.log").warn("the workspace could not be announced: %s", err)
  end
end

---Follows the person through their folders while the server runs.
---@param told claude-ide.workspace.Announcement what the server was started with
function M.attach(told)
  announced = told
  chosen_cwd = not vim.o.autochdir and vim.fn.getcwd(-1, -1) or chosen_cwd
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  local scheduled = false
  local function announce_soon()
    if scheduled then
      return
    end
    scheduled = true
    vim.schedule(function()
      scheduled = false
      M.announce()
    end)
  end
  vim.api.nvim_create_autocmd("DirChanged", {
    group = group,
    desc = "Claude: the workspace follows :cd, :tcd and :lcd",
    callback = function(args)
      if args.match ~= "auto" then
        chosen_cwd = vim.v.event.cwd
        announce_soon()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "TabClosed", "WinClosed", "TabEnter" }, {
    group = group,
    desc = "Claude: folders of closed windows leave the workspace",
    callback = announce_soon,
  })
end

---Stops following.
function M.detach()
  announced = nil
  vim.api.nvim_create_augroup(GROUP, { clear = true })
end

return M

-- Determines the folders of the user's project, and this Neovim's name in the CLI's list of editors.
-- A CLI connects to a server whose folders contain its own. So these are project roots, not current directories, which 'autochdir'
-- changes with every file.
-- Invariants: a file opened by the user is in a workspace folder if it is in a project. `/` is never a folder.
local M = {}

local GROUP = "claude-ide.workspace"

---The last directory set by the user, not by 'autochdir'.
---@type string?
local chosen_cwd

---@class claude-ide.workspace.Announcement
---@field folders string[]
---@field ideName string

---Folder of the user's last file, and the workspace's last first folder.
---@type string?, string?
local file_folder, main_folder

---Projects of open files outside the current folders, the current file's first; nil: not determined.
---@type string[]?
local open_projects

---Last announcement to the server; nil: it is not running.
---@type claude-ide.workspace.Announcement?
local announced

local function normalize(path)
  return require("claude-ide.path").normalize(path)
end

---Whether a folder can be a project root. Not the home folder and its ancestors: a stray `~/.git` must not make one project of
---everything.
local function may_be_root(folder)
  local home = vim.uv.os_homedir()
  return folder ~= "/" and not (home and require("claude-ide.path").within(home, folder))
end

---@return string? root nearest ancestor of `folder` with the marker
local function find_marker(folder, marker)
  local current = folder
  while may_be_root(current) do
    if vim.uv.fs_stat(current .. "/" .. marker) then
      return current
    end
    current = vim.fs.dirname(current)
  end
end

---The root of a folder's project; nil: no root marker found.
---Markers are tried in order: a distant `.git` wins over a close `package.json`.
local function marked_root(folder)
  for _, marker in ipairs(require("claude-ide.config").get().workspace.root_markers) do
    local root = find_marker(folder, marker)
    if root then
      return root
    end
  end
end

---The root of a path's project; without a root marker the folder itself.
---@param path string folder or file
---@return string
function M.root(path)
  local folder = normalize(path)
  local stat = vim.uv.fs_stat(folder)
  if not stat or stat.type ~= "directory" then
    folder = vim.fs.dirname(folder)
  end
  return marked_root(folder) or folder
end

---All current directories: of Neovim, of tab pages (`:tcd`) and windows (`:lcd`), the current one first.
local function current_folders()
  if vim.o.autochdir then
    -- If it was on from the start, $PWD has the start directory.
    chosen_cwd = chosen_cwd or vim.env.PWD or vim.fn.getcwd()
    return { chosen_cwd }
  end
  -- `getcwd()` returns nothing for a deleted directory.
  local folders = { require("claude-ide.path").cwd(), vim.fn.getcwd(-1, -1) }
  for tab = 1, vim.fn.tabpagenr("$") do
    for window = 1, vim.fn.tabpagewinnr(tab, "$") do
      folders[#folders + 1] = vim.fn.getcwd(window, tab)
    end
  end
  return folders
end

---@return string? folder of its file, if the user has opened it
local function folder_of(buf)
  local bo = vim.bo[buf]
  local is_open = vim.api.nvim_buf_is_loaded(buf) and bo.buflisted and bo.buftype == ""
  local by_claude = vim.b[buf].claude_opened
  if not is_open or by_claude == true or by_claude == vim.api.nvim_buf_get_changedtick(buf) then
    return nil
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return require("claude-ide.path").is_plain(name) and vim.fs.dirname(normalize(name)) or nil
end

local function is_in_one_of(path, folders)
  local paths = require("claude-ide.path")
  local function holds(folder)
    return paths.within(path, folder)
  end
  if vim.iter(folders):any(holds) then
    return true
  end
  path = paths.real(path)
  return vim.iter(folders):map(paths.real):any(holds)
end

---Projects of open files.
---@param folders string[] files in them are skipped
local function find_open_projects(folders)
  local found, looked_at = {}, {} ---@type string[], table<string, true>
  ---@param folder? string
  local function look(folder)
    if folder and not looked_at[folder] then
      looked_at[folder] = true
      local root = not is_in_one_of(folder, folders) and marked_root(folder) or nil
      if root and not vim.list_contains(found, root) then
        found[#found + 1] = root
      end
    end
  end
  file_folder = folder_of(vim.api.nvim_get_current_buf()) or file_folder
  look(file_folder)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    look(folder_of(buf))
  end
  return found
end

local announcing = false

local function announce_soon()
  if not announcing then
    announcing = true
    vim.schedule(function()
      announcing = false
      M.announce()
    end)
  end
end

local follows_files = false

---Updates the projects of open files on events that may change them.
local function follow_files()
  if follows_files then
    return
  end
  follows_files = true
  local group = vim.api.nvim_create_augroup(GROUP .. ".files", { clear = true })
  vim.api.nvim_create_autocmd("BufEnter", {
    group = group,
    desc = "Claude: the project of the current file belongs to the workspace",
    callback = function(args)
      local folder = folder_of(args.buf)
      if folder and folder ~= file_folder then
        file_folder, open_projects = folder, nil
        announce_soon()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "BufDelete", "BufUnload", "BufFilePost", "DirChanged" }, {
    group = group,
    desc = "Claude: projects of closed files leave the workspace",
    callback = function()
      if not open_projects or open_projects[1] then
        announce_soon()
      end
      open_projects = nil
    end,
  })
end

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

---@param find? fun(folder: string): string? maps a folder to its project
---@return string[] found absolute, without duplicates
local function each_once(folders, find)
  local found = {} ---@type string[]
  local seen, looked_at = {}, { [""] = true } ---@type table<string, true>, table<string, true>
  for _, folder in ipairs(folders) do
    -- Most windows have the same directory: check the disk once for it.
    local path = not looked_at[folder] and normalize(folder) or nil
    path = path and find and find(path) or path
    looked_at[folder] = true
    if path and not seen[path] then
      seen[path] = true
      found[#found + 1] = path
    end
  end
  return found
end

---@param folders table<integer, string?>
local function without_whole_disk(folders)
  local found = {} ---@type string[]
  for _, folder in ipairs(folders) do
    if folder ~= "/" then
      found[#found + 1] = folder
    end
  end
  return found
end

---The workspace folders: absolute, unique, the main one first. If the current directory is in no project, the current file's is
---first.
---@return string[]
function M.folders()
  local configured = configured_folders()
  if configured then
    return each_once(configured)
  end
  local folders = each_once(without_whole_disk(current_folders()), marked_root)
  follow_files()
  open_projects = open_projects or find_open_projects(folders)
  if open_projects[1] then
    local is_in_project = folders[1] and marked_root(folders[1])
    local first, last = open_projects, folders
    if is_in_project then
      first, last = folders, open_projects
    end
    folders = each_once(vim.list_extend(vim.list_extend({}, first), last))
  end
  if not folders[1] then
    local home = vim.uv.os_homedir()
    folders = { without_whole_disk({ file_folder })[1] or main_folder or home or "/" }
  end
  main_folder = folders[1]
  return folders
end

---The announcement to other programs. The CLI shows the name: "Neovim" and the project.
---@return claude-ide.workspace.Announcement
function M.announcement()
  local folders = M.folders()
  local project = vim.fs.basename(folders[1] or "")
  return { folders = folders, ideName = project == "" and "Neovim" or "Neovim: " .. project }
end

---Announces a changed workspace to the server.
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

---Follows directory changes while the server runs.
---@param announcement claude-ide.workspace.Announcement at the server's start
function M.attach(announcement)
  announced = announcement
  chosen_cwd = not vim.o.autochdir and vim.fn.getcwd(-1, -1) or chosen_cwd
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
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

function M.detach()
  announced = nil
  vim.api.nvim_create_augroup(GROUP, { clear = true })
end

return M

-- Determines the folders of the user's project, and this Neovim's name in the CLI's list of editors.
-- A CLI connects to a server whose folders contain its own. So these are project roots, not current directories, which 'autochdir'
-- changes with every file.
-- Invariants: a file opened by the user is in a workspace folder if it is in a project. `/` is never a folder. The worktree of a
-- connected client is a folder if it is one of the user's repositories, and comes first while a call of that client is served.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local paths = lazy("claude-ide.base.path")

local M = {}

local GROUP = "claude-ide.workspace"

---The last directory set by the user, not by 'autochdir'.
---@type string?
local chosen_cwd

---@class claude-ide.workspace.Announcement
---@field folders string[]
---@field announced string[] folders whose CLIs find this Neovim
---@field ideName string

---@class claude-ide.workspace.Worktree a worktree of git
---@field path string
---@field branch? string that is checked out or being rebased; nil: its head is detached
---@field is_main boolean it is the repository's own

---@class claude-ide.workspace.Repository
---@field common string its folder, which its worktrees share
---@field worktrees claude-ide.workspace.Worktree[]

---Roots of clients, by client.
---@type table<integer, string>
local roots = {}
---The client whose call is served.
---@type integer?
local served

---Time until git has written a new worktree after its first file.
local WORKTREE_MS = { 100, 1000 }

---Folder of the user's last file, and the workspace's last first folder.
---@type string?, string?
local file_folder, main_folder

---Projects of open files outside the current folders, the current file's first; nil: not determined.
---@type string[]?
local open_projects

---Last announcement to the server; nil: it is not running.
---@type claude-ide.workspace.Announcement?
local announced

---Whether a folder can be a project root. Not the home folder and its ancestors: a stray `~/.git` must not make one project of
---everything.
local function may_be_root(folder)
  local home = vim.uv.os_homedir()
  return folder ~= "/" and not (home and paths.within(home, folder))
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
  for _, marker in ipairs(config.get().workspace.root_markers) do
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
  local folder = paths.normalize(path)
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
  local folders = { paths.cwd(), vim.fn.getcwd(-1, -1) }
  for tab = 1, vim.fn.tabpagenr("$") do
    for window = 1, vim.fn.tabpagewinnr(tab, "$") do
      folders[#folders + 1] = vim.fn.getcwd(window, tab)
    end
  end
  return folders
end

---@return string? folder of its file, if the user has opened it
local function folder_of(buf)
  -- Another autocommand may have wiped it out.
  if not vim.api.nvim_buf_is_loaded(buf) or not vim.bo[buf].buflisted or vim.bo[buf].buftype ~= "" then
    return nil
  end
  local by_claude = vim.b[buf].claude_opened
  if by_claude == true or by_claude == vim.api.nvim_buf_get_changedtick(buf) then
    return nil
  end
  local name = vim.api.nvim_buf_get_name(buf)
  return paths.is_plain(name) and vim.fs.dirname(paths.normalize(name)) or nil
end

local function is_in_one_of(path, folders)
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

local announce_soon = require("claude-ide.base.soon")(function()
  M.announce()
end)

---Updates the projects of open files on events that may change them.
local follow_files = require("claude-ide.base.once")(function()
  local group = vim.api.nvim_create_augroup(GROUP .. ".files", { clear = true })
  vim.api.nvim_create_autocmd("BufEnter", {
    group = group,
    desc = "Claude: add the current file's project to the workspace",
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
    desc = "Claude: remove projects of closed files from the workspace",
    callback = function()
      if not open_projects or open_projects[1] then
        announce_soon()
      end
      open_projects = nil
    end,
  })
end)

local function configured_folders()
  local folders = config.get().workspace.folders
  if type(folders) == "function" then
    local ok, result = pcall(folders)
    if not ok or type(result) ~= "table" then
      log.error("workspace.folders: the function failed: %s", result)
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
    local path = not looked_at[folder] and paths.normalize(folder) or nil
    path = path and find and find(path) or path
    looked_at[folder] = true
    if path and not seen[path] then
      seen[path] = true
      found[#found + 1] = path
    end
  end
  return found
end

---The git repository of a folder.
---@param folder string absolute
---@return claude-ide.workspace.Repository? repository
---@return string? top of the folder's worktree
function M.repository(folder)
  local top = find_marker(folder, ".git")
  return top and native.worktrees(top) or nil, top
end

---Whether two folders are of one repository.
local function are_related(one, other)
  local first, second = M.repository(one), M.repository(other)
  local real = paths.real
  return first ~= nil and second ~= nil and real(first.common) == real(second.common)
end

---The innermost folder that a path is in.
---@param path string
---@param folders string[]
---@return string?
local function innermost(path, folders)
  local found ---@type string?
  for _, folder in ipairs(folders) do
    if paths.within(path, folder) and (not found or #folder > #found) then
      found = folder
    end
  end
  return found
end

---@type { key: string, found: string[] }
local last_of_clients = { key = "", found = {} }

---Worktrees of clients that are in no folder, but of a folder's repository.
---@param folders string[]
---@return string[]
local function of_clients(folders)
  local tops = {} ---@type string[]
  for _, root in pairs(roots) do
    local top = find_marker(root, ".git")
    if top and not vim.list_contains(folders, top) and not vim.list_contains(tops, top) then
      tops[#tops + 1] = top
    end
  end
  if not tops[1] then
    return tops
  end
  table.sort(tops)
  local key = table.concat(vim.list_extend(vim.list_extend({}, tops), folders), "\0")
  if last_of_clients.key ~= key then
    local found = vim.tbl_filter(function(top)
      return vim.iter(folders):any(function(folder)
        return are_related(top, folder)
      end)
    end, tops)
    last_of_clients = { key = key, found = found }
  end
  return last_of_clients.found
end

---@return string[]
local function find_folders()
  local configured = configured_folders()
  if configured then
    return each_once(configured)
  end
  local current = vim.tbl_filter(function(folder)
    return folder ~= "/"
  end, current_folders())
  local folders = each_once(current, marked_root)
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
    folders = { file_folder ~= "/" and file_folder or main_folder or home or "/" }
  end
  main_folder = folders[1]
  return vim.list_extend(folders, of_clients(folders))
end

---The workspace folders: absolute, unique, the main one first. If the current directory is in no project, the current file's is
---first. While a client's call is served, the folder of that client is.
---@return string[]
function M.folders()
  local folders = find_folders()
  local own = served and roots[served] and innermost(roots[served], folders)
  return own and each_once(vim.list_extend({ own }, folders)) or folders
end

---The folder of a client: of its worktree, else the main one.
---@param client? integer
---@return string
function M.of_client(client)
  local folders = find_folders()
  return client and roots[client] and innermost(roots[client], folders) or folders[1] --[[@as string]]
end

---Calls a function for a client: `folders` begins with that client's.
---@param client integer
---@param fn fun(...): ...
---@return any ...
function M.serve(client, fn, ...)
  local before = served
  served = client
  local values = vim.F.pack_len(pcall(fn, ...))
  served = before
  if not values[1] then
    error(values[2], 0)
  end
  return unpack(values, 2, values.n)
end

---@param folders string[]
---@return string[] those that are in none of the others
function M.outermost(folders)
  return vim.tbl_filter(function(folder)
    return not vim.iter(folders):any(function(other)
      return folder ~= other and paths.within(folder, other)
    end)
  end, folders)
end

---Tells the files of other worktrees: each file of the repository is in all of them.
---@param own string a worktree
---@return fun(path: string): boolean is_elsewhere whether a path is in another one of its repository
function M.elsewhere(own)
  local repository, top = M.repository(own)
  local real = paths.real
  local tops = {} ---@type string[]
  for _, worktree in ipairs(repository and repository.worktrees or {}) do
    tops[#tops + 1] = worktree.path
  end
  own = real(top or own)
  return function(path)
    local other = tops[2] and innermost(real(path), tops)
    return other ~= nil and other ~= own
  end
end

---Event handles, by folder.
---@type table<string, uv.uv_fs_event_t>
local watched = {}

local function unwatch()
  for _, handle in pairs(watched) do
    handle:close()
  end
  watched = {}
end

---Announces worktrees that are added and removed from now on.
---@param repositories claude-ide.workspace.Repository[]
local function watch(repositories)
  local function announce_later()
    for _, ms in ipairs(WORKTREE_MS) do
      vim.defer_fn(M.announce, ms)
    end
  end
  local before = watched
  watched = {}
  for _, repository in ipairs(repositories) do
    local folder = repository.common .. "/worktrees"
    local is_there = vim.uv.fs_stat(folder) ~= nil
    folder = is_there and folder or repository.common -- git makes it with the first one
    local handle = before[folder] or watched[folder] or vim.uv.new_fs_event()
    before[folder] = nil
    if handle and not watched[folder] then
      watched[folder] = handle
      -- Starting it again is an error, which changes nothing.
      handle:start(folder, {}, function(_, name)
        if is_there or name == "worktrees" then
          vim.schedule(announce_later)
        end
      end)
    end
  end
  for _, handle in pairs(before) do
    handle:close()
  end
end

---@param folders string[]
---@return string[] folders and all worktrees of their repositories
---@return claude-ide.workspace.Repository[]
local function with_worktrees(folders)
  local all, known, repositories = {}, {}, {} ---@type string[], table<string, true>, claude-ide.workspace.Repository[]
  local function add(folder)
    local real = paths.real(folder)
    all[#all + 1] = not known[real] and folder or nil
    known[real] = true
  end
  vim.iter(folders):each(add)
  for _, folder in ipairs(folders) do
    local repository = M.repository(folder)
    repositories[#repositories + 1] = repository
    for _, worktree in ipairs(repository and repository.worktrees or {}) do
      add(worktree.path)
    end
  end
  return all, repositories
end

---The workspace folders, and all other worktrees of their repositories.
---@return string[]
function M.folders_and_worktrees()
  local folders = find_folders()
  return configured_folders() and folders or (with_worktrees(folders))
end

---The folders whose CLIs find this Neovim.
---@param folders string[] of the workspace
---@return string[]
local function folders_to_announce(folders)
  local mode = config.get().workspace.worktrees
  if mode == "open" or configured_folders() then
    return folders
  elseif mode == "all" then
    return (with_worktrees(folders))
  end
  return vim.tbl_filter(function(folder)
    return folder == folders[1] or not are_related(folder, folders[1])
  end, folders)
end

---Follows the worktrees that are announced.
local function follow_worktrees()
  local is_all = config.get().workspace.worktrees == "all" and not configured_folders()
  local _, repositories = with_worktrees(is_all and find_folders() or {})
  watch(repositories)
end

---The announcement to other programs. The CLI shows the name: "Neovim" and the project.
---@return claude-ide.workspace.Announcement
function M.announcement()
  local folders = find_folders()
  local project = vim.fs.basename(folders[1] or "")
  return {
    folders = folders,
    announced = folders_to_announce(folders),
    ideName = project == "" and "Neovim" or "Neovim: " .. project,
  }
end

---Announces a changed workspace to the server.
function M.announce()
  if not announced then
    return
  end
  follow_worktrees()
  local workspace = M.announcement()
  if vim.deep_equal(workspace, announced) then
    return
  end
  local ok, err = native.set_workspace(vim.json.encode(workspace))
  if ok then
    announced = workspace
  else
    log.warn("the workspace could not be announced: %s", err)
  end
end

---Keeps the roots of clients.
local follow_clients = require("claude-ide.base.once")(function()
  local function take(client)
    local root = client.roots and client.roots[1]
    if roots[client.id] ~= root then
      roots[client.id] = root
      announce_soon()
    end
  end
  for _, topic in ipairs({ "client_ready", "client_changed", "agent_ready", "agent_changed" }) do
    bus.on(topic --[[@as claude-ide.bus.Topic]], take)
  end
  for _, topic in ipairs({ "client_disconnected", "agent_disconnected" }) do
    bus.on(topic --[[@as claude-ide.bus.Topic]], function(client)
      take({ id = client.id })
    end)
  end
end)

---Follows directory changes and clients while the server runs.
---@param announcement claude-ide.workspace.Announcement at the server's start
function M.attach(announcement)
  announced = announcement
  follow_clients()
  follow_worktrees()
  chosen_cwd = not vim.o.autochdir and vim.fn.getcwd(-1, -1) or chosen_cwd
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("DirChanged", {
    group = group,
    desc = "Claude: follow :cd, :tcd and :lcd",
    callback = function(args)
      if args.match ~= "auto" then
        chosen_cwd = vim.v.event.cwd
        announce_soon()
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "TabClosed", "WinClosed", "TabEnter" }, {
    group = group,
    desc = "Claude: remove folders of closed windows from the workspace",
    callback = announce_soon,
  })
end

function M.detach()
  announced, roots = nil, {}
  unwatch()
  vim.api.nvim_create_augroup(GROUP, { clear = true })
end

return M

-- `#image:{file}`, and `#image` for the clipboard: pictures, identified by their first bytes, with a size limit.
local lazy = require("claude-ide.lazy")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local paths = lazy("claude-ide.base.path")
local phrases = lazy("claude-ide.sessions.phrases")
local privacy = lazy("claude-ide.server.privacy")

local M = {}

---The API accepts up to 5 MB of base64.
local MOST_BYTES = 3750 * 1000
local TIMEOUT_MS = 5000

---@class claude-ide.context.Image
---@field name string for the user
---@field media_type string
---@field data string base64
---@field bytes integer of the picture

---@type { [1]: string, [2]: string }[] first bytes and media type
local MAGIC = {
  { "^\137PNG\r\n\26\n", "image/png" },
  { "^\255\216\255", "image/jpeg" },
  { "^GIF8[79]a", "image/gif" },
  { "^RIFF....WEBP", "image/webp" },
}

---Programs that write the clipboard's picture to stdout, and a check whether they can be used.
---@type { [1]: string[], [2]: (fun(): boolean)? }[]
local PROGRAMS = {
  {
    { "wl-paste", "--no-newline", "--type", "image/png" },
    function()
      return vim.env.WAYLAND_DISPLAY ~= nil
    end,
  },
  {
    { "xclip", "-selection", "clipboard", "-target", "image/png", "-out" },
    function()
      return vim.env.DISPLAY ~= nil
    end,
  },
  { { "pngpaste", "-" } },
}

local function too_large(bytes)
  return ("the picture is too large: %s of at most %s"):format(phrases.size(bytes), phrases.size(MOST_BYTES))
end

---@param done claude-ide.context.Done
local function judge(bytes, name, done)
  if #bytes > MOST_BYTES then
    return done(nil, too_large(#bytes))
  end
  for _, magic in ipairs(MAGIC) do
    if bytes:find(magic[1]) then
      return done({
        image = { name = name, media_type = magic[2], data = vim.base64.encode(bytes), bytes = #bytes },
      })
    end
  end
  done(nil, name .. " is not a PNG, JPEG, GIF or WebP picture")
end

---@param path string absolute
---@param done claude-ide.context.Done
local function of_file(path, done)
  local name = vim.fs.basename(path)
  if privacy.withholds(path) then
    return done(nil, name .. " is private (selection.deny)")
  end
  vim.uv.fs_stat(
    path,
    vim.schedule_wrap(function(_, stat)
      if not stat or stat.type ~= "file" then
        return done(nil, ("there is no file %s"):format(name))
      elseif stat.size > MOST_BYTES then
        return done(nil, too_large(stat.size))
      end
      current_text.read(path, function(disk)
        if not disk.bytes then
          return done(nil, disk.problem or ("there is no file %s"):format(name))
        end
        judge(disk.bytes, name, done)
      end)
    end)
  )
end

---@param done claude-ide.context.Done
local function of_clipboard(done)
  for _, program in ipairs(PROGRAMS) do
    local argv, can = program[1], program[2]
    if vim.fn.executable(argv[1]) == 1 and (not can or can()) then
      local out, size = {}, 0
      local process ---@type vim.SystemObj?
      local options = {
        timeout = TIMEOUT_MS,
        stdout = function(_, chunk)
          size = size + #(chunk or "")
          out[#out + 1] = size <= MOST_BYTES and chunk or nil
          if size > MOST_BYTES and process then
            process:kill("sigkill")
          end
        end,
      }
      process = vim.system(
        argv,
        options,
        vim.schedule_wrap(function(result)
          if size > MOST_BYTES then
            done(nil, too_large(size))
          elseif result.code ~= 0 or size == 0 then
            done(nil, "the clipboard holds no picture")
          else
            judge(table.concat(out), "clipboard", done)
          end
        end)
      )
      return
    end
  end
  done(nil, "the clipboard's picture needs wl-paste, xclip or pngpaste: write `#image:file`")
end

---@param at claude-ide.context.At
---@param argument string?
---@param done claude-ide.context.Done
function M.read(at, argument, done)
  if not argument then
    return of_clipboard(done)
  end
  local name = argument:gsub("^~/", (vim.uv.os_homedir() or "~") .. "/")
  of_file(paths.normalize(name, at.cwd), done)
end

return M

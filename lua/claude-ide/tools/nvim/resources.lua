-- The resources that a user can mention: the files that are open, as the editor has them, and what is wrong in them.

---@class claude-ide.tool.Resource MCP, "Resource"
---@field uri string
---@field name string
---@field title string
---@field description string
---@field mimeType string

---@param resources claude-ide.tool.Resource[]
local function add(buf, resources)
  local valid = require("claude-ide.position").valid
  local shown = valid(require("claude-ide.language.locate").shown(vim.api.nvim_buf_get_name(buf)))
  local unsaved = vim.bo[buf].modified and ", with unsaved changes" or ""
  resources[#resources + 1] = {
    uri = "buffer://" .. shown,
    name = shown,
    title = shown,
    description = "Open in the editor" .. unsaved,
    mimeType = "text/plain",
  }
  if require("claude-ide.language.problems").has_any(buf) then
    resources[#resources + 1] = {
      uri = "diagnostics://" .. shown,
      name = "diagnostics of " .. shown,
      title = "What is wrong in " .. shown,
      description = "Errors and warnings of the editor's language servers",
      mimeType = "text/plain",
    }
  end
end

return {
  ---@param respond claude-ide.Respond
  run = function(_, respond)
    local resources = {}
    for _, buf in ipairs(require("claude-ide.tools.get_open_editors").buffers()) do
      add(buf, resources)
    end
    respond(#resources > 0 and resources or require("claude-ide.json").EMPTY_ARRAY)
  end,
}

-- `:Claude mcp`: shows how other agents connect to the editor's tools.
local lazy = require("claude-ide.lazy")
local key = lazy("claude-ide.ui.key")
local key_list = lazy("claude-ide.ui.key_list")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local server = lazy("claude-ide.server")
local split = lazy("claude-ide.ui.split")

local M = {}

---@param access { url: string, token: string }
local function lines_of(access)
  local url, bearer = "http://" .. access.url, "Bearer " .. access.token
  local json = {
    "{",
    '  "mcpServers": {',
    '    "nvim": {',
    '      "type": "http",',
    ('      "url": %s,'):format(vim.json.encode(url):gsub("\\/", "/")),
    ('      "headers": { "Authorization": %s }'):format(vim.json.encode(bearer)),
    "    }",
    "  }",
    "}",
  }
  return vim.list_extend(
    {
      "# The tools of this Neovim, for other agents",
      "",
      "A CLI that `:Claude` starts has them already. Another one, for as long as this Neovim runs:",
      "",
      ("claude mcp add --transport http nvim %s --header %s"):format(
        url,
        vim.fn.shellescape("Authorization: " .. bearer)
      ),
      "",
      "Any agent that speaks MCP over HTTP, or over a WebSocket (`ws` for both `http`):",
      "",
    },
    vim.list_extend(json, {
      "",
      "Anyone with this token can use these tools. Each Neovim creates a new token, valid until it exits.",
      "`claude mcp add` keeps it in ~/.claude.json: `claude mcp remove nvim` removes it. Keep it out of a",
      "`.mcp.json` that is shared. To have the same port each time set `server.port`.",
    })
  )
end

---@return boolean? ok
---@return string? err
function M.show()
  local info, err = server.start()
  if not info then
    return nil, err
  end
  local access = server.agent_access()
  if not access then
    return nil, "The tools are switched off, see `tools.enabled`."
  end
  local lines = lines_of(access)
  local buf = own_buffer.create({
    kind = "mcp",
    name = { "Claude", "MCP" },
    lines = lines,
    is_private = true, -- contains the token
    bo = { bufhidden = "wipe", modifiable = false, filetype = "markdown" },
  })
  split.enter_below(buf, #lines)
  vim.wo[0][0].wrap = false
  key.map(buf, "q", "close this", function()
    split.close({ vim.api.nvim_get_current_win() })
  end)
  key_list.map_help(buf, "the tools for other agents")
  vim.fn.search("^claude mcp add")
  return true
end

return M

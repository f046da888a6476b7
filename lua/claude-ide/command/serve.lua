-- `:Claude serve`: starts and stops the page with sessions, and shows its address.
local M = {}

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  local web = require("claude-ide.web")
  local what = words[1] or "start"
  if what == "stop" then
    if not web.stop() then
      return nil, "Sessions are not served."
    end
    require("claude-ide.ui.notice").info("The web page is closed.")
    return true
  end
  if what == "url" then
    local url, err = web.url()
    if not url then
      return nil, err
    end
    require("claude-ide.web.address").show(url)
    return true
  end
  local info, err = web.start()
  if not info then
    return nil, err
  end
  require("claude-ide.ui.notice").info(
    ("Sessions are served on port %d. `:Claude serve url` lets a browser in."):format(info.port)
  )
  return true
end

return M

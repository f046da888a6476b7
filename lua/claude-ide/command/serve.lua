-- `:Claude serve`: starts and stops the page with sessions, and shows its address.
local lazy = require("claude-ide.lazy")
local address = lazy("claude-ide.web.address")
local notice = lazy("claude-ide.base.notice")
local web = lazy("claude-ide.web")

local M = {}

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  local what = words[1] or "start"
  if what == "stop" then
    if not web.stop() then
      return nil, "The web page is not running."
    end
    notice.info("The web page is closed.")
    return true
  end
  if what == "url" then
    local url, err = web.url()
    if not url then
      return nil, err
    end
    address.show(url)
    return true
  end
  local info, err = web.start()
  if not info then
    return nil, err
  end
  notice.info(("The web page is on port %d. `:Claude serve url` lets a browser in."):format(info.port))
  return true
end

return M

-- Serves sessions over HTTP: start, stop, address, authentication. The library has the server (crates/web); it reads the same data as
-- sessions/ and is independent of the server for CLIs.
local lazy = require("claude-ide.lazy")
local address = lazy("claude-ide.base.address")
local at_exit = lazy("claude-ide.base.at_exit")
local comments = lazy("claude-ide.web.comments")
local deliver = lazy("claude-ide.web.deliver")
local ide_config = lazy("claude-ide.config")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local requests = lazy("claude-ide.web.requests")
local transport = lazy("claude-ide.sessions.transport")
local wake = lazy("claude-ide.library.wake")

local M = {}

---@class claude-ide.web.Info
---@field host string
---@field port integer
---@field token string for clients that are no browsers: never logged, never in an address

---@type claude-ide.web.Info?
local running

---Ends the reports to clients, and the server.
local function close()
  running = nil
  comments.detach()
  deliver.detach()
  requests.detach()
  local ok, err = native.web_stop()
  if not ok then
    log.warn("the session server did not stop cleanly: %s", err)
  end
end

---Handles an unexpected end of the server.
local function on_end()
  if not running then
    return
  end
  close()
  log.error("the session server ended unexpectedly")
  notice.error("The web page has stopped. `:Claude log` says why, `:Claude serve` restarts it.")
end

---The running server, or nil.
---@return claude-ide.web.Info?
function M.info()
  return running
end

---Starts the server, or returns the running one.
---@return claude-ide.web.Info?
---@return string? err
function M.start()
  if running then
    return running
  end
  local ok, err = transport.start()
  if not ok then
    return nil, err
  end
  wake.on({ "web_ended" }, on_end)
  local config = ide_config.get().web
  local options = vim.json.encode({
    host = config.host,
    port = config.port,
    names = #config.names > 0 and config.names or vim.empty_dict(),
    write = config.write,
    commands = config.commands,
  })
  options = options:gsub('"names":{}', '"names":[]')
  local info
  info, err = native.web_start(options, wake.handle())
  if not info then
    return nil, err
  end
  running = info --[[@as claude-ide.web.Info]]
  deliver.attach()
  requests.attach()
  comments.attach()
  at_exit("the page", M.stop)
  log.info("sessions are served on %s:%d", running.host, running.port)
  if config.port ~= 0 and running.port ~= config.port then
    notice.info(("Port %d is taken: the web page is on %d."):format(config.port, running.port))
  end
  if not address.is_loopback(running.host) then
    notice.warn(("The web page listens on %s: other machines can reach it."):format(running.host))
  end
  return running
end

---@return boolean stopped whether they were served
function M.stop()
  if not running then
    return false
  end
  close()
  return true
end

---An address that lets one browser in, once, within ten minutes. The code after `#` is not sent in requests, and so not logged.
---@return string? url
---@return string? err
function M.url()
  local info, err = M.start()
  if not info then
    return nil, err
  end
  local code
  code, err = native.web_code()
  if not code then
    return nil, err
  end
  return ("http://%s/#code=%s"):format(address.of(info), code)
end

---Starts the server at Neovim's start, as configured.
function M.attach()
  local info, err = M.start()
  if not info then
    notice.warn(one_line.fitting({
      ("The web page does not start: %s."):format(err),
      "The web page does not start: `:Claude log` says why",
    }))
    log.error("sessions are not served: %s", err)
  end
end

return M

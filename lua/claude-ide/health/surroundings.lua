-- Health check of proxies, WSL and containers between a CLI and this Neovim.

local M = {}

local PROXIES = { "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy" }

local function variable(name)
  local value = vim.env[name] --[[@as string?]]
  return value ~= "" and value or nil
end

---A proxy's address may contain a password.
local function without_secrets(address)
  return (address:gsub("//[^/@]*@", "//…@"))
end

local function check_proxy()
  local found = vim.tbl_filter(variable, PROXIES)
  if #found == 0 then
    vim.health.ok("No proxy is set")
    return
  end
  local text = vim
    .iter(found)
    :map(function(name)
      return ("%s=%s"):format(name, without_secrets(variable(name) or ""))
    end)
    :join(", ")
  local exceptions = variable("NO_PROXY") or variable("no_proxy") or ""
  local hosts = vim.split(exceptions, "%s*,%s*", { trimempty = true })
  if vim.tbl_contains(hosts, "127.0.0.1") or vim.tbl_contains(hosts, "*") then
    vim.health.ok(("A proxy is set (%s), with an exception for loopback"):format(text))
  else
    vim.health.warn(("A proxy is set (%s), without an exception for loopback"):format(text), {
      "A CLI that `:Claude` starts gets one. One that you start in a terminal needs: export NO_PROXY=localhost,127.0.0.1",
    })
  end
end

local function in_wsl()
  return variable("WSL_DISTRO_NAME") ~= nil or vim.fn.has("wsl") == 1
end

---@return string? kind of container
local function container()
  if variable("CODESPACES") then
    return "a GitHub codespace"
  elseif variable("REMOTE_CONTAINERS") or variable("DEVCONTAINER") then
    return "a dev container"
  elseif vim.uv.fs_stat("/.dockerenv") or vim.uv.fs_stat("/run/.containerenv") then
    return "a container"
  end
  return nil
end

local function check_wsl()
  if in_wsl() then
    vim.health.info(
      "Neovim runs in WSL. A CLI in the same distribution connects as usual. One on the Windows side has another home "
        .. "folder and other paths, see :help claude-ide-elsewhere"
    )
  end
end

local function check_container()
  local kind = container()
  if kind then
    vim.health.info(
      ("Neovim runs in %s. A CLI in the same one connects as usual. For one outside see :help claude-ide-elsewhere"):format(
        kind
      )
    )
  end
  if variable("SSH_CONNECTION") then
    vim.health.info(
      "Neovim runs on a remote machine. The CLI runs there too, as with `:Claude`; else see :help claude-ide-elsewhere"
    )
  end
end

local function check_claude_variables()
  local config_dir = variable("CLAUDE_CONFIG_DIR")
  if config_dir then
    vim.health.info(
      ("CLAUDE_CONFIG_DIR is %s: a CLI needs the same value to find this Neovim"):format(config_dir)
    )
  end
end

function M.check()
  check_proxy()
  check_wsl()
  check_container()
  check_claude_variables()
end

return M

-- No terminal: the user runs the CLI elsewhere, and a notice says how it finds this Neovim.

-- It opens nothing, so it has none of a provider's other functions.
return {
  check = function(spec)
    local port = spec.ide_env.CLAUDE_CODE_SSE_PORT
    local command = table.concat(spec.argv, " ")
    if not port then
      return false, 'terminal.provider is "none", and the server is not running.'
    end
    return false,
      ('terminal.provider is "none". Run `CLAUDE_CODE_SSE_PORT=%s %s` in any terminal.'):format(port, command)
  end,
}

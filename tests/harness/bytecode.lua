-- The modules of the plugin and of Neovim compiled once for many Neovims: to parse them took a tenth of the tests' processor time.
-- Names of lines and variables stay, so that errors read the same.
local bytecode = {}

-- Compiles all into a folder, one file a module.
function bytecode.write(folder, root)
  for _, lua in ipairs({ root .. "/lua/", vim.env.VIMRUNTIME .. "/lua/" }) do
    for _, path in ipairs(vim.fn.globpath(lua, "**/*.lua", true, true)) do
      local module = path:sub(#lua + 1, -5):gsub("/", "."):gsub("%.init$", "")
      local file = assert(io.open(folder .. "/" .. module, "wb"))
      file:write(string.dump(assert(loadfile(path))))
      file:close()
    end
  end
end

-- From now on `require` takes them from there, as long as the plugin is found in this root before all else.
function bytecode.read(folder, root)
  table.insert(package.loaders, 2, function(module)
    local is_found = not vim.in_fast_event() and vim.startswith(vim.o.runtimepath, root .. ",")
    local file = is_found and io.open(folder .. "/" .. module, "rb")
    if file then
      local code = file:read("*a")
      file:close()
      return assert(loadstring(code))
    end
  end)
end

return bytecode

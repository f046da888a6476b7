-- open_files: opens several files. The first one comes to the front, the others are loaded and listed.
local M = {}

local function open(paths, respond)
  local opened, first_error = {}, nil
  for _, path in ipairs(paths) do
    local front = #opened == 0
    local result, err = require("claude-ide.tools.open_file").open({ filePath = path, makeFrontmost = front })
    if result then
      opened[#opened + 1] = path
    else
      first_error = first_error or err
    end
  end
  if #opened == 0 and first_error then
    respond(nil, { code = "failed", message = first_error })
  else
    respond({ opened_files = #opened > 0 and opened or require("claude-ide.json").EMPTY_ARRAY })
  end
end

---@param args { file_paths: string[] }
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(args, respond, call)
  require("claude-ide.tools").when_still(call, respond, function()
    open(args.file_paths, respond)
  end)
end

return M

"""A language server inside Neovim: finds the word ERROR (or WARN) in each line, formats by upper-casing.

`imports`: it knows the files of its start and those it is notified of, and reports `import x` of others. `on_save`: it
reports errors only after `didSave`, as work of its own (`$/progress`). `changes_only`: it never repeats a report. It
never answers withdrawn requests. It judges the text at the time of a request, and answers later.

`answers` are functions of the parameters, by method; `capabilities` are announced besides. `fake.withdrawn` counts
withdrawn requests.

`delay` and `slow_start` are milliseconds, or "deferred": until the test calls `fake.release()`. Neovim's own timers keep
the order of their times on a slow machine, but the test's next step is not one of them: hold what must not come before
it.
"""

LSP = """
vim.g.loaded_python3_provider = 0 -- Neovim's ftplugin for Python looks for one, which takes seconds on a busy machine
fake = { seen = {}, texts = {}, deferred = {}, withdrawn = 0 }

local function later(fn, delay)
  if delay == "deferred" then table.insert(fake.deferred, fn) else vim.defer_fn(fn, delay or 0) end
end

function fake.release(count)
  for _ = 1, count or #fake.deferred do table.remove(fake.deferred, 1)() end
end

---@param opts { delay?: integer|"deferred", pull?: boolean, silent?: boolean, stale?: boolean, slow_start?: integer|"deferred", format?: string, imports?: boolean, on_save?: boolean, changes_only?: boolean, answers?: table<string, fun(params: table): any>, capabilities?: table }
---@param root? string default: the current folder
function fake.start(name, opts, root)
  local there, said, withdrawn = {}, {}, {}
  for file in vim.fs.dir(".") do there[file] = true end
  local function judge(uri, text)
    local found = {}
    for row, line in ipairs(opts.imports and vim.split(text, "\\n") or {}) do
      local module = line:match("^import (%w+)")
      if module and not there[module .. ".py"] then
        table.insert(found, {
          range = { start = { line = row - 1, character = 0 }, ["end"] = { line = row - 1, character = 6 } },
          severity = 1, message = "no module " .. module, source = name,
        })
      end
    end
    for row, line in ipairs(vim.split(text, "\\n")) do
      for word, severity in pairs({ ERROR = 1, WARN = 2, INFO = 3, HINT = 4 }) do
        local first, last = line:find(word, 1, true)
        if first then
          local function units(col) return vim.fn.strutf16len(line:sub(1, col)) end
          table.insert(found, {
            range = { start = { line = row - 1, character = units(first - 1) }, ["end"] = { line = row - 1, character = units(last) } },
            severity = severity, message = word .. " in line " .. row, source = name, code = "E" .. row,
          })
        end
      end
    end
    return found
  end
  local function cmd(dispatchers)
    local closing, id = false, 0
    local server = {}
    local function publish(uri, version, delay, after)
      if opts.pull or opts.silent then return end
      later(function()
        local diagnostics = judge(uri, fake.texts[uri] or "")
        if opts.changes_only and vim.deep_equal(diagnostics, said[uri] or {}) then return end
        said[uri] = diagnostics
        dispatchers.notification("textDocument/publishDiagnostics", {
          uri = uri, version = version, diagnostics = diagnostics,
        })
        if after then after() end
      end, delay)
    end
    local function work(uri)
      local function report(kind) dispatchers.notification("$/progress", { token = "check", value = { kind = kind, title = "check" } }) end
      vim.schedule(function() report("begin") end)
      publish(uri, nil, opts.delay, function() report("end") end)
    end
    function server.request(method, params, callback)
      id = id + 1
      table.insert(fake.seen, method)
      local function answer(result) vim.schedule(function() callback(nil, result) end) end
      if method == "initialize" then
        local capabilities = {
          textDocumentSync = { openClose = true, change = 1, save = opts.on_save },
          diagnosticProvider = opts.pull and { interFileDependencies = false, workspaceDiagnostics = false } or nil,
          documentFormattingProvider = opts.format ~= nil,
        }
        capabilities = vim.tbl_extend("force", capabilities, opts.capabilities or {})
        later(function() answer({ capabilities = capabilities }) end, opts.slow_start)
      elseif (opts.answers or {})[method] then
        local number = id
        later(function()
          if not withdrawn[number] and not closing then answer(opts.answers[method](params)) end
        end, opts.delay)
      elseif method == "textDocument/diagnostic" then
        local number, items = id, judge(params.textDocument.uri, fake.texts[params.textDocument.uri])
        later(function()
          if not withdrawn[number] then answer({ kind = "full", items = items }) end
        end, opts.delay)
      elseif method == "textDocument/formatting" then
        if opts.format == "never" then return true, id end
        local text = fake.texts[params.textDocument.uri]
        answer({ { range = { start = { line = 0, character = 0 }, ["end"] = { line = 9999, character = 0 } }, newText = text:upper() } })
      else
        answer(vim.NIL)
      end
      return true, id
    end
    function server.notify(method, params)
      table.insert(fake.seen, method)
      if method == "textDocument/didOpen" then
        fake.texts[params.textDocument.uri] = params.textDocument.text
        if opts.on_save then work(params.textDocument.uri) return true end
        publish(params.textDocument.uri, params.textDocument.version, opts.delay)
      elseif method == "textDocument/didChange" then
        local uri, version = params.textDocument.uri, params.textDocument.version
        local before = fake.texts[uri]
        fake.texts[uri] = params.contentChanges[1].text
        if opts.stale then
          dispatchers.notification("textDocument/publishDiagnostics", {
            uri = uri, version = version - 1, diagnostics = judge(uri, before),
          })
        end
        if not opts.on_save then publish(uri, version, opts.delay) end
      elseif method == "textDocument/didSave" then
        if opts.on_save then work(params.textDocument.uri) end
      elseif method == "textDocument/didClose" then
        fake.texts[params.textDocument.uri] = nil
      elseif method == "$/cancelRequest" then
        withdrawn[params.id] = true
        fake.withdrawn = fake.withdrawn + 1
      elseif method == "workspace/didChangeWatchedFiles" then
        for _, change in ipairs(params.changes) do there[vim.fs.basename(change.uri)] = change.type ~= 3 or nil end
        for uri in pairs(fake.texts) do publish(uri, nil, opts.delay) end
      end
      return true
    end
    function server.is_closing() return closing end
    function server.terminate() closing = true dispatchers.on_exit(0, 0) end
    return server
  end
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "python",
    callback = function(event)
      vim.lsp.start({ name = name, cmd = cmd, root_dir = root or vim.uv.cwd() }, { bufnr = event.buf })
    end,
  })
end
"""

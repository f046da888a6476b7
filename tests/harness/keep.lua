-- What the plugin reports and asks, kept for a test instead of shown. Each function begins anew to keep.
local keep = {}

-- In `notices`, the texts; `shown = true` shows them as well.
function keep.notices(shown)
  notices = {}
  local notify = vim.notify
  vim.notify = function(message, ...)
    notices[#notices + 1] = message
    if shown then
      notify(message, ...)
    end
  end
end

-- In `events`, pairs of name and data of the `User` events that match.
function keep.events(pattern)
  events = {}
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("keep.events", {}),
    pattern = pattern,
    callback = function(event)
      events[#events + 1] = { event.match, event.data }
    end,
  })
end

-- In `asked`, what `vim.ui.select` and `vim.ui.input` were given. Each takes the first of `answers` (the number of an item, from
-- the end where it is negative; a text) and is cancelled where none is left.
function keep.questions(given)
  asked, answers = {}, given
  vim.ui.select = function(items, opts, done)
    local lines = vim.tbl_map(opts.format_item or tostring, items)
    asked[#asked + 1] = { prompt = opts.prompt, kind = opts.kind, lines = lines }
    local at = table.remove(answers, 1)
    at = at and at < 0 and #items + 1 + at or at
    done(at and items[at], at)
  end
  vim.ui.input = function(opts, done)
    asked[#asked + 1] = { prompt = opts.prompt, default = opts.default }
    done(table.remove(answers, 1))
  end
end

return keep

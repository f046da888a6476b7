-- The transcripts that have a buffer, and all that is known of each.

local M = {}

---@class claude-ide.transcript.View
---@field source claude-ide.transcript.Source
---@field id string the source's
---@field session string the id of its session, of a subagent too
---@field ended? boolean the session does not run, as it was drawn last
---@field buf integer
---@field canvas claude-ide.transcript.Canvas
---@field known table<integer, claude-ide.sessions.Row> what was asked of rows near the windows
---@field agents table<string, claude-ide.transcript.AgentView> by tool call
---@field uncoloured table<integer, true> rows
---@field to_colour integer[] the same, perhaps some that are done: the last ones first
---@field generation integer counts how often all ids became void
---@field busy boolean a question is on its way
---@field again boolean something changed meanwhile
---@field colouring boolean
---@field room? integer cells that a line had in each window when tables were drawn last
---@field forgetting? boolean what is far is being taken out of the text
---@field filled_from? integer how many rows were rendered when the rest was last asked for
---@field full? boolean rows had to be forgotten: what is far stays so
---@field moving? boolean a motion waits for what it goes to
---@field held_changes? (fun())[] that wait until lines may come and go
---@field closed boolean
---@field title? string
---@field name? string the title, once it is known: what the buffer is called
---@field named? string the id whose title is known, or asked for
---@field cwd? string
---@field live? claude-ide.sessions.Live
---@field ran? boolean it was seen running
---@field waited? claude-ide.sessions.Wait the last one that its calls were drawn with
---@field went_on? string the session its process went on with
---@field problem? string why there is nothing more to see
---@field when_complete? fun()
---@field unsubscribe? fun()
---@field left_at_end? boolean the cursor was there when the buffer was left
---@field came_from table<integer, integer> buffers by window, to go back to

---@type table<integer, claude-ide.transcript.View> by buffer
local views = {}

---@param view claude-ide.transcript.View
function M.add(view)
  views[view.buf] = view
end

---@param view claude-ide.transcript.View
function M.remove(view)
  views[view.buf] = nil
end

---@param buf integer
---@return claude-ide.transcript.View?
function M.of_buffer(buf)
  return views[buf]
end

---The session that its process went on with, which is not shown here.
---@param view claude-ide.transcript.View
---@return string? id
function M.went_on(view)
  return view.went_on ~= view.source.id and view.went_on or nil
end

---What a chat is called, where there are several.
---@param source claude-ide.transcript.Source its
---@return string?
function M.told_apart(source)
  local title, count = nil, 0 ---@type string?, integer
  for _, view in pairs(views) do
    if view.source.is_chat then
      count = count + 1
      title = view.source == source and view.title or title
    end
  end
  return count > 1 and title or nil
end

---The one that shows a source already.
---@param source claude-ide.transcript.Source
---@return claude-ide.transcript.View?
function M.of_source(source)
  for _, view in pairs(views) do
    if view.source.key == source.key and not view.closed then
      return view
    end
  end
  return nil
end

return M

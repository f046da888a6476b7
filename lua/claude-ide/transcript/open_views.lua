-- Registry of transcripts with a buffer, and their state.

local M = {}

---@class claude-ide.transcript.View
---@field source claude-ide.transcript.Source
---@field id string of the source
---@field session string id of the session, also for a subagent
---@field ended? boolean it was last drawn as not running
---@field buf integer
---@field canvas claude-ide.transcript.Canvas
---@field agents table<string, claude-ide.transcript.AgentView> by tool call
---@field uncoloured table<integer, true> rows
---@field generation integer incremented when all ids become invalid
---@field busy boolean a request is pending
---@field again boolean update again after it
---@field colouring boolean
---@field columns? number text width of the windows when tables were last drawn
---@field wanted_lines? integer lines that the user asked for
---@field wanted_row? integer row from which on all is loaded
---@field when_loaded { row: integer, done: fun() }[] who waits for rows
---@field moving? boolean a motion waits for its row
---@field queued_changes? (fun())[] queued until lines may come and go
---@field closed boolean
---@field title? string
---@field name? string title in the buffer's name
---@field named? string id whose title is known or requested
---@field cwd? string
---@field live? claude-ide.sessions.Live
---@field ran? boolean it was seen running
---@field waited? claude-ide.sessions.Wait last one that calls were drawn with
---@field went_on? string session that the process continued with
---@field problem? string why it no longer updates
---@field when_complete? fun()
---@field unsubscribe? fun()
---@field left_at_end? boolean the cursor was at the end when the buffer was left
---@field came_from table<integer, integer> previous buffers by window

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

---The session that its process continued with, if not shown here.
---@param view claude-ide.transcript.View
---@return string? id
function M.went_on(view)
  return view.went_on ~= view.source.id and view.went_on or nil
end

---A chat's title, if there are several chats.
---@param source claude-ide.transcript.Source of the chat
---@return string?
function M.title_if_several(source)
  local title, count = nil, 0 ---@type string?, integer
  for _, view in pairs(views) do
    if view.source.is_chat then
      count = count + 1
      title = view.source == source and view.title or title
    end
  end
  return count > 1 and title or nil
end

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

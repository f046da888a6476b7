-- What a line leads to: one entry for each kind of target, in a file of its own.

---@class claude-ide.transcript.TargetKind
---@field enter? fun(view: claude-ide.transcript.View, target: claude-ide.transcript.Target): boolean? Enter there; false, and none: the fold opens or closes
---@field go? fun(view: claude-ide.transcript.View, target: claude-ide.transcript.Target, at: claude-ide.transcript.TargetPlace, how: claude-ide.transcript.HowToOpen) `gf` there; none: the path under the cursor

---@class claude-ide.transcript.TargetPlace
---@field item claude-ide.transcript.Item
---@field offset integer line of the item, from 0

---@alias claude-ide.transcript.HowToOpen "edit"|"split"|"tabedit"

---@type table<claude-ide.transcript.Target["type"], claude-ide.transcript.TargetKind>
return {
  agent = require("claude-ide.transcript.targets.agent"),
  branch = require("claude-ide.transcript.targets.branch"),
  edit = require("claude-ide.transcript.targets.edit"),
  file = require("claude-ide.transcript.targets.file"),
  more = require("claude-ide.transcript.targets.more"),
}

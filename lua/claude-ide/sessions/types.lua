---@meta
-- Types of `crates/session` as Lua sees them.
-- Times are Unix milliseconds, sizes and offsets are bytes, rows are 0-based, lines of a file 1-based. Null fields are nil. `end` is a
-- keyword of Lua: write `row["end"]`.

---@alias claude-ide.sessions.Activity
---| "working" # Claude works
---| "waiting" # Claude waits for the user: see waiting_for
---| "idle" # Claude is done and waits for the next prompt
---| "gone" # its process has ended

---@class claude-ide.sessions.State
---@field activity claude-ide.sessions.Activity
---@field waiting_for? "permission"|"input"|"dialog"|"other" set while it waits
---@field since? integer
---@field source "record"|"transcript"|"hooks" the CLI's record is exact; a transcript does not show permission prompts; hooks do not report interrupts

---A running CLI and its session.
---@class claude-ide.sessions.Live
---@field pid integer
---@field config_dir? string its CLI's configuration folder; nil if only hooks report it
---@field id string session id, for `--resume`
---@field cwd string
---@field name? string
---@field kind? string "interactive", "bg" (in the background), …
---@field job? string its name for `claude attach` and `claude stop`, if it runs in the background
---@field entrypoint? string "cli", …
---@field version? string of the CLI
---@field started? integer
---@field state claude-ide.sessions.State
---@field liveness "alive"|"dead"|"unknown" whether the process runs

---@class claude-ide.sessions.LiveChange
---@field session claude-ide.sessions.Live current; "gone" once its process has ended
---@field previous? string previous session of the process, after `/clear` or a resume

---A stored session.
---@class claude-ide.sessions.Summary
---@field id string
---@field file string
---@field cwd? string folder that it was started in
---@field title? string the user's, else the CLI's, else the beginning of the first prompt
---@field named boolean the title is the user's
---@field first_prompt? string
---@field last_prompt? string
---@field branch? string Git branch
---@field model? string of the last reply
---@field context_percent? integer how full its context is, if the model is known
---@field started? integer
---@field updated integer
---@field bytes integer
---@field messages? integer prompts and replies; nil if the file is too large to count
---@field turns? integer
---@field forked_from? string
---@field worktree? string name of its linked worktree
---@field config_dir? string configuration folder of its CLI; nil: of a session that was not written yet
---@field kept? "beside"|"only" the user keeps a copy; only: the CLI has deleted its own

---What the end of a transcript tells.
---@class claude-ide.sessions.Stored
---@field mode? claude-ide.sessions.Mode
---@field turn boolean it has one that is not over
---@field queued? string[] prompts that wait for its end

---@alias claude-ide.sessions.Mode "default"|"plan"|"acceptEdits"|"bypassPermissions"|"dontAsk"|"auto"

---@class claude-ide.sessions.Usage
---@field input integer tokens
---@field output integer
---@field cache_write integer
---@field cache_read integer

---@alias claude-ide.sessions.RowKind
---| "prompt" # the user's prompt
---| "reply" # Claude's answer, with tool calls and results
---| "command" # a slash command or a shell line of the user
---| "output" # output of a command
---| "interrupted" # "Request interrupted by user"
---| "notice" # a message of the CLI
---| "compaction" # the conversation was compacted here
---| "summary" # replaces compacted messages
---| "meta" # for the model only
---| "results" # results whose tool call is not in the file
---| "other" # unknown type

---@alias claude-ide.sessions.ToolStatus "running"|"done"|"failed"|"rejected"|"changed"|"void" void: its result will never be known

---@class claude-ide.sessions.ToolRow
---@field name string "Read", "Bash", …
---@field status claude-ide.sessions.ToolStatus
---@field start? integer
---@field end? integer
---@field background? boolean it continues in the background: "running" until its end is reported, with that time then
---@field sidechain? integer first message of its subagent, if it is in the same file

---@class claude-ide.sessions.Branch
---@field number integer index among the siblings, from 1
---@field siblings integer[] messages

---Summary of a message, enough to lay out a transcript.
---@class claude-ide.sessions.Row
---@field id integer of the message; valid until a delta with `reset`
---@field kind claude-ide.sessions.RowKind
---@field start? integer
---@field end? integer
---@field model? string
---@field usage? claude-ide.sessions.Usage
---@field tools? claude-ide.sessions.ToolRow[]
---@field branch? claude-ide.sessions.Branch set where the conversation forks
---@field bytes integer
---@field continues? boolean continues the text of the previous row, without a line break

---@class claude-ide.sessions.Hunk
---@field old_start integer 1-based
---@field old_lines integer
---@field new_start integer
---@field new_lines integer
---@field lines string[] each begins with " ", "-" or "+"

---The CLI's record of a tool call.
---@class claude-ide.sessions.Outcome
---@field type "file_change"|"launch"|"message"|"other" launch: of a background subagent
---@field path? string file_change
---@field created? boolean file_change
---@field user_modified? boolean file_change
---@field added? integer file_change: lines
---@field removed? integer file_change: lines
---@field hunks? claude-ide.sessions.Hunk[] file_change: their first 1,000 lines; empty if the CLI created the file
---@field left_out? integer file_change: omitted lines of hunks
---@field others? claude-ide.sessions.FileChange[] file_change: other files changed by the call
---@field text? string message
---@field bytes? integer message: full size
---@field raw? any other

---@class claude-ide.sessions.FileChange
---@field path string
---@field created boolean
---@field added integer
---@field removed integer
---@field hunks claude-ide.sessions.Hunk[]
---@field left_out? integer

---A part of a tool's result.
---@class claude-ide.sessions.Part
---@field type "text"|"image"|"unknown"
---@field text? string
---@field bytes? integer full size of the text, which may be cut
---@field media_type? string image
---@field encoded_bytes? integer image
---@field raw? any unknown

---What let a call run: `AllowedBy` in crates/session.
---@alias claude-ide.sessions.AllowedBy "user"|"mode"|"project"|"rule"|"hook"|"cli"

---@class claude-ide.sessions.ToolResult
---@field is_error boolean
---@field content claude-ide.sessions.Part[] as the model got it
---@field outcome? claude-ide.sessions.Outcome
---@field allowed_by? claude-ide.sessions.AllowedBy of a chat

---A block of a message. Fields depend on the type.
---@class claude-ide.sessions.Block
---@field type "text"|"thinking"|"tool_use"|"tool_result"|"image"|"unknown"
---@field text? string text, thinking
---@field bytes? integer text, thinking: full size
---@field id? string tool_use
---@field name? string tool_use
---@field input? any tool_use: raw arguments
---@field status? claude-ide.sessions.ToolStatus tool_use
---@field start? integer tool_use
---@field end? integer tool_use
---@field inner? boolean tool_use: the script of the call before it made it (Code Mode)
---@field background? boolean tool_use: as in its row; the result only reports the start
---@field result? claude-ide.sessions.ToolResult tool_use, tool_result
---@field tool_use_id? string tool_result
---@field media_type? string image
---@field encoded_bytes? integer image
---@field raw? any unknown

---A message in full.
---@class claude-ide.sessions.Message
---@field id integer of its row
---@field kind claude-ide.sessions.RowKind
---@field start? integer
---@field blocks claude-ide.sessions.Block[]

---A file before and after an edit, in full.
---@class claude-ide.sessions.EditTexts
---@field path string
---@field before? string nil: new file
---@field after string

---A file that a call changed.
---@class claude-ide.sessions.ChangedFile
---@field path string
---@field user_modified boolean

---A place in a file that a call read, changed or found.
---@class claude-ide.sessions.Location
---@field path string a search may name it relative to the session's folder
---@field kind "read"|"edit"|"create"|"search"
---@field first integer line, 1-based
---@field last? integer line; nil: to the end of the file
---@field said? string the last line of what Claude said before it

---A tool call with a result.
---The place of a call in its conversation, from 1.
---@class claude-ide.sessions.Step
---@field turn? integer of the session; nil: a subagent's
---@field number integer among the calls of that turn

---@class claude-ide.sessions.EndedCall
---@field id string
---@field name string
---@field status claude-ide.sessions.ToolStatus "running": it goes on in the background
---@field message integer that made it, for `messages`
---@field start? integer
---@field end? integer when it had its result
---@field allowed_by? claude-ide.sessions.AllowedBy
---@field command? string a shell command that the CLI allowed by itself
---@field step? claude-ide.sessions.Step nil: not known
---@field change? claude-ide.sessions.ChangedFile
---@field location? claude-ide.sessions.Location
---@field failure? { path?: string, words: string } the file that it was to change, and the beginning of what the model was told

---When a call ran that may have changed any file.
---@class claude-ide.sessions.CommandTime
---@field start integer milliseconds since the epoch
---@field end? integer nil: it runs, maybe in the background
---@field made? integer when it was made, if it ran only once the user had allowed it
---@field files? string[] absolute paths of the files that it changed, if the CLI names them

---@class claude-ide.sessions.EndedCalls
---@field calls claude-ide.sessions.EndedCall[] in order of their results
---@field offset integer for the next request
---@field more boolean there are more already

---A subagent; its file opens like a session's. If its description or link to a call arrives after the call was drawn, a change names
---the call's row, or no rows if the call is another subagent's: read `agents` again.
---@class claude-ide.sessions.Agent
---@field id string
---@field file string
---@field tool_use_id? string call that started it: from its description, else from the call's result
---@field agent_type? string
---@field description? string
---@field running boolean false: ended, though its call may still be "running" if no end was reported (a killed CLI)

---@class claude-ide.sessions.Position
---@field place "row"|"other_branch"|"sidechain"
---@field row? integer 0-based

---The changed rows of a transcript.
---@class claude-ide.sessions.Delta
---@field reset boolean all ids and rows are invalid: the file was replaced, or a huge one is now read completely
---@field from integer rows from here on are new or changed (0-based)
---@field len integer current number of rows
---@field changed integer[] changed rows before `from`
---@field shift? integer with `reset` of a huge file: row `n` becomes row `n + shift`

---Summary of an open transcript.
---@class claude-ide.sessions.Info
---@field epoch integer incremented by a change with `reset`
---@field file string
---@field len integer rows of the displayed branch
---@field complete boolean false: only the end of a huge file is read
---@field offset integer bytes read
---@field total_usage claude-ide.sessions.Usage
---@field last_reply? claude-ide.sessions.Row
---@field agents claude-ide.sessions.Agent[]

---A matching line of text.
---@class claude-ide.sessions.Hit
---@field session string
---@field file string of the session or its subagent
---@field agent? string
---@field line integer of the file, from 1: see Transcript:message_at_line()
---@field role "prompt"|"reply"|"thinking"|"tool_input"|"tool_result"|"system"
---@field text string possibly cut at both ends
---@field start integer byte in `text`, 0-based
---@field end integer
---@field before string[]
---@field after string[]

---@class claude-ide.sessions.SearchReport
---@field hits integer
---@field files integer
---@field unreadable integer
---@field incomplete boolean cancelled, or at the limit of hits

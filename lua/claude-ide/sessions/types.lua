---@meta
-- What the library says of sessions: the shapes of `crates/session`, as Lua sees them.
-- Times are Unix milliseconds, sizes and offsets are bytes, rows count from 0, lines of a file from 1. A field that is
-- null in the library is nil here. `end` is a word of Lua: write `row["end"]`.

---@alias claude-ide.sessions.Activity
---| "working" # Claude works
---| "waiting" # Claude waits for the user: see waiting_for
---| "idle" # Claude is done and waits for the next prompt
---| "gone" # no process runs it any more

---@class claude-ide.sessions.State
---@field activity claude-ide.sessions.Activity
---@field waiting_for? "permission"|"input"|"dialog"|"other" set while it waits
---@field since? integer
---@field source "record"|"transcript" the CLI's own record is exact; in a transcript, permission prompts do not show

---A running CLI and the session it is in.
---@class claude-ide.sessions.Live
---@field pid integer
---@field id string the session: what `--resume` takes
---@field cwd string
---@field name? string
---@field kind? string "interactive", …
---@field entrypoint? string "cli", …
---@field version? string of the CLI
---@field started? integer
---@field state claude-ide.sessions.State
---@field liveness "alive"|"dead"|"unknown" whether the process runs

---@class claude-ide.sessions.LiveChange
---@field session claude-ide.sessions.Live as it is now; its activity is "gone" once its process ended
---@field previous? string the session that the same process ran before, after `/clear` or a resume

---A session in a list.
---@class claude-ide.sessions.Summary
---@field id string
---@field file string
---@field cwd? string the folder it was started in
---@field title? string the name a user gave it, else the CLI's, else the beginning of the first prompt
---@field named boolean whether a user named it
---@field first_prompt? string
---@field last_prompt? string
---@field branch? string of git
---@field model? string that answered last
---@field started? integer
---@field updated integer
---@field bytes integer
---@field messages? integer prompts and replies; nil where counting would take reading the whole file
---@field turns? integer
---@field forked_from? string

---@class claude-ide.sessions.Usage
---@field input integer tokens
---@field output integer
---@field cache_write integer
---@field cache_read integer

---@alias claude-ide.sessions.RowKind
---| "prompt" # what a user asked
---| "reply" # what Claude answered, with its tool calls and their results
---| "command" # a slash command or a shell line of the user
---| "output" # what a command printed
---| "interrupted" # "Request interrupted by user"
---| "notice" # something the CLI tells the user
---| "compaction" # the conversation was compacted here
---| "summary" # stands for what was compacted
---| "meta" # what the CLI tells the model
---| "results" # results whose tool call is not in the file
---| "other" # of a type this version does not know

---@alias claude-ide.sessions.ToolStatus "running"|"done"|"failed"|"rejected"|"changed"|"void" void: nobody will tell its result

---@class claude-ide.sessions.ToolRow
---@field name string "Read", "Bash", …
---@field status claude-ide.sessions.ToolStatus
---@field start? integer
---@field end? integer
---@field background? boolean it went on in the background: "running" until its end was told, then with the end's time
---@field sidechain? integer first message of its subagent, where that lies in the same file

---@class claude-ide.sessions.Branch
---@field number integer which of the siblings this is, from 1
---@field siblings integer[] messages

---A message as a line in a list: enough to lay a transcript out.
---@class claude-ide.sessions.Row
---@field id integer names the message; valid until a delta says `reset`
---@field kind claude-ide.sessions.RowKind
---@field start? integer
---@field end? integer
---@field model? string
---@field usage? claude-ide.sessions.Usage
---@field tools? claude-ide.sessions.ToolRow[]
---@field has_text boolean
---@field has_thinking boolean
---@field branch? claude-ide.sessions.Branch set where the conversation forks
---@field bytes integer
---@field continues? boolean it goes on with the text of the row before, without a line between

---@class claude-ide.sessions.Hunk
---@field old_start integer 1-based
---@field old_lines integer
---@field new_start integer
---@field new_lines integer
---@field lines string[] each begins with " ", "-" or "+"

---What the CLI recorded of a tool call.
---@class claude-ide.sessions.Outcome
---@field type "file_change"|"launch"|"message"|"other" launch: of a subagent that goes on in the background
---@field path? string file_change
---@field created? boolean file_change
---@field user_modified? boolean file_change
---@field added? integer file_change: lines
---@field removed? integer file_change: lines
---@field hunks? claude-ide.sessions.Hunk[] file_change: their first 1,000 lines; empty for a new file of the CLI's
---@field left_out? integer file_change: lines of hunks that are left out
---@field others? claude-ide.sessions.FileChange[] file_change: other files that the same call changed
---@field text? string message
---@field bytes? integer message: size of the whole text
---@field raw? any other

---@class claude-ide.sessions.FileChange
---@field path string
---@field created boolean
---@field added integer
---@field removed integer
---@field hunks claude-ide.sessions.Hunk[]
---@field left_out? integer

---A piece of a tool's result.
---@class claude-ide.sessions.Part
---@field type "text"|"image"|"unknown"
---@field text? string
---@field bytes? integer size of the whole text; more than `text` has where it was cut
---@field media_type? string image
---@field encoded_bytes? integer image
---@field raw? any unknown

---@class claude-ide.sessions.ToolResult
---@field is_error boolean
---@field content claude-ide.sessions.Part[] what the model got
---@field outcome? claude-ide.sessions.Outcome

---A piece of a message. Which fields are there depends on the type.
---@class claude-ide.sessions.Block
---@field type "text"|"thinking"|"tool_use"|"tool_result"|"image"|"unknown"
---@field text? string text, thinking
---@field bytes? integer text, thinking: size of the whole text
---@field continues? { fence?: claude-ide.transcript.Fence } text: it goes on with that of the row before, in the middle of code, perhaps
---@field id? string tool_use
---@field name? string tool_use
---@field input? any tool_use: the arguments as Claude wrote them
---@field status? claude-ide.sessions.ToolStatus tool_use
---@field start? integer tool_use
---@field end? integer tool_use
---@field background? boolean tool_use: as in its row; the result is empty: it says only that it began
---@field result? claude-ide.sessions.ToolResult tool_use, tool_result
---@field tool_use_id? string tool_result
---@field media_type? string image
---@field encoded_bytes? integer image
---@field raw? any unknown

---A message in full.
---@class claude-ide.sessions.Message
---@field id integer its row's
---@field kind claude-ide.sessions.RowKind
---@field uuid string
---@field start? integer
---@field end? integer
---@field model? string
---@field usage? claude-ide.sessions.Usage
---@field stop_reason? string "end_turn", "tool_use", …
---@field blocks claude-ide.sessions.Block[]

---A file before and after an edit, in full.
---@class claude-ide.sessions.EditTexts
---@field path string
---@field before? string nil: the file is new
---@field after string

---A tool call that changed a file.
---@class claude-ide.sessions.ChangedFile
---@field tool_use_id string
---@field path string
---@field user_modified boolean
---@field start? integer
---@field end? integer

---@class claude-ide.sessions.ChangedFiles
---@field changes claude-ide.sessions.ChangedFile[] in the order of their results
---@field offset integer

---A subagent; its file opens like a session's. Where a description or a link to its call comes later than the call was drawn,
---a change names the call's row, or comes with no rows at all where the call is another subagent's: look at `agents` again.
---@class claude-ide.sessions.Agent
---@field id string
---@field file string
---@field tool_use_id? string the call that started it: from its description, else from the call's result
---@field agent_type? string
---@field description? string
---@field running boolean false: it ended, though its call may still be "running" where no end was told (a CLI that was killed)

---@class claude-ide.sessions.Position
---@field place "row"|"other_branch"|"sidechain"
---@field row? integer 0-based

---Which rows of a transcript are new or different.
---@class claude-ide.sessions.Delta
---@field reset boolean forget every id and row: the file was replaced, or all of a huge one is known now
---@field from integer rows from here on are new or different (0-based)
---@field len integer how many rows there are now
---@field changed integer[] rows before `from` that changed in place
---@field shift? integer with `reset`, when all of a huge file is known: what was row `n` is row `n + shift`

---What is known of an open transcript without asking.
---@class claude-ide.sessions.Info
---@field epoch integer which life of the transcript this is: a change with `reset` begins a new one
---@field file string
---@field len integer rows of the branch that is shown
---@field complete boolean false while only the end of a huge file is known
---@field offset integer bytes read
---@field message_count integer on all branches
---@field broken_lines integer
---@field total_usage claude-ide.sessions.Usage
---@field last_reply? claude-ide.sessions.Row
---@field agents claude-ide.sessions.Agent[]

---A line of text that matches.
---@class claude-ide.sessions.Hit
---@field session string
---@field file string the session's, or its subagent's
---@field agent? string
---@field line integer of the file, from 1: see Transcript:message_at_line()
---@field role "prompt"|"reply"|"thinking"|"tool_input"|"tool_result"|"system"
---@field text string perhaps cut at both ends
---@field start integer byte in `text`, 0-based
---@field end integer
---@field before string[]
---@field after string[]

---@class claude-ide.sessions.SearchReport
---@field hits integer
---@field files integer
---@field unreadable integer
---@field incomplete boolean cancelled, or at the limit of hits

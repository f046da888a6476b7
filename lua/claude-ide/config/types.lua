---@meta
-- Made by `make doc` from config/schema.lua. Do not edit.
-- Opts: what a user may set. Config: complete, what config.get() returns.

---@class claude-ide.Opts.log
---@field level? "trace"|"debug"|"info"|"warn"|"error"|"off" The least important lines that are written. Only `trace` writes text of your buffers.

---@class claude-ide.Opts.server.keepalive
---@field interval_ms? integer Milliseconds between two pings. Strict, as some IDEs do it: 5000, with a `timeout_ms` of 3000.
---@field timeout_ms? integer A client that stays silent for so many milliseconds after a ping is dropped. Anything it sends counts as life.
---@field mcp_ping? boolean Send MCP's `ping` request beside the ping of WebSocket.

---@class claude-ide.Opts.server
---@field host? string Address to listen on. Anything but a loopback address lets other machines try to connect; only a container setup should need that.
---@field port? integer Port to listen on. 0 takes any free one and keeps it for the life of this Neovim.
---@field port_range? [integer, integer] First and last port to try, for firewalls and containers. Comes before `port`.
---@field handshake_timeout_ms? integer How long a new connection may take to become a WebSocket, in milliseconds.
---@field max_connections? integer Most connections at one time.
---@field max_message_bytes? integer Largest message that is accepted. A larger one closes its connection.
---@field keepalive? claude-ide.Opts.server.keepalive How a connection that died without a word is found out.
---@field write_file? "review"|"allow"|"off" What becomes of `writeFile`, with which other clients than the CLI change files. `review` shows a diff and writes what you accept, `allow` writes at once, `off` has no such method.
---@field lock_dir? string Folder of the lock file. Not set: `ide` in `$CLAUDE_CONFIG_DIR`, else in `~/.claude`, as the CLI reads them.

---@class claude-ide.Opts.tools
---@field enabled? boolean Serve the tools, and hand them to every Claude that `:Claude` starts.
---@field hidden? string[] Tools that are neither listed nor served, by name: `{ "hover", "quickfix" }`.
---@field server_wait_ms? integer How long a call waits for a language server that is still starting or reading the project.
---@field request_timeout_ms? integer How long a call waits for the answer of a language server.

---@class claude-ide.Opts.workspace
---@field root_markers? string[] Names that mark the top folder of a project.
---@field folders? string[]|fun(): string[] The folders themselves, or a function that returns them. Not set: the projects, found by `root_markers`, of the current folders and of the files that you have open. The project that you are in comes first.

---@class claude-ide.Opts.selection
---@field enabled? boolean Send it. `:Claude selection off` switches it off for this Neovim, `vim.b.claude_private` for one buffer.
---@field debounce_ms? integer Least milliseconds between two messages.
---@field max_bytes? integer Longest text that is sent. The range that is sent is always the whole selection.
---@field deny? string[] Names of files that are never sent, as globs. One with a `/` is compared with the whole path, any other with the file's name.

---@class claude-ide.Opts.mention
---@field max_pending? integer Most mentions that wait for a connection.
---@field focus_terminal? boolean Go to Claude's terminal once a mention was sent.

---@class claude-ide.Opts.diagnostics
---@field wait_ms? integer Longest wait for fresh diagnostics of one file. The CLI gives up after 500 ms.
---@field wait_all_ms? integer Longest wait for fresh diagnostics of all files. The CLI gives up after 2,000 ms.
---@field load_hidden? boolean Load a file that Claude is about to edit into a hidden buffer, so that its language server can speak.
---@field max_per_file? integer Most diagnostics of one file, worst first.
---@field max_total? integer Most diagnostics in one answer, worst first.
---@field debounce_ms? integer Least milliseconds between two `diagnostics_changed` messages.

---@class claude-ide.Opts.diff.keymaps
---@field accept? string|string[]|false Accept the proposal as it now stands. The second key does nothing in other windows, where `ZZ` closes a file.
---@field reject? string|string[]|false Reject it.
---@field reject_with_reason? string|string[]|false Ask for a reason, reject it and tell Claude why, see |:Claude-reject|.
---@field hunk? string|string[]|false Drop the change under the cursor, or take it after all. `u` takes back either.
---@field layout? string|string[]|false Show the diff, or the review, in the next layout.
---@field help? string|string[]|false List the keys of the diff, or of the review.

---@class claude-ide.Opts.diff
---@field enabled? boolean Show them in Neovim. When false the CLI asks in its own terminal.
---@field layout? "vertical"|"horizontal"|"unified"|"auto" How a diff is laid out: side by side, one above the other, or as one text with the removed lines drawn in it. `auto`: side by side where the screen has 100 columns, else as one text. A key changes it for this diff and those that follow. `:Claude review` has the same layouts. A large file, and one that goes, is shown as one text in any layout.
---@field open_in? "tab"|"current"|"float" Where a diff opens: in a tab page of its own, among the windows of the current tab page, or in a frame over them. Your windows are as they were when it is decided. `:Claude review` has a tab page always.
---@field accept_on_write? boolean Let `:w` in the proposal accept it.
---@field focus? boolean Go to a new diff when it opens, unless you are typing.
---@field keymaps? claude-ide.Opts.diff.keymaps Keys in the windows of a diff. `]c` and `[c` go from change to change in every layout.

---@class claude-ide.Opts.review.keymaps
---@field keep_hunk? string|string[]|false Keep the change under the cursor.
---@field undo_hunk? string|string[]|false Take the change under the cursor back.
---@field keep_file? string|string[]|false Keep all changes of the file.
---@field undo_file? string|string[]|false Take all changes of the file back.
---@field next_file? string|string[]|false Go to the next file that waits.
---@field previous_file? string|string[]|false Go to the one before.
---@field close? string|string[]|false Close the review. `:q` in any of its windows does the same.

---@class claude-ide.Opts.review
---@field signs? boolean A sign beside each line that Claude changed and that you have not reviewed, in any buffer.
---@field checkpoints? boolean See what shell commands change, in git repositories: at each prompt, files that differ from the last commit are copied into Neovim's state folder for as long as the CLI is connected. Never copied are files over 4 MB, what `.gitignore` and `selection.deny` leave out, and more than 64 MB at a time.
---@field keymaps? claude-ide.Opts.review.keymaps Keys in the windows of a review. In the list, the keys for a change are for the whole file.

---@class claude-ide.Opts.watch
---@field enabled? boolean Reload an unmodified buffer as soon as its file changes on disk, without a question and undoable with `u`. A modified one is never touched: you are told, and `:Claude resolve` decides.

---@class claude-ide.Opts.ask.keymaps
---@field close? string|string[]|false Close it. That ends the CLI, too.
---@field chat? string|string[]|false Go on as a chat, which may do what any other may.

---@class claude-ide.Opts.ask
---@field args? string[] More arguments of that CLI, such as `{ "--model", "haiku", "--effort", "low" }`.
---@field keymaps? claude-ide.Opts.ask.keymaps Keys in the window with an answer, beside those of a transcript.

---@class claude-ide.Opts.chat.keymaps
---@field send? string|string[]|false Send the prompt, in normal mode.
---@field send_at_once? string|string[]|false Send the prompt, in insert mode too.
---@field interrupt? string|string[]|false Interrupt Claude while it works.
---@field older? string|string[]|false Put the prompt before there, from the history.
---@field newer? string|string[]|false Put the next one there.
---@field take_back? string|string[]|false Take back the prompt that waits.
---@field mode? string|string[]|false Go to the next permission mode.
---@field model? string|string[]|false Choose a model.
---@field preview? string|string[]|false Show what the `#…` at the cursor would send.
---@field effort? string|string[]|false Choose how much effort the model takes.
---@field rewind? string|string[]|false Restore files as they were before a prompt: shown first, then asked.
---@field tasks? string|string[]|false Stop what Claude runs in the background.
---@field terminal? string|string[]|false Go on with the session in the terminal.
---@field close? string|string[]|false Hide the chat. It goes on.
---@field help? string|string[]|false List the keys.

---@class claude-ide.Opts.chat
---@field prompt_height? integer Lines that the window you write in has at most: it grows with what is written.
---@field keymaps? claude-ide.Opts.chat.keymaps Keys in that window.

---@class claude-ide.Opts.transcript.keymaps
---@field next_prompt? string|string[]|false Go to the next prompt.
---@field previous_prompt? string|string[]|false Go to the prompt before.
---@field next_tool? string|string[]|false Go to the next tool call.
---@field previous_tool? string|string[]|false Go to the tool call before.
---@field next_edit? string|string[]|false Go to the next edit.
---@field previous_edit? string|string[]|false Go to the edit before.
---@field open? string|string[]|false Open what the line offers, or the fold.
---@field file? string|string[]|false Go to the file of the call, or under the cursor.
---@field file_split? string|string[]|false The same in a split.
---@field file_tab? string|string[]|false The same in a tab page.
---@field branches? string|string[]|false Choose a branch of the conversation.
---@field next_branch? string|string[]|false Show the next branch.
---@field previous_branch? string|string[]|false Show the branch before.
---@field yank_code? string|string[]|false Yank the code under the cursor: a block, a command, what an edit wrote.
---@field resume? string|string[]|false Resume the session in the terminal. A chat goes on there.
---@field fork? string|string[]|false Go on in a copy of the session.
---@field export? string|string[]|false Write the session down as Markdown.
---@field search_next? string|string[]|false Search on, through all messages.
---@field search_previous? string|string[]|false The same in the other direction.
---@field close? string|string[]|false Close the transcript: what was there before comes back.
---@field help? string|string[]|false List the keys.

---@class claude-ide.Opts.transcript
---@field draw_markdown? boolean Draw tables in columns, headings without `#` and code set apart, in chats as well. The text stays Markdown. Switch it off where another plugin does it, see |claude-ide-recipes|.
---@field keymaps? claude-ide.Opts.transcript.keymaps Keys in a transcript. Each has a `<Plug>` there, too, see |claude-ide-transcript-plug|.

---@class claude-ide.Opts.notify
---@field channels? ("message"|"bell"|"osc9")[] How you are told. `message`: as any message of Neovim (|vim.notify()|). `bell`: the terminal's bell. `osc9`: a notification of the terminal, where it knows OSC 9. An empty list: not at all.
---@field waiting? boolean Tell when Claude waits for you.
---@field finished? boolean Tell when Claude has finished.
---@field min_turn_ms? integer A turn that took fewer milliseconds ends without a notice.

---@class claude-ide.Opts.notebook
---@field kernel? string The Python that runs the code, as a path, or the name of an installed kernel (`jupyter kernelspec list`). Not set: the environment that is active or lies in the project, else `python3` on the PATH.
---@field timeout_ms? integer What runs for more milliseconds is interrupted. 0: never.
---@field max_output? integer Most characters of output of one run. Of more, the beginning and the end are kept.
---@field confirm? boolean Ask you before each run, with the keys of a diff. The CLI asks itself, unless you have allowed the tool there.

---@class claude-ide.Opts.terminal.keymaps
---@field back? string|string[]|false Go back to the window you came from.
---@field normal? string|string[]|false Normal mode, to scroll and copy, as `<C-\><C-n>` does.
---@field hide? string|string[]|false Hide the window. The CLI goes on.
---@field left? string|string[]|false Go to the window on the left.
---@field down? string|string[]|false Go to the window below.
---@field up? string|string[]|false Go to the window above.
---@field right? string|string[]|false Go to the window on the right.

---@class claude-ide.Opts.terminal
---@field provider? "native"|"snacks"|"external"|"none"|claude-ide.terminal.Provider `native`: a split of Neovim. `snacks`: a window of snacks.nvim. `external`: the command in `external`. `none`: you start `claude` yourself. A table: your own, see |claude-ide-terminal-provider|.
---@field command? string[] The CLI and its arguments, one item each. No shell is involved.
---@field external? string[]|fun(spec: claude-ide.terminal.Spec): string[]? For `provider = "external"`: the program that opens a terminal and its arguments. The CLI's own command is put at the end, or where an item is `{command}`; `{cwd}` becomes the project's folder. Or a function that returns such a list, or starts the terminal itself and returns nil.
---@field env? table<string, string> More environment variables for the CLI.
---@field cwd? string|fun(): string Folder the CLI starts in. Not set: the top folder of the project.
---@field side? "left"|"right"|"top"|"bottom" Side of the screen the window takes.
---@field size? number Its width (or height): below 1 a share of the screen, from 1 on columns (or lines).
---@field snacks? table For `provider = "snacks"`: options of `Snacks.win`, e.g. `{ position = "float" }`.
---@field start_insert? boolean Be ready to type when the window is entered by `:Claude`.
---@field auto_close? boolean Close the window when the CLI ends without an error. After an error it always stays.
---@field keymaps? claude-ide.Opts.terminal.keymaps Keys while you type in the terminal. |claude-ide-terminal-keys| says which ones the CLI leaves free.

---@class claude-ide.Opts.web
---@field enabled? boolean Serve as soon as the server runs. When false, `:Claude serve` begins it.
---@field host? string Address to listen on. Anything but a loopback address lets other machines knock; |claude-ide-web-remote| says how to reach it from another one without that.
---@field port? integer Port to listen on; if it is taken, the next free one, which is said. 0 takes any.
---@field names? string[] More names under which browsers may ask for it: that of a tunnel or a proxy on this machine, such as `box.tailnet.ts.net`. Requests for any other name are refused.
---@field write? boolean Let who is let in write: prompts to Claude, and answers to what it asks. When false, they only read. See |claude-ide-web-write|.
---@field commands? boolean With `write`: prompts may be commands, that is begin with `/`, `!`, `#` or `&`, or be words that end the CLI. `!` runs in a shell without a question.

---@class claude-ide.Opts
---@field auto_start? boolean Start the server when Neovim's screen is up, so that a CLI in any terminal can connect. Not in a Neovim that git or Claude Code started as an editor, nor in a pager. When false, `:ClaudeConnect` or `:Claude` starts it.
---@field log? claude-ide.Opts.log The log file. `:Claude log` opens it.
---@field server? claude-ide.Opts.server The server that the CLI connects to. A change counts from the next start of Neovim or `:Claude restart`.
---@field tools? claude-ide.Opts.tools What Claude may ask of the editor: its language servers, its buffers, its lists. |claude-ide-tools| A change counts from the next start of Neovim or `:Claude restart`.
---@field workspace? claude-ide.Opts.workspace Which folders count as your project. A CLI that runs in one of them finds this Neovim.
---@field selection? claude-ide.Opts.selection What Claude is told about the file you are in and the text you selected.
---@field mention? claude-ide.Opts.mention `:ClaudeSend` and `:Claude add`.
---@field diagnostics? claude-ide.Opts.diagnostics Errors and warnings of your language servers, which Claude asks for around each edit.
---@field diff? claude-ide.Opts.diff Edits that Claude proposes and waits for you to decide.
---@field review? claude-ide.Opts.review Edits that Claude has made already: `:Claude review` shows them, whether it asked before or not.
---@field watch? claude-ide.Opts.watch Buffers follow the disk while the server runs.
---@field prompts? table<string, string> Texts to be said again and again, by name: `#prompt:name` stands for one wherever you write to Claude. What it names with `#` goes along, see |claude-ide-contexts|.
---@field prompt_folders? string[] Folders with more of them, one a Markdown file: `#prompt:review` is `review.md`. A name that is not absolute is below the project's top folder.
---@field ask? claude-ide.Opts.ask `:Claude ask` and `:Claude edit`: one question to a CLI of its own, which reads files of the project and does nothing else.
---@field agents? table<string, claude-ide.config.Agent> Agents that `:Claude chat --agent {name}` talks to beside the CLI, by the Agent Client Protocol: `{ cmd = { "gemini", "--acp" }, env = { … }, name = "Gemini" }`. `claude`, `codex`, `gemini` and `opencode` are known without it. See |claude-ide-agents|.
---@field chat? claude-ide.Opts.chat `:Claude chat`: a conversation in a buffer. It runs the command of `terminal`, stands where the terminal would, and has the keys of a transcript.
---@field transcript? claude-ide.Opts.transcript `:Claude transcript`: what was said and done in a session.
---@field notify? claude-ide.Opts.notify The notice when Claude waits for you, or has finished, while you look elsewhere: at another program, or at Neovim with Claude's terminal out of sight. |claude-ide-states| says when exactly.
---@field notebook? claude-ide.Opts.notebook The tool `executeCode`: Python code that Claude runs in a Jupyter kernel, where there is a Python with ipykernel. See |claude-ide-notebooks|.
---@field terminal? claude-ide.Opts.terminal Where `:Claude` runs the CLI.
---@field web? claude-ide.Opts.web Sessions on a page in your browser, see |claude-ide-web|. A change counts from the next start of Neovim or `:Claude serve stop` and `start`.

---@class claude-ide.Config.log
---@field level "trace"|"debug"|"info"|"warn"|"error"|"off" The least important lines that are written. Only `trace` writes text of your buffers.

---@class claude-ide.Config.server.keepalive
---@field interval_ms integer Milliseconds between two pings. Strict, as some IDEs do it: 5000, with a `timeout_ms` of 3000.
---@field timeout_ms integer A client that stays silent for so many milliseconds after a ping is dropped. Anything it sends counts as life.
---@field mcp_ping boolean Send MCP's `ping` request beside the ping of WebSocket.

---@class claude-ide.Config.server
---@field host string Address to listen on. Anything but a loopback address lets other machines try to connect; only a container setup should need that.
---@field port integer Port to listen on. 0 takes any free one and keeps it for the life of this Neovim.
---@field port_range? [integer, integer] First and last port to try, for firewalls and containers. Comes before `port`.
---@field handshake_timeout_ms integer How long a new connection may take to become a WebSocket, in milliseconds.
---@field max_connections integer Most connections at one time.
---@field max_message_bytes integer Largest message that is accepted. A larger one closes its connection.
---@field keepalive claude-ide.Config.server.keepalive How a connection that died without a word is found out.
---@field write_file "review"|"allow"|"off" What becomes of `writeFile`, with which other clients than the CLI change files. `review` shows a diff and writes what you accept, `allow` writes at once, `off` has no such method.
---@field lock_dir? string Folder of the lock file. Not set: `ide` in `$CLAUDE_CONFIG_DIR`, else in `~/.claude`, as the CLI reads them.

---@class claude-ide.Config.tools
---@field enabled boolean Serve the tools, and hand them to every Claude that `:Claude` starts.
---@field hidden string[] Tools that are neither listed nor served, by name: `{ "hover", "quickfix" }`.
---@field server_wait_ms integer How long a call waits for a language server that is still starting or reading the project.
---@field request_timeout_ms integer How long a call waits for the answer of a language server.

---@class claude-ide.Config.workspace
---@field root_markers string[] Names that mark the top folder of a project.
---@field folders? string[]|fun(): string[] The folders themselves, or a function that returns them. Not set: the projects, found by `root_markers`, of the current folders and of the files that you have open. The project that you are in comes first.

---@class claude-ide.Config.selection
---@field enabled boolean Send it. `:Claude selection off` switches it off for this Neovim, `vim.b.claude_private` for one buffer.
---@field debounce_ms integer Least milliseconds between two messages.
---@field max_bytes integer Longest text that is sent. The range that is sent is always the whole selection.
---@field deny string[] Names of files that are never sent, as globs. One with a `/` is compared with the whole path, any other with the file's name.

---@class claude-ide.Config.mention
---@field max_pending integer Most mentions that wait for a connection.
---@field focus_terminal boolean Go to Claude's terminal once a mention was sent.

---@class claude-ide.Config.diagnostics
---@field wait_ms integer Longest wait for fresh diagnostics of one file. The CLI gives up after 500 ms.
---@field wait_all_ms integer Longest wait for fresh diagnostics of all files. The CLI gives up after 2,000 ms.
---@field load_hidden boolean Load a file that Claude is about to edit into a hidden buffer, so that its language server can speak.
---@field max_per_file integer Most diagnostics of one file, worst first.
---@field max_total integer Most diagnostics in one answer, worst first.
---@field debounce_ms integer Least milliseconds between two `diagnostics_changed` messages.

---@class claude-ide.Config.diff.keymaps
---@field accept string|string[]|false Accept the proposal as it now stands. The second key does nothing in other windows, where `ZZ` closes a file.
---@field reject string|string[]|false Reject it.
---@field reject_with_reason string|string[]|false Ask for a reason, reject it and tell Claude why, see |:Claude-reject|.
---@field hunk string|string[]|false Drop the change under the cursor, or take it after all. `u` takes back either.
---@field layout string|string[]|false Show the diff, or the review, in the next layout.
---@field help string|string[]|false List the keys of the diff, or of the review.

---@class claude-ide.Config.diff
---@field enabled boolean Show them in Neovim. When false the CLI asks in its own terminal.
---@field layout "vertical"|"horizontal"|"unified"|"auto" How a diff is laid out: side by side, one above the other, or as one text with the removed lines drawn in it. `auto`: side by side where the screen has 100 columns, else as one text. A key changes it for this diff and those that follow. `:Claude review` has the same layouts. A large file, and one that goes, is shown as one text in any layout.
---@field open_in "tab"|"current"|"float" Where a diff opens: in a tab page of its own, among the windows of the current tab page, or in a frame over them. Your windows are as they were when it is decided. `:Claude review` has a tab page always.
---@field accept_on_write boolean Let `:w` in the proposal accept it.
---@field focus boolean Go to a new diff when it opens, unless you are typing.
---@field keymaps claude-ide.Config.diff.keymaps Keys in the windows of a diff. `]c` and `[c` go from change to change in every layout.

---@class claude-ide.Config.review.keymaps
---@field keep_hunk string|string[]|false Keep the change under the cursor.
---@field undo_hunk string|string[]|false Take the change under the cursor back.
---@field keep_file string|string[]|false Keep all changes of the file.
---@field undo_file string|string[]|false Take all changes of the file back.
---@field next_file string|string[]|false Go to the next file that waits.
---@field previous_file string|string[]|false Go to the one before.
---@field close string|string[]|false Close the review. `:q` in any of its windows does the same.

---@class claude-ide.Config.review
---@field signs boolean A sign beside each line that Claude changed and that you have not reviewed, in any buffer.
---@field checkpoints boolean See what shell commands change, in git repositories: at each prompt, files that differ from the last commit are copied into Neovim's state folder for as long as the CLI is connected. Never copied are files over 4 MB, what `.gitignore` and `selection.deny` leave out, and more than 64 MB at a time.
---@field keymaps claude-ide.Config.review.keymaps Keys in the windows of a review. In the list, the keys for a change are for the whole file.

---@class claude-ide.Config.watch
---@field enabled boolean Reload an unmodified buffer as soon as its file changes on disk, without a question and undoable with `u`. A modified one is never touched: you are told, and `:Claude resolve` decides.

---@class claude-ide.Config.ask.keymaps
---@field close string|string[]|false Close it. That ends the CLI, too.
---@field chat string|string[]|false Go on as a chat, which may do what any other may.

---@class claude-ide.Config.ask
---@field args string[] More arguments of that CLI, such as `{ "--model", "haiku", "--effort", "low" }`.
---@field keymaps claude-ide.Config.ask.keymaps Keys in the window with an answer, beside those of a transcript.

---@class claude-ide.Config.chat.keymaps
---@field send string|string[]|false Send the prompt, in normal mode.
---@field send_at_once string|string[]|false Send the prompt, in insert mode too.
---@field interrupt string|string[]|false Interrupt Claude while it works.
---@field older string|string[]|false Put the prompt before there, from the history.
---@field newer string|string[]|false Put the next one there.
---@field take_back string|string[]|false Take back the prompt that waits.
---@field mode string|string[]|false Go to the next permission mode.
---@field model string|string[]|false Choose a model.
---@field preview string|string[]|false Show what the `#…` at the cursor would send.
---@field effort string|string[]|false Choose how much effort the model takes.
---@field rewind string|string[]|false Restore files as they were before a prompt: shown first, then asked.
---@field tasks string|string[]|false Stop what Claude runs in the background.
---@field terminal string|string[]|false Go on with the session in the terminal.
---@field close string|string[]|false Hide the chat. It goes on.
---@field help string|string[]|false List the keys.

---@class claude-ide.Config.chat
---@field prompt_height integer Lines that the window you write in has at most: it grows with what is written.
---@field keymaps claude-ide.Config.chat.keymaps Keys in that window.

---@class claude-ide.Config.transcript.keymaps
---@field next_prompt string|string[]|false Go to the next prompt.
---@field previous_prompt string|string[]|false Go to the prompt before.
---@field next_tool string|string[]|false Go to the next tool call.
---@field previous_tool string|string[]|false Go to the tool call before.
---@field next_edit string|string[]|false Go to the next edit.
---@field previous_edit string|string[]|false Go to the edit before.
---@field open string|string[]|false Open what the line offers, or the fold.
---@field file string|string[]|false Go to the file of the call, or under the cursor.
---@field file_split string|string[]|false The same in a split.
---@field file_tab string|string[]|false The same in a tab page.
---@field branches string|string[]|false Choose a branch of the conversation.
---@field next_branch string|string[]|false Show the next branch.
---@field previous_branch string|string[]|false Show the branch before.
---@field yank_code string|string[]|false Yank the code under the cursor: a block, a command, what an edit wrote.
---@field resume string|string[]|false Resume the session in the terminal. A chat goes on there.
---@field fork string|string[]|false Go on in a copy of the session.
---@field export string|string[]|false Write the session down as Markdown.
---@field search_next string|string[]|false Search on, through all messages.
---@field search_previous string|string[]|false The same in the other direction.
---@field close string|string[]|false Close the transcript: what was there before comes back.
---@field help string|string[]|false List the keys.

---@class claude-ide.Config.transcript
---@field draw_markdown boolean Draw tables in columns, headings without `#` and code set apart, in chats as well. The text stays Markdown. Switch it off where another plugin does it, see |claude-ide-recipes|.
---@field keymaps claude-ide.Config.transcript.keymaps Keys in a transcript. Each has a `<Plug>` there, too, see |claude-ide-transcript-plug|.

---@class claude-ide.Config.notify
---@field channels ("message"|"bell"|"osc9")[] How you are told. `message`: as any message of Neovim (|vim.notify()|). `bell`: the terminal's bell. `osc9`: a notification of the terminal, where it knows OSC 9. An empty list: not at all.
---@field waiting boolean Tell when Claude waits for you.
---@field finished boolean Tell when Claude has finished.
---@field min_turn_ms integer A turn that took fewer milliseconds ends without a notice.

---@class claude-ide.Config.notebook
---@field kernel? string The Python that runs the code, as a path, or the name of an installed kernel (`jupyter kernelspec list`). Not set: the environment that is active or lies in the project, else `python3` on the PATH.
---@field timeout_ms integer What runs for more milliseconds is interrupted. 0: never.
---@field max_output integer Most characters of output of one run. Of more, the beginning and the end are kept.
---@field confirm boolean Ask you before each run, with the keys of a diff. The CLI asks itself, unless you have allowed the tool there.

---@class claude-ide.Config.terminal.keymaps
---@field back string|string[]|false Go back to the window you came from.
---@field normal string|string[]|false Normal mode, to scroll and copy, as `<C-\><C-n>` does.
---@field hide string|string[]|false Hide the window. The CLI goes on.
---@field left string|string[]|false Go to the window on the left.
---@field down string|string[]|false Go to the window below.
---@field up string|string[]|false Go to the window above.
---@field right string|string[]|false Go to the window on the right.

---@class claude-ide.Config.terminal
---@field provider "native"|"snacks"|"external"|"none"|claude-ide.terminal.Provider `native`: a split of Neovim. `snacks`: a window of snacks.nvim. `external`: the command in `external`. `none`: you start `claude` yourself. A table: your own, see |claude-ide-terminal-provider|.
---@field command string[] The CLI and its arguments, one item each. No shell is involved.
---@field external? string[]|fun(spec: claude-ide.terminal.Spec): string[]? For `provider = "external"`: the program that opens a terminal and its arguments. The CLI's own command is put at the end, or where an item is `{command}`; `{cwd}` becomes the project's folder. Or a function that returns such a list, or starts the terminal itself and returns nil.
---@field env table<string, string> More environment variables for the CLI.
---@field cwd? string|fun(): string Folder the CLI starts in. Not set: the top folder of the project.
---@field side "left"|"right"|"top"|"bottom" Side of the screen the window takes.
---@field size number Its width (or height): below 1 a share of the screen, from 1 on columns (or lines).
---@field snacks table For `provider = "snacks"`: options of `Snacks.win`, e.g. `{ position = "float" }`.
---@field start_insert boolean Be ready to type when the window is entered by `:Claude`.
---@field auto_close boolean Close the window when the CLI ends without an error. After an error it always stays.
---@field keymaps claude-ide.Config.terminal.keymaps Keys while you type in the terminal. |claude-ide-terminal-keys| says which ones the CLI leaves free.

---@class claude-ide.Config.web
---@field enabled boolean Serve as soon as the server runs. When false, `:Claude serve` begins it.
---@field host string Address to listen on. Anything but a loopback address lets other machines knock; |claude-ide-web-remote| says how to reach it from another one without that.
---@field port integer Port to listen on; if it is taken, the next free one, which is said. 0 takes any.
---@field names string[] More names under which browsers may ask for it: that of a tunnel or a proxy on this machine, such as `box.tailnet.ts.net`. Requests for any other name are refused.
---@field write boolean Let who is let in write: prompts to Claude, and answers to what it asks. When false, they only read. See |claude-ide-web-write|.
---@field commands boolean With `write`: prompts may be commands, that is begin with `/`, `!`, `#` or `&`, or be words that end the CLI. `!` runs in a shell without a question.

---@class claude-ide.Config
---@field auto_start boolean Start the server when Neovim's screen is up, so that a CLI in any terminal can connect. Not in a Neovim that git or Claude Code started as an editor, nor in a pager. When false, `:ClaudeConnect` or `:Claude` starts it.
---@field log claude-ide.Config.log The log file. `:Claude log` opens it.
---@field server claude-ide.Config.server The server that the CLI connects to. A change counts from the next start of Neovim or `:Claude restart`.
---@field tools claude-ide.Config.tools What Claude may ask of the editor: its language servers, its buffers, its lists. |claude-ide-tools| A change counts from the next start of Neovim or `:Claude restart`.
---@field workspace claude-ide.Config.workspace Which folders count as your project. A CLI that runs in one of them finds this Neovim.
---@field selection claude-ide.Config.selection What Claude is told about the file you are in and the text you selected.
---@field mention claude-ide.Config.mention `:ClaudeSend` and `:Claude add`.
---@field diagnostics claude-ide.Config.diagnostics Errors and warnings of your language servers, which Claude asks for around each edit.
---@field diff claude-ide.Config.diff Edits that Claude proposes and waits for you to decide.
---@field review claude-ide.Config.review Edits that Claude has made already: `:Claude review` shows them, whether it asked before or not.
---@field watch claude-ide.Config.watch Buffers follow the disk while the server runs.
---@field prompts table<string, string> Texts to be said again and again, by name: `#prompt:name` stands for one wherever you write to Claude. What it names with `#` goes along, see |claude-ide-contexts|.
---@field prompt_folders string[] Folders with more of them, one a Markdown file: `#prompt:review` is `review.md`. A name that is not absolute is below the project's top folder.
---@field ask claude-ide.Config.ask `:Claude ask` and `:Claude edit`: one question to a CLI of its own, which reads files of the project and does nothing else.
---@field agents table<string, claude-ide.config.Agent> Agents that `:Claude chat --agent {name}` talks to beside the CLI, by the Agent Client Protocol: `{ cmd = { "gemini", "--acp" }, env = { … }, name = "Gemini" }`. `claude`, `codex`, `gemini` and `opencode` are known without it. See |claude-ide-agents|.
---@field chat claude-ide.Config.chat `:Claude chat`: a conversation in a buffer. It runs the command of `terminal`, stands where the terminal would, and has the keys of a transcript.
---@field transcript claude-ide.Config.transcript `:Claude transcript`: what was said and done in a session.
---@field notify claude-ide.Config.notify The notice when Claude waits for you, or has finished, while you look elsewhere: at another program, or at Neovim with Claude's terminal out of sight. |claude-ide-states| says when exactly.
---@field notebook claude-ide.Config.notebook The tool `executeCode`: Python code that Claude runs in a Jupyter kernel, where there is a Python with ipykernel. See |claude-ide-notebooks|.
---@field terminal claude-ide.Config.terminal Where `:Claude` runs the CLI.
---@field web claude-ide.Config.web Sessions on a page in your browser, see |claude-ide-web|. A change counts from the next start of Neovim or `:Claude serve stop` and `start`.

---@meta
-- Made by `make doc` from config/schema/. Do not edit.
-- Opts: what a user may set. Config: complete, what config.get() returns.

---@class claude-ide.Opts.log
---@field level? "trace"|"debug"|"info"|"warn"|"error"|"off" Minimum level of lines. Only `trace` writes text of your buffers.

---@class claude-ide.Opts.server.keepalive
---@field interval_ms? integer Milliseconds between two pings. Strict, as some IDEs do it: 5000, with a `timeout_ms` of 3000.
---@field timeout_ms? integer Disconnect a client that sends nothing for this many milliseconds after a ping.
---@field mcp_ping? boolean Send MCP's `ping` request in addition to WebSocket pings.

---@class claude-ide.Opts.server
---@field host? string Address to listen on. Any other than a loopback address lets other machines try to connect; only containers should need that.
---@field port? integer Port to listen on. 0: any free one, kept until Neovim exits.
---@field port_range? [integer, integer] First and last port to try, for firewalls and containers. Takes precedence over `port`.
---@field handshake_timeout_ms? integer Timeout of the WebSocket handshake, in milliseconds.
---@field max_connections? integer Maximum number of connections.
---@field max_message_bytes? integer Maximum size of a message. A larger one closes its connection.
---@field keepalive? claude-ide.Opts.server.keepalive Detection of dead connections.
---@field write_file? "review"|"allow"|"off" The method `writeFile`, with which clients other than the CLI change files. `review`: show a diff and write what you accept, `allow`: write at once, `off`: no such method.
---@field lock_dir? string Folder of the lock file. Not set: `ide` in `$CLAUDE_CONFIG_DIR`, else in `~/.claude`, where the CLI looks for it.

---@class claude-ide.Opts.tools
---@field enabled? boolean Serve the tools, and pass them to every Claude that `:Claude` starts.
---@field hidden? string[] Tools to hide, by name: `{ "hover", "quickfix" }`.
---@field offers? boolean Offer the editor's state and your prompts to each connected CLI: `@ide:nvim://quickfix`, `/ide:{prompt}`. |claude-ide-offers|
---@field server_wait_ms? integer How long a call waits for a language server that is starting or loading the project, in milliseconds.
---@field request_timeout_ms? integer How long a call waits for the response of a language server, in milliseconds.

---@class claude-ide.Opts.hooks
---@field enabled? boolean Show Claude's requests in Neovim and on the web page, too; the first answer wins. Show its answers line by line in transcripts and on the page.
---@field held_dialog_s? integer Claude opens the dialog for a subagent's request or an MCP server's form only after Neovim has answered. How long Neovim holds them for you, in seconds. 0, or while Neovim is not focused and no page is served: ask in the terminal only.
---@field mod? boolean Run a small program of ours inside Claude (`mod/` in the plugin's folder). It sends prompts without the keyboard, beside what you have typed there, tells `:Claude follow` at once what Claude does, and asks you about what auto mode refuses. Needs Claude Code 2.1.287 or newer; without it Neovim types, and reads transcripts.

---@class claude-ide.Opts.auto_mode
---@field refusals? "ask"|"leave" What becomes of a call that auto mode refuses. `ask`: you are asked, while Neovim is focused or a page is served. `leave`: it stays refused. Needs `hooks.enabled` and `hooks.mod`, and Claude Code 2.1.287 or newer.

---@class claude-ide.Opts.workspace
---@field root_markers? string[] Files and folders that mark the root of a project.
---@field folders? string[]|fun(): string[] The folders, or a function that returns them. Not set: the projects, found by `root_markers`, of the current directories and of your open files, the current one first.
---@field worktrees? "open"|"all"|"off" Worktrees of the project's git repository in which a CLI in another terminal finds this Neovim, too. `open`: those of tab pages and open files. `all`: each; a CLI that finds several Neovims waits for `/ide`. `off`: none. Not used with `folders`. |claude-ide-worktrees|
---@field path_map? table<string, string> Folders that Claude sees under another path, in a container or on the Windows side of WSL: `{ ["/home/me/project"] = "/workspaces/project" }`. |claude-ide-elsewhere| Changes apply after a restart of Neovim or `:Claude restart`.

---@class claude-ide.Opts.context
---@field unsaved? "tell"|"save"|"off" When Claude reads or edits a file with unsaved changes: `"tell"` it the changes, `"save"` them first, or `"off"`. Switching it on applies from Claude's next start, here and below.
---@field saved? boolean Tell Claude during its turn which lines change in a file that you save, also by a formatter on save: its next edit of these lines would fail.
---@field errors? boolean When Claude ends its turn, make it continue if language servers report new errors (at most twice a turn).
---@field prompt? ("buffers"|"selection"|"visible"|"diagnostics"|"quickfix")[] Context that is added to each prompt, see |claude-ide-contexts|.

---@class claude-ide.Opts.selection
---@field enabled? boolean Send it. `:Claude selection off` stops it in this Neovim, `vim.b.claude_private` for one buffer.
---@field debounce_ms? integer Send at most one update in this time, in milliseconds.
---@field max_bytes? integer Maximum bytes of text that are sent. The range is always that of the whole selection.
---@field deny? string[] Globs of files whose text is never sent. A glob with a `/` is matched against the whole path, others against the file name. Claude can still read these files with its own tools.

---@class claude-ide.Opts.mention
---@field max_pending? integer Maximum number of queued mentions.
---@field focus_terminal? boolean Focus the terminal after sending a mention.

---@class claude-ide.Opts.diagnostics
---@field wait_ms? integer Maximum wait for new diagnostics of one file. The CLI's timeout is 500 ms.
---@field wait_all_ms? integer Maximum wait for new diagnostics of all files. The CLI's timeout is 2,000 ms.
---@field load_hidden? boolean Load a file that Claude is about to edit into a hidden buffer, so that its language servers report on it.
---@field max_per_file? integer Maximum number of diagnostics of one file, worst first.
---@field max_total? integer Maximum number of diagnostics in one answer, worst first.
---@field debounce_ms? integer Minimum milliseconds between two `diagnostics_changed` messages.

---@class claude-ide.Opts.diff.keymaps
---@field accept? string|string[]|false Accept the proposal with your changes. Prefer `gA` if you tend to press keys twice: outside of a diff it does nothing, while `ZZ` closes a window.
---@field reject? string|string[]|false Reject it.
---@field reject_with_reason? string|string[]|false Reject it with a reason for Claude, see |:Claude-reject|.
---@field hunk? string|string[]|false Drop or restore the change (hunk) under the cursor. `u` undoes either.
---@field removed? string|string[]|false Show all removed lines of the change under the cursor. The unified layout has room for as many as fit in its window. A review and an edit of a transcript have this key, too.
---@field layout? string|string[]|false Switch to the next layout. A review has this key, too.
---@field help? string|string[]|false List the keys. A review has this key, too.

---@class claude-ide.Opts.diff
---@field enabled? boolean Show proposals in Neovim. When false, the CLI asks in its terminal.
---@field layout? "vertical"|"horizontal"|"unified"|"auto" Layout of a diff: side by side, stacked, or one text with removed lines as virtual lines. `auto`: side by side with 100 columns or more, else unified. A key changes it for this diff and later ones. `:Claude review` has the same layouts. Large files and deleted files are always unified.
---@field open_in? "tab"|"current"|"float" Where a diff opens: in its own tab page, in the current tab page, or in a float. Your windows are restored afterwards. `:Claude review` always has its own tab page.
---@field accept_on_write? boolean Let `:w` in the proposal accept it.
---@field focus? boolean Focus a new diff when it opens, unless you are typing.
---@field keymaps? claude-ide.Opts.diff.keymaps Keys in the windows of a diff. `]c` and `[c` go to the next and previous change in every layout.

---@class claude-ide.Opts.review.keymaps
---@field keep_hunk? string|string[]|false Keep the change under the cursor.
---@field undo_hunk? string|string[]|false Undo the change under the cursor.
---@field keep_file? string|string[]|false Keep all changes of the file.
---@field undo_file? string|string[]|false Undo all changes of the file.
---@field undo_comments? string|string[]|false Undo all changes of the file that are of comments only; needs a tree-sitter parser. `u` restores them together.
---@field stage_file? string|string[]|false Stage in git what you have kept of Claude's changes to the file, and nothing else.
---@field next_file? string|string[]|false Go to the next unreviewed file.
---@field previous_file? string|string[]|false Go to the previous one.
---@field close? string|string[]|false Close the review. `:q` in any of its windows does the same.

---@class claude-ide.Opts.review
---@field signs? boolean Signs on lines that Claude changed and you have not reviewed, in any buffer.
---@field remind? boolean Show in one line what there is to review, at the end of each turn that left changes: "3 files, +20 −4 to review". The first time in a project, it also says how to be asked before edits.
---@field checkpoints? boolean Detect changes by shell commands in git repositories: at each prompt, files whose bytes git does not have (changed, not tracked, or converted by git) are copied into Neovim's state folder for as long as the CLI is connected, except for files over 4 MB, those of `.gitignore` and `selection.deny`, and more than 64 MB at a time.
---@field keymaps? claude-ide.Opts.review.keymaps Keys in the windows of a review. In the list they apply to the whole file.

---@class claude-ide.Opts.comments.keymaps
---@field comment? string|string[]|false Comment on the lines of a motion or of a selection. Words in the window are kept as you type; `ZZ` closes it, and an empty comment is removed.
---@field line? string|string[]|false Comment on this line, or continue its comment.
---@field next? string|string[]|false Go to the next comment, also in the next file.
---@field previous? string|string[]|false Go to the previous comment.
---@field unfold? string|string[]|false Show all of the comment at this line, or one line.
---@field resolve? string|string[]|false Resolve the comment at this line.
---@field since? string|string[]|false Show what changed in this file since Claude got the comment.
---@field send? string|string[]|false Send the comments to Claude, after a look at the message.

---@class claude-ide.Opts.comments
---@field keymaps? claude-ide.Opts.comments.keymaps Keys in the windows of a diff, a review and a plan. Elsewhere: |<Plug>(claude-comment)|.

---@class claude-ide.Opts.watch
---@field enabled? boolean Reload an unmodified buffer as soon as its file changes on disk, without a question and undoable with `u`. A modified one is never changed: a message asks you to use `:Claude resolve`.

---@class claude-ide.Opts.sessions
---@field config_dirs? string[] Configuration folders of other accounts (`CLAUDE_CONFIG_DIR` of their CLIs), such as `{ "~/.claude-work" }`. Those of `terminal.env` and, on Linux, of connected CLIs are read without it. |claude-ide-accounts|

---@class claude-ide.Opts.ask.keymaps
---@field close? string|string[]|false Close it and end the CLI.
---@field chat? string|string[]|false Continue as a regular chat.

---@class claude-ide.Opts.ask
---@field args? string[] Additional arguments of that CLI, such as `{ "--model", "haiku", "--effort", "low" }`.
---@field keymaps? claude-ide.Opts.ask.keymaps Keys in the window with an answer, in addition to those of a transcript.

---@class claude-ide.Opts.chat.keymaps
---@field send? string|string[]|false Send the prompt, in Normal mode; if it is empty, show postponed requests.
---@field send_at_once? string|string[]|false Send the prompt, in Insert mode too.
---@field interrupt? string|string[]|false Interrupt Claude while it works.
---@field older? string|string[]|false Recall the previous prompt.
---@field newer? string|string[]|false Recall the next prompt.
---@field take_back? string|string[]|false Unqueue the queued prompt, to edit it.
---@field mode? string|string[]|false Go to the next permission mode that asks.
---@field model? string|string[]|false Choose a model.
---@field preview? string|string[]|false Show what the `#…` at the cursor would send.
---@field effort? string|string[]|false Choose the model's effort.
---@field rewind? string|string[]|false Restore files to their state before a prompt: previews and asks first.
---@field tasks? string|string[]|false Stop background tasks of Claude.
---@field terminal? string|string[]|false Continue the session in the terminal.
---@field close? string|string[]|false Hide the chat, which continues.
---@field help? string|string[]|false List the keys.

---@class claude-ide.Opts.chat
---@field prompt_height? integer Maximum height of the prompt's window, which grows with the text.
---@field keymaps? claude-ide.Opts.chat.keymaps Keys in the prompt's window.

---@class claude-ide.Opts.transcript.keymaps
---@field next_prompt? string|string[]|false Go to the next prompt.
---@field previous_prompt? string|string[]|false Go to the previous prompt.
---@field next_tool? string|string[]|false Go to the next tool call.
---@field previous_tool? string|string[]|false Go to the previous tool call.
---@field next_edit? string|string[]|false Go to the next edit.
---@field previous_edit? string|string[]|false Go to the previous edit.
---@field open? string|string[]|false Open what the line refers to: an edit as a diff, a subagent's messages, a truncated text in full. Otherwise toggle the fold.
---@field file? string|string[]|false Open the file of the call, or under the cursor.
---@field file_split? string|string[]|false The same in a split.
---@field file_tab? string|string[]|false The same in a tab page.
---@field branches? string|string[]|false Choose a branch of the session.
---@field next_branch? string|string[]|false Show the next branch.
---@field previous_branch? string|string[]|false Show the previous branch.
---@field yank_code? string|string[]|false Yank the code under the cursor: a block, a command, the text of an edit.
---@field resume? string|string[]|false Resume the session in the terminal, also from a chat.
---@field fork? string|string[]|false Continue in a copy of the session.
---@field export? string|string[]|false Export the session as Markdown.
---@field close? string|string[]|false Close the transcript and restore the previous buffer.
---@field help? string|string[]|false List the keys.

---@class claude-ide.Opts.transcript
---@field draw_markdown? boolean Render tables, headings and code blocks, also in chats. The text stays Markdown. Disable it if another plugin does this, see |claude-ide-recipes|.
---@field keymaps? claude-ide.Opts.transcript.keymaps Keys in a transcript. Each also has a `<Plug>` mapping, see |claude-ide-transcript-plug|.

---@class claude-ide.Opts.board.keymaps
---@field open? string|string[]|false Go to its terminal or chat, else show its transcript.
---@field read? string|string[]|false Show its transcript.
---@field answer? string|string[]|false Open its request.
---@field prompt? string|string[]|false Write a prompt, which is sent when Claude is free; or unqueue a waiting one.
---@field review? string|string[]|false Review what it changed.
---@field stop? string|string[]|false Interrupt its turn. If it is idle, end its process (asks first).
---@field rename? string|string[]|false Rename it.
---@field fork? string|string[]|false Fork it: continue in a copy.
---@field keep? string|string[]|false Keep a copy, which does not expire.
---@field hide? string|string[]|false Hide it until it waits for you.
---@field unhide? string|string[]|false Show the hidden ones again.
---@field worktree? string|string[]|false Show only sessions of its worktree, or all.
---@field projects? string|string[]|false Show the sessions of all projects, or of this one.
---@field next? string|string[]|false Go to the next session.
---@field previous? string|string[]|false Go to the previous session.
---@field close? string|string[]|false Close the board and restore the previous buffer.
---@field help? string|string[]|false List the keys.

---@class claude-ide.Opts.board
---@field keymaps? claude-ide.Opts.board.keymaps Keys on the board, for the session under the cursor.

---@class claude-ide.Opts.notify
---@field channels? ("message"|"bell"|"osc9")[] How to notify you. `message`: a message in Neovim (|vim.notify()|). `bell`: the terminal's bell. `osc9`: a notification of the terminal, if it supports OSC 9. Empty: no notifications.
---@field waiting? boolean Notify when Claude waits for you.
---@field finished? boolean Notify when Claude has finished.
---@field min_turn_ms? integer Do not notify after turns shorter than this, in milliseconds.

---@class claude-ide.Opts.notebook
---@field kernel? string Path of a Python, or name of an installed kernel (`jupyter kernelspec list`). Not set: the Python of the active environment or of the project, else `python3` on the PATH.
---@field timeout_ms? integer Interrupt code after this many milliseconds. 0: never.
---@field max_output? integer Maximum characters of a run's output. Longer output is cut in the middle.
---@field confirm? boolean Ask before each run, with the keys of a diff. The CLI also asks, unless you have allowed the tool there.

---@class claude-ide.Opts.terminal.keymaps
---@field back? string|string[]|false Return to the previous window. In Normal and Terminal mode.
---@field normal? string|string[]|false Normal mode, to scroll and copy, like `<C-\><C-n>`. In Terminal mode.
---@field hide? string|string[]|false Hide the window. The CLI keeps running. In Normal and Terminal mode.
---@field left? string|string[]|false Go to the window on the left. In Terminal mode, like `<C-w>h` in Normal mode.
---@field down? string|string[]|false Go to the window below. In Terminal mode.
---@field up? string|string[]|false Go to the window above. In Terminal mode.
---@field right? string|string[]|false Go to the window on the right. In Terminal mode.
---@field file? string|string[]|false Open the file under the cursor in a window for files, at its line. In Normal mode.
---@field file_click? string|string[]|false The same for a file that is clicked. In Normal and Terminal mode.

---@class claude-ide.Opts.terminal
---@field provider? "native"|"snacks"|"kitty"|"tmux"|"wezterm"|"zellij"|"external"|"none"|claude-ide.terminal.Provider `native`: a split. `snacks`: a window of snacks.nvim. `kitty`, `tmux`, `wezterm`, `zellij`: a pane beside Neovim's. `external`: the command in `external`. `none`: you start `claude` yourself. A table: a custom provider, see |claude-ide-terminal-provider|.
---@field command? string[] The CLI and its arguments. No shell is involved.
---@field permission_mode? "default"|"manual"|"acceptEdits"|"plan"|"auto"|"dontAsk"|"bypassPermissions" The permission mode of new sessions, in terminals and chats: `--permission-mode` of the CLI, if you give none. `default` asks before each edit, see |claude-ide-modes|. A resumed session keeps its own. Not set: the CLI's default.
---@field external? string[]|fun(spec: claude-ide.terminal.Spec): string[]? For `provider = "external"`: the program that opens a terminal and its arguments. The CLI's own command is put at the end, or where an item is `{command}`; `{cwd}` becomes the project's folder. Or a function that returns such a list, or starts `spec.argv` in a terminal itself and returns nil.
---@field env? table<string, string> Additional environment variables for the CLI.
---@field cwd? string|fun(): string The CLI's working directory. Not set: the root of the project.
---@field per_tab? boolean `:Claude` starts a separate CLI in each tab page, in the tab page's project (`:tcd`).
---@field editor? boolean Open what the CLI gives to `$EDITOR` (`<C-g>`: the prompt) in this Neovim. |claude-ide-terminal-editor|
---@field on_quit? "ask"|"background"|"end" What happens to sessions that work or wait when Neovim quits: `ask`, continue them in the `background`, or `end` them. |claude-ide-background|
---@field side? "left"|"right"|"top"|"bottom" Side of the screen for the window.
---@field size? number Width (or height): below 1 a share of the screen, else columns (or lines).
---@field snacks? table For `provider = "snacks"`: options of `Snacks.win`, e.g. `{ position = "float" }`.
---@field start_insert? boolean Start Terminal mode when `:Claude` enters the window.
---@field auto_close? boolean Close the window when the CLI exits without an error. After an error it stays.
---@field keymaps? claude-ide.Opts.terminal.keymaps Keys of the terminal, each with its modes. |claude-ide-terminal-keys| lists keys that the CLI does not use.

---@class claude-ide.Opts.web
---@field enabled? boolean Serve the page whenever the server runs. When false, `:Claude serve` starts it.
---@field host? string Address to listen on. Any other than a loopback address lets other machines connect; |claude-ide-web-remote| shows a safe way to reach it.
---@field port? integer Port to listen on, or the next free one, which a message shows. 0: any.
---@field names? string[] Additional host names for requests: that of a tunnel or a proxy on this machine, such as `box.tailnet.ts.net`. Requests for any other name are refused.
---@field write? boolean Allow browsers to send prompts and to answer requests. When false, they only read. See |claude-ide-web-write|.
---@field commands? boolean With `write`: allow prompts that are commands (they begin with `/`, `!`, `#` or `&`) or that exit the CLI. `!` runs in a shell without asking.

---@class claude-ide.Opts
---@field auto_start? boolean Start the server when the UI is ready, so that a CLI in any terminal can connect. Does not apply to a Neovim that was started as a pager, or as an editor by git or Claude Code. When false, `:ClaudeConnect` or `:Claude` starts it.
---@field log? claude-ide.Opts.log The log file. `:Claude log` opens it.
---@field server? claude-ide.Opts.server The server that the CLI connects to. Changes apply after a restart of Neovim or `:Claude restart`.
---@field agents_ide? boolean Let Gemini CLI and Qwen Code find this Neovim, too: they show their edits as diffs here, and learn the open files, the cursor and the selection. |claude-ide-companions| Changes apply after a restart of Neovim or `:Claude restart`.
---@field tools? claude-ide.Opts.tools Editor tools for Claude: language servers, buffers, lists. |claude-ide-tools| Changes apply after a restart of Neovim or `:Claude restart`.
---@field hooks? claude-ide.Opts.hooks Hooks of a Claude started by `:Claude`. |claude-ide-decide| Changes apply from its next start.
---@field auto_mode? claude-ide.Opts.auto_mode Auto mode of a Claude started by `:Claude`. |claude-ide-modes| Changes apply from its next start.
---@field workspace? claude-ide.Opts.workspace The folders of your project. A CLI that runs in one of them finds this Neovim.
---@field context? claude-ide.Opts.context What a Claude that `:Claude` starts is told about your editor while it works: each text at most 2 kB, nothing of private files. `:Claude context` shows it. |claude-ide-context| Needs `hooks.enabled`.
---@field selection? claude-ide.Opts.selection What Neovim tells Claude about your current file and selection.
---@field mention? claude-ide.Opts.mention `:ClaudeSend` and `:Claude add`.
---@field code_actions? boolean Offer |claude-ide-code-actions| while a CLI is connected.
---@field diagnostics? claude-ide.Opts.diagnostics Diagnostics of your language servers, which Claude requests before and after each edit.
---@field diff? claude-ide.Opts.diff Proposals: edits that wait for your answer.
---@field review? claude-ide.Opts.review Changes that Claude has made, with or without asking: `:Claude review`.
---@field comments? claude-ide.Opts.comments Comments for Claude on lines of files, and its answers: `:Claude comment`.
---@field watch? claude-ide.Opts.watch Reload buffers that change on disk, while the server runs.
---@field sessions? claude-ide.Opts.sessions Sessions that are listed, read and searched.
---@field prompts? table<string, string> Named prompts: `#prompt:name` inserts one wherever you write to Claude, including its `#…` contexts, see |claude-ide-contexts|.
---@field prompt_folders? string[] Folders with more prompts, as Markdown files: `#prompt:review` is `review.md`. Relative to the project's root.
---@field ask? claude-ide.Opts.ask `:Claude ask` and `:Claude edit`: one request to a separate CLI that only reads files of the project.
---@field agents? table<string, claude-ide.config.Agent> Agents for `:Claude chat --agent {name}` that speak the Agent Client Protocol: `{ cmd = { "gemini", "--acp" }, env = { … }, name = "Gemini" }`. |claude-ide-agents| names those that are built in.
---@field chat? claude-ide.Opts.chat `:Claude chat`: a session in a buffer, in the terminal's place, with the command of `terminal` and the keys of a transcript.
---@field transcript? claude-ide.Opts.transcript `:Claude transcript`: the text of a session.
---@field board? claude-ide.Opts.board `:Claude board`: all sessions at a glance.
---@field notify? claude-ide.Opts.notify Notifications when Claude waits for you or has finished while you are in another program, or Claude's terminal is hidden. |claude-ide-states| has the details.
---@field notebook? claude-ide.Opts.notebook The tool `executeCode`: Claude runs Python in a Jupyter kernel, if there is a Python with ipykernel. See |claude-ide-notebooks|.
---@field terminal? claude-ide.Opts.terminal The terminal in which `:Claude` runs the CLI.
---@field web? claude-ide.Opts.web The web page: sessions in your browser, see |claude-ide-web|. Changes apply after a restart of Neovim or `:Claude serve stop` and `start`.

---@class claude-ide.Config.log
---@field level "trace"|"debug"|"info"|"warn"|"error"|"off" Minimum level of lines. Only `trace` writes text of your buffers.

---@class claude-ide.Config.server.keepalive
---@field interval_ms integer Milliseconds between two pings. Strict, as some IDEs do it: 5000, with a `timeout_ms` of 3000.
---@field timeout_ms integer Disconnect a client that sends nothing for this many milliseconds after a ping.
---@field mcp_ping boolean Send MCP's `ping` request in addition to WebSocket pings.

---@class claude-ide.Config.server
---@field host string Address to listen on. Any other than a loopback address lets other machines try to connect; only containers should need that.
---@field port integer Port to listen on. 0: any free one, kept until Neovim exits.
---@field port_range? [integer, integer] First and last port to try, for firewalls and containers. Takes precedence over `port`.
---@field handshake_timeout_ms integer Timeout of the WebSocket handshake, in milliseconds.
---@field max_connections integer Maximum number of connections.
---@field max_message_bytes integer Maximum size of a message. A larger one closes its connection.
---@field keepalive claude-ide.Config.server.keepalive Detection of dead connections.
---@field write_file "review"|"allow"|"off" The method `writeFile`, with which clients other than the CLI change files. `review`: show a diff and write what you accept, `allow`: write at once, `off`: no such method.
---@field lock_dir? string Folder of the lock file. Not set: `ide` in `$CLAUDE_CONFIG_DIR`, else in `~/.claude`, where the CLI looks for it.

---@class claude-ide.Config.tools
---@field enabled boolean Serve the tools, and pass them to every Claude that `:Claude` starts.
---@field hidden string[] Tools to hide, by name: `{ "hover", "quickfix" }`.
---@field offers boolean Offer the editor's state and your prompts to each connected CLI: `@ide:nvim://quickfix`, `/ide:{prompt}`. |claude-ide-offers|
---@field server_wait_ms integer How long a call waits for a language server that is starting or loading the project, in milliseconds.
---@field request_timeout_ms integer How long a call waits for the response of a language server, in milliseconds.

---@class claude-ide.Config.hooks
---@field enabled boolean Show Claude's requests in Neovim and on the web page, too; the first answer wins. Show its answers line by line in transcripts and on the page.
---@field held_dialog_s integer Claude opens the dialog for a subagent's request or an MCP server's form only after Neovim has answered. How long Neovim holds them for you, in seconds. 0, or while Neovim is not focused and no page is served: ask in the terminal only.
---@field mod boolean Run a small program of ours inside Claude (`mod/` in the plugin's folder). It sends prompts without the keyboard, beside what you have typed there, tells `:Claude follow` at once what Claude does, and asks you about what auto mode refuses. Needs Claude Code 2.1.287 or newer; without it Neovim types, and reads transcripts.

---@class claude-ide.Config.auto_mode
---@field refusals "ask"|"leave" What becomes of a call that auto mode refuses. `ask`: you are asked, while Neovim is focused or a page is served. `leave`: it stays refused. Needs `hooks.enabled` and `hooks.mod`, and Claude Code 2.1.287 or newer.

---@class claude-ide.Config.workspace
---@field root_markers string[] Files and folders that mark the root of a project.
---@field folders? string[]|fun(): string[] The folders, or a function that returns them. Not set: the projects, found by `root_markers`, of the current directories and of your open files, the current one first.
---@field worktrees "open"|"all"|"off" Worktrees of the project's git repository in which a CLI in another terminal finds this Neovim, too. `open`: those of tab pages and open files. `all`: each; a CLI that finds several Neovims waits for `/ide`. `off`: none. Not used with `folders`. |claude-ide-worktrees|
---@field path_map table<string, string> Folders that Claude sees under another path, in a container or on the Windows side of WSL: `{ ["/home/me/project"] = "/workspaces/project" }`. |claude-ide-elsewhere| Changes apply after a restart of Neovim or `:Claude restart`.

---@class claude-ide.Config.context
---@field unsaved "tell"|"save"|"off" When Claude reads or edits a file with unsaved changes: `"tell"` it the changes, `"save"` them first, or `"off"`. Switching it on applies from Claude's next start, here and below.
---@field saved boolean Tell Claude during its turn which lines change in a file that you save, also by a formatter on save: its next edit of these lines would fail.
---@field errors boolean When Claude ends its turn, make it continue if language servers report new errors (at most twice a turn).
---@field prompt ("buffers"|"selection"|"visible"|"diagnostics"|"quickfix")[] Context that is added to each prompt, see |claude-ide-contexts|.

---@class claude-ide.Config.selection
---@field enabled boolean Send it. `:Claude selection off` stops it in this Neovim, `vim.b.claude_private` for one buffer.
---@field debounce_ms integer Send at most one update in this time, in milliseconds.
---@field max_bytes integer Maximum bytes of text that are sent. The range is always that of the whole selection.
---@field deny string[] Globs of files whose text is never sent. A glob with a `/` is matched against the whole path, others against the file name. Claude can still read these files with its own tools.

---@class claude-ide.Config.mention
---@field max_pending integer Maximum number of queued mentions.
---@field focus_terminal boolean Focus the terminal after sending a mention.

---@class claude-ide.Config.diagnostics
---@field wait_ms integer Maximum wait for new diagnostics of one file. The CLI's timeout is 500 ms.
---@field wait_all_ms integer Maximum wait for new diagnostics of all files. The CLI's timeout is 2,000 ms.
---@field load_hidden boolean Load a file that Claude is about to edit into a hidden buffer, so that its language servers report on it.
---@field max_per_file integer Maximum number of diagnostics of one file, worst first.
---@field max_total integer Maximum number of diagnostics in one answer, worst first.
---@field debounce_ms integer Minimum milliseconds between two `diagnostics_changed` messages.

---@class claude-ide.Config.diff.keymaps
---@field accept string|string[]|false Accept the proposal with your changes. Prefer `gA` if you tend to press keys twice: outside of a diff it does nothing, while `ZZ` closes a window.
---@field reject string|string[]|false Reject it.
---@field reject_with_reason string|string[]|false Reject it with a reason for Claude, see |:Claude-reject|.
---@field hunk string|string[]|false Drop or restore the change (hunk) under the cursor. `u` undoes either.
---@field removed string|string[]|false Show all removed lines of the change under the cursor. The unified layout has room for as many as fit in its window. A review and an edit of a transcript have this key, too.
---@field layout string|string[]|false Switch to the next layout. A review has this key, too.
---@field help string|string[]|false List the keys. A review has this key, too.

---@class claude-ide.Config.diff
---@field enabled boolean Show proposals in Neovim. When false, the CLI asks in its terminal.
---@field layout "vertical"|"horizontal"|"unified"|"auto" Layout of a diff: side by side, stacked, or one text with removed lines as virtual lines. `auto`: side by side with 100 columns or more, else unified. A key changes it for this diff and later ones. `:Claude review` has the same layouts. Large files and deleted files are always unified.
---@field open_in "tab"|"current"|"float" Where a diff opens: in its own tab page, in the current tab page, or in a float. Your windows are restored afterwards. `:Claude review` always has its own tab page.
---@field accept_on_write boolean Let `:w` in the proposal accept it.
---@field focus boolean Focus a new diff when it opens, unless you are typing.
---@field keymaps claude-ide.Config.diff.keymaps Keys in the windows of a diff. `]c` and `[c` go to the next and previous change in every layout.

---@class claude-ide.Config.review.keymaps
---@field keep_hunk string|string[]|false Keep the change under the cursor.
---@field undo_hunk string|string[]|false Undo the change under the cursor.
---@field keep_file string|string[]|false Keep all changes of the file.
---@field undo_file string|string[]|false Undo all changes of the file.
---@field undo_comments string|string[]|false Undo all changes of the file that are of comments only; needs a tree-sitter parser. `u` restores them together.
---@field stage_file string|string[]|false Stage in git what you have kept of Claude's changes to the file, and nothing else.
---@field next_file string|string[]|false Go to the next unreviewed file.
---@field previous_file string|string[]|false Go to the previous one.
---@field close string|string[]|false Close the review. `:q` in any of its windows does the same.

---@class claude-ide.Config.review
---@field signs boolean Signs on lines that Claude changed and you have not reviewed, in any buffer.
---@field remind boolean Show in one line what there is to review, at the end of each turn that left changes: "3 files, +20 −4 to review". The first time in a project, it also says how to be asked before edits.
---@field checkpoints boolean Detect changes by shell commands in git repositories: at each prompt, files whose bytes git does not have (changed, not tracked, or converted by git) are copied into Neovim's state folder for as long as the CLI is connected, except for files over 4 MB, those of `.gitignore` and `selection.deny`, and more than 64 MB at a time.
---@field keymaps claude-ide.Config.review.keymaps Keys in the windows of a review. In the list they apply to the whole file.

---@class claude-ide.Config.comments.keymaps
---@field comment string|string[]|false Comment on the lines of a motion or of a selection. Words in the window are kept as you type; `ZZ` closes it, and an empty comment is removed.
---@field line string|string[]|false Comment on this line, or continue its comment.
---@field next string|string[]|false Go to the next comment, also in the next file.
---@field previous string|string[]|false Go to the previous comment.
---@field unfold string|string[]|false Show all of the comment at this line, or one line.
---@field resolve string|string[]|false Resolve the comment at this line.
---@field since string|string[]|false Show what changed in this file since Claude got the comment.
---@field send string|string[]|false Send the comments to Claude, after a look at the message.

---@class claude-ide.Config.comments
---@field keymaps claude-ide.Config.comments.keymaps Keys in the windows of a diff, a review and a plan. Elsewhere: |<Plug>(claude-comment)|.

---@class claude-ide.Config.watch
---@field enabled boolean Reload an unmodified buffer as soon as its file changes on disk, without a question and undoable with `u`. A modified one is never changed: a message asks you to use `:Claude resolve`.

---@class claude-ide.Config.sessions
---@field config_dirs string[] Configuration folders of other accounts (`CLAUDE_CONFIG_DIR` of their CLIs), such as `{ "~/.claude-work" }`. Those of `terminal.env` and, on Linux, of connected CLIs are read without it. |claude-ide-accounts|

---@class claude-ide.Config.ask.keymaps
---@field close string|string[]|false Close it and end the CLI.
---@field chat string|string[]|false Continue as a regular chat.

---@class claude-ide.Config.ask
---@field args string[] Additional arguments of that CLI, such as `{ "--model", "haiku", "--effort", "low" }`.
---@field keymaps claude-ide.Config.ask.keymaps Keys in the window with an answer, in addition to those of a transcript.

---@class claude-ide.Config.chat.keymaps
---@field send string|string[]|false Send the prompt, in Normal mode; if it is empty, show postponed requests.
---@field send_at_once string|string[]|false Send the prompt, in Insert mode too.
---@field interrupt string|string[]|false Interrupt Claude while it works.
---@field older string|string[]|false Recall the previous prompt.
---@field newer string|string[]|false Recall the next prompt.
---@field take_back string|string[]|false Unqueue the queued prompt, to edit it.
---@field mode string|string[]|false Go to the next permission mode that asks.
---@field model string|string[]|false Choose a model.
---@field preview string|string[]|false Show what the `#…` at the cursor would send.
---@field effort string|string[]|false Choose the model's effort.
---@field rewind string|string[]|false Restore files to their state before a prompt: previews and asks first.
---@field tasks string|string[]|false Stop background tasks of Claude.
---@field terminal string|string[]|false Continue the session in the terminal.
---@field close string|string[]|false Hide the chat, which continues.
---@field help string|string[]|false List the keys.

---@class claude-ide.Config.chat
---@field prompt_height integer Maximum height of the prompt's window, which grows with the text.
---@field keymaps claude-ide.Config.chat.keymaps Keys in the prompt's window.

---@class claude-ide.Config.transcript.keymaps
---@field next_prompt string|string[]|false Go to the next prompt.
---@field previous_prompt string|string[]|false Go to the previous prompt.
---@field next_tool string|string[]|false Go to the next tool call.
---@field previous_tool string|string[]|false Go to the previous tool call.
---@field next_edit string|string[]|false Go to the next edit.
---@field previous_edit string|string[]|false Go to the previous edit.
---@field open string|string[]|false Open what the line refers to: an edit as a diff, a subagent's messages, a truncated text in full. Otherwise toggle the fold.
---@field file string|string[]|false Open the file of the call, or under the cursor.
---@field file_split string|string[]|false The same in a split.
---@field file_tab string|string[]|false The same in a tab page.
---@field branches string|string[]|false Choose a branch of the session.
---@field next_branch string|string[]|false Show the next branch.
---@field previous_branch string|string[]|false Show the previous branch.
---@field yank_code string|string[]|false Yank the code under the cursor: a block, a command, the text of an edit.
---@field resume string|string[]|false Resume the session in the terminal, also from a chat.
---@field fork string|string[]|false Continue in a copy of the session.
---@field export string|string[]|false Export the session as Markdown.
---@field close string|string[]|false Close the transcript and restore the previous buffer.
---@field help string|string[]|false List the keys.

---@class claude-ide.Config.transcript
---@field draw_markdown boolean Render tables, headings and code blocks, also in chats. The text stays Markdown. Disable it if another plugin does this, see |claude-ide-recipes|.
---@field keymaps claude-ide.Config.transcript.keymaps Keys in a transcript. Each also has a `<Plug>` mapping, see |claude-ide-transcript-plug|.

---@class claude-ide.Config.board.keymaps
---@field open string|string[]|false Go to its terminal or chat, else show its transcript.
---@field read string|string[]|false Show its transcript.
---@field answer string|string[]|false Open its request.
---@field prompt string|string[]|false Write a prompt, which is sent when Claude is free; or unqueue a waiting one.
---@field review string|string[]|false Review what it changed.
---@field stop string|string[]|false Interrupt its turn. If it is idle, end its process (asks first).
---@field rename string|string[]|false Rename it.
---@field fork string|string[]|false Fork it: continue in a copy.
---@field keep string|string[]|false Keep a copy, which does not expire.
---@field hide string|string[]|false Hide it until it waits for you.
---@field unhide string|string[]|false Show the hidden ones again.
---@field worktree string|string[]|false Show only sessions of its worktree, or all.
---@field projects string|string[]|false Show the sessions of all projects, or of this one.
---@field next string|string[]|false Go to the next session.
---@field previous string|string[]|false Go to the previous session.
---@field close string|string[]|false Close the board and restore the previous buffer.
---@field help string|string[]|false List the keys.

---@class claude-ide.Config.board
---@field keymaps claude-ide.Config.board.keymaps Keys on the board, for the session under the cursor.

---@class claude-ide.Config.notify
---@field channels ("message"|"bell"|"osc9")[] How to notify you. `message`: a message in Neovim (|vim.notify()|). `bell`: the terminal's bell. `osc9`: a notification of the terminal, if it supports OSC 9. Empty: no notifications.
---@field waiting boolean Notify when Claude waits for you.
---@field finished boolean Notify when Claude has finished.
---@field min_turn_ms integer Do not notify after turns shorter than this, in milliseconds.

---@class claude-ide.Config.notebook
---@field kernel? string Path of a Python, or name of an installed kernel (`jupyter kernelspec list`). Not set: the Python of the active environment or of the project, else `python3` on the PATH.
---@field timeout_ms integer Interrupt code after this many milliseconds. 0: never.
---@field max_output integer Maximum characters of a run's output. Longer output is cut in the middle.
---@field confirm boolean Ask before each run, with the keys of a diff. The CLI also asks, unless you have allowed the tool there.

---@class claude-ide.Config.terminal.keymaps
---@field back string|string[]|false Return to the previous window. In Normal and Terminal mode.
---@field normal string|string[]|false Normal mode, to scroll and copy, like `<C-\><C-n>`. In Terminal mode.
---@field hide string|string[]|false Hide the window. The CLI keeps running. In Normal and Terminal mode.
---@field left string|string[]|false Go to the window on the left. In Terminal mode, like `<C-w>h` in Normal mode.
---@field down string|string[]|false Go to the window below. In Terminal mode.
---@field up string|string[]|false Go to the window above. In Terminal mode.
---@field right string|string[]|false Go to the window on the right. In Terminal mode.
---@field file string|string[]|false Open the file under the cursor in a window for files, at its line. In Normal mode.
---@field file_click string|string[]|false The same for a file that is clicked. In Normal and Terminal mode.

---@class claude-ide.Config.terminal
---@field provider "native"|"snacks"|"kitty"|"tmux"|"wezterm"|"zellij"|"external"|"none"|claude-ide.terminal.Provider `native`: a split. `snacks`: a window of snacks.nvim. `kitty`, `tmux`, `wezterm`, `zellij`: a pane beside Neovim's. `external`: the command in `external`. `none`: you start `claude` yourself. A table: a custom provider, see |claude-ide-terminal-provider|.
---@field command string[] The CLI and its arguments. No shell is involved.
---@field permission_mode? "default"|"manual"|"acceptEdits"|"plan"|"auto"|"dontAsk"|"bypassPermissions" The permission mode of new sessions, in terminals and chats: `--permission-mode` of the CLI, if you give none. `default` asks before each edit, see |claude-ide-modes|. A resumed session keeps its own. Not set: the CLI's default.
---@field external? string[]|fun(spec: claude-ide.terminal.Spec): string[]? For `provider = "external"`: the program that opens a terminal and its arguments. The CLI's own command is put at the end, or where an item is `{command}`; `{cwd}` becomes the project's folder. Or a function that returns such a list, or starts `spec.argv` in a terminal itself and returns nil.
---@field env table<string, string> Additional environment variables for the CLI.
---@field cwd? string|fun(): string The CLI's working directory. Not set: the root of the project.
---@field per_tab boolean `:Claude` starts a separate CLI in each tab page, in the tab page's project (`:tcd`).
---@field editor boolean Open what the CLI gives to `$EDITOR` (`<C-g>`: the prompt) in this Neovim. |claude-ide-terminal-editor|
---@field on_quit "ask"|"background"|"end" What happens to sessions that work or wait when Neovim quits: `ask`, continue them in the `background`, or `end` them. |claude-ide-background|
---@field side "left"|"right"|"top"|"bottom" Side of the screen for the window.
---@field size number Width (or height): below 1 a share of the screen, else columns (or lines).
---@field snacks table For `provider = "snacks"`: options of `Snacks.win`, e.g. `{ position = "float" }`.
---@field start_insert boolean Start Terminal mode when `:Claude` enters the window.
---@field auto_close boolean Close the window when the CLI exits without an error. After an error it stays.
---@field keymaps claude-ide.Config.terminal.keymaps Keys of the terminal, each with its modes. |claude-ide-terminal-keys| lists keys that the CLI does not use.

---@class claude-ide.Config.web
---@field enabled boolean Serve the page whenever the server runs. When false, `:Claude serve` starts it.
---@field host string Address to listen on. Any other than a loopback address lets other machines connect; |claude-ide-web-remote| shows a safe way to reach it.
---@field port integer Port to listen on, or the next free one, which a message shows. 0: any.
---@field names string[] Additional host names for requests: that of a tunnel or a proxy on this machine, such as `box.tailnet.ts.net`. Requests for any other name are refused.
---@field write boolean Allow browsers to send prompts and to answer requests. When false, they only read. See |claude-ide-web-write|.
---@field commands boolean With `write`: allow prompts that are commands (they begin with `/`, `!`, `#` or `&`) or that exit the CLI. `!` runs in a shell without asking.

---@class claude-ide.Config
---@field auto_start boolean Start the server when the UI is ready, so that a CLI in any terminal can connect. Does not apply to a Neovim that was started as a pager, or as an editor by git or Claude Code. When false, `:ClaudeConnect` or `:Claude` starts it.
---@field log claude-ide.Config.log The log file. `:Claude log` opens it.
---@field server claude-ide.Config.server The server that the CLI connects to. Changes apply after a restart of Neovim or `:Claude restart`.
---@field agents_ide boolean Let Gemini CLI and Qwen Code find this Neovim, too: they show their edits as diffs here, and learn the open files, the cursor and the selection. |claude-ide-companions| Changes apply after a restart of Neovim or `:Claude restart`.
---@field tools claude-ide.Config.tools Editor tools for Claude: language servers, buffers, lists. |claude-ide-tools| Changes apply after a restart of Neovim or `:Claude restart`.
---@field hooks claude-ide.Config.hooks Hooks of a Claude started by `:Claude`. |claude-ide-decide| Changes apply from its next start.
---@field auto_mode claude-ide.Config.auto_mode Auto mode of a Claude started by `:Claude`. |claude-ide-modes| Changes apply from its next start.
---@field workspace claude-ide.Config.workspace The folders of your project. A CLI that runs in one of them finds this Neovim.
---@field context claude-ide.Config.context What a Claude that `:Claude` starts is told about your editor while it works: each text at most 2 kB, nothing of private files. `:Claude context` shows it. |claude-ide-context| Needs `hooks.enabled`.
---@field selection claude-ide.Config.selection What Neovim tells Claude about your current file and selection.
---@field mention claude-ide.Config.mention `:ClaudeSend` and `:Claude add`.
---@field code_actions boolean Offer |claude-ide-code-actions| while a CLI is connected.
---@field diagnostics claude-ide.Config.diagnostics Diagnostics of your language servers, which Claude requests before and after each edit.
---@field diff claude-ide.Config.diff Proposals: edits that wait for your answer.
---@field review claude-ide.Config.review Changes that Claude has made, with or without asking: `:Claude review`.
---@field comments claude-ide.Config.comments Comments for Claude on lines of files, and its answers: `:Claude comment`.
---@field watch claude-ide.Config.watch Reload buffers that change on disk, while the server runs.
---@field sessions claude-ide.Config.sessions Sessions that are listed, read and searched.
---@field prompts table<string, string> Named prompts: `#prompt:name` inserts one wherever you write to Claude, including its `#…` contexts, see |claude-ide-contexts|.
---@field prompt_folders string[] Folders with more prompts, as Markdown files: `#prompt:review` is `review.md`. Relative to the project's root.
---@field ask claude-ide.Config.ask `:Claude ask` and `:Claude edit`: one request to a separate CLI that only reads files of the project.
---@field agents table<string, claude-ide.config.Agent> Agents for `:Claude chat --agent {name}` that speak the Agent Client Protocol: `{ cmd = { "gemini", "--acp" }, env = { … }, name = "Gemini" }`. |claude-ide-agents| names those that are built in.
---@field chat claude-ide.Config.chat `:Claude chat`: a session in a buffer, in the terminal's place, with the command of `terminal` and the keys of a transcript.
---@field transcript claude-ide.Config.transcript `:Claude transcript`: the text of a session.
---@field board claude-ide.Config.board `:Claude board`: all sessions at a glance.
---@field notify claude-ide.Config.notify Notifications when Claude waits for you or has finished while you are in another program, or Claude's terminal is hidden. |claude-ide-states| has the details.
---@field notebook claude-ide.Config.notebook The tool `executeCode`: Claude runs Python in a Jupyter kernel, if there is a Python with ipykernel. See |claude-ide-notebooks|.
---@field terminal claude-ide.Config.terminal The terminal in which `:Claude` runs the CLI.
---@field web claude-ide.Config.web The web page: sessions in your browser, see |claude-ide-web|. Changes apply after a restart of Neovim or `:Claude serve stop` and `start`.

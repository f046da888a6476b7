// Runs inside the CLI, and is the bridge to the Neovim that started it: tells what calls did, carries out orders, and asks whether the
// user is there to decide on a call that auto mode's classifier refuses, which then becomes a question. Never allows a call.
// Invariant: without Neovim, or if anything fails or takes too long, the CLI works as without it, in silence.
// Source: the CLI 2.1.329 and 2.1.332, and the types that it ships for mods. It reads `$.noun.event` and names of events in the source.
import { neovim } from "./neovim.js"

// Neovim may not answer: it is stopped, or busy.
const REFUSAL_MS = 2000
const TRIES = 5
const FIRST_PAUSE_MS = 500
const MOST = { reason: 200, input: 100, name: 100, path: 1000, content: 2000 }
// Their results have a location.
const LOCATED = ["Edit", "Glob", "Grep", "MultiEdit", "NotebookEdit", "Read", "Write"]

const headers = {
  authorization: `Bearer ${neovim?.token}`,
  "content-type": "application/json",
  "mcp-session-id": `mod-${Math.random().toString(36).slice(2)}`,
}
let requests = 0
let isServing = false
let isWatched = false
let turn = "" // the running one of the session itself

const start = (text, most) => Array.from(String(text ?? "")).slice(0, most).join("")

// Calls a tool of Neovim's, by MCP.
const call = async ($, name, args) => {
  requests += 1
  const request = { jsonrpc: "2.0", id: requests, method: "tools/call", params: { name, arguments: args } }
  const answer = await $.http.fetch(neovim.url, { method: "POST", headers, body: JSON.stringify(request) })
  const text = JSON.parse(answer.text).result.content[0]?.text
  return text === undefined ? null : JSON.parse(text)
}

const carryOut = async ($, { op, id, text }) => {
  const done = { event: "done", id, is_done: true, text: "" }
  try {
    if (op === "submit") {
      const { drop } = await $.prompt.submit({ text, asUser: true })
      done.is_done = drop === undefined
      done.text = start(drop, MOST.reason)
    } else if (op === "stop") {
      await $.turn.abort({ turnId: turn })
    } else if (op === "watch") {
      isWatched = text === "on"
    } else {
      throw new Error(`unknown order: ${op}`)
    }
  } catch (error) {
    done.is_done = false
    done.text = start(error, MOST.reason)
  }
  await call($, "report", done).catch(() => {})
}

// Takes orders until Neovim is gone.
const serve = async ($) => {
  if (isServing) return
  isServing = true
  for (let failures = 0; failures < TRIES; ) {
    try {
      const order = await call($, "next", {})
      failures = 0
      if (order) void carryOut($, order)
    } catch {
      isWatched = false
      await $.clock.sleep(FIRST_PAUSE_MS * 2 ** failures).catch(() => {})
      failures += 1
    }
  }
  isServing = false
}

// What Neovim needs to find the location.
const excerpt = ({ type, filePath, file, filenames, content, structuredPatch }) => ({
  type,
  filePath,
  file: file && { filePath: file.filePath, startLine: file.startLine, numLines: file.numLines },
  filenames: filenames?.slice(0, 1),
  content: content && start(content, MOST.content),
  structuredPatch: structuredPatch?.slice(0, 1).map((hunk) => ({ ...hunk, lines: hunk.lines.map((line) => line[0]) })),
})

const reportUsage = async ($) => {
  const { context, cost, rateLimits } = await $.session.usage()
  const usage = { context: context.percent, cost: cost?.usd, limits: rateLimits }
  await call($, "report", { event: "usage", usage: JSON.stringify(usage) })
}

const isUserThere = async ($, { tool_use_id, tool, input }, reason, signal) => {
  const refused = {
    id: start(tool_use_id, MOST.name),
    tool: start(tool, MOST.name),
    path: start(input?.file_path, MOST.path),
    input: start(JSON.stringify(input), MOST.input),
    reason: start(reason, MOST.reason),
  }
  const tooLate = $.clock.sleep(REFUSAL_MS, { signal }).then(() => false)
  return (await Promise.race([call($, "refused", refused), tooLate])) === true
}

export const register = (on) => {
  if (!neovim) return

  on("session.start", async ($, event, next) => {
    const started = await next(event)
    void serve($)
    return started
  })

  on("turn.start", async ($, event, next) => {
    void serve($) // Neovim's server may have been started again
    if (event.agentId === undefined) turn = event.turnId
    return next(event)
  })

  on("turn.complete", async ($, event, next) => {
    const answer = await next(event)
    if (event.agentId === undefined) void reportUsage($).catch(() => {})
    return answer
  })

  on("tool.call", async ($, event, next) => {
    const answer = await next(event)
    if (isWatched && LOCATED.includes(event.tool) && answer.result instanceof Object) {
      const { tool, tool_use_id: id, agentId: agent } = event
      const report = { event: "call", id, tool, agent, result: JSON.stringify(excerpt(answer.result)) }
      void call($, "report", report).catch(() => {})
    }
    return answer
  })

  on("tool.judge", async ($, event, next) => {
    const verdict = await next(event)
    const isClassifiers = verdict.plugin === undefined
    if (!neovim.asks || verdict.decision !== "deny" || !isClassifiers) return verdict
    try {
      const reason = verdict.reason ?? ""
      if (await isUserThere($, event, reason, next.signal)) return { decision: "ask", reason }
    } catch {
      // The verdict stays.
    }
    return verdict
  })
}

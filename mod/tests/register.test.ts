// Run by `claude plugin test`, on a copy whose hooks/neovim.js names a Neovim (tests/e2e/test_bridge_real_cli.py).
import { expect, mock, test } from "claude-code/testing"

// The kit's own limit of 5 s ends a test on a busy machine.
const PATIENT = { timeoutMs: 60_000 }

const DENIED = { decision: "deny", reason: "it is risky" }
const CALL = { tool: "Bash", input: { command: "ls" }, tool_use_id: "toolu_1", approver: "classifier" }
const GARBAGE = ["", "null", "{}", '{"result":{}}', '{"result":{"content":[{"text":"{"}]}}', '{"error":{"code":1}}']

const response = (text) => ({ value: { status: 200, ok: true, headers: {}, text } })
const answer = (value) => {
  const content = value === undefined ? [] : [{ text: JSON.stringify(value) }]
  return response(JSON.stringify({ result: { content } }))
}

// Neovim, as a function of the called tool and its arguments; all calls.
const neovim = (on, answerTo) => {
  const calls = []
  on("http.fetch", async (_, { url, init }) => {
    const { name, arguments: args } = JSON.parse(init.body).params
    calls.push({ name, args, url, authorization: init.headers.authorization })
    return answerTo(name, args)
  })
  return calls
}
const never = () => new Promise(() => {})
// A Neovim that has these orders.
const ordering = (orders) => (name) => {
  if (name === "report") return answer()
  return orders.length > 0 ? answer(orders.shift()) : never()
}
const named = (calls, name) => calls.filter((call) => call.name === name)

test("a refusal becomes a question while the user is there", PATIENT, async ($, on) => {
  mock.clock(on)
  on("tool.judge", async () => DENIED)
  const calls = neovim(on, () => answer(true))
  expect(await $.tool.judge(CALL)).toEqual({ decision: "ask", reason: "it is risky", plugin: "neovim" })
  const args = { id: "toolu_1", tool: "Bash", path: "", input: '{"command":"ls"}', reason: "it is risky" }
  expect(calls).toEqual([{ name: "refused", args, url: "http://127.0.0.1:1/mod", authorization: "Bearer secret" }])
})

test("a refusal stays one while the user is elsewhere", PATIENT, async ($, on) => {
  mock.clock(on)
  on("tool.judge", async () => DENIED)
  neovim(on, () => answer(false))
  expect(await $.tool.judge(CALL)).toEqual(DENIED)
})

test("a refusal stays one when Neovim answers rubbish or is gone", PATIENT, async ($, on) => {
  mock.clock(on)
  on("tool.judge", async () => DENIED)
  const answers = [...GARBAGE.map(response), { deny: "refused" }]
  const count = answers.length
  neovim(on, () => answers.pop())
  for (let number = 0; number < count; number++) expect(await $.tool.judge(CALL)).toEqual(DENIED)
})

test("a refusal stays one when Neovim does not answer in time", PATIENT, async ($, on) => {
  const clock = mock.clock(on)
  on("tool.judge", async () => DENIED)
  neovim(on, never)
  const verdict = $.tool.judge(CALL)
  await clock.advance(2000)
  expect(await verdict).toEqual(DENIED)
})

test("what is allowed or asked about is none of our business", PATIENT, async ($, on) => {
  mock.clock(on)
  const verdicts = [{ decision: "allow" }, { decision: "ask", reason: "a rule" }]
  on("tool.judge", async () => verdicts.at(-1))
  const calls = neovim(on, () => answer(true))
  expect((await $.tool.judge(CALL)).decision).toBe("ask")
  verdicts.pop()
  expect(await $.tool.judge(CALL)).toEqual({ decision: "allow" })
  expect(calls).toEqual([])
})

test("orders are carried out, and what has become of them is reported", PATIENT, async ($, on) => {
  const clock = mock.clock(on)
  const submitted = []
  on("prompt.submit", async (_, event) => {
    submitted.push(event)
    if (event.text === "bad") throw new Error("not this one")
    return event.text === "dropped" ? { drop: "a hook is against it" } : { text: event.text }
  })
  on("session.start", async (_, { cwd }) => ({ cwd }))
  const orders = [
    { op: "submit", id: "1", text: "hello" },
    null,
    { op: "submit", id: "2", text: "dropped" },
    { op: "dance", id: "3", text: "" },
  ]
  const calls = neovim(on, ordering(orders))
  await $.session.start({ cwd: "/", surface: "terminal", isInteractive: true })
  await clock.settle()
  expect(submitted.map(({ text, origin }) => [text, origin.asUser])).toEqual([["hello", true], ["dropped", true]])
  const done = named(calls, "report").map(({ args }) => [args.id, args.is_done, args.text])
  expect(done.sort()).toEqual([["1", true, ""], ["2", false, "a hook is against it"], ["3", false, "Error: unknown order: dance"]])
})

test("a Neovim that is gone is left alone until the next turn", PATIENT, async ($, on) => {
  const clock = mock.clock(on)
  on("session.start", async (_, { cwd }) => ({ cwd }))
  on("turn.start", async (_, event) => event)
  const calls = neovim(on, () => ({ deny: "refused" }))
  await $.session.start({ cwd: "/", surface: "terminal", isInteractive: true })
  await clock.advance(60_000)
  expect(calls.length).toBe(5)
  await clock.advance(60_000)
  expect(calls.length).toBe(5)
  await $.turn.start({ text: "hello", turnId: "t" })
  await clock.settle()
  expect(calls.length).toBe(6)
})

test("what calls did is told while it is wanted, without the texts", PATIENT, async ($, on) => {
  const clock = mock.clock(on)
  on("session.start", async (_, { cwd }) => ({ cwd }))
  const text = "x".repeat(5000)
  const file = { filePath: "/a", content: text, startLine: 3, numLines: 2 }
  on("tool.call", async () => ({ ref: 1, result: { type: "text", file }, text }))
  const orders = []
  const calls = neovim(on, ordering(orders))
  const read = () => $.tool.call({ tool: "Read", file_path: "/a" })
  await read()
  expect(named(calls, "report")).toEqual([])
  orders.push({ op: "watch", id: "1", text: "on" })
  await $.session.start({ cwd: "/", surface: "terminal", isInteractive: true })
  await clock.settle()
  await read()
  await clock.settle()
  const told = named(calls, "report").filter(({ args }) => args.event === "call")
  expect(told.map(({ args }) => [args.tool, JSON.parse(args.result)])).toEqual([
    ["Read", { type: "text", file: { filePath: "/a", startLine: 3, numLines: 2 } }],
  ])
})

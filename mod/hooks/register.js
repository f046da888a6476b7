// Runs inside the CLI. If auto mode's classifier refuses a call, asks Neovim whether the user is there to decide, and then makes the
// refusal a question. Never allows a call, and leaves each verdict as it is if anything fails, is unknown or takes too long.
// Source: the CLI 2.1.329 and 2.1.332, and the types that it ships for mods.
// A question is a file `refusal.<number>` in a folder of Neovim's. Neovim removes it, and makes `asked.<number>` before if the user shall
// be asked. Commands of the model may write there as well: they can bring about a question, or none, and the words of its title.
import { folder } from "./neovim.js"

const POLL_MS = 50
const WAIT_MS = 2000
// Neovim reads at most 16 KiB.
const MOST_REASON = 200
const MOST_INPUT = 100
const MOST_NAME = 100
const MOST_PATH = 1000

const start = (text, most) => Array.from(text).slice(0, most).join("")

const isUserThere = async ($, call, reason, signal) => {
  const number = Math.floor(Math.random() * 1e15)
  const question = `${folder}/refusal.${number}`
  const yes = `${folder}/asked.${number}`
  const text = {
    id: start(call.tool_use_id, MOST_NAME),
    tool: start(call.tool, MOST_NAME),
    path: start(call.input?.file_path ?? "", MOST_PATH),
    input: start(JSON.stringify(call.input), MOST_INPUT),
    reason: start(reason, MOST_REASON),
  }
  if (!(await $.fs.exists(folder))) return false // `write` would make it
  await $.fs.write(question, `${JSON.stringify(text)}\n`)
  const end = (await $.clock.now()) + WAIT_MS
  while ((await $.clock.now()) < end) {
    await $.clock.sleep(POLL_MS, { signal })
    if (await $.fs.exists(yes)) return true
    if (!(await $.fs.exists(question))) return $.fs.exists(yes)
  }
  await $.fs.write(question, "") // too late for an answer
  return false
}

export const register = (on) => {
  on("tool.judge", async ($, call, next) => {
    const verdict = await next(call)
    const isClassifiers = verdict.plugin === undefined
    if (folder === null || verdict.decision !== "deny" || !isClassifiers) return verdict
    try {
      const reason = verdict.reason ?? ""
      if (await isUserThere($, call, reason, next.signal)) return { decision: "ask", reason }
    } catch {
      // The verdict stays.
    }
    return verdict
  })
}

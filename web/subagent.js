// Parses what a session's transcript says about its subagents. The result of a background subagent only reports the
// start; a line of its own reports the end.
//
// Source: CLI 2.1.329. `toolUseResult` of the call: `{ agentId }`, in the background with `isAsync: true, status:
// "async_launched"`; at its end `content`, its last message between `harnessNoteCount` and `harnessTailCount` notes of
// the CLI. The end of a background subagent: `<task-notification>`, the text of a `user` line or the `content` of a
// queue operation.

/** @typedef {"running"|"done"|"failed"} Background */

/** @param {{ result: any, outcome: any }} answer */
export function isLaunch({ result, outcome }) {
  const launched = outcome?.isAsync === true || outcome?.status === "async_launched";
  return launched && Boolean(outcome.agentId) && result?.is_error !== true;
}

/** The readable part of a result: for a subagent its own message, without the report around it for the model. @param {any} result @param {any} outcome */
export function wordsOf(result, outcome) {
  const { agentId, content, harnessNoteCount: notes = 0, harnessTailCount: tail = 0 } = outcome ?? {};
  return agentId && Array.isArray(content) ? content.slice(notes, content.length - tail) : result.content;
}

/**
 * The end of a subagent that a line reports.
 * @param {any} line
 * @returns {{ call: string, task: string, end: Background }|undefined}
 */
export function endOf(line) {
  const content = line.type === "user" ? line.message?.content : line.type === "queue-operation" ? line.content : undefined;
  const first = Array.isArray(content) ? content[0]?.text : content;
  if (typeof first !== "string" || !first.startsWith("<task-notification>")) return undefined;
  const text = first.split("<result>", 1)[0] ?? ""; // the result may contain anything
  const tag = (/** @type {string} */ name) => text.match(`<${name}>([^<]*)</${name}>`)?.[1]?.trim() ?? "";
  const status = tag("status");
  if (!status) return undefined;
  return { call: tag("tool-use-id"), task: tag("task-id"), end: status === "completed" ? "done" : "failed" };
}

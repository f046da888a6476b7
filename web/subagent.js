// What a session says of its subagents. The result of one in the background says only that it began, and its end is told in a line
// of its own.
//
// Source: CLI 2.1.329. `toolUseResult` of the call: `{ agentId }`, in the background with `isAsync: true, status: "async_launched"`;
// at its end `content`, what it said, between as many notes of the CLI's as `harnessNoteCount` and `harnessTailCount` say. The end
// of one in the background: `<task-notification>`, the text of a `user` line or the `content` of a queue operation.

/** @typedef {"running"|"done"|"failed"} Background */

/** @param {{ result: any, outcome: any }} answer */
export function isLaunch({ result, outcome }) {
  const launched = outcome?.isAsync === true || outcome?.status === "async_launched";
  return launched && Boolean(outcome.agentId) && result?.is_error !== true;
}

/** What is to be read of a result: of a subagent's its own words, where the result is a report of them for the model. @param {any} result @param {any} outcome */
export function wordsOf(result, outcome) {
  const { agentId, content, harnessNoteCount: notes = 0, harnessTailCount: tail = 0 } = outcome ?? {};
  return agentId && Array.isArray(content) ? content.slice(notes, content.length - tail) : result.content;
}

/**
 * What a line tells of an end.
 * @param {any} line
 * @returns {{ call: string, task: string, end: Background }|undefined}
 */
export function endOf(line) {
  const content = line.type === "user" ? line.message?.content : line.type === "queue-operation" ? line.content : undefined;
  const first = Array.isArray(content) ? content[0]?.text : content;
  if (typeof first !== "string" || !first.startsWith("<task-notification>")) return undefined;
  const text = first.split("<result>", 1)[0] ?? ""; // which may hold anything
  const tag = (/** @type {string} */ name) => text.match(`<${name}>([^<]*)</${name}>`)?.[1]?.trim() ?? "";
  const status = tag("status");
  if (!status) return undefined;
  return { call: tag("tool-use-id"), task: tag("task-id"), end: status === "completed" ? "done" : "failed" };
}

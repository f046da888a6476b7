// Subagents in the background: the result of their call says only that they began, and their end is told in a line of its own.
//
// Source: CLI 2.1.329. `toolUseResult` of the call: `{ isAsync: true, status: "async_launched", agentId }`. The end:
// `<task-notification>`, the text of a `user` line or the `content` of a queue operation.

/** @typedef {"running"|"done"|"failed"} Background */

/** @param {{ result: any, outcome: any }} answer */
export function isLaunch({ result, outcome }) {
  const launched = outcome?.isAsync === true || outcome?.status === "async_launched";
  return launched && Boolean(outcome.agentId) && result?.is_error !== true;
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

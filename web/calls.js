// What a tool call is called, what it is about and how it stands: in the words of `lua/claude-ide/transcript/tool_line.lua`.
import { oneLine } from "./exact.js";
import { local } from "./place.js";
import { short } from "./text.js";

/** Arguments that name what a call is about, the most telling first. */
const TELLING = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "skill", "name", "prompt"];

const PATHS = new Set(["file_path", "notebook_path", "path"]);

/** @type {Record<string, [string, string]>} */
const STATES = { running: ["…", "running"], done: ["✓", "ok"], failed: ["✗", "failed"], rejected: ["✗", "rejected"], changed: ["✓", "changed by you"] };

/** "mcp__nvim__rename" is "nvim: rename". @param {any} tool @returns {string} */
export function nameOf(tool) {
  const name = String(tool?.name ?? "?");
  return short(name.replace(/^mcp__(.+?)__(.+)$/, "$1: $2"), 60);
}

/** @param {any} tool @returns {string} */
export function aboutOf(tool) {
  const input = tool?.input;
  const where = local(input?.path ?? input?.glob ?? "");
  if (tool?.name === "Grep" && input?.pattern) return oneLine(where ? `${input.pattern} in ${where}` : input.pattern);
  const name = TELLING.find((name) => typeof input?.[name] === "string" && input[name].trim());
  return name ? oneLine(PATHS.has(name) ? local(input[name]) : input[name]) : "";
}

/** @param {import("./conversation.js").Item} item @returns {{ sign: string, words: string, failed: boolean }} */
export function stateOf(item) {
  const failed = item.result?.is_error === true || item.background === "failed";
  const state = !item.result || item.background === "running" ? "running" : item.denied ? "rejected" : failed ? "failed" : item.outcome?.userModified ? "changed" : "done";
  const [sign, words] = /** @type {[string, string]} */ (STATES[state]);
  return { sign, words, failed };
}

// A tool call's title, argument and status, as in Neovim's transcript (`crates/session/src/render/tool.rs`). Lines
// arrive as the CLI wrote them, so the page needs this table too; `titles.json` there tests both with the same cases.
import { oneLine } from "./exact.js";
import { local } from "./place.js";
import { short } from "./text.js";

/** Arguments that show what a call is about, most telling first; for tools that `ARGUMENTS` lacks. */
export const TELLING = ["command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description", "skill", "name", "prompt"];

/** Arguments that are paths, shown relative to the session's folder. */
const PATHS = ["file_path", "notebook_path"];

/** @type {Record<string, [string, string]>} */
const STATES = { running: ["…", "running"], done: ["✓", "ok"], failed: ["✗", "failed"], rejected: ["✗", "rejected"], changed: ["✓", "changed by you"] };

/**
 * A text argument with its lines and words joined. A run of blanks that could hide text stays, for `oneLine` to mark.
 * @param {any} input @param {...string} names the first text among them counts
 */
function textOf(input, ...names) {
  const text = names.map((name) => input?.[name]).find((text) => typeof text === "string" && text.trim());
  return text?.trim().replace(/[ \t\r]*\n[ \t\r\n]*/g, " ").replace(/(?<![ \t])[ \t]{2,15}(?![ \t])/g, " ");
}

/** @param {any} todos */
function progress(todos) {
  if (!Array.isArray(todos)) return undefined;
  const now = todos.find((todo) => todo?.status === "in_progress");
  const done = todos.filter((todo) => todo?.status === "completed").length;
  return `${done} of ${todos.length} done${now ? `, now: ${textOf(now, "activeForm", "content")}` : ""}`;
}

/** @param {any} questions */
function asked(questions) {
  const [first, ...others] = Array.isArray(questions) ? questions : [];
  return first && textOf(first, "question") + (others.length ? ` (and ${others.length} more)` : "");
}

/** @type {Record<string, (input: any) => string|undefined>} */
const ARGUMENTS = {
  Agent: (input) => textOf(input, "description", "prompt"),
  AskUserQuestion: (input) => asked(input?.questions),
  ExitPlanMode: () => "the plan",
  Grep: (input) => [textOf(input, "pattern"), textOf(input, "path", "glob")].filter((text) => text).join(" in "),
  Skill: (input) => textOf(input, "skill", "command"),
  TodoWrite: (input) => progress(input?.todos),
};
ARGUMENTS.Task = ARGUMENTS.Agent;

/** "mcp__nvim__rename" is "nvim: rename". @param {any} tool @returns {string} */
export function nameOf(tool) {
  const name = String(tool?.name || "?");
  return short(name.replace(/^mcp__(.+?)__(.+)$/, "$1: $2"), 60);
}

/** @param {any} tool @returns {string} */
export function aboutOf(tool) {
  const { name, input } = tool ?? {};
  const path = textOf(input, ...PATHS);
  if (path) return oneLine(local(path));
  const others = Object.keys(input ?? {}).sort();
  const about = (Object.hasOwn(ARGUMENTS, name) && ARGUMENTS[name]?.(input)) || textOf(input, ...TELLING, ...others) || "";
  // A description "Search for callers" repeats the tool's name.
  const isTwice = about === textOf(input, "description") && about.toLowerCase().startsWith(`${String(name).toLowerCase()} `);
  return oneLine(isTwice ? about.slice(String(name).length + 1) : about);
}

/** @param {import("./conversation.js").Item} item @returns {{ sign: string, words: string, failed: boolean }} */
export function stateOf(item) {
  const failed = item.result?.is_error === true || item.background === "failed";
  const state = !item.result || item.background === "running" ? "running" : item.denied ? "rejected" : failed ? "failed" : item.outcome?.userModified ? "changed" : "done";
  const [sign, words] = /** @type {[string, string]} */ (STATES[state]);
  return { sign, words, failed };
}

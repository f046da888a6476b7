// Diffs of edits, line by line, highlighted.
import { marked, unfold } from "./exact.js";
import { el, plain } from "./text.js";

/** A diff to be approved is folded after this many lines. */
const MOST = 10;

/** @param {string[]} lines each begins with "+", "-", "@" or a blank @param {(line: string) => (Node|string)[]} [drawLine] @returns {HTMLElement[]} */
function spans(lines, drawLine = (line) => [plain(line)]) {
  return lines.map((line) => {
    const kind = { "+": "add", "-": "del", "@": "hunk" }[line[0] ?? ""];
    return el("span", kind ? { class: kind } : {}, ...drawLine(line));
  });
}

/** @param {string[]} lines */
const drawn = (lines) => el("pre", { class: "diff", tabindex: "0", "aria-label": "Changed lines" }, el("code", {}, ...spans(lines)));

/** A unified diff of one file without its header, for approval: see `exact.js`. @param {unknown} text @returns {HTMLElement} */
export function unified(text) {
  let all = String(text ?? "").replace(/\n$/, "").split("\n");
  const isDos = all.every((line) => line.endsWith("\r") || /^(?:@@|---|\+\+\+|\\)/.test(line));
  if (isDos) all = all.map((line) => line.replace(/\r$/, ""));
  // Only before the first hunk: a removed line may look the same.
  const lines = all.slice(Math.max(all.findIndex((line) => line.startsWith("@@")), 0));
  const whole = (/** @type {string} */ line) => [line.slice(0, 1), ...marked(line.slice(1))];
  const code = el("code", {}, ...spans(lines.slice(0, MOST), whole));
  const box = el("div", {}, el("pre", { class: "diff", tabindex: "0", "aria-label": "Changed lines" }, code));
  const rest = lines.slice(MOST);
  if (rest.length) box.append(unfold(rest.join("\n"), () => code.append(...spans(rest, whole))));
  return box;
}

/** @param {unknown} text @param {string} mark */
const signed = (text, mark) => (text ? plain(text).replace(/\n$/, "").split("\n").map((line) => mark + line) : []);

/**
 * An edit's changes: as recorded by the CLI, else as requested.
 * @param {string} name of the tool
 * @param {any} input
 * @param {any} outcome the line's toolUseResult
 * @returns {HTMLElement|null}
 */
export function diffOf(name, input, outcome) {
  const hunks = Array.isArray(outcome?.structuredPatch) ? outcome.structuredPatch : [];
  if (hunks.length) {
    return drawn(
      hunks.flatMap((/** @type {any} */ hunk) => [
        `@@ -${Number(hunk.oldStart)},${Number(hunk.oldLines)} +${Number(hunk.newStart)},${Number(hunk.newLines)} @@`,
        ...(Array.isArray(hunk.lines) ? hunk.lines.map(String) : []),
      ]),
    );
  }
  if (name === "Write") return drawn(signed(input?.content, "+"));
  const edits = name === "MultiEdit" && Array.isArray(input?.edits) ? input.edits : name === "Edit" ? [input] : [];
  const lines = edits.flatMap((/** @type {any} */ edit) => [...signed(edit?.old_string, "-"), ...signed(edit?.new_string, "+")]);
  return lines.length ? drawn(lines) : null;
}

// What an edit changed, line by line, coloured.
import { el, plain } from "./text.js";

const MAX_LINES = 2000;

/** @param {string[]} lines each begins with "+", "-", "@" or a blank @param {number} [most] @returns {HTMLElement} */
function drawn(lines, most = MAX_LINES) {
  const code = el("code");
  for (const line of lines.slice(0, most)) {
    const kind = { "+": "add", "-": "del", "@": "hunk" }[line[0]];
    code.append(el("span", kind ? { class: kind } : {}, plain(line)));
  }
  if (lines.length > most) code.append(el("span", { class: "hunk" }, `… ${lines.length - most} more lines`));
  return el("pre", { class: "diff", tabindex: "0", "aria-label": "Changed lines" }, code);
}

/** A unified diff of one file, without its head, and all of it: somebody decides by it. @param {unknown} text @returns {HTMLElement} */
export function unified(text) {
  const lines = plain(text).replace(/\n$/, "").split("\n");
  // Only before the first hunk: a line that is taken out may begin so, too.
  const first = lines.findIndex((line) => line.startsWith("@@"));
  return drawn(lines.slice(Math.max(first, 0)), Infinity);
}

/** @param {unknown} text @param {string} mark */
const marked = (text, mark) => (text ? plain(text).replace(/\n$/, "").split("\n").map((line) => mark + line) : []);

/**
 * The changes of an edit: as the CLI recorded them, else as they were asked for.
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
  if (name === "Write") return drawn(marked(input?.content, "+"));
  const edits = name === "MultiEdit" && Array.isArray(input?.edits) ? input.edits : name === "Edit" ? [input] : [];
  const lines = edits.flatMap((/** @type {any} */ edit) => [...marked(edit?.old_string, "-"), ...marked(edit?.new_string, "+")]);
  return lines.length ? drawn(lines) : null;
}

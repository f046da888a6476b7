// What an edit changed, line by line, coloured.
import { el, plain } from "./text.js";

const MAX_LINES = 2000;

/** @param {string[]} lines each begins with "+", "-", "@" or a blank @returns {HTMLElement} */
function drawn(lines) {
  const code = el("code");
  for (const line of lines.slice(0, MAX_LINES)) {
    const kind = { "+": "add", "-": "del", "@": "hunk" }[line[0]];
    code.append(el("span", kind ? { class: kind } : {}, plain(line)));
  }
  if (lines.length > MAX_LINES) code.append(el("span", { class: "hunk" }, `… ${lines.length - MAX_LINES} more lines`));
  return el("pre", { class: "diff", tabindex: "0", "aria-label": "Changed lines" }, code);
}

/** A unified diff. @param {unknown} text @returns {HTMLElement} */
export const unified = (text) => drawn(plain(text).replace(/\n$/, "").split("\n").filter((line) => !/^(?:---|\+\+\+) /.test(line)));

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

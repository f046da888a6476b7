// Text to be approved. Invariants: each character is either visible or named by a mark; a long line wraps; folded text
// shows its number of lines, and `isFolded` finds it.
import { copyButton } from "./code.js";
import { el } from "./text.js";

/** A longer text is folded. */
const MOST = { lines: 8, letters: 600 };
/** This many blanks could look like the end of a line; more are usual at its beginning. */
const RUN = 16;
const INDENT = 40;
/** This many empty lines in a row are replaced by a mark. */
const EMPTY_LINES = 3;

// Invisible characters, and those that change the direction of text. Joiners within an emoji are allowed.
const UNSEEN =
  /(?![\t\n])(?!(?<=[\p{Emoji}\u200d\u20e3])[\ufe0e\ufe0f])(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic}))[\p{C}\p{Zl}\p{Zp}\p{DI}\u2800]/u;
const ODD_BLANK = /(?! )\p{Zs}/u;
const PARTS = new RegExp(
  `(?<empty>(?<=^|\\n)(?:[ \\t]*\\n){${EMPTY_LINES},})|(?<run>[ \\t]{${RUN},})|(?<odd>(?:${UNSEEN.source}|${ODD_BLANK.source}))\\k<odd>*`,
  "gu",
);
const WORDS = new RegExp(`(${UNSEEN.source})\\1*`, "gu");

/** @param {string} char @param {number} times */
const named = (char, times) => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}${times > 1 ? ` × ${times}` : ""}`;

/** @param {unknown} text */
const linesEnd = (text) => String(text ?? "").replace(/\r\n/g, "\n");

/**
 * Splits a text; marks stand for invisible parts.
 * @param {string} text
 * @returns {{ text: string, mark?: boolean }[]}
 */
function pieces(text) {
  /** @type {{ text: string, mark?: boolean }[]} */
  const made = [];
  let at = 0;
  for (const found of text.matchAll(PARTS)) {
    const all = found[0];
    const { empty, odd } = found.groups ?? {};
    const isIndent = found.index === 0 || text[found.index - 1] === "\n";
    if (!empty && !odd && isIndent && all.length < INDENT) continue;
    made.push({ text: text.slice(at, found.index) });
    if (empty) made.push({ text: `${empty.split("\n").length - 1} empty lines`, mark: true }, { text: "\n" });
    else if (odd) made.push({ text: named(odd, all.length / odd.length), mark: true });
    else made.push({ text: `${all.length} blanks`, mark: true });
    at = found.index + all.length;
  }
  made.push({ text: text.slice(at) });
  return made.filter((piece) => piece.text);
}

/** @param {{ text: string, mark?: boolean }[]} all @returns {Node[]} */
const nodes = (all) => all.map(({ text, mark }) => (mark ? el("mark", {}, text) : document.createTextNode(text)));

/** @param {unknown} text @returns {Node[]} */
export const marked = (text) => nodes(pieces(linesEnd(text)));

/** The beginning of a text in one line, with a mark if there is more. @param {unknown} text @param {number} [length] */
export function oneLine(text, length = 120) {
  const all = pieces(linesEnd(text).trim()).map((piece) => (piece.mark ? `⟨${piece.text}⟩` : piece.text)).join("");
  const line = all.split("\n", 1)[0] ?? "";
  return line.length > length ? line.slice(0, length - 1) + "…" : line.length < all.length ? line + " …" : line;
}

/** The text with invisible parts named. @param {unknown} text */
export const seen = (text) => linesEnd(text).replace(WORDS, (all, char) => `⟨${named(char, all.length / char.length)}⟩`);

/** A command, code or the like. @param {unknown} text @returns {HTMLElement} */
export function exact(text) {
  const all = pieces(linesEnd(text));
  const code = el("code");
  const node = el("div", { class: "code" }, el("pre", { tabindex: "0" }, code), copyButton(String(text ?? "")));
  const [begin, rest] = cut(all);
  code.append(...nodes(begin));
  if (rest.trim()) node.append(unfold(rest, () => code.replaceChildren(...nodes(all))));
  return node;
}

/** The part shown at first, and the rest. @param {{ text: string, mark?: boolean }[]} all @returns {[{ text: string, mark?: boolean }[], string]} */
function cut(all) {
  let [lines, letters] = [MOST.lines, MOST.letters];
  const begin = [];
  for (const [at, piece] of all.entries()) {
    let shown = piece.text.slice(0, letters);
    const ends = [...shown.matchAll(/\n/g)];
    if (ends.length >= lines) shown = shown.slice(0, ends[lines - 1]?.index);
    begin.push({ ...piece, text: shown });
    if (shown.length < piece.text.length) {
      const rest = all.slice(at + 1).map((one) => one.text);
      return [begin, piece.text.slice(shown.length) + rest.join("")];
    }
    lines -= ends.length;
    letters -= shown.length;
  }
  return [begin, ""];
}

/** @param {string} rest the hidden part @param {() => void} show @returns {HTMLElement} */
export function unfold(rest, show) {
  const more = rest.replace(/^\n/, "").split("\n").length;
  const words = more > 1 ? `${more} more lines` : `${rest.length} more characters`;
  const button = el("button", { type: "button", class: "unfold" }, `Show all: ${words}`);
  button.addEventListener("click", () => {
    show();
    button.remove();
  });
  return button;
}

/** A part that is still folded. @param {HTMLElement} node @returns {HTMLElement|null} */
export const isFolded = (node) => node.querySelector(".unfold");

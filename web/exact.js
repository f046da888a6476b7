// Text that somebody approves. Invariants: each character of it is either seen or named by a mark; a line that is too long wraps;
// of what is folded the number of lines is told, and `isFolded` knows of it.
import { copyButton } from "./code.js";
import { el } from "./text.js";

/** Of one text, before it is folded. */
const MOST = { lines: 8, letters: 600 };
/** So many blanks in a row could be taken for the end of a line; at its beginning more of them are usual. */
const RUN = 16;
const INDENT = 40;
/** Empty lines in a row that are shown as such. */
const EMPTY_LINES = 3;

// Nothing is drawn of these, or they change the order of what is drawn. What makes one sign of several emoji is none of them.
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
 * A text in pieces; those that are marks stand for what would not be seen.
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

/** The beginning of a text in one line, and that there is more of it. @param {unknown} text @param {number} [length] */
export function oneLine(text, length = 120) {
  const all = pieces(linesEnd(text).trim()).map((piece) => (piece.mark ? `⟨${piece.text}⟩` : piece.text)).join("");
  const line = all.split("\n", 1)[0] ?? "";
  return line.length > length ? line.slice(0, length - 1) + "…" : line.length < all.length ? line + " …" : line;
}

/** Words as they are, but for what nobody would see: that is named. @param {unknown} text */
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

/** What is shown of it at first, and the rest. @param {{ text: string, mark?: boolean }[]} all @returns {[{ text: string, mark?: boolean }[], string]} */
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

/** @param {string} rest what is not shown @param {() => void} show @returns {HTMLElement} */
export function unfold(rest, show) {
  const more = rest.replace(/^\n/, "").split("\n").length;
  const words = more > 1 ? `${more} more lines` : `${rest.length} more letters`;
  const button = el("button", { type: "button", class: "unfold" }, `Show all: ${words}`);
  button.addEventListener("click", () => {
    show();
    button.remove();
  });
  return button;
}

/** Whether something in it is folded still. @param {HTMLElement} node @returns {HTMLElement|null} */
export const isFolded = (node) => node.querySelector(".unfold");

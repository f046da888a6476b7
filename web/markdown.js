// Renders Claude's Markdown as elements made one by one: text cannot become markup, links only lead to the web, and
// images of other sites are not loaded.
import { codeBlock } from "./code.js";
import { el, plain } from "./text.js";

const SAFE_LINK = /^(?:https?:\/\/|mailto:)/i;
const INLINE =
  /(`+)([\s\S]*?[^`])\1(?!`)|\*\*\*(?=[^\s*])([\s\S]*?[^\s*])\*\*\*(?!\*)|\*\*(?=\S)([\s\S]*?\S)\*\*|__(?=\S)([\s\S]*?\S)__|~~(?=\S)([\s\S]*?\S)~~|\*(?=[^\s*])([\s\S]*?[^\s*])\*(?!\*)|(?<!\w)_(?=[^\s_])([\s\S]*?[^\s_])_(?!\w)|!?\[([^\]\n]*)\]\(\s*<?((?:[^\s()<>]|\([^\s()<>]*\))*)>?(?:\s+"[^"\n]*")?\s*\)|(https?:\/\/(?:[^\s<>"'()\]]|\([^\s<>"'()\]]*\))+(?<![.,;:!?*_~]))|\\(\n|[\\`*_{}[\]()#+.!~|>-])/;
const MAX_DEPTH = 8;
// Longer paragraphs are shown as plain text: looking for marks takes time that grows with the square of the length.
const MAX_MARKED = 20000;

/** @param {string} label @param {string} target @param {number} depth @returns {Node} */
function link(label, target, depth) {
  if (!SAFE_LINK.test(target)) return document.createTextNode(label || target);
  const node = el("a", { href: target, rel: "noopener noreferrer nofollow", target: "_blank" });
  inline(node, label || target, depth + 1, true);
  return node;
}

/** @param {HTMLElement} parent @param {string} text @param {number} [depth] @param {boolean} [inLink] */
function inline(parent, text, depth = 0, inLink = false) {
  let rest = text;
  while (rest) {
    const found = depth < MAX_DEPTH && rest.length < MAX_MARKED ? INLINE.exec(rest) : null;
    if (!found) break;
    if (found.index > 0) parent.append(rest.slice(0, found.index));
    rest = rest.slice(found.index + found[0].length);
    const [, , code, both, strong, strong2, gone, em, em2, label, target, address, escaped] = found;
    /** @param {string} tag @param {string} inner */
    const wrap = (tag, inner) => {
      const node = el(tag);
      inline(node, inner, depth + 1, inLink);
      parent.append(node);
    };
    if (code !== undefined) parent.append(el("code", {}, code.trim() || code));
    else if (both) wrap("strong", `*${both}*`);
    else if (strong ?? strong2) wrap("strong", strong ?? strong2);
    else if (gone) wrap("del", gone);
    else if (em ?? em2) wrap("em", em ?? em2);
    else if (target !== undefined) parent.append(inLink ? label : link(label, target, depth));
    else if (address) parent.append(inLink ? address : link(address, address, MAX_DEPTH));
    else if (escaped === "\n") parent.append(el("br"));
    else if (escaped) parent.append(escaped);
  }
  if (rest) parent.append(rest);
}

const FENCE = /^(\s*)(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const TASK = /^\[([ xX])\]\s+/;
/** The delimiter row of a table. */
const RULE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** Whether a table begins at this line. @param {string} line @param {string} [next] */
const isTable = (line, next = "") => line.includes("|") && next.includes("|") && RULE.test(next) && cellsOf(line).length === cellsOf(next).length;

/** @param {string} row */
const cellsOf = (row) => row.trim().replace(/^\||(?<!\\)\|$/g, "").split(/(?<!\\)\|/).map((text) => text.trim().replace(/\\\|/g, "|"));

/** @param {string[]} lines @param {number} depth @returns {HTMLElement[]} */
function blocks(lines, depth) {
  /** @type {HTMLElement[]} */
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (!line.trim()) {
      at++;
    } else if (fence) {
      const body = [];
      for (at++; at < lines.length && !(lines[at].trim().startsWith(fence[2]) && !lines[at].trim().slice(fence[2].length).trim()); at++) {
        body.push(lines[at].startsWith(fence[1]) ? lines[at].slice(fence[1].length) : lines[at].trimStart());
      }
      at++;
      made.push(codeBlock(body.join("\n"), fence[3]));
    } else if (heading) {
      const node = el("h" + heading[1].length);
      inline(node, heading[2]);
      made.push(node);
      at++;
    } else if (/^\s*([-*_])\s*(?:\1\s*){2,}$/.test(line)) {
      made.push(el("hr"));
      at++;
    } else if (/^\s*>/.test(line) && depth < MAX_DEPTH) {
      const body = [];
      for (; at < lines.length && /^\s*>/.test(lines[at]); at++) body.push(lines[at].replace(/^\s*>\s?/, ""));
      made.push(el("blockquote", {}, ...blocks(body, depth + 1)));
    } else if (isTable(line, lines[at + 1])) {
      const from = at;
      for (at += 2; at < lines.length && lines[at].includes("|"); ) at++;
      made.push(table(lines.slice(from, at)));
    } else if (ITEM.test(line) && depth < MAX_DEPTH) {
      const [list, next] = listFrom(lines, at, depth);
      made.push(list);
      at = next;
    } else {
      const body = [line];
      for (at++; at < lines.length && lines[at].trim() && !starts(lines[at]) && !isTable(lines[at], lines[at + 1]); at++) body.push(lines[at]);
      const node = el("p");
      inline(node, body.map((text) => text.replace(/ {2,}$/, "\\").trim()).join("\n").replace(/\\$/, ""));
      made.push(node);
    }
  }
  return made;
}

/** @param {string} line */
const starts = (line) => FENCE.test(line) || ITEM.test(line) || /^#{1,6}\s/.test(line) || /^\s*>/.test(line);

/** @param {string[]} lines @param {number} at @param {number} depth @returns {[HTMLElement, number]} */
function listFrom(lines, at, depth) {
  const first = /** @type {RegExpExecArray} */ (ITEM.exec(lines[at]));
  const indent = first[1].length;
  const ordered = /\d/.test(first[2]);
  const list = el(ordered ? "ol" : "ul", ordered && parseInt(first[2]) !== 1 ? { start: String(parseInt(first[2])) } : {});
  while (at < lines.length) {
    const item = ITEM.exec(lines[at]);
    if (!item || item[1].length !== indent || /\d/.test(item[2]) !== ordered) break;
    const task = TASK.exec(item[3])?.[1];
    const body = [item[3].replace(TASK, "")];
    const inner = indent + item[2].length + 1;
    for (at++; at < lines.length; at++) {
      const isBlank = !lines[at].trim();
      const lead = lines[at].length - lines[at].trimStart().length;
      if (isBlank ? !(lines[at + 1] ?? "").startsWith(" ".repeat(inner)) : lead <= indent && starts(lines[at])) break;
      if (!isBlank && lead <= indent && !lines[at - 1].trim()) break;
      body.push(lines[at].slice(Math.min(lead, inner)));
    }
    const made = blocks(body, depth + 1);
    const mark = task === undefined ? [] : [el("span", { role: "img", "aria-label": task === " " ? "to do" : "done" }, task === " " ? "☐ " : "☑ ")];
    // A single paragraph becomes the item itself.
    list.append(made.length && made[0].tagName === "P" ? el("li", {}, ...mark, ...made[0].childNodes, ...made.slice(1)) : el("li", {}, ...mark, ...made));
  }
  return [list, at];
}

/** @param {string[]} rows @returns {HTMLElement} */
function table(rows) {
  const sides = cellsOf(rows[1]).map((rule) => (rule.endsWith(":") ? (rule.startsWith(":") ? "center" : "right") : ""));
  /** @param {string} row @param {string} tag */
  const cells = (row, tag) =>
    cellsOf(row).slice(0, sides.length).map((text, at) => {
      const cell = el(tag, sides[at] ? { class: sides[at] } : {});
      inline(cell, text);
      return cell;
    });
  const body = rows.slice(2).map((row) => el("tr", {}, ...cells(row, "td")));
  return el("table", {}, el("thead", {}, el("tr", {}, ...cells(rows[0], "th"))), el("tbody", {}, ...body));
}

/** @param {unknown} text @returns {HTMLElement[]} */
export const blocksOf = (text) => blocks(plain(text).split("\n"), 0);

/** @param {unknown} text @returns {HTMLElement} */
export function markdown(text) {
  return el("div", { class: "md", dir: "auto" }, ...blocksOf(text));
}

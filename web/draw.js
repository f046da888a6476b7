// Draws one item of a conversation. Text is inserted as text: see text.js and markdown.js.
import { aboutOf, nameOf, stateOf } from "./calls.js";
import { codeBlock } from "./code.js";
import { diffOf } from "./diff.js";
import { Growing } from "./growing.js";
import { markdown } from "./markdown.js";
import { wordsOf } from "./subagent.js";
import { el, plain, short } from "./text.js";

/** @typedef {import("./conversation.js").Item} Item */

/** For a streamed text: its whole last paragraph is redrawn with each word. */
const MAX_GROWN = 100_000;
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/;
/** Tools that start a subagent, which has its own transcript: see `agents.js`. */
const AGENTS = new Set(["Agent", "Task"]);
const WHO = { user: "You", claude: "Claude", thinking: "Thinking", tool: "Tool", note: "Note", output: "Output" };
/** Longer output of a command is folded. */
const MOST_OUTPUT = 10;

/** @param {any} source @returns {HTMLElement|null} */
function picture(source) {
  const { media_type: kind, data, type } = source ?? {};
  if (type !== "base64" || !PICTURES.test(kind) || !/^[A-Za-z0-9+/=\s]*$/.test(data ?? "-")) return null;
  return el("img", { src: `data:${kind};base64,${data}`, alt: "A picture in the session", loading: "lazy" });
}

/** @param {string} text @param {string} [language] */
const code = (text, language) => codeBlock(plain(text), language);

/** An item's time, with the day unless it is today. @param {Item} item */
function timeOf(item) {
  const at = new Date(item.time ?? "");
  if (Number.isNaN(at.getTime())) return [];
  const time = { hour: /** @type {const} */ ("2-digit"), minute: /** @type {const} */ ("2-digit") };
  const isToday = at.toDateString() === new Date().toDateString();
  const words = isToday ? at.toLocaleTimeString([], time) : at.toLocaleString([], { day: "numeric", month: "short", ...time });
  return [el("time", { datetime: at.toISOString(), title: at.toLocaleString() }, words)];
}

/** @param {any} result @param {any} outcome @returns {Node[]} */
function resultOf(result, outcome) {
  const words = wordsOf(result, outcome);
  const content = typeof words === "string" ? [{ type: "text", text: words }] : (words ?? []);
  if (!Array.isArray(content)) return [];
  return content.flatMap((block) => {
    const shown = block?.type === "image" ? picture(block.source) : block?.type === "text" && block.text ? code(block.text) : null;
    return shown ? [shown] : [];
  });
}

/** A fold whose content is made when it is first opened. @param {(Node|string)[]} head @param {Record<string, string>} attributes @param {() => Node[]} inside */
function fold(head, attributes, inside) {
  const { title = "", ...rest } = attributes;
  const details = el("details", rest, el("summary", title ? { title } : {}, ...head));
  let made = false;
  details.addEventListener("toggle", () => {
    if (!made && details.hasAttribute("open")) {
      made = true;
      details.append(el("div", { class: "inside" }, ...inside()));
    }
  });
  return details;
}

/** @param {Item} item @returns {HTMLElement} */
function tool(item) {
  const { name = "?", input } = item.tool;
  const { sign, words, failed } = stateOf(item);
  const mark = el("span", { class: failed ? "mark bad" : "mark", role: "img", title: words, "aria-label": words }, sign);
  const when = timeOf(item)[0]?.title ?? "";
  const head = [mark, el("strong", {}, nameOf(item.tool)), " ", el("span", { class: "arg" }, aboutOf(item.tool))];
  const asked = typeof input?.prompt === "string" ? input.prompt : undefined;
  const isAgent = AGENTS.has(name);
  // The subagent's transcript, shown here, begins with its prompt.
  const nested = item.nested.filter((one) => !one.script && !(one.kind === "user" && one.text?.trim() === asked?.trim()));
  return fold(head, { class: "tool", title: when }, () => {
    /** @type {Node[]} */
    const inside = [];
    const diff = diffOf(name, input, item.outcome);
    if (diff) inside.push(diff);
    else if (typeof input?.command === "string") inside.push(code(input.command, "sh"));
    else if (typeof input?.plan === "string") inside.push(markdown(input.plan));
    else if (typeof input?.prompt === "string") inside.push(markdown(input.prompt));
    else if (input && Object.keys(input).length) inside.push(code(JSON.stringify(input, null, 2), "json"));
    if (nested.length) inside.push(el("div", { class: "nested", role: "group", "aria-label": "Subagent" }, ...nested.map(draw)));
    else if (isAgent) inside.push(el("div", { class: "nested", role: "group", "aria-label": "Subagent", "data-call": String(item.tool.id) }));
    if (item.result && !item.background && !(diff && !failed)) inside.push(...resultOf(item.result, item.outcome));
    return inside;
  });
}

/** The calls that a call's script made. @param {Item} item @returns {Node[]} */
function calls(item) {
  const made = item.nested.filter((one) => one.script);
  return made.length ? [el("div", { class: "nested", role: "group", "aria-label": "Calls of the script" }, ...made.map(draw))] : [];
}

/** @param {Item} item @returns {Node[]} */
function bodyOf(item) {
  const text = item.text ?? "";
  switch (item.kind) {
    case "tool":
      return [tool(item), ...calls(item)];
    case "thinking":
      if (item.live) return [el("div", { class: "who" }, "Thinking"), grown(item)];
      return [fold([el("span", {}, item.model ?? "Thinking"), " ", el("span", { class: "arg" }, short(text, 80))], { class: "thinking" }, () => [markdown(text)])];
    case "user": {
      const pictures = (item.images ?? []).flatMap((image) => picture(image.source) ?? []);
      return [el("div", { class: "who" }, "You ", ...timeOf(item)), el("div", { class: "said" }, el("div", { class: "typed", dir: "auto" }, plain(text)), ...pictures)];
    }
    case "claude":
      if (item.live) return [el("div", { class: "said" }, grown(item))];
      return [...timeOf(item), el("div", { class: "said" }, markdown(text))];
    case "output": {
      const lines = text.split("\n").length;
      if (lines <= MOST_OUTPUT) return [code(text)];
      return [fold([el("span", {}, "Output"), " ", el("span", { class: "arg" }, `${lines} lines`)], { class: "output" }, () => [code(text)])];
    }
    default:
      return [document.createTextNode(plain(text))];
  }
}

/** The drawn part of streamed items. @type {WeakMap<Item, Growing>} */
const growing = new WeakMap();

/** @param {Item} item */
function grown(item) {
  const text = growing.get(item) ?? new Growing();
  growing.set(item, text);
  text.set((item.text ?? "").slice(0, MAX_GROWN));
  return text.node;
}

/** Draws an item's added text in place; false if the item must be redrawn. @param {Item} item @param {HTMLElement} node */
export function grow(item, node) {
  const text = growing.get(item);
  if (!item.live || item.kind === "tool" || !text || !node.contains(text.node)) return false;
  grown(item);
  return true;
}

/** @param {Item} item @returns {HTMLElement} */
export function draw(item) {
  const about = item.kind === "tool" ? `${nameOf(item.tool)} ${aboutOf(item.tool)}` : item.live ? "" : item.text;
  const label = `${WHO[item.kind]}: ${short(about, 60)}`;
  return el("article", { class: item.live ? `${item.kind} live` : item.kind, tabindex: "-1", "aria-label": label, "data-key": item.key }, ...bodyOf(item));
}

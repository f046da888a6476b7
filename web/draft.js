// Claude's reply while it is streamed: the blocks of a message, from stream events. Each is an ordinary item of the
// conversation until its transcript line replaces it: see `conversation.js`.

import { TELLING } from "./calls.js";

/** @typedef {import("./conversation.js").Item} Item */

const ARGUMENT = new RegExp(`"(?:${TELLING.join("|")})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`);
const MAX_BLOCKS = 1000;

let number = 0;

export class Draft {
  constructor() {
    /** Items not yet replaced by a line, in order. @type {Item[]} */
    this.items = [];
    /** The streamed message's items, by their index in it. @type {Map<number, Item>} */
    this.open = new Map();
    this.message = "";
  }

  /**
   * Handles an event of the Messages API.
   * @param {any} event
   * @returns {{ added: Item[], changed: Item[] }}
   */
  take(event) {
    /** @type {{ added: Item[], changed: Item[] }} */
    const made = { added: [], changed: [] };
    const item = this.open.get(event?.index);
    if (event?.type === "message_start") {
      made.changed.push(...this.#end());
      this.message = String(event.message?.id ?? "");
    } else if (event?.type === "content_block_start" && this.items.length < MAX_BLOCKS) {
      const block = this.#begin(event.content_block);
      if (!block) return made;
      this.open.set(event.index, block);
      this.items.push(block);
      made.added.push(block);
    } else if (event?.type === "content_block_delta" && item) {
      if (grow(item, event.delta)) made.changed.push(item);
    } else if (event?.type === "content_block_stop" && item) {
      item.live = false;
      if (item.kind === "tool") finish(item);
      made.changed.push(item);
    } else if (event?.type === "message_stop") {
      made.changed.push(...this.#end());
    }
    return made;
  }

  /** The message is over: its blocks no longer grow. */
  #end() {
    const ended = [...this.open.values()].filter((item) => item.live);
    for (const item of ended) item.live = false;
    this.open.clear();
    return ended;
  }

  /**
   * The draft that a line's block replaces; earlier drafts are over.
   * @param {Item} final
   * @param {string|undefined} message the id of the line's message
   * @returns {{ item: Item|undefined, gone: Item[] }}
   */
  replace(final, message) {
    const isSame = (/** @type {Item} */ one) =>
      one.kind === final.kind &&
      (one.kind === "tool" ? one.tool.id === final.tool.id : isOf(one.message, message));
    const at = this.items.findIndex(isSame);
    if (at < 0) return { item: undefined, gone: [] };
    const gone = this.items.splice(0, at + 1);
    const item = gone.pop();
    for (const [index, one] of this.open) if (one === item || gone.includes(one)) this.open.delete(index);
    return { item, gone };
  }

  /** Removes a draft that exists already; returns how many there were from it on. @param {Item} item */
  drop(item) {
    const at = this.items.indexOf(item);
    this.items.splice(at, 1);
    for (const [index, one] of this.open) if (one === item) this.open.delete(index);
    return this.items.length + 1 - at;
  }

  /** The stream is over: removes the drafts. @returns {Item[]} */
  clear() {
    this.open.clear();
    return this.items.splice(0);
  }

  /** @param {any} block @returns {Item|undefined} */
  #begin(block) {
    const of = { key: `draft-${number++}`, uuid: undefined, time: undefined, nested: [], live: true, message: this.message };
    if (block?.type === "text") return { ...of, kind: "claude", text: String(block.text ?? "") };
    if (block?.type === "thinking") return { ...of, kind: "thinking", text: String(block.thinking ?? "") };
    if (block?.type === "tool_use") {
      return { ...of, kind: "tool", json: "", tool: { id: block.id, name: String(block.name ?? "?"), input: block.input ?? {} } };
    }
    return undefined;
  }
}

/** Whether a draft may belong to a line's message: a draft that a CLI displayed has an id of another kind. @param {string|undefined} draft @param {string|undefined} line */
export const isOf = (draft, line) => !draft?.startsWith("msg_") || !line || draft === line;

/** @param {Item} item @param {any} delta @returns {boolean} whether that changed it */
function grow(item, delta) {
  const [kind, text] = [delta?.type, delta?.text ?? delta?.thinking ?? delta?.partial_json];
  if (typeof text !== "string" || !text) return false;
  if (kind === "input_json_delta" && item.kind === "tool") {
    item.json += text;
    const known = ARGUMENT.exec(item.json ?? "")?.[1];
    if (known) item.tool = { ...item.tool, input: { description: unescaped(known) } };
    return known !== undefined;
  }
  if ((kind === "text_delta" && item.kind === "claude") || (kind === "thinking_delta" && item.kind === "thinking")) {
    item.text += text;
    return true;
  }
  return false;
}

/** @param {string} text the content of a JSON string, possibly cut */
function unescaped(text) {
  try {
    return JSON.parse(`"${text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, "")}"`);
  } catch {
    return text;
  }
}

/** @param {Item} item */
function finish(item) {
  try {
    if (item.json) item.tool = { ...item.tool, input: JSON.parse(item.json) };
  } catch {
    // Its line will say so.
  }
}

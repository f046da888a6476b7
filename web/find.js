// Search in a whole session: the browser's own search only finds the part in the document. Loads earlier messages until
// all are there.
import { textOf } from "./conversation.js";

/** @typedef {import("./conversation.js").Item} Item */

const SUPPORTED = typeof Highlight !== "undefined";
const PAUSE = 200;
/** Limit of marked matches. */
const MOST_MARKS = 2000;

export class Find {
  /**
   * @param {{ box: HTMLElement, field: HTMLInputElement, count: HTMLElement, next: HTMLElement, before: HTMLElement, close: HTMLElement }} parts
   * @param {import("./window.js").Window<Item>} view
   * @param {() => import("./session.js").Session|undefined} session the shown one
   */
  constructor(parts, view, session) {
    this.parts = parts;
    this.view = view;
    this.session = session;
    /** @type {Item[]} */
    this.hits = [];
    /** @type {Item|undefined} */
    this.current = undefined;
    /** Whether to scroll to the current match. */
    this.scroll = false;
    this.isPlanned = false;
    this.watcher = new MutationObserver(() => this.#markLater());
    parts.field.addEventListener("input", () => this.#look(true));
    parts.field.addEventListener("keydown", (event) => this.#onKey(event));
    parts.next.addEventListener("click", () => this.#step(1));
    parts.before.addEventListener("click", () => this.#step(-1));
    parts.close.addEventListener("click", () => this.close());
  }

  get isOpen() {
    return !this.parts.box.hidden;
  }

  open() {
    this.parts.box.hidden = false;
    this.parts.field.select();
    this.parts.field.focus();
    this.watcher.observe(this.view.boxes.items, { childList: true, subtree: true, characterData: true });
    this.#look(true);
    void this.#readAll();
  }

  close() {
    if (!this.isOpen) return;
    this.parts.box.hidden = true;
    this.watcher.disconnect();
    if (SUPPORTED) for (const name of ["find", "found"]) CSS.highlights.delete(name);
    const at = this.current ? this.view.items.indexOf(this.current) : -1;
    if (at >= 0) this.view.focus(at);
    else this.view.scroller.focus();
    this.hits = [];
    this.current = undefined;
  }

  async #readAll() {
    const session = this.session();
    while (this.isOpen && session && session === this.session() && !session.done) {
      this.parts.box.setAttribute("aria-busy", "true");
      const before = this.view.items.length;
      await session.loadEarlier(500);
      // It is being loaded, or loading failed.
      if (this.view.items.length === before) await new Promise((next) => setTimeout(next, PAUSE));
      this.#look(false);
    }
    this.parts.box.setAttribute("aria-busy", "false");
  }

  get #words() {
    return this.parts.field.value.toLowerCase();
  }

  /** @param {boolean} goThere to the first match from the visible part on */
  #look(goThere) {
    const words = this.#words;
    this.hits = words ? this.view.items.filter((item) => textOf(item).includes(words)) : [];
    if (goThere) {
      const from = this.view.firstInSight();
      this.current = this.hits.find((item) => this.view.items.indexOf(item) >= from) ?? this.hits.at(-1);
      this.#go();
    }
    this.#tell();
  }

  /** @param {number} by */
  #step(by) {
    this.#look(false);
    if (!this.hits.length) return;
    const at = this.current ? this.hits.indexOf(this.current) : -1;
    this.current = this.hits[(at + by + this.hits.length) % this.hits.length];
    this.#go();
    this.#tell();
  }

  #tell() {
    const at = this.current ? this.hits.indexOf(this.current) + 1 : 0;
    this.parts.count.textContent = !this.#words ? "" : this.hits.length ? `${at} of ${this.hits.length}` : "No match";
    this.#markLater();
  }

  /** Scrolls to the current match and opens its folds. */
  #go() {
    const { view, current } = this;
    if (!current) return;
    const node = view.bring(view.items.indexOf(current));
    this.scroll = true;
    // A visible match needs no fold opened.
    if (node && !places(node, this.#words).length) node.querySelectorAll("details").forEach((fold) => (fold.open = true));
    this.#markLater();
  }

  #markLater() {
    if (this.isPlanned) return;
    this.isPlanned = true;
    requestAnimationFrame(() => {
      this.isPlanned = false;
      if (this.isOpen) this.#mark();
    });
  }

  #mark() {
    const words = this.#words;
    const node = this.current && this.view.drawn.get(this.current);
    const [first] = node?.isConnected ? places(node, words) : [];
    if (SUPPORTED) {
      CSS.highlights.set("find", new Highlight(...places(this.view.boxes.items, words)));
      CSS.highlights.set("found", new Highlight(...(first ? [first] : [])));
    }
    if (!first || !this.scroll) return;
    this.scroll = false;
    // First within an inner scroller, then in the page.
    for (const box of [first.startContainer.parentElement?.closest("pre"), this.view.scroller]) {
      if (!box) continue;
      const [place, view] = [first.getBoundingClientRect(), box.getBoundingClientRect()];
      if (place.top < view.top || place.bottom > view.bottom) box.scrollTop += place.top - view.top - box.clientHeight / 3;
    }
  }

  /** @param {KeyboardEvent} event */
  #onKey(event) {
    if (event.key === "Escape") this.close();
    else if (event.key === "Enter") this.#step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** The matches in a drawn item. @param {HTMLElement} node @param {string} words @returns {Range[]} */
function places(node, words) {
  /** @type {Range[]} */
  const found = [];
  if (!words) return found;
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode()); ) {
    const all = (text.textContent ?? "").toLowerCase();
    for (let at = all.indexOf(words); at >= 0 && found.length < MOST_MARKS; at = all.indexOf(words, at + words.length)) {
      if (!text.parentElement?.checkVisibility()) break;
      const range = new Range();
      range.setStart(text, at);
      range.setEnd(text, Math.min(at + words.length, text.textContent?.length ?? 0));
      found.push(range);
    }
  }
  return found;
}

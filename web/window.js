// A long list of which only the part near the viewport is in the document. Two empty boxes stand for the parts above
// and below. Invariant: the visible item stays in place, whatever is added above it or changes its height.

import { keepingFocus } from "./text.js";

/** Drawn screens above and below the viewport. */
const AROUND = 1;

/** @template T */
export class Window {
  /**
   * @param {HTMLElement} scroller
   * @param {{ before: HTMLElement, items: HTMLElement, after: HTMLElement }} boxes
   * @param {(item: T) => HTMLElement} draw
   * @param {(item: T) => number} guess its height before it is drawn
   * @param {(item: T, node: HTMLElement) => boolean} grow draws an item's added text in place, if possible
   */
  constructor(scroller, boxes, draw, guess, grow) {
    this.scroller = scroller;
    this.boxes = boxes;
    this.draw = draw;
    this.guess = guess;
    this.grow = grow;
    /** @type {T[]} */
    this.items = [];
    /** @type {Map<T, number>} */
    this.heights = new Map();
    /** @type {Map<T, HTMLElement>} the drawn items; folds stay as the user left them */
    this.drawn = new Map();
    this.first = 0;
    this.end = 0;
    /** Whether the end stays visible when items are added. */
    this.follows = true;
    /** @type {() => void} called when the beginning is near */
    this.onTop = () => {};
    /** @type {() => void} called when the end may have become visible or hidden */
    this.onEnd = () => {};
    this.pending = false;
    /** @type {{ node: HTMLElement, top: number }|null} */
    this.anchored = null;
    scroller.addEventListener("scroll", () => {
      this.follows = this.#fromEnd() < 40;
      this.anchored = this.#anchor();
      this.update();
      this.onEnd();
    });
    this.watcher = new ResizeObserver(() => this.#resized());
    new ResizeObserver(() => this.update()).observe(scroller);
  }

  /** @param {T[]} items the list, changed or not */
  set(items) {
    this.items = items;
    this.heights.clear();
    this.drawn.clear();
    this.watcher.disconnect();
    this.boxes.items.replaceChildren();
    this.first = this.end = 0;
    this.follows = true;
    this.update();
  }

  /** Items were prepended. @param {number} count */
  prepended(count) {
    const anchor = this.anchored;
    this.first += count;
    this.end += count;
    this.boxes.before.style.height = `${this.#sum(0, this.first)}px`;
    this.#hold(anchor);
    this.update();
  }

  /** Items were appended, or must be redrawn. @param {T[]} changed */
  appended(changed) {
    for (const item of changed) {
      const old = this.drawn.get(item);
      if (!old || this.grow(item, old)) continue;
      const made = this.draw(item);
      const wasOpen = [...old.querySelectorAll("details")].map((fold) => fold.open);
      this.drawn.set(item, made);
      if (old.isConnected) {
        this.watcher.unobserve(old);
        keepingFocus(this.boxes.items, () => old.replaceWith(made));
        this.watcher.observe(made);
      }
      made.querySelectorAll("details").forEach((fold, at) => (fold.open = wasOpen[at] ?? false));
    }
    this.update();
  }

  toEnd() {
    this.follows = true;
    this.#draw(); // at once: the scroll event of the next frame would be taken for the user's
  }

  /** Scrolls to an item and focuses it. @param {number} index */
  focus(index) {
    this.bring(index)?.focus({ preventScroll: true });
  }

  /** The first visible item. */
  firstInSight() {
    const node = this.#anchor()?.node;
    return node ? Number(node.getAttribute("aria-posinset")) - 1 : 0;
  }

  /** Scrolls to an item. @param {number} index @returns {HTMLElement|undefined} */
  bring(index) {
    const at = Math.max(0, Math.min(index, this.items.length - 1));
    if (at < this.first || at >= this.end) {
      this.follows = false; // the user wants this item, not the newest
      this.scroller.scrollTop = this.#sum(0, at);
      this.#draw();
    }
    const node = this.drawn.get(this.items[at]);
    node?.scrollIntoView({ block: "nearest" });
    return node;
  }

  update() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.#draw();
    });
  }

  #fromEnd() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
  }

  /** @param {T} item */
  #height(item) {
    return this.heights.get(item) ?? this.guess(item);
  }

  /** @param {number} from @param {number} to */
  #sum(from, to) {
    let sum = 0;
    for (let at = from; at < to; at++) sum += this.#height(this.items[at]);
    return sum;
  }

  #draw() {
    const { scroller, items } = this;
    const anchor = this.#anchor();
    const room = scroller.clientHeight * AROUND;
    const total = this.#sum(0, items.length);
    const furthest = Math.max(0, total - scroller.clientHeight);
    const from = (this.follows ? furthest : Math.min(scroller.scrollTop, furthest)) - room;
    const to = from + scroller.clientHeight + 2 * room;
    let [first, above] = [0, 0];
    while (first < items.length && above + this.#height(items[first]) < from) above += this.#height(items[first++]);
    let [end, below] = [first, above];
    while (end < items.length && below < to) below += this.#height(items[end++]);
    this.#show(first, end);
    this.#measure();
    this.boxes.before.style.height = `${above}px`;
    this.boxes.after.style.height = `${this.#sum(end, items.length)}px`;
    this.#hold(anchor);
    if (scroller.scrollTop < room && items.length) this.onTop();
    this.onEnd();
  }

  /** The first visible item, and its position. @returns {{ node: HTMLElement, top: number }|null} */
  #anchor() {
    const edge = this.scroller.getBoundingClientRect().top;
    for (let at = this.first; at < this.end; at++) {
      const node = this.drawn.get(this.items[at]);
      const box = node?.isConnected ? node.getBoundingClientRect() : null;
      if (node && box && box.bottom > edge) return { node, top: box.top };
    }
    return null;
  }

  /** @param {{ node: HTMLElement, top: number }|null} anchor */
  #hold(anchor) {
    if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (anchor?.node.isConnected) {
      const moved = anchor.node.getBoundingClientRect().top - anchor.top;
      if (Math.abs(moved) >= 1) this.scroller.scrollTop += moved;
    }
    this.anchored = this.#anchor();
  }

  /** @param {number} first @param {number} end */
  #show(first, end) {
    const box = this.boxes.items;
    const wanted = new Set();
    for (let at = first; at < end; at++) {
      const item = this.items[at];
      let node = this.drawn.get(item);
      if (!node) this.drawn.set(item, (node = this.draw(item)));
      node.setAttribute("aria-posinset", String(at + 1));
      node.setAttribute("aria-setsize", String(this.items.length));
      wanted.add(node);
    }
    for (const node of [...box.children]) {
      if (!wanted.has(node)) {
        this.watcher.unobserve(node);
        node.remove();
      }
    }
    let next = box.firstElementChild;
    for (const node of wanted) {
      if (next && node === next) next = next.nextElementSibling;
      else {
        box.insertBefore(node, next);
        this.watcher.observe(node);
      }
    }
    this.first = first;
    this.end = end;
    // Of items drawn long ago only opened ones are worth keeping.
    if (this.drawn.size > 2000) {
      for (const [item, node] of this.drawn) if (!node.isConnected && !node.querySelector("details[open]")) this.drawn.delete(item);
    }
  }

  /** Measures the true heights. */
  #measure() {
    for (let at = this.first; at < this.end; at++) {
      const node = this.drawn.get(this.items[at]);
      if (node?.isConnected) this.heights.set(this.items[at], node.getBoundingClientRect().height);
    }
  }

  /** A height changed: an image loaded, a fold was opened. */
  #resized() {
    this.#measure();
    this.#hold(this.anchored);
  }
}

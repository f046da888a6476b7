// Markdown that grows at its end. Finished blocks keep their elements, with the user's selection in them: added text
// costs its own paragraph, however long the text is.
import { blocksOf } from "./markdown.js";
import { el } from "./text.js";

const FENCE = /^\s*(`{3,}|~{3,})/;
/** A line that cannot continue the block before a blank line. */
const BEGINS = /^(?!\s|[-*+]\s|\d{1,9}[.)]\s|>|\|)/;

export class Growing {
  constructor() {
    this.node = el("div", { class: "md", dir: "auto" });
    this.done = "";
    this.kept = 0;
  }

  /** @param {string} text */
  set(text) {
    if (!text.startsWith(this.done)) {
      this.node.replaceChildren();
      this.done = "";
      this.kept = 0;
    }
    while (this.node.childNodes.length > this.kept) this.node.lastChild?.remove();
    const over = lastEnd(text.slice(this.done.length));
    if (over) {
      this.node.append(...blocksOf(text.slice(this.done.length, this.done.length + over)));
      this.done = text.slice(0, this.done.length + over);
      this.kept = this.node.childNodes.length;
    }
    this.node.append(...blocksOf(text.slice(this.done.length)));
  }
}

/** The end of the blocks that no later text can change. @param {string} text */
function lastEnd(text) {
  let [end, start, fence, blank] = [0, 0, "", false];
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (!fence && blank && line && BEGINS.test(line)) end = start;
    if (!fence && mark) fence = mark;
    else if (fence && mark?.startsWith(fence) && !line.trim().slice(mark.length)) fence = "";
    blank = !line.trim();
    start += line.length + 1;
  }
  return end;
}

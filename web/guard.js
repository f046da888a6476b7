// Whether an answer is meant for the card that takes it: only one whose buttons have been in sight, and at their place, for a moment.
// What somebody pressed for the card before it, or for what moved away under the finger, answers nothing.

/** Neovim's own windows wait as long: `lua/claude-ide/ui/came.lua`. */
const CALM = 600;
/** Of the buttons must be in sight. */
const EDGE = 8;
const APART = 8;

/** @typedef {{ place: string, since: number, ready: boolean }} Seen */

export class Guard {
  /** @param {HTMLElement} box in which cards lie, which scrolls @param {(card: HTMLElement, ready: boolean) => void} changed */
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    /** @type {Map<HTMLElement, Seen>} */
    this.cards = new Map();
    this.looked = 0;
    /** Where the buttons lay that were pressed last. @type {DOMRect|undefined} */
    this.pressed = undefined;
  }

  /** Begins with a card that has just been drawn. @param {HTMLElement} card */
  watch(card) {
    this.#keepAway(card);
    if (!this.cards.size) requestAnimationFrame((now) => this.#look(now));
    this.cards.set(card, { place: "", since: Infinity, ready: false });
  }

  /** @param {HTMLElement} card */
  forget(card) {
    this.cards.delete(card);
  }

  /** Whether a card takes an answer now, and where its buttons lie then. @param {HTMLElement} card */
  isReady(card) {
    const seen = this.cards.get(card);
    return seen !== undefined && seen.ready && this.#placeOf(card) === seen.place;
  }

  /** A button of it was pressed. @param {HTMLElement} card */
  answered(card) {
    this.pressed = card.querySelector("footer")?.getBoundingClientRect();
  }

  /** @param {number} now */
  #look(now) {
    const stood = now - this.looked > CALM; // The page was not drawn: nobody saw anything meanwhile.
    this.looked = now;
    for (const [card, seen] of this.cards) {
      if (!card.isConnected) {
        this.cards.delete(card);
        continue;
      }
      const place = this.#placeOf(card);
      if (stood || !place || place !== seen.place) Object.assign(seen, { place, since: place ? now : Infinity });
      const ready = now - seen.since >= CALM;
      if (ready !== seen.ready) this.changed(card, (seen.ready = ready));
    }
    if (this.cards.size) requestAnimationFrame((next) => this.#look(next));
  }

  /** Where its buttons lie, wherever the box is scrolled to; "" while they are out of sight. @param {HTMLElement} card */
  #placeOf(card) {
    const view = this.box.getBoundingClientRect();
    const foot = card.querySelector("footer")?.getBoundingClientRect();
    const isInSight = foot && foot.height > 0 && foot.top < view.bottom - EDGE && foot.bottom > view.top + EDGE;
    return isInSight ? [foot.left, foot.top + this.box.scrollTop, foot.width, foot.height].map(Math.round).join() : "";
  }

  /** The buttons of a new card lie where those that were pressed last did not. @param {HTMLElement} card */
  #keepAway(card) {
    const foot = /** @type {HTMLElement|null} */ (card.querySelector("footer"));
    const [is, was] = [foot?.getBoundingClientRect(), this.pressed];
    if (!foot || !is || !was || is.bottom < was.top || is.top > was.bottom || is.right < was.left || is.left > was.right) return;
    foot.style.marginBottom = `${Math.ceil(is.bottom - was.top) + APART}px`; // The page ends below: what is above goes up.
  }
}

// Decides whether an answer is meant for its card: only if the card's buttons have been visible, and in place, for a
// moment. A press meant for the previous card, or for a button that moved away, answers nothing.

/** As long as Neovim's own windows: `lua/claude-ide/base/guard_times.lua`. */
const CALM = 600;
/** Pixels of the buttons that must be visible. */
const EDGE = 8;
const APART = 8;

/** @typedef {{ place: string, since: number, ready: boolean }} Seen */

/** @param {HTMLElement} card */
const lastOf = (card) => /** @type {HTMLElement} */ (card.lastElementChild);

export class Guard {
  /** @param {HTMLElement} box the scrolling container of the cards @param {(card: HTMLElement, ready: boolean) => void} changed */
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    /** @type {Map<HTMLElement, Seen>} */
    this.cards = new Map();
    this.looked = 0;
    /** The place of the buttons pressed last. @type {DOMRect|undefined} */
    this.pressed = undefined;
  }

  /** Starts watching a new card. @param {HTMLElement} card */
  watch(card) {
    this.#keepAway(card);
    if (!this.cards.size) requestAnimationFrame((now) => this.#look(now));
    this.cards.set(card, { place: "", since: Infinity, ready: false });
  }

  /** @param {HTMLElement} card */
  forget(card) {
    this.cards.delete(card);
    lastOf(card).style.marginBottom = "";
  }

  /** Whether a card takes an answer now, and the place of its buttons. @param {HTMLElement} card */
  isReady(card) {
    const seen = this.cards.get(card);
    return seen !== undefined && seen.ready && this.#placeOf(card) === seen.place;
  }

  /** Records a press. @param {HTMLElement} card */
  answered(card) {
    this.pressed = card.querySelector("footer")?.getBoundingClientRect();
  }

  /** @param {number} now */
  #look(now) {
    const stood = now - this.looked > CALM; // The page was not drawn meanwhile, so the user saw nothing.
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

  /** The place of its buttons, independent of scrolling; "" while they are hidden. @param {HTMLElement} card */
  #placeOf(card) {
    const view = this.box.getBoundingClientRect();
    const foot = card.querySelector("footer")?.getBoundingClientRect();
    const isInSight = foot && foot.height > 0 && foot.top < view.bottom - EDGE && foot.bottom > view.top + EDGE;
    return isInSight ? [foot.left, foot.top + this.box.scrollTop, foot.width, foot.height].map(Math.round).join() : "";
  }

  /** Moves a new card's buttons away from those pressed last. @param {HTMLElement} card */
  #keepAway(card) {
    const [is, was] = [card.querySelector("footer")?.getBoundingClientRect(), this.pressed];
    if (!is || !was || is.bottom < was.top || is.top > was.bottom || is.right < was.left || is.left > was.right) return;
    // The page ends below, so this moves everything above up: also what the card says of an answer, which stays at the buttons.
    lastOf(card).style.marginBottom = `${Math.ceil(is.bottom - was.top) + APART}px`;
  }
}

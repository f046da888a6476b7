// Open requests to the user, each as a card: its subject, the changes, the choices. A card is answered once, and goes
// when the session reports the end, wherever it was decided. Typed text survives a lost connection. Invariants: nothing
// can be approved while a part of it is folded or invisible (`exact.js`); a card takes no answer that was meant for
// another one (`guard.js`).
import { unified } from "./diff.js";
import { exact, isFolded, seen } from "./exact.js";
import { Guard } from "./guard.js";
import { markdown } from "./markdown.js";
import { local } from "./place.js";
import { el, plain, short } from "./text.js";

/** @typedef {{ frame: any, node: HTMLElement, stale: boolean, sent: boolean, taken?: Typed[] }} Card `taken`: the fields sent with its answer */
/** @typedef {HTMLInputElement|HTMLTextAreaElement} Typed */

const KINDS = /** @type {Record<string, string>} */ ({
  permission: "Permission",
  question: "Question",
  plan: "Plan",
  diff: "Changes",
  code: "Code",
});
/** What is said of an answer, by the kind of the request: each has its own verb. */
const YES = /** @type {Record<string, string>} */ ({ permission: "Allowed", code: "Allowed", question: "Answered", plan: "Approved" });
const NO = /** @type {Record<string, string>} */ ({ permission: "Denied", code: "Denied", question: "Declined" });
/** How long an outcome stays visible. */
const SEEN = 2500;
/** Shown for a press before the card can have been read, or while its buttons are hidden. */
const EARLY = "Too early: the buttons have only just appeared. Press again.";
const FOLDED = "Press “Show all” first: a part of this request is folded.";
/** After a reconnect, cards that are not sent again within this time go. */
const REPORTED_AGAIN = 3000;

export class Decisions {
  /**
   * @param {HTMLElement} box
   * @param {(frame: any) => boolean} send
   * @param {(words: string) => void} say for screen readers
   * @param {(words: string) => void} keep saves text typed into a card but not sent
   */
  constructor(box, send, say, keep) {
    this.box = box;
    this.send = send;
    this.say = say;
    this.keep = keep;
    /** @type {Map<number|string, Card>} */
    this.cards = new Map();
    this.canWrite = false;
    /** Removes the cards that are not sent again. @type {ReturnType<typeof setTimeout>|undefined} */
    this.missing = undefined;
    this.guard = new Guard(box, (node) => this.#arm(node));
    this.#show();
  }

  /** @param {any} frame */
  hear(frame) {
    const card = this.cards.get(frame.id);
    if (frame.type === "decision") {
      if (card && JSON.stringify(card.frame) === JSON.stringify(frame)) {
        Object.assign(card, { stale: false, sent: false });
        this.#enable(card);
      } else {
        this.#add(frame, card);
      }
    } else if (card && frame.type === "decision_closed") {
      this.#close(card, endOf(card.frame.kind, frame.outcome));
    } else if (card && frame.type === "error") {
      Object.assign(card, { sent: false, taken: undefined });
      this.#enable(card);
      tell(card, `Not answered: ${plain(frame.reason ?? frame.error)}`);
    }
  }

  /** @param {boolean} can */
  allow(can) {
    this.canWrite = can;
    for (const card of this.cards.values()) this.#enable(card);
  }

  /** The connection is lost: open requests will be sent again. */
  lost() {
    this.canWrite = false;
    clearTimeout(this.missing);
    for (const card of this.cards.values()) {
      card.stale = true;
      this.#enable(card);
    }
  }

  /** The connection is back: closes the cards that are not sent again soon. */
  back() {
    const stale = [...this.cards.values()].filter((card) => card.stale);
    clearTimeout(this.missing);
    this.missing = setTimeout(() => stale.filter((card) => card.stale).forEach((card) => this.#close(card, "This request is closed")), REPORTED_AGAIN);
  }

  clear() {
    clearTimeout(this.missing);
    for (const card of this.cards.values()) this.#keepWords(card);
    this.cards.clear();
    this.box.replaceChildren();
    this.#show();
  }

  /** Focuses the first card. */
  focus() {
    /** @type {HTMLElement|null} */ (this.box.querySelector(".card"))?.focus();
  }

  /** Picks a choice by number in the focused card; returns whether it exists. @param {string} digit */
  choose(digit) {
    const card = document.activeElement?.closest(".card");
    const button = /** @type {HTMLButtonElement|undefined} */ (card?.querySelectorAll("button.choice")[Number(digit) - 1]);
    button?.click();
    return button !== undefined;
  }

  /** @param {any} frame @param {Card|undefined} before */
  #add(frame, before) {
    const title = seen((frame.kind === "diff" ? local(frame.title) : frame.title) ?? KINDS[frame.kind] ?? "Request");
    const head = el("header", {}, el("span", { class: "badge" }, KINDS[frame.kind] ?? "Request"), el("strong", {}, title));
    const look = frame.destructive ? "card destructive" : "card";
    const node = el("section", { class: look, tabindex: "-1", role: "group", "aria-label": `Claude waits: ${short(title)}` }, head);
    const card = { frame, node, stale: false, sent: false };
    node.append(el("div", { class: "about" }, ...aboutOf(frame, title)));
    const choices = list(frame.choices);
    if (choices.some((choice) => choice.message)) {
      node.append(el("textarea", { class: "words", rows: "1", placeholder: "Reason (optional)", "aria-label": "Reason" }));
    }
    const buttons = choices.map((choice, at) => {
      const number = at < 9 ? [el("kbd", { "aria-hidden": "true" }, String(at + 1))] : [];
      const button = el("button", { type: "button", class: at ? "choice" : "choice first" }, ...number, seen(choice.label ?? choice.id));
      button.addEventListener("click", () => this.#decide(card, choice));
      return button;
    });
    node.append(el("footer", {}, ...buttons), el("p", { class: "hint", role: "status" }));
    node.addEventListener("click", () => hintOf(node)?.textContent === FOLDED && !isFolded(node) && tell(card, ""));
    this.cards.set(frame.id, card);
    if (before) {
      this.#keepWords(before);
      before.node.replaceWith(node);
    } else this.box.append(node);
    this.#show();
    this.guard.watch(node);
    this.#enable(card);
    this.say(`Claude waits for you: ${short(title, 200)}`);
  }

  /** @param {Card} card @param {any} choice */
  #decide(card, choice) {
    if (card.sent || card.stale) return;
    const why = this.#whyNot(card, choice);
    if (why) return tell(card, why);
    const decided = /** @type {any} */ ({ type: "decide", id: card.frame.id, choice: choice.id });
    const field = /** @type {HTMLTextAreaElement|null} */ (card.node.querySelector(".words"));
    const words = field?.value.trim();
    /** @type {Typed[]} */
    const taken = [];
    if (choice.message && field && words) {
      decided.message = words;
      taken.push(field);
    }
    if (choice.answers) {
      taken.push(...othersOf(card.node));
      const { answers, missing } = answersOf(card.node);
      if (missing) {
        tell(card, "This answer is required.");
        missing.focus();
        return;
      }
      decided.answers = answers;
    }
    if (!this.send(decided)) return;
    this.guard.answered(card.node);
    Object.assign(card, { sent: true, taken });
    this.#enable(card);
  }

  /** Why a choice is not accepted now. @param {Card} card @param {any} choice */
  #whyNot(card, choice) {
    if (!this.guard.isReady(card.node)) {
      card.node.querySelector("footer")?.scrollIntoView({ block: "nearest" });
      return EARLY;
    }
    const folded = isFolded(card.node);
    const isNo = choice.message || choice.id === "reject";
    if (!folded || isNo) return "";
    folded.scrollIntoView({ block: "nearest" });
    return FOLDED;
  }

  /** Shows whether an answer is accepted now. Replaces only its own earlier message. @param {HTMLElement} node */
  #arm(node) {
    const isEarly = !this.guard.isReady(node);
    for (const button of node.querySelectorAll("button.choice")) button.setAttribute("aria-disabled", String(isEarly));
    const hint = hintOf(node);
    if (!isEarly && hint?.textContent === EARLY) hint.textContent = "";
  }

  /** @param {Card} card */
  #enable(card) {
    const choices = card.node.querySelectorAll("button.choice");
    const open = this.canWrite && !card.sent && !card.stale;
    for (const button of choices) /** @type {HTMLButtonElement} */ (button).disabled = !open;
    this.#arm(card.node);
    card.node.toggleAttribute("aria-busy", card.sent);
    if (card.sent) tell(card, "Sent…");
    else if (card.stale) tell(card, "Offline");
    else if (!choices.length) tell(card, "Answer this request in Neovim.");
    else tell(card, open ? "" : "Read-only: turn on Write to answer here, or answer in Neovim.");
  }

  /** @param {Card} card @param {string} outcome */
  #close(card, outcome) {
    this.cards.delete(card.frame.id);
    this.guard.forget(card.node);
    const focused = /** @type {HTMLElement|null} */ (card.node.contains(document.activeElement) ? document.activeElement : null);
    card.node.classList.add("over");
    card.node.querySelectorAll("button, textarea, input").forEach((one) => one !== focused && one.setAttribute("disabled", ""));
    tell(card, outcome);
    this.say(outcome);
    const go = () => {
      this.#keepWords(card);
      setTimeout(() => {
        card.node.remove();
        this.#show();
      }, SEEN);
    };
    // While the user types, the focus stays: the keys would act elsewhere.
    if (focused?.matches("textarea, input[type=text]")) return focused.addEventListener("blur", go, { once: true });
    if (focused) this.#away();
    go();
  }

  /** Saves text that was typed into a closing card but not sent. @param {Card} card */
  #keepWords(card) {
    const words = [...textsOf(card.node)].filter((one) => !card.taken?.includes(one) && one.value.trim() !== one.defaultValue.trim());
    if (words.length) this.keep(words.map((one) => one.value.trim()).join("\n"));
  }

  /** Moves the focus from a closed card to the next one, or to the conversation; never to the message field. */
  #away() {
    const next = /** @type {HTMLElement|null} */ (this.box.querySelector(".card:not(.over)") ?? document.querySelector("#scroller"));
    next?.focus();
  }

  #show() {
    this.box.hidden = !this.box.childElementCount;
  }
}

/** @param {unknown} value @returns {any[]} */
const list = (value) => (Array.isArray(value) ? value : []);

/** How a request ended. @param {string} kind @param {unknown} outcome */
function endOf(kind, outcome) {
  if (outcome === "accepted") return YES[kind] ?? "Accepted";
  if (outcome === "rejected") return NO[kind] ?? "Rejected";
  return outcome === "closed" ? "Closed without an answer" : short(outcome, 60);
}

/** @param {HTMLElement} node */
const hintOf = (node) => node.querySelector(".hint");

/** @param {Card} card @param {string} words */
function tell(card, words) {
  const hint = hintOf(card.node);
  if (hint && hint.textContent !== words) hint.textContent = words;
}

/** @param {any} frame @param {string} title shown above it @returns {Node[]} */
function aboutOf(frame, title) {
  /** @type {Node[]} */
  const about = [];
  if (frame.text) about.push(frame.kind === "plan" || frame.kind === "question" ? markdown(seen(frame.text)) : exact(frame.text));
  for (const file of list(frame.files)) {
    const name = seen(local(file?.path));
    if (name !== title) about.push(el("h3", { class: "file" }, name));
    about.push(unified(file?.diff));
  }
  list(frame.questions).forEach((question, at) => about.push(questionOf(question, `${frame.id}-${at}`)));
  return about;
}

/**
 * A question with options, with a field for the user's own words unless `own` is false, or both. An `optional` one may stay
 * unanswered; `value` and the options in `chosen` are preset.
 * @param {any} question @param {string} name
 */
function questionOf(question, name) {
  const kind = question?.multiSelect ? "checkbox" : "radio";
  const chosen = list(question?.chosen);
  const options = list(question?.options).map((option) => {
    const id = option?.id ?? option?.label;
    const input = el("input", { type: kind, name: `q-${name}`, value: plain(id), ...(chosen.includes(id) ? { checked: "" } : {}) });
    const preview = option?.preview ? [el("code", { class: "preview" }, seen(option.preview))] : [];
    const words = el("span", {}, el("strong", {}, seen(option?.label)), " ", el("small", {}, seen(option?.description)), ...preview);
    return el("label", { class: "option" }, input, words);
  });
  const badge = question?.header ? [el("span", { class: "badge" }, seen(question.header))] : [];
  const about = question?.description ? [" ", el("small", {}, seen(question.description))] : [];
  const legend = el("legend", {}, ...badge, seen(question?.question), ...about);
  const box = el("fieldset", {}, legend, ...options);
  if (question?.own !== false) {
    const hint = options.length ? "Another answer" : "Answer";
    const value = plain(question?.value);
    const other = /** @type {HTMLInputElement} */ (
      el("input", { type: "text", class: "other", placeholder: hint, "aria-label": hint, autocomplete: "off", value })
    );
    // A single choice has one answer: typing replaces it.
    const unchoose = (/** @type {HTMLInputElement} */ input) => (input.checked = false);
    other.addEventListener("input", () => other.value.trim() && /** @type {NodeListOf<HTMLInputElement>} */ (box.querySelectorAll("[type=radio]")).forEach(unchoose));
    box.append(other);
  }
  box.dataset.question = String(question?.key ?? question?.question ?? "");
  box.toggleAttribute("data-optional", question?.optional === true);
  return box;
}

/** Fields for the user's own words. @param {HTMLElement} node */
const textsOf = (node) => /** @type {NodeListOf<Typed>} */ (node.querySelectorAll(".words, .other"));

/** The fields that answer its questions. @param {HTMLElement} node */
const othersOf = (node) => [...textsOf(node)].filter((one) => one.matches(".other"));

/** @param {HTMLElement} node @returns {{ answers: Record<string, string>, missing: HTMLElement|undefined }} */
function answersOf(node) {
  /** @type {Record<string, string>} */
  const answers = {};
  for (const box of node.querySelectorAll("fieldset")) {
    const chosen = [...box.querySelectorAll("input:checked")].map((input) => /** @type {HTMLInputElement} */ (input).value);
    const other = /** @type {HTMLInputElement|null} */ (box.querySelector(".other"))?.value.trim();
    // Of a single choice the last one counts: see `questionOf`.
    if (other && !(chosen.length && box.querySelector("[type=radio]"))) chosen.push(other);
    if (chosen.length) answers[box.dataset.question ?? ""] = chosen.join(", ");
    else if (!box.hasAttribute("data-optional")) return { answers, missing: box.querySelector("input") ?? box };
  }
  return { answers, missing: undefined };
}

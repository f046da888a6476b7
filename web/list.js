// The list of sessions: what each is called, where it works, what it does.
import { el, plain, short } from "./text.js";

export const STATES = /** @type {Record<string, string>} */ ({ working: "Working", waiting: "Waits for you", idle: "Idle", gone: "" });

/** @param {number} time in milliseconds @returns {string} */
function ago(time) {
  const minutes = Math.round((Date.now() - time) / 60_000);
  if (minutes < 1) return "now";
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h`;
  return new Date(time).toLocaleDateString();
}

const ORDER = /** @type {Record<string, number>} */ ({ waiting: 0, working: 1, idle: 2 });

/** @param {any} one */
const rank = (one) => ORDER[one.state] ?? 3;

/** @param {any} one @param {string} words */
const fits = (one, words) => [one.title, one.cwd, one.branch, one.id, one.lastPrompt].join(" ").toLowerCase().includes(words);

/** @param {any} one @returns {string} */
export const titleOf = (one) => short(one.title ?? "New session", 100);

/** What is listed now. @param {any[]} known @param {any} answer all of it, or what changed */
export function merged(known, answer) {
  if (!answer.since) return answer.sessions;
  const changed = new Set(answer.sessions.map((/** @type {any} */ one) => one.id));
  return [...answer.sessions, ...known.filter((one) => !changed.has(one.id))];
}

/**
 * @param {HTMLElement} list
 * @param {any[]} sessions
 * @param {string} words only those in which they occur
 * @param {string|undefined} current
 */
export function drawList(list, sessions, words, current) {
  const shown = sessions.filter((one) => fits(one, words.trim().toLowerCase())).sort((a, b) => rank(a) - rank(b) || b.updated - a.updated);
  const rows = shown.slice(0, 500).map((one) => {
    const state = STATES[one.state] ? [el("span", { class: `state ${one.state}` }, STATES[one.state])] : [];
    const about = [plain(one.cwd ?? "").split("/").pop(), one.branch, ago(one.updated)].filter(Boolean);
    const link = el(
      "a",
      { href: `#/s/${encodeURIComponent(one.id)}`, ...(one.id === current ? { "aria-current": "page" } : {}) },
      el("span", { class: "name" }, titleOf(one)),
      el("span", { class: "about" }, ...about.map((text) => el("span", {}, plain(text))), ...state),
    );
    return el("li", {}, link);
  });
  list.replaceChildren(...(rows.length ? rows : [el("li", { class: "state" }, "No session")]));
}

// The list of sessions: title, folder, state.
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

/** Limit of listed sessions. */
const MOST = 500;

const ORDER = /** @type {Record<string, number>} */ ({ waiting: 0, working: 1, idle: 2 });

/** @param {any} one */
const rank = (one) => ORDER[one.state] ?? 3;

/** @param {any} one @param {string} words */
const fits = (one, words) => [one.title, one.cwd, one.branch, one.id, one.lastPrompt].join(" ").toLowerCase().includes(words);

/** @param {any} one @returns {string} */
export const titleOf = (one) => short(one.title ?? "New session", 100);

/** Applies an answer to the list. @param {any[]} known @param {any} answer the whole list, or its changes */
export function merged(known, answer) {
  if (!Array.isArray(answer?.sessions)) throw new Error("Neovim has exited, and another program uses its port");
  if (!answer.since) return answer.sessions;
  const changed = new Set(answer.sessions.map((/** @type {any} */ one) => one.id));
  return [...answer.sessions, ...known.filter((one) => !changed.has(one.id))];
}

/**
 * @param {HTMLElement} list
 * @param {any[]} sessions
 * @param {string} words shows only sessions that contain them
 * @param {string|undefined} current
 */
export function drawList(list, sessions, words, current) {
  const shown = sessions.filter((one) => fits(one, words.trim().toLowerCase())).sort((a, b) => rank(a) - rank(b) || b.updated - a.updated);
  /** Existing rows are reused: one may have the focus. */
  const known = new Map([...list.children].map((row) => [/** @type {HTMLElement} */ (row).dataset.id, row]));
  const rows = shown.slice(0, MOST).map((one) => {
    const state = STATES[one.state] ? [el("span", { class: `state ${one.state}` }, STATES[one.state])] : [];
    const about = [plain(one.cwd ?? "").split("/").pop(), one.branch, ago(one.updated)].filter(Boolean);
    const row = known.get(one.id) ?? el("li", { "data-id": one.id }, el("a", { href: `#/s/${encodeURIComponent(one.id)}` }));
    const link = /** @type {HTMLElement} */ (row.firstElementChild);
    if (one.id === current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    const name = el("span", { class: "name" }, titleOf(one));
    link.replaceChildren(name, el("span", { class: "about" }, ...about.map((text) => el("span", {}, plain(text))), ...state));
    return row;
  });
  if (shown.length > MOST) rows.push(el("li", { class: "state" }, `${shown.length - MOST} older ones: the filter finds them.`));
  arrange(list, rows.length ? rows : [el("li", { class: "state" }, "No sessions")]);
}

/** Sorts the rows. The focused one is never removed, since it would lose the focus. @param {HTMLElement} list @param {Element[]} rows */
function arrange(list, rows) {
  const wanted = new Set(rows);
  for (const row of [...list.children]) if (!wanted.has(row)) row.remove();
  const focused = rows.findIndex((row) => row.contains(document.activeElement));
  for (const row of rows.slice(0, Math.max(focused, 0))) list.insertBefore(row, rows[focused] ?? null);
  for (const row of rows.slice(focused + 1)) list.append(row);
}

// The page: the shown session, the user's actions, and their effects.
import { Refused, listSessions, logIn } from "./api.js";
import { Composer } from "./composer.js";
import { Decisions } from "./decisions.js";
import { draw, grow } from "./draw.js";
import { STATES, drawList, merged, titleOf } from "./list.js";
import { Notifier } from "./notify.js";
import { Find } from "./find.js";
import { workIn } from "./place.js";
import { Session } from "./session.js";
import { short } from "./text.js";
import { Threads } from "./threads.js";
import { Window } from "./window.js";

/** @param {string} id @returns {any} */
const $ = (id) => document.getElementById(id);

const LIST_PAUSE = 5000;

/** @type {Session|undefined} */
let open;
/** @type {any[]} */
let sessions = [];
/** The last list. */
let revision = "";

/** @param {import("./conversation.js").Item} item */
const guess = (item) => (item.kind === "tool" || item.kind === "thinking" ? 36 : 40 + Math.ceil((item.text?.length ?? 0) / 90) * 24);

/** @param {string} words for screen readers */
const say = (words) => ($("said").textContent = words);

const view = new Window($("scroller"), { before: $("before"), items: $("items"), after: $("after") }, draw, guess, grow);
view.onTop = () => void open?.loadEarlier();
view.onEnd = () => ($("newest").hidden = view.follows);
const composer = new Composer({ box: $("composer"), queue: $("queue"), field: $("prompt"), send: $("send"), hint: $("hint") }, say);
const decisions = new Decisions($("cards"), (frame) => open?.socket.send(frame) ?? false, say, (words) => composer.give(words, false));
const threads = new Threads({ box: $("threads"), count: $("threads-count"), list: $("threads-list") }, (frame) => open?.socket.send(frame) ?? false, say, (words) => composer.give(words, false));
const find = new Find(
  { box: $("find"), field: $("find-words"), count: $("find-count"), next: $("find-next"), before: $("find-before"), close: $("find-close") },
  view,
  () => open,
);
const notifier = new Notifier($("notify"), go);

/** @param {string} id */
function go(id) {
  location.hash = `#/s/${encodeURIComponent(id)}`;
}

/** @param {string} [why] */
function refused(why) {
  if (why) $("failed").textContent = `${why}.`;
  if (!$("login").open) $("login").showModal();
}

/** Signed in, perhaps in another tab. */
function letIn() {
  if (!$("login").open) return;
  $("login").close();
  $("failed").textContent = "";
  if (open) show(open.id);
}

/** @param {string} [trouble] a problem to show */
function drawState(trouble = "") {
  const state = open?.state ?? "";
  const known = sessions.find((one) => one.id === open?.id);
  if (known && state && known.state !== state) {
    known.state = state;
    drawList($("sessions"), sessions, $("filter").value, open?.id);
  }
  $("state").className = `state ${state}`;
  $("state").textContent = open?.isAskedElsewhere ? "Waits in its terminal" : (STATES[state] ?? "");
  $("main").classList.toggle("working", state === "working");
  $("write").hidden = $("find-open").hidden = !open;
  $("stop").hidden = !open?.canWrite || state !== "working";
  $("stop").disabled = open?.stopping !== undefined;
  $("write").setAttribute("aria-checked", String(open?.canWrite ?? false));
  $("write").setAttribute("aria-busy", String((open?.wants ?? false) && !open?.canWrite));
  if (trouble || open?.canWrite || !open) $("trouble").textContent = trouble;
  const waiting = sessions.filter((one) => one.state === "waiting" && one.id !== open?.id);
  const all = state === "waiting" && open ? [...waiting, open] : waiting;
  document.title = (all.length ? `(${all.length}) ` : "") + (open ? `${state === "waiting" ? "Waits: " : ""}${open.title}` : "Claude sessions");
  notifier.look(
    all.map((one) => ({ id: one.id, title: titleOf(one) })),
    open?.id,
  );
}

let refreshing = 0;

/** @param {string} [failed] why signing in again failed */
async function refreshList(failed) {
  refreshing++;
  try {
    const answer = await listSessions(revision);
    sessions = merged(sessions, answer);
    revision = answer.revision ?? "";
    $("away").hidden = true;
    letIn();
    drawList($("sessions"), sessions, $("filter").value, open?.id);
    const known = sessions.find((one) => one.id === open?.id);
    if (open && known?.title) $("title").textContent = open.title = short(known.title, 100);
    drawState();
  } catch (error) {
    $("away").hidden = error instanceof Refused;
    if (error instanceof Refused) refused(failed);
  } finally {
    refreshing--;
  }
}

/** A conversation is a feed of articles; without one there is none. On a narrow screen the list is then all there is. */
function setRoles() {
  const isNarrow = matchMedia("(max-width: 48rem)").matches;
  for (const [name, value] of Object.entries({ role: "feed", "aria-label": "Transcript", tabindex: "0" })) {
    if (open) $("scroller").setAttribute(name, value);
    else $("scroller").removeAttribute(name);
  }
  if (isNarrow && !open) $("side").setAttribute("role", "main");
  else $("side").removeAttribute("role");
}

/** @param {string} id */
function show(id) {
  find.close();
  open?.close();
  const known = sessions.find((one) => one.id === id);
  workIn(known?.cwd);
  const title = known ? titleOf(known) : short(id, 100);
  $("title").textContent = title;
  $("offline").hidden = true;
  $("trouble").textContent = "";
  document.body.classList.add("open");
  open = new Session(id, title, {
    view,
    scroller: $("scroller"),
    composer,
    decisions,
    threads,
    say,
    drawState,
    refused,
    offline: (is) => ($("offline").hidden = !is),
    missing: () => {
      $("title").textContent = "Session not found";
      $("offline").hidden = true;
    },
    moved: (next) => {
      history.replaceState(null, "", `#/s/${encodeURIComponent(next)}`);
      void refreshList();
      drawState();
    },
    again: () => show(open?.id ?? id),
  });
  drawList($("sessions"), sessions, $("filter").value, id);
  setRoles();
  drawState();
}

/** @param {string} text typed by the user */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function route() {
  const id = /^#\/s\/(.+)$/.exec(location.hash)?.[1];
  if (id) return show(decoded(id));
  find.close();
  open?.close();
  open = undefined;
  view.set([]);
  $("title").textContent = "Choose a session";
  $("offline").hidden = true;
  document.body.classList.remove("open");
  setRoles();
  drawList($("sessions"), sessions, $("filter").value, undefined);
  drawState();
}

/** Moves between messages. @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  // Within a text field the keys are the browser's.
  if ((event.ctrlKey || event.metaKey) && event.key === "f" && open && target.id !== "find-words") {
    event.preventDefault();
    return find.open();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input[type=text], input[type=search], textarea")) return;
  const here = Number(document.activeElement?.closest("article")?.getAttribute("aria-posinset") ?? NaN);
  const at = Number.isNaN(here) ? view.end : here - 1;
  const keys = /** @type {Record<string, () => void>} */ ({
    j: () => view.focus(at + 1),
    k: () => view.focus(at - 1),
    g: () => view.focus(0),
    G: () => view.toEnd(),
    o: () => document.activeElement?.querySelector("summary")?.click(),
    i: () => composer.focus(),
    d: () => decisions.focus(),
    c: () => threads.focus(),
    "/": () => $("filter").focus(),
    Escape: () => (location.hash = "#/"),
  });
  const action = keys[event.key];
  if (action && (open || event.key === "/")) {
    event.preventDefault();
    action();
  } else if (/^[1-9]$/.test(event.key) && decisions.choose(event.key)) {
    event.preventDefault();
  }
}

$("filter").addEventListener("input", () => drawList($("sessions"), sessions, $("filter").value, open?.id));
$("find-open").addEventListener("click", () => find.open());
$("newest").addEventListener("click", () => view.toEnd());
$("stop").addEventListener("click", () => open?.stop());
$("write").addEventListener("click", () => open?.write(!open.canWrite));
addEventListener("keydown", onKey);
addEventListener("hashchange", () => void begin());

/** Counts navigations. */
let ways = 0;

async function begin() {
  const way = ++ways;
  await refreshList(await logIn());
  if (way === ways) route(); // else a newer navigation routes, once
}

matchMedia("(max-width: 48rem)").addEventListener("change", setRoles);
// Another tab of this browser was let in.
addEventListener("storage", (event) => event.key === "key" && event.newValue && $("login").open && void refreshList());

await begin();
// A user who asked for notifications gets them while the page is hidden.
setInterval(() => (document.visibilityState === "visible" || notifier.isOn) && !refreshing && void refreshList(), LIST_PAUSE);

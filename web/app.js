// The page: which session is shown, what the person does, what comes of it.
import { Refused, earlier, listSessions, logIn, session } from "./api.js";
import { Conversation } from "./conversation.js";
import { draw } from "./draw.js";
import { STATES, drawList } from "./list.js";
import { SessionSocket } from "./socket.js";
import { short } from "./text.js";
import { Window } from "./window.js";

/** @param {string} id @returns {any} */
const $ = (id) => document.getElementById(id);

const LIST_PAUSE = 5000;
const PAGE = 100;

/** @type {{ id: string, title: string, state: string, conversation: Conversation, socket: SessionSocket, loading: boolean, done: boolean }|undefined} */
let open;
/** @type {any[]} */
let sessions = [];
let isHistory = true;
/** What came since the last frame of the screen. @type {any[]} */
let arrived = [];

/** @param {import("./conversation.js").Item} item */
const guess = (item) => (item.kind === "tool" || item.kind === "thinking" ? 46 : 40 + Math.ceil((item.text?.length ?? 0) / 90) * 24);

const view = new Window($("scroller"), { before: $("before"), items: $("items"), after: $("after") }, draw, guess);
view.onTop = () => void loadEarlier();
view.onScroll = () => ($("newest").hidden = view.follows);

function refused() {
  if (!$("login").open) $("login").showModal();
}

/** @param {string} words for those who do not see the page */
const say = (words) => ($("said").textContent = words);

function showState() {
  const state = open?.state ?? "";
  $("state").className = `state ${state}`;
  $("state").textContent = STATES[state] ?? "";
  const waiting = sessions.filter((one) => one.state === "waiting" && one.id !== open?.id).length + (state === "waiting" ? 1 : 0);
  document.title = (waiting ? `(${waiting}) ` : "") + (open ? `${state === "waiting" ? "Waits: " : ""}${open.title}` : "Claude sessions");
}

async function refreshList() {
  try {
    sessions = await listSessions();
    drawList($("sessions"), sessions, $("filter").value, open?.id);
    const known = sessions.find((one) => one.id === open?.id);
    if (open && known?.title) $("title").textContent = open.title = short(known.title, 100);
    showState();
  } catch (error) {
    if (error instanceof Refused) refused();
  }
}

/** Lines come in bursts: they are taken together, once a frame. @param {any} line */
function take(line) {
  if (arrived.push(line) === 1) requestAnimationFrame(takeArrived);
}

function takeArrived() {
  const lines = arrived;
  arrived = [];
  if (!open) return;
  const wasEmpty = !open.conversation.items.length;
  /** @type {import("./conversation.js").Item[]} */
  const changed = [];
  for (const line of lines) {
    const made = open.conversation.append(line);
    changed.push(...made.changed);
    const text = made.added.findLast((item) => item.kind === "claude");
    if (text && !isHistory) say(`Claude: ${short(text.text, 200)}`);
  }
  if (wasEmpty) view.set(open.conversation.items);
  else view.appended(changed);
  $("newest").hidden = view.follows;
}

async function loadEarlier() {
  const here = open;
  if (!here || here.loading || here.done || isHistory || !here.conversation.first) return;
  here.loading = true;
  $("scroller").setAttribute("aria-busy", "true");
  try {
    const page = await earlier(here.id, here.conversation.first, PAGE);
    if (here !== open) return;
    here.done = !page.hasMore;
    view.prepended(here.conversation.prepend(page.messages));
  } catch (error) {
    if (error instanceof Refused) refused();
  } finally {
    here.loading = false;
    $("scroller").setAttribute("aria-busy", "false");
  }
}

/** What the server tells beside lines. @param {any} frame */
function takeFrame(frame) {
  if (!open) return;
  if (frame.type === "state") {
    if (frame.state === "waiting" && open.state !== "waiting") say("Claude waits for you");
    open.state = frame.state;
    showState();
  } else if (frame.type === "caught_up") {
    takeArrived();
    isHistory = false;
    view.update();
  } else if (frame.type === "session") {
    // The same process, another session: after /clear.
    history.replaceState(null, "", `#/s/${encodeURIComponent(frame.sessionId)}`);
    show(frame.sessionId);
  } else if (frame.type === "reset" || (frame.type === "subscribed" && !frame.found)) {
    show(open.id);
  }
}

/** @param {string} id */
function show(id) {
  open?.socket.close();
  arrived = [];
  isHistory = true;
  const conversation = new Conversation();
  const title = short(sessions.find((one) => one.id === id)?.title ?? id, 100);
  const to = {
    line: take,
    frame: takeFrame,
    online: (/** @type {boolean} */ is) => ($("offline").hidden = is),
    refused: async () => {
      $("offline").hidden = false;
      try {
        await session(id);
      } catch (error) {
        if (error instanceof Refused) return refused();
        $("title").textContent = "Session not found";
      }
    },
  };
  const socket = new SessionSocket(id, to, () => conversation.last);
  open = { id, title, state: "", conversation, socket, loading: false, done: false };
  $("title").textContent = title;
  view.set(conversation.items);
  document.body.classList.add("open");
  drawList($("sessions"), sessions, $("filter").value, id);
  showState();
}

function route() {
  const id = /^#\/s\/(.+)$/.exec(location.hash)?.[1];
  if (id) return show(decodeURIComponent(id));
  open?.socket.close();
  open = undefined;
  arrived = [];
  view.set([]);
  $("title").textContent = "Choose a session";
  $("offline").hidden = true;
  document.body.classList.remove("open");
  drawList($("sessions"), sessions, $("filter").value, undefined);
  showState();
}

/** Moves from message to message. @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea")) return;
  const here = Number(document.activeElement?.closest("article")?.getAttribute("aria-posinset") ?? NaN);
  const at = Number.isNaN(here) ? view.end : here - 1;
  const keys = /** @type {Record<string, () => void>} */ ({
    j: () => view.focus(at + 1),
    k: () => view.focus(at - 1),
    g: () => view.focus(0),
    G: () => view.toEnd(),
    o: () => document.activeElement?.querySelector("summary")?.click(),
    "/": () => $("filter").focus(),
    Escape: () => (location.hash = "#/"),
  });
  const action = keys[event.key];
  if (action && open) {
    event.preventDefault();
    action();
  }
}

$("filter").addEventListener("input", () => drawList($("sessions"), sessions, $("filter").value, open?.id));
$("newest").addEventListener("click", () => view.toEnd());
addEventListener("keydown", onKey);
addEventListener("hashchange", () => void begin());

async function begin() {
  await logIn();
  await refreshList();
  route();
}

await begin();
setInterval(() => document.visibilityState === "visible" && void refreshList(), LIST_PAUSE);

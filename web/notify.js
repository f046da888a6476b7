// Notifications of the browser when Claude waits: only once a user asked for them here.
import { ofBrowser, store, stored } from "./api.js";

const NAME = "notify";

export class Notifier {
  /** @param {HTMLButtonElement} button @param {(id: string) => void} go shows a session */
  constructor(button, go) {
    this.button = button;
    this.go = go;
    /** Sessions that waited when looked at last. @type {Set<string>} */
    this.waiting = new Set();
    // Where pages are not to be trusted, browsers have none.
    button.hidden = typeof Notification === "undefined" || !isSecureContext;
    button.addEventListener("click", () => void this.#toggle());
    this.#show();
  }

  get isOn() {
    return !this.button.hidden && Notification.permission === "granted" && stored(NAME, ofBrowser) === "on";
  }

  /** Tells of each session that waits since the last look, unless it is being looked at. @param {{ id: string, title: string }[]} waiting @param {string|undefined} shown */
  look(waiting, shown) {
    const before = this.waiting;
    this.waiting = new Set(waiting.map((one) => one.id));
    if (!this.isOn) return;
    for (const { id, title } of waiting.filter((one) => !before.has(one.id))) {
      if (id === shown && document.visibilityState === "visible" && document.hasFocus()) continue;
      try {
        const notice = new Notification("Claude waits for you", { body: title, tag: `claude-${id}` });
        notice.onclick = () => {
          window.focus();
          this.go(id);
          notice.close();
        };
      } catch {
        // Some phones have them for installed pages alone.
        this.button.hidden = true;
      }
    }
  }

  async #toggle() {
    if (this.isOn) store(NAME, "off", ofBrowser);
    else if ((await Notification.requestPermission()) === "granted") store(NAME, "on", ofBrowser);
    this.#show();
  }

  #show() {
    this.button.setAttribute("aria-checked", String(this.isOn));
    const isDenied = !this.button.hidden && Notification.permission === "denied";
    this.button.title = isDenied ? "This browser forbids notifications of this page" : "A notification when Claude waits";
  }
}

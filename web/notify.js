// Browser notifications when Claude waits, only after the user asked for them here.
import { ofBrowser, store, stored } from "./api.js";

const NAME = "notify";

export class Notifier {
  /** @param {HTMLButtonElement} button @param {(id: string) => void} go shows a session */
  constructor(button, go) {
    this.button = button;
    this.go = go;
    /** The sessions waiting at the last check. @type {Set<string>} */
    this.waiting = new Set();
    // Browsers offer none in insecure contexts.
    button.hidden = typeof Notification === "undefined" || !isSecureContext;
    button.addEventListener("click", () => void this.#toggle());
    this.#show();
  }

  get isOn() {
    return !this.button.hidden && Notification.permission === "granted" && stored(NAME, ofBrowser) === "on";
  }

  /** Notifies of each newly waiting session, unless it is the one on the screen. @param {{ id: string, title: string }[]} waiting @param {string|undefined} shown */
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
        // Some phones only allow them for installed pages.
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
    this.button.title = isDenied ? "This browser blocks notifications of this page" : "Notify me when Claude waits for an answer";
  }
}

// Sanitises a transcript's text for display: removes terminal sequences and characters that change the direction of
// text.

const ESCAPES = /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?|\x9b[0-?]*[ -/]*[@-~]?/g;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
// Characters that reorder text, so that code reads differently than it is.
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** @param {unknown} text @returns {string} */
export function plain(text) {
  return String(text ?? "")
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, "")
    .replace(BIDI, "\ufffd");
}

/**
 * Makes an element with text or children; text never becomes markup.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node|string)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/**
 * Redraws a part of the document and restores the focus to the element that replaced the focused one.
 * @param {Element} place @param {() => void} draw
 */
export function keepingFocus(place, draw) {
  const parts = "a, button, input, summary, textarea, [tabindex]";
  const focused = document.activeElement;
  const at = focused && place.contains(focused) ? [...place.querySelectorAll(parts)].indexOf(focused) : -1;
  draw();
  if (at >= 0 && !focused?.isConnected) /** @type {HTMLElement|undefined} */ ([...place.querySelectorAll(parts)][at])?.focus({ preventScroll: true });
}

/** The first line, cut. @param {unknown} text @param {number} [length] @returns {string} */
export function short(text, length = 120) {
  const line = plain(text).trim().split("\n", 1)[0];
  return line.length > length ? line.slice(0, length - 1) + "…" : line;
}

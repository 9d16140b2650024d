// The states of statements: which of them are final, and the badge for each.

import { el, setAttribute, setText } from "./dom.js";

export const ENDED = ["finished", "failed", "cancelled"];
export const hasEnded = (line) => ENDED.includes(line.state);

/** A badge inside `parent`. */
export function badge() {
  return el("span", { class: "state" });
}

export function showState(node, state, detail = null) {
  setText(node, state ?? "");
  setAttribute(node, "data-state", state ?? null);
  setAttribute(node, "title", detail);
}

/** How long a statement has run, or ran, in seconds. */
export const elapsed = (line, at) => (line.ended ?? at) - line.started;

/** The engine with the reason for its choice, in words. */
export const engineText = (line) => [line.engine, line.reason && `(${line.reason})`].filter(Boolean).join(" ");

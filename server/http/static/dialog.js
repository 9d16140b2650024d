// A confirmation before an action that cannot be undone.

import { el } from "./dom.js";

/** Ask for confirmation. title; text: the subject; note: the consequence; yes and no: the buttons. Escape means no. */
export function confirmed({ title, text, note, yes, no }) {
  return new Promise((resolve) => {
    const form = el(
      "form", { method: "dialog" },
      el("h2", { id: "dialog-title" }, title),
      el("p", { class: "code" }, text),
      el("p", { class: "quiet" }, note),
      el(
        "div", { class: "buttons" },
        el("button", { value: "no", autofocus: true }, no), el("button", { value: "yes", class: "danger" }, yes),
      ),
    );
    const dialog = el("dialog", { "aria-labelledby": "dialog-title" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

// A table whose rows are patched: the columns define how a cell shows an item. On narrow screens a row becomes a card, whose cells
// have their column's name (`data-label`, console.css).

import { el, fill, keyed, setText } from "./dom.js";

/** columns: {label, kind, show(cell, item)} or {label, kind, text(item)}; kind: a class of the cells. build(cell): called once per
 *  cell. caption: for screen readers. keyOf(item): the key that identifies a row. empty: the sentence for no rows. */
export class Table {
  constructor({ caption, columns, keyOf, empty, kind = "" }) {
    this.columns = columns;
    this.keyOf = keyOf;
    const heads = columns.map(({ label, kind: of = "" }) => el("th", { scope: "col", class: of }, label));
    this.body = el("tbody");
    const title = el("caption", { class: "unseen" }, caption);
    this.table = el("table", { class: kind }, title, el("thead", {}, el("tr", {}, ...heads)), this.body);
    this.empty = el("p", { class: "empty" }, empty);
    this.caption = caption;
    this.node = el("div", { class: "table" }, this.table, this.empty);
  }

  /** Limit the table to a part of the screen and let it scroll, also with the keyboard. */
  scroll() {
    this.node.classList.add("scrolling");
    fill(this.node, { tabindex: "0", role: "region", "aria-label": this.caption });
  }

  update(items) {
    this.table.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
    keyed(this.body, items, this.keyOf, () => this.row(), (row, item) => this.patch(row, item));
  }

  row() {
    const cells = this.columns.map(({ label, kind = "", build }) => {
      const cell = el("td", { class: kind, "data-label": label });
      build?.(cell);
      return cell;
    });
    return { node: el("tr", {}, ...cells), cells };
  }

  patch(row, item) {
    this.columns.forEach(({ text, show }, index) => {
      if (show) show(row.cells[index], item);
      else setText(row.cells[index], text(item));
    });
  }
}

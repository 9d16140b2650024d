// A plan as a section of a page: the picture, and below it the tables of its edges and fragments.

import { el } from "./dom.js";
import { GraphView } from "./graph.js";
import { EdgeTable, FragmentList } from "./plan_tables.js";

export class Plan {
  constructor() {
    this.parts = [new GraphView(), new EdgeTable(), new FragmentList()];
    const [graph, edges, fragments] = this.parts;
    this.empty = el("p", { class: "empty" }, "This statement has no plan to show.");
    const heading = (text) => el("h3", {}, text);
    this.whole = el("div", { class: "plan" }, graph.node, heading("Edges"), edges.node, heading("Operators"), fragments.node);
    this.node = el("div", {}, this.empty, this.whole);
  }

  /** graph: of the API, or null. at: the time of its figures, in seconds. live: whether they will change. */
  update(graph, at, live) {
    const known = Boolean(graph?.fragments?.length);
    this.empty.hidden = known;
    this.whole.hidden = !known;
    if (known) for (const part of this.parts) part.update(graph, at, live);
  }
}

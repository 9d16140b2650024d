// A plan's figures as tables: its edges, and its fragments with their complete operators. The tables have what the picture
// truncates or hides, and everything for users who cannot see the picture.

import { el, keyed, setText } from "./dom.js";
import * as format from "./format.js";
import { CLIENT, operatorRows } from "./layout.js";
import { creditShare, motionOf, Rates } from "./motion.js";
import { Table } from "./table.js";

const end = (id) => (id === CLIENT ? "client" : String(id));

const COLUMNS = [
  { label: "Edge", text: ({ edge }) => String(edge.id) },
  { label: "From", text: ({ edge }) => end(edge.from) },
  { label: "To", text: ({ edge }) => end(edge.to) },
  { label: "Kind", text: ({ edge }) => (edge.streams > 1 ? `${edge.kind}, ${edge.streams} streams` : edge.kind) },
  { label: "State", text: ({ edge, motion }) => (motion === "ended" ? edge.state ?? format.UNKNOWN : motion) },
  { label: "Rows", kind: "number", text: ({ edge }) => format.count(edge.rows) },
  { label: "Rate", kind: "number", text: ({ rate }) => format.rate(rate) },
  { label: "Sent", kind: "number", text: ({ edge }) => format.bytes(edge.bytes) },
  { label: "Credit left", kind: "number credit", text: creditText },
  { label: "Backlog", kind: "number", text: ({ edge }) => format.bytes(edge.backlog_bytes) },
  { label: "Stalls", kind: "number", text: stallText },
  { label: "Spooled", kind: "number", text: ({ edge }) => format.bytes(edge.spooled_bytes) },
];

function creditText({ edge }) {
  const share = creditShare(edge);
  return share === null ? format.UNKNOWN : `${format.bytes(edge.credit)} of ${format.bytes(edge.window)}`;
}

function stallText({ edge }) {
  const seconds = edge.stalled_seconds > 0 ? `, ${format.duration(edge.stalled_seconds)}` : "";
  return `${format.count(edge.stalls)}${seconds}`;
}

/** The edges of a graph; see `GraphView.update`. */
export class EdgeTable {
  constructor() {
    this.rates = new Rates();
    this.table = new Table({
      caption: "Edges of the plan", columns: COLUMNS, keyOf: ({ edge }) => edge.id, empty: "The plan has no edges.", kind: "edges",
    });
    this.table.scroll();
    this.node = this.table.node;
  }

  update(graph, at, live) {
    this.rates.keep(graph.edges.map((edge) => edge.id));
    this.table.update(
      graph.edges.map((edge) => {
        const rate = this.rates.of(edge.id);
        const value = rate.update(edge.rows, at);
        return { edge, rate: live ? value : null, motion: motionOf(edge, rate, at, live) };
      }),
    );
  }
}

/** The fragments with their operators, not truncated. */
export class FragmentList {
  constructor() {
    this.node = el("div", { class: "fragments" });
  }

  update(graph) {
    const fragments = graph.fragments.filter((fragment) => fragment.id !== CLIENT);
    keyed(this.node, fragments, (fragment) => fragment.id, createFragment, patchFragment);
  }
}

function createFragment(fragment) {
  const title = el("span", { class: "name" }, `Fragment ${fragment.id}`);
  const about = el("span", { class: "quiet" });
  const list = el("ol", { class: "operators" });
  return { node: el("details", {}, el("summary", {}, title, " ", about), list), about, list };
}

function patchFragment(row, fragment) {
  setText(row.about, [fragment.member, fragment.engine, fragment.state].filter(Boolean).join(" \u00b7 "));
  keyed(row.list, operatorRows(fragment.operators), ({ operator }) => operator.id, createOperator, patchOperator);
}

function createOperator({ operator, depth }) {
  const figure = el("span", { class: "quiet" });
  const node = el("li", { "aria-level": depth + 1 }, el("span", { class: "name" }, String(operator.name)), " ", figure);
  node.style.setProperty("--depth", depth);
  if (operator.detail) node.append(el("div", { class: "code quiet" }, operator.detail));
  return { node, figure };
}

function patchOperator(row, { operator }) {
  setText(row.figure, typeof operator.rows === "number" ? format.counted(operator.rows, "row") : "");
}

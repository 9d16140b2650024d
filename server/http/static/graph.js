// A plan drawn as SVG: lanes of members, boxes of fragments with their operators, edges with a card each, placed by `layout.js`.
//
// The picture is rebuilt only when the plan's structure changes; figures, gauges and motion are patched. Screen readers have the
// same figures in the tables below the picture.

import { el, setAttribute, setText, svg } from "./dom.js";
import * as format from "./format.js";
import { CLIENT, layout, SIZES } from "./layout.js";
import { creditShare, motionOf, Rates } from "./motion.js";

/** Upper bounds for the width of a character in the picture's fonts, in pixels. */
const NAME_CHARACTER = 7.5;
const DETAIL_CHARACTER = 6.1;
const GAUGE = { x: 10, y: 26, width: SIZES.cardWidth - 20, height: 4 };
/** The smallest scale at which a wide picture is shown as a whole; below it the picture scrolls. */
const SCALE_MIN = 0.8;

/** A picture of a graph. label: its name for screen readers. */
export class GraphView {
  constructor() {
    this.rates = new Rates();
    this.structure = null;
    this.scroller = el("div", { class: "graph", tabindex: "0", role: "region", "aria-label": "Plan, drawn" });
    this.node = this.scroller;
  }

  /** graph: of the API. at: the time of its figures, in seconds. live: whether they will change. */
  update(graph, at, live) {
    const structure = structureOf(graph);
    if (structure !== this.structure) {
      this.structure = structure;
      this.draw(graph);
    }
    this.rates.keep(graph.edges.map((edge) => edge.id));
    for (const fragment of graph.fragments) this.boxes.get(fragment.id)?.update(fragment);
    for (const edge of graph.edges) this.updateEdge(edge, at, live);
  }

  draw(graph) {
    const measures = layout(graph);
    this.boxes = new Map(graph.fragments.map((fragment) => [fragment.id, new Box(fragment, measures.boxes.get(fragment.id))]));
    this.edges = new Map();
    for (const edge of graph.edges) {
      const place = measures.cards.get(edge.id);
      if (place) this.edges.set(edge.id, new EdgeDrawing(edge, place));
    }
    const edges = [...this.edges.values()];
    const picture = svg(
      "svg",
      {
        viewBox: `0 0 ${measures.width} ${measures.height}`, role: "img",
        "aria-label": summary(graph),
      },
      ...measures.lanes.map((lane) => drawLane(lane, measures.width)),
      svg("g", { class: "wires" }, ...edges.map((edge) => edge.wires)),
      svg("g", {}, ...[...this.boxes.values()].map((box) => box.node)),
      svg("g", {}, ...edges.map((edge) => edge.card)),
    );
    picture.style.maxWidth = `${measures.width}px`;
    picture.style.minWidth = `${Math.round(measures.width * SCALE_MIN)}px`;
    this.scroller.replaceChildren(picture);
  }

  updateEdge(edge, at, live) {
    const rate = this.rates.of(edge.id);
    rate.update(edge.rows, at);
    this.edges.get(edge.id)?.update(edge, motionOf(edge, rate, at, live));
  }
}

/** The part of a graph on which the picture's shape depends. */
function structureOf(graph) {
  const fragments = graph.fragments.map((f) => [f.id, f.member, f.operators.map((o) => [o.id, o.name, o.detail, o.inputs])]);
  return JSON.stringify([fragments, graph.edges.map((edge) => [edge.id, edge.from, edge.to])]);
}

function summary(graph) {
  const fragments = graph.fragments.filter((fragment) => fragment.id !== CLIENT);
  const members = new Set(fragments.map((fragment) => fragment.member).filter(Boolean));
  const where = members.size ? ` on ${format.counted(members.size, "member")}` : "";
  return `Plan of ${format.counted(fragments.length, "fragment")}${where}; the tables below have its figures`;
}

function drawLane(lane, width) {
  const shape = svg("rect", { class: "lane", x: 0, y: lane.y, width, height: lane.height, rx: 6 });
  return svg("g", {}, shape, svg("text", { class: "lane-name", x: 14, y: lane.y + 17 }, lane.member));
}

/** A text truncated to a width, with the complete text as its title. */
function cutText(attributes, text, width, character) {
  const shown = format.cut(text, Math.floor(width / character));
  const node = svg("text", attributes, shown);
  return shown === text ? node : svg("g", {}, node, svg("title", {}, text));
}

class Box {
  constructor(fragment, place) {
    this.state = svg("text", { class: "quiet", x: place.width - 12, y: 18, "text-anchor": "end" });
    this.rows = new Map();
    const shape = svg("rect", { class: "box-shape", width: place.width, height: place.height, rx: 5 });
    const client = fragment.id === CLIENT;
    const title = client ? "Client" : `Fragment ${fragment.id}`;
    this.engine = svg("text", { class: "quiet", x: 12, y: 33 });
    this.node = svg(
      "g",
      { class: client ? "box client" : "box", transform: `translate(${place.x} ${place.y})` },
      shape,
      svg("text", { class: "box-title", x: 12, y: 18 }, format.cut(title, 22)),
      this.state,
      this.engine,
      ...(place.rows.length ? [svg("path", { class: "rule", d: `M0.5 ${SIZES.header}H${place.width - 0.5}` })] : []),
      ...branches(place.rows),
      ...place.rows.map((row) => this.drawRow(row, place.width)),
    );
  }

  drawRow({ operator, depth, y }, width) {
    const x = 12 + depth * SIZES.indent;
    const figure = svg("text", { class: "figure", x: width - 12, y: y + 15, "text-anchor": "end" });
    this.rows.set(operator.id, figure);
    const name = cutText({ class: "operator", x, y: y + 15 }, String(operator.name), width - x - 54, NAME_CHARACTER);
    if (!operator.detail) return svg("g", {}, name, figure);
    const told = format.oneLine(operator.detail, 1000);
    const detail = cutText({ class: "detail", x, y: y + 29 }, told, width - x - 12, DETAIL_CHARACTER);
    return svg("g", {}, name, figure, detail);
  }

  update(fragment) {
    setText(this.state, fragment.id === CLIENT ? "" : fragment.state ?? "");
    setText(this.engine, fragment.id === CLIENT ? "receives rows" : fragment.engine ?? "");
    setAttribute(this.node, "data-state", fragment.state ?? null);
    for (const operator of fragment.operators) {
      const known = typeof operator.rows === "number";
      if (this.rows.has(operator.id)) setText(this.rows.get(operator.id), known ? format.count(operator.rows) : "");
    }
  }
}

/** Lines from each operator to its children. */
function branches(rows) {
  const parents = [];
  return rows.flatMap(({ operator, depth, y }) => {
    parents[depth] = y + SIZES.row + (operator.detail ? SIZES.detail - 2 : -2);
    if (depth === 0) return [];
    const x = 12 + (depth - 1) * SIZES.indent + 4;
    return [svg("path", { class: "branch", d: `M${x} ${parents[depth - 1]}V${y + 11}H${x + 7}` })];
  });
}

class EdgeDrawing {
  constructor(edge, place) {
    const [first, second] = place.path;
    this.compact = place.compact;
    this.wires = svg("g", { class: "wire" }, svg("path", { d: first }), svg("path", { d: second }));
    const text = (name, x, y, anchor) => svg("text", { class: name, x, y, "text-anchor": anchor });
    const right = place.width - 10;
    this.kind = text("edge-kind", 10, this.compact ? 15 : 18, "start");
    this.rows = text("figure", right, this.compact ? 15 : 18, "end");
    this.credit = text("quiet", 10, 44, "start");
    this.bytes = text("quiet", right, 44, "end");
    this.trouble = text("trouble", 10, 57, "start");
    this.title = svg("title");
    const gauge = this.compact ? { ...GAUGE, y: 0, x: 0, width: place.width, height: 2 } : GAUGE;
    this.gaugeWidth = gauge.width;
    this.level = svg("rect", { class: "gauge-level", ...gauge, rx: gauge.height / 2 });
    this.gauge = svg("g", {}, svg("rect", { class: "gauge", ...gauge, rx: gauge.height / 2 }), this.level);
    const more = this.compact ? [] : [this.credit, this.bytes, this.trouble];
    this.card = svg(
      "g",
      { class: "edge", transform: `translate(${place.x} ${place.y})` },
      svg("rect", { class: "edge-shape", width: place.width, height: place.height, rx: 5 }),
      this.gauge, this.kind, this.rows, ...more, this.title,
    );
    setText(this.title, `Edge ${edge.id}`);
  }

  update(edge, motion) {
    const share = creditShare(edge);
    setAttribute(this.wires, "data-motion", motion);
    setAttribute(this.card, "data-motion", motion);
    setText(this.kind, kindText(edge));
    setText(this.rows, typeof edge.rows === "number" ? format.count(edge.rows) : "");
    setAttribute(this.gauge, "visibility", share === null ? "hidden" : null);
    if (share !== null) setAttribute(this.level, "width", Math.round(share * this.gaugeWidth * 10) / 10);
    setText(this.title, edgeTitle(edge, motion));
    if (this.compact) return;
    setText(this.credit, share === null ? "" : `${format.percent(share)} credit`);
    setText(this.bytes, edge.bytes > 0 ? format.bytes(edge.bytes) : "");
    setText(this.trouble, troubles(edge, motion));
  }
}

function kindText(edge) {
  const streams = edge.streams > 1 ? ` \u00d7${edge.streams}` : "";
  return `${edge.kind}${streams}`;
}

/** The reason why an edge waits, in a few words. */
function troubles(edge, motion) {
  const words = [];
  if (motion === "stalled") words.push(edge.state === "interrupted" ? "interrupted" : "stalled");
  if (edge.backlog_bytes > 0) words.push(`${format.bytes(edge.backlog_bytes)} held`);
  if (edge.spooled_bytes > 0) words.push(`${format.bytes(edge.spooled_bytes)} spooled`);
  else if (edge.stalls > 0 && words.length < 2) words.push(format.counted(edge.stalls, "stall"));
  return words.join(" \u00b7 ");
}

function edgeTitle(edge, motion) {
  const credit = creditShare(edge) === null ? "" : `, credit ${format.bytes(edge.credit)} of ${format.bytes(edge.window)}`;
  return `Edge ${edge.id} (${motion}): ${format.count(edge.rows)} rows, ${format.bytes(edge.bytes)}${credit}`;
}

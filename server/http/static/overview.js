// The overview of the cluster: members, statements that run or are suspended, sessions, and statements that have ended.

import { el, keyed, setAttribute, setText } from "./dom.js";
import * as format from "./format.js";
import { Rates } from "./motion.js";
import { phaseLine } from "./phases.js";
import { badge, ENDED, elapsed, showState } from "./state.js";
import { Table } from "./table.js";

/** The number of rows that a list of sessions or of the history shows, and by which it grows on request. */
const ROWS = 50;

const statementColumn = {
  label: "Statement", kind: "sql",
  build: (cell) => {
    cell.link = cell.appendChild(el("a"));
  },
  show: (cell, { line }) => {
    const target = `#/statements/${encodeURIComponent(line.id)}`;
    if (cell.link.getAttribute("href") !== target) cell.link.setAttribute("href", target);
    setText(cell.link, format.oneLine(line.sql) || line.id);
  },
};
const stateColumn = {
  label: "State", kind: "tight",
  build: (cell) => {
    cell.badge = cell.appendChild(badge());
  },
  show: (cell, { line }) => showState(cell.badge, line.state, line.error),
};
const engineColumn = {
  label: "Engine", kind: "engine",
  build: (cell) => {
    cell.name = cell.appendChild(el("span"));
    cell.reason = cell.appendChild(el("span", { class: "reason" }));
  },
  show: (cell, { line }) => {
    setText(cell.name, line.engine ?? format.UNKNOWN);
    setText(cell.reason, line.reason ?? "");
    if (cell.reason.title !== (line.reason ?? "")) cell.reason.title = line.reason ?? "";
  },
};

const RUNNING = [
  stateColumn,
  statementColumn,
  { label: "User", text: ({ line }) => line.user },
  { label: "Member", text: ({ line }) => line.member },
  { label: "Cursor", kind: "cursor", text: ({ line }) => line.portal || format.UNKNOWN },
  engineColumn,
  { label: "Rows", kind: "number", text: ({ line }) => format.count(line.rows) },
  { label: "Rate", kind: "number", text: ({ rate }) => format.rate(rate) },
  {
    label: "Elapsed", kind: "number",
    show: (cell, { line, at }) => {
      setText(cell, format.duration(elapsed(line, at)));
      setAttribute(cell, "title", phaseLine(line.phases));
    },
  },
];
const FINISHED = [
  stateColumn,
  statementColumn,
  { label: "User", text: ({ line }) => line.user },
  { label: "Member", text: ({ line }) => line.member },
  { label: "Engine", text: ({ line }) => line.engine ?? format.UNKNOWN },
  { label: "Rows", kind: "number", text: ({ line }) => format.count(line.rows) },
  { label: "Duration", kind: "number", text: ({ line, at }) => format.duration(elapsed(line, at)) },
  { label: "SQLSTATE", kind: "tight", text: ({ line }) => line.sqlstate ?? "" },
  { label: "Ended", kind: "number", text: ({ line }) => format.moment(line.ended) },
];
const SESSIONS = [
  { label: "Member", text: ({ session }) => session.member },
  { label: "PID", kind: "number", text: ({ session }) => String(session.pid) },
  { label: "User", text: ({ session }) => session.user },
  { label: "Application", text: ({ session }) => session.application_name || format.UNKNOWN },
  { label: "Client", text: ({ session }) => session.client || format.UNKNOWN },
  { label: "State", text: ({ session }) => session.state },
  { label: "Since", kind: "number", text: ({ session, at }) => format.age(at - session.since) },
  { label: "Last statement", kind: "sql", text: ({ session }) => format.oneLine(session.query) },
];

/** The view; `update` with each overview that the server sends. */
export class OverviewView {
  constructor() {
    this.title = "Overview";
    this.rates = new Rates();
    this.last = null;
    this.drawn = false;
    this.cards = el("ul", { class: "members" });
    this.running = new Table({
      caption: "Running and suspended statements", columns: RUNNING, keyOf: ({ line }) => line.id,
      empty: "No statement is running.",
    });
    this.sessions = new Table({
      caption: "Sessions", columns: SESSIONS, keyOf: ({ session }) => `${session.member} ${session.pid}`,
      empty: "Nobody is connected.",
    });
    this.sessions.scroll();
    this.sessionsMore = new More(() => this.showLists(this.last));
    this.finished = new Table({
      caption: "Statements that have ended", columns: FINISHED, keyOf: ({ line }) => line.id, empty: "",
    });
    this.finishedMore = new More(() => this.showFinished(this.last));
    this.filter = new Filter(() => this.last && this.showFinished(this.last));
    this.counts = { members: el("span"), running: el("span"), sessions: el("span"), finished: el("span") };
    for (const node of Object.values(this.counts)) node.className = "count";
    this.node = el(
      "div", { class: "overview" },
      el("h1", { class: "unseen" }, "Overview"),
      section("Members", this.counts.members, this.cards),
      section("Running", this.counts.running, this.running.node),
      section("Sessions", this.counts.sessions, this.sessions.node, this.sessionsMore.node),
      section("History", this.counts.finished, this.filter.node, this.finished.node, this.finishedMore.node),
    );
  }

  update(overview) {
    this.last = overview;
    const { at } = overview;
    const busiest = Math.max(1, ...overview.members.map((member) => member.load ?? 0));
    setText(this.counts.members, format.count(overview.members.length));
    const patch = (card, member) => patchMember(card, member, busiest);
    keyed(this.cards, overview.members, (member) => member.name, createMember, patch);
    this.rates.keep(overview.running.map((line) => line.id));
    const lines = overview.running.map((line) => ({ line, at, rate: this.rates.of(line.id).update(line.rows, at) }));
    this.running.update(lines);
    setText(this.counts.running, format.count(lines.length));
    // The first frame has the most important parts; the long lists come with the next one.
    if (this.drawn) this.showLists(overview);
    else requestAnimationFrame(() => this.showLists(this.last));
    this.drawn = true;
  }

  showLists(overview) {
    const sessions = overview.sessions.map((session) => ({ session, at: overview.at }));
    setText(this.counts.sessions, format.count(sessions.length));
    this.sessions.update(this.sessionsMore.first(sessions));
    this.showFinished(overview);
  }

  showFinished({ finished, at }) {
    const found = finished.filter((line) => this.filter.takes(line)).map((line) => ({ line, at }));
    setText(this.finished.empty, finished.length ? "No statement in the history fits the filter." : "No statement has ended yet.");
    const some = found.length === finished.length ? "" : `${format.count(found.length)} of `;
    setText(this.counts.finished, some + format.count(finished.length));
    this.finished.update(this.finishedMore.first(found));
  }
}

/** A button that makes a list longer. */
class More {
  constructor(changed) {
    this.limit = ROWS;
    const more = () => {
      this.limit += ROWS;
      changed();
    };
    this.node = el("button", { type: "button", class: "plain more", onclick: more });
  }

  /** The items that the list shows now. */
  first(items) {
    const rest = items.length - this.limit;
    this.node.hidden = rest <= 0;
    if (rest > 0) setText(this.node, `Show ${format.count(Math.min(rest, ROWS))} more of ${format.count(rest)}`);
    return items.slice(0, this.limit);
  }
}

function section(title, counter, ...content) {
  const id = `section-${title.toLowerCase()}`;
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title, " ", counter), ...content);
}

/** The filters of the history: user, text and state. */
class Filter {
  constructor(changed) {
    const field = (label) => el("input", { type: "search", placeholder: label, "aria-label": label, oninput: changed });
    this.text = field("Text of the statement");
    this.user = field("User");
    const states = ["", ...ENDED].map((state) => el("option", { value: state }, state || "Any state"));
    this.state = el("select", { "aria-label": "State", onchange: changed }, ...states);
    const form = { class: "filter", role: "search", onsubmit: (event) => event.preventDefault() };
    this.node = el("form", form, this.text, this.user, this.state);
  }

  takes(line) {
    const text = this.text.value.trim().toLowerCase();
    const user = this.user.value.trim();
    if (this.state.value && line.state !== this.state.value) return false;
    if (user && !String(line.user).includes(user)) return false;
    return !text || String(line.sql).toLowerCase().includes(text) || String(line.id).toLowerCase() === text;
  }
}

function createMember() {
  const about = el("span", { class: "quiet" });
  const parts = { name: el("h3"), state: badge(), about, load: el("dd"), memory: el("dd"), spool: el("dd") };
  const level = el("span", { class: "level" });
  const entry = (label, value) => el("div", {}, el("dt", {}, label), value);
  const node = el(
    "li", { class: "member" },
    el("div", { class: "member-head" }, parts.name, parts.state),
    parts.about,
    el("div", { class: "meter", "aria-hidden": "true" }, level),
    el("dl", { class: "figures" }, entry("Load", parts.load), entry("Memory", parts.memory), entry("Spool", parts.spool)),
  );
  return { node, level, ...parts };
}

function patchMember(card, member, busiest) {
  setText(card.name, member.name);
  showState(card.state, member.state);
  setText(card.about, [member.role, member.version].filter(Boolean).join(" \u00b7 "));
  setText(card.load, format.count(member.load));
  setText(card.memory, format.bytes(member.memory_bytes));
  setText(card.spool, format.bytes(member.spool_bytes));
  const width = `${Math.round((100 * (member.load ?? 0)) / busiest)}%`;
  if (card.level.style.width !== width) card.level.style.width = width;
}

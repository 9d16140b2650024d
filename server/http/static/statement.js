// One statement: its text and state, the time of its phases, its plan with the figures of each edge, its Spark jobs, and a button
// that cancels it.

import * as api from "./api.js";
import { serverNow } from "./clock.js";
import { confirmed } from "./dialog.js";
import { el, keyed, setText } from "./dom.js";
import * as format from "./format.js";
import { Rate } from "./motion.js";
import { PhaseBar } from "./phases.js";
import { Plan } from "./plan.js";
import { SparkJobs } from "./spark_jobs.js";
import { badge, elapsed, engineText, hasEnded, showState } from "./state.js";

/** The view of the statement with an id. */
export class StatementView {
  constructor(id) {
    this.id = id;
    this.title = `Statement ${id}`;
    this.last = null;
    this.rate = new Rate();
    this.state = badge();
    this.button = el("button", { type: "button", class: "danger", onclick: () => this.cancel() }, "Cancel statement");
    this.told = el("p", { class: "told", role: "status" });
    this.error = el("p", { class: "error" });
    this.sql = el("pre", { class: "code sql-text", tabindex: "0", "aria-label": "SQL text" });
    this.facts = el("dl", { class: "facts" });
    this.phases = new PhaseBar();
    this.plan = new Plan();
    this.jobs = new SparkJobs();
    this.missing = el("p", { class: "empty" }, "Looking for the statement.");
    this.whole = el(
      "div", { hidden: true },
      this.sql, this.error, this.facts,
      el("section", { "aria-labelledby": "phases" }, el("h2", { id: "phases" }, "Time by phase"), this.phases.node),
      el("section", { "aria-labelledby": "plan" }, el("h2", { id: "plan" }, "Plan"), this.plan.node),
      this.jobs.node,
    );
    const heading = el("h1", {}, "Statement ", el("span", { class: "code" }, id));
    const head = el("div", { class: "head" }, heading, this.state, this.button);
    this.node = el("div", { class: "statement" }, head, this.told, this.missing, this.whole);
    this.button.hidden = true;
  }

  /** Request the statement once; the live channel sends updates. */
  async load() {
    try {
      this.update(await api.query(this.id), serverNow());
    } catch (error) {
      setText(this.missing, error.status === 404 ? "There is no such statement. It may have left the history." : error.message);
    }
  }

  /** query: of the API. at: the server's time, in seconds. */
  update(query, at) {
    if (query.id !== this.id) return;
    this.last = query;
    const live = !hasEnded(query);
    this.missing.hidden = true;
    this.whole.hidden = false;
    this.button.hidden = !live;
    showState(this.state, query.state);
    setText(this.sql, query.sql ?? "");
    setText(this.error, query.error ? [query.sqlstate, query.error].filter(Boolean).join(": ") : "");
    this.error.hidden = !query.error;
    keyed(this.facts, this.factsOf(query, at, live), ([name]) => name, createFact, (row, [, value]) => setText(row.value, value));
    this.phases.update(query.phases);
    this.plan.update(query.graph, at, live);
    this.jobs.update(query.spark_jobs);
  }

  factsOf(query, at, live) {
    const rate = this.rate.update(query.rows, at);
    const facts = [
      ["User", query.user], ["Member", query.member], ["PID", query.pid === null ? "" : String(query.pid)],
      ["Engine", engineText(query)], ["Portal", query.portal], ["Rows", format.count(query.rows)],
      ["Rate", live ? format.rate(rate) : ""], [live ? "Elapsed" : "Duration", format.duration(elapsed(query, at))],
      ["Started", format.moment(query.started)], ["Ended", query.ended ? format.moment(query.ended) : ""],
    ];
    return facts.filter(([, value]) => value);
  }

  async cancel() {
    const question = {
      title: "Cancel this statement?", text: format.oneLine(this.last?.sql, 400),
      note: "Its client gets the error 57014, and keeps the rows that it has received so far.",
      yes: "Cancel statement", no: "Keep it running",
    };
    if (!(await confirmed(question))) return;
    this.button.disabled = true;
    try {
      await api.cancel(this.id);
      setText(this.told, "Cancellation was requested.");
    } catch (error) {
      setText(this.told, error.status === 404 ? "The statement has ended already." : error.message);
    } finally {
      this.button.disabled = false;
    }
  }
}

function createFact([name]) {
  const value = el("dd");
  return { node: el("div", {}, el("dt", {}, name), value), value };
}

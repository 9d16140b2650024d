// Plans without a running statement: SQL that the server explains and does not run, or a plan that is pasted as JSON.

import * as api from "./api.js";
import { el, setText } from "./dom.js";
import { Plan } from "./plan.js";
import { readPlan } from "./plan_json.js";

export class ExplainView {
  constructor() {
    this.title = "Explain";
    this.plan = new Plan();
    this.plan.node.hidden = true;
    this.error = el("div", { class: "error", role: "alert", hidden: true });
    this.sql = this.form("SQL", "select ...", "Explain", "Plans the statement and does not run it.", (text) => this.explain(text));
    const note = "The output of EXPLAIN (FORMAT JSON) or EXPLAIN (DISTSQL, FORMAT JSON).";
    this.json = this.form("Plan as JSON", '[{"Plan": ...}]', "Draw", note, (text) => this.draw(text));
    this.choices = [["Explain SQL", this.sql], ["Paste a plan", this.json]].map(([label, form], index) => {
      const listeners = { onclick: () => this.choose(index), onkeydown: (event) => this.turn(event) };
      return { form, tab: el("button", { type: "button", role: "tab", ...listeners }, label) };
    });
    const tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Source of the plan" });
    tabs.append(...this.choices.map(({ tab }) => tab));
    this.node = el(
      "div", { class: "explain" },
      el("h1", {}, "Explain"), tabs, this.sql.node, this.json.node, this.error, this.plan.node,
    );
    this.choose(0);
  }

  form(label, placeholder, action, note, run) {
    const input = el("textarea", { rows: 8, spellcheck: "false", placeholder, "aria-label": label, class: "code" });
    const button = el("button", { class: "primary" }, action);
    const submit = async (event) => {
      event.preventDefault();
      button.disabled = true;
      await run(input.value);
      button.disabled = false;
    };
    const node = el("form", { role: "tabpanel", "aria-label": label, onsubmit: submit }, input);
    node.append(el("div", { class: "buttons" }, button, el("span", { class: "quiet" }, note)));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) node.requestSubmit();
    });
    return { node, input };
  }

  choose(index) {
    this.choices.forEach(({ form, tab }, at) => {
      const chosen = at === index;
      form.node.hidden = !chosen;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    });
  }

  /** Move between the tabs with the arrow keys. */
  turn(event) {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = this.choices.findIndex(({ tab }) => tab !== event.target);
    this.choose(other);
    this.choices[other].tab.focus();
  }

  async explain(sql) {
    try {
      this.show(unrun(await api.explain(sql)));
    } catch (error) {
      this.fail(error, sql);
    }
  }

  async draw(text) {
    try {
      this.show(readPlan(text));
    } catch (error) {
      this.fail(error, "");
    }
  }

  show(graph) {
    this.error.hidden = true;
    this.plan.node.hidden = false;
    this.plan.update(graph, Date.now() / 1000, false);
  }

  fail(error, sql) {
    this.plan.node.hidden = true;
    this.error.hidden = false;
    const message = el("p");
    setText(message, [error.sqlstate, error.message].filter(Boolean).join(": "));
    this.error.replaceChildren(message, ...pointed(sql, error.position));
  }
}

/** A graph without figures and states, since the plan did not run. */
function unrun(graph) {
  const figures = ["rows", "bytes", "backlog_bytes", "stalls", "stalled_seconds", "spooled_bytes", "state"];
  const none = Object.fromEntries(figures.map((name) => [name, null]));
  return {
    fragments: graph.fragments.map((fragment) => ({ ...fragment, operators: fragment.operators ?? [], state: null })),
    edges: graph.edges.map((edge) => ({ ...edge, ...none })),
  };
}

/** The line of a statement that contains an error, with its position marked. position: in characters, from 1. */
function pointed(sql, position) {
  const characters = Array.from(sql);
  if (!(position >= 1) || position > characters.length) return [];
  const before = characters.slice(0, position - 1).join("").split("\n").at(-1);
  const after = characters.slice(position).join("").split("\n")[0];
  return [el("pre", { class: "code" }, before, el("mark", {}, characters[position - 1]), after)];
}

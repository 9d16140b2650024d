// The time of a statement, as a bar of its phases and a list of them with their durations.

import { el, keyed, setText } from "./dom.js";
import * as format from "./format.js";

/** The phases in their order, with their labels. */
const PHASES = [
  ["queue", "Queued"], ["parse", "Parse"], ["bind", "Bind"], ["plan", "Plan"], ["compile", "Compile"], ["start", "Start"],
  ["first_row", "First row"], ["run", "Run"],
];

function knownPhases(phases) {
  const all = PHASES.map(([name, label]) => ({ name, label, seconds: phases?.[name] }));
  return all.filter((phase) => typeof phase.seconds === "number");
}

/** The phases in one line: "Parse 0.4 ms, Bind 1.1 ms, ...". */
export function phaseLine(phases) {
  return knownPhases(phases).map(({ label, seconds }) => `${label} ${format.duration(seconds)}`).join(", ");
}

export class PhaseBar {
  constructor() {
    this.bar = el("div", { class: "phase-bar", "aria-hidden": "true" });
    this.list = el("dl", { class: "phase-list" });
    this.empty = el("p", { class: "empty" }, "No phase has ended yet.");
    this.node = el("div", { class: "phases" }, this.bar, this.list, this.empty);
  }

  /** phases: the known durations in seconds, by name. */
  update(phases) {
    const known = knownPhases(phases);
    this.empty.hidden = known.length > 0;
    this.bar.hidden = known.length === 0;
    const whole = known.reduce((sum, phase) => sum + phase.seconds, 0);
    keyed(this.bar, known, (phase) => phase.name, createSegment, patchSegment);
    keyed(this.list, known, (phase) => phase.name, createEntry, (row, phase) => {
      const share = whole > 0 ? ` (${format.percent(phase.seconds / whole)})` : "";
      setText(row.value, `${format.duration(phase.seconds)}${share}`);
    });
  }
}

function createSegment(phase) {
  return { node: el("span", { class: `phase phase-${phase.name}` }) };
}

function patchSegment(row, phase) {
  row.node.style.flexGrow = String(Math.max(phase.seconds, 0));
}

function createEntry(phase) {
  const value = el("dd");
  const key = el("span", { class: `phase-key phase-${phase.name}`, "aria-hidden": "true" });
  return { node: el("div", {}, el("dt", {}, key, phase.label), value), value };
}

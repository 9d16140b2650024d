// Converts a pasted plan to a graph: Sluice's EXPLAIN (DISTSQL, FORMAT JSON) and EXPLAIN (FORMAT JSON), PostgreSQL's of the latter,
// and the graph of this console's own API, alone or in the answer about a statement.
//
// In a distributed plan, each instance of a fragment becomes a box in its member's lane, and an edge is drawn for each pair of
// instances that it connects.

import { CLIENT } from "./layout.js";

/** Keys of a plan node that the picture shows in another form. */
const STRUCTURE = new Set(["Node Type", "Plans", "Plan Rows", "Actual Rows", "Subplan Name", "Fragment", "Actual Loops"]);
/** PostgreSQL's keys of a node that are of little use in a picture. */
const UNSHOWN = new Set([
  "Parallel Aware", "Async Capable", "Startup Cost", "Total Cost", "Plan Width", "Parent Relationship", "Actual Startup Time",
  "Actual Total Time",
]);

/** The reason why a text is not a plan. */
export class NoPlan extends Error {}

/** Parse a text as a plan. Throws NoPlan with the reason if it is none. */
export function readPlan(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new NoPlan(`This is not JSON: ${error.message}`);
  }
  const whole = Array.isArray(value) ? value[0] : value;
  if (whole === null || typeof whole !== "object") throw new NoPlan("This is JSON, but no plan.");
  if (whole.graph && typeof whole.graph === "object") return checked(whole.graph);
  if (Array.isArray(whole.fragments)) return checked(whole);
  const plan = whole.Plan ?? (whole["Node Type"] ? whole : null);
  if (plan === null || typeof plan !== "object") {
    throw new NoPlan("There is neither a Plan, as EXPLAIN (FORMAT JSON) writes one, nor a list of fragments in it.");
  }
  return Array.isArray(whole.Fragments) && Array.isArray(whole.Edges) ? distributed(whole, plan) : single(whole, plan);
}

/** A graph in the API's shape, with defaults for missing parts. */
function checked(graph) {
  const fragments = graph.fragments.map((fragment) => {
    if (fragment === null || typeof fragment !== "object" || fragment.id === undefined) throw new NoPlan("A fragment has no id.");
    return { ...fragment, operators: Array.isArray(fragment.operators) ? fragment.operators : [] };
  });
  const ids = new Set(fragments.map((fragment) => fragment.id));
  const edges = (graph.edges ?? []).map((edge, index) => ({ id: String(index), ...edge }));
  for (const edge of edges) {
    for (const end of [edge.from, edge.to]) {
      if (!ids.has(end)) throw new NoPlan(`Edge ${edge.id} names fragment ${end}, which is not there.`);
    }
  }
  return { fragments, edges };
}

function single(whole, plan) {
  const engine = whole.Engine ?? null;
  const operators = [];
  collect(plan, operators, () => null);
  return {
    fragments: [{ id: "plan", member: "", engine, state: null, operators }, clientFragment()],
    edges: [plannedEdge("result", "plan", CLIENT, "result", 1, plan["Actual Rows"] ?? null)],
  };
}

function distributed(whole, plan) {
  const operatorsOf = new Map();
  const gather = (node, id) => {
    const operators = [];
    operatorsOf.set(id, operators);
    collect(node, operators, (inner) => {
      if (inner.Fragment === undefined) return null;
      gather(inner, inner.Fragment);
      return inner.Fragment;
    });
  };
  gather(plan, plan.Fragment ?? 0);
  const instancesOf = new Map(whole.Fragments.map((fragment) => [fragment.Fragment, instances(fragment, operatorsOf)]));
  const edges = whole.Edges.flatMap((edge) => pairs(edge, instancesOf));
  const [root] = instancesOf.get(plan.Fragment ?? 0) ?? [];
  if (root) edges.push(plannedEdge("result", root.id, CLIENT, "result", 1, plan["Actual Rows"] ?? null));
  return { fragments: [...[...instancesOf.values()].flat(), clientFragment()], edges };
}

function instances(fragment, operatorsOf) {
  const operators = operatorsOf.get(fragment.Fragment) ?? [];
  return (fragment.Instances ?? []).map((instance) => ({
    id: `${fragment.Fragment}.${instance.Instance}`,
    member: instance.Member ?? "",
    engine: fragment.Engine ?? null,
    state: null,
    operators,
    rows: instance["Actual Rows"] ?? null,
  }));
}

function pairs(edge, instancesOf) {
  const sources = instancesOf.get(edge.Source) ?? [];
  const targets = instancesOf.get(edge.Target) ?? [];
  const alone = sources.length * targets.length === 1;
  return sources.flatMap((source) =>
    targets.map((target) => {
      const id = alone ? String(edge.Edge) : `${edge.Edge}: ${source.id} to ${target.id}`;
      // The counts are totals over all pairs.
      const drawn = plannedEdge(id, source.id, target.id, kindOf(edge), 1, alone ? edge["Actual Rows"] ?? null : null);
      return alone ? { ...drawn, bytes: edge["Actual Bytes"] ?? null, stalls: edge["Credit Stalls"] ?? null } : drawn;
    }),
  );
}

/** The kind of "hash of k over 3 instances" is "hash"; an edge to which several senders send in order is a merge. */
function kindOf(edge) {
  if (String(edge.Synchronizer ?? "").startsWith("ordered")) return "merge";
  const word = String(edge.Router ?? "").split(" ")[0];
  return { single: "gather", mirror: "broadcast" }[word] ?? (word || "edge");
}

function plannedEdge(id, from, to, kind, streams, rows) {
  return {
    id, from, to, kind, streams, rows, bytes: null, credit: null, window: null, backlog_bytes: null, stalls: null,
    stalled_seconds: null, spooled_bytes: null, state: null,
  };
}

const clientFragment = () => ({ id: CLIENT, member: "", engine: null, state: null, operators: [] });

/** Append a tree of plan nodes as operators. elsewhere(node): the fragment of a node if it is another one. */
function collect(node, operators, elsewhere) {
  const name = String(node["Node Type"] ?? "?");
  const operator = { id: operators.length, name, detail: detailOf(node), inputs: [], rows: node["Actual Rows"] ?? null };
  operators.push(operator);
  for (const child of Array.isArray(node.Plans) ? node.Plans : []) {
    if (elsewhere(child) === null) operator.inputs.push(collect(child, operators, elsewhere).id);
  }
  return operator;
}

function detailOf(node) {
  const told = Object.entries(node).filter(([name, value]) => !STRUCTURE.has(name) && !UNSHOWN.has(name) && value !== false);
  const words = told.map(([name, value]) => `${name}: ${typeof value === "object" ? JSON.stringify(value) : value}`);
  if (node["Plan Rows"] !== undefined && node["Actual Rows"] === undefined) words.unshift(`about ${node["Plan Rows"]} rows`);
  return [node["Subplan Name"], ...words].filter(Boolean).join("; ");
}

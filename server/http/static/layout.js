// The positions of the parts of a plan's picture. Pure: a graph in, positions out; `graph.js` draws them.
//
// Rows flow from left to right. A fragment's column is its distance from the client by the longest path, so that every edge points
// to the right. A member is a lane across all columns, and a fragment is in its member's lane. Between two columns is a gutter
// with one card for each edge that ends in the right one; a card is as near to the middle of its edge as the other cards allow.
//
// Rejected: minimising crossings by sweeps (Sugiyama). Lanes fix the vertical order, and if each member sends to each, the
// crossings are the content of the picture.

export const SIZES = {
  boxWidth: 228, clientWidth: 108, clientHeight: 44, header: 40, row: 20, detail: 15, boxPadding: 10, boxGap: 12, indent: 14,
  cardWidth: 158, cardHeight: 64, compactHeight: 22, cardGap: 8, compactGap: 3, reach: 28,
  lanePadding: 12, laneLabel: 26, laneGap: 10, margin: 2,
};
/** The number of edges that end in one column beyond which their cards have a single line. */
const COMPACT_FROM = 10;
export const CLIENT = "client";

/** The operators of a fragment as rows of a tree, consumers first: {operator, depth}. */
export function operatorRows(operators) {
  const byId = new Map(operators.map((operator) => [operator.id, operator]));
  const inner = new Set(operators.flatMap((operator) => operator.inputs ?? []));
  const rows = [];
  const seen = new Set();
  const walk = (operator, depth) => {
    if (seen.has(operator.id)) return;
    seen.add(operator.id);
    rows.push({ operator, depth });
    for (const id of operator.inputs ?? []) if (byId.has(id)) walk(byId.get(id), depth + 1);
  };
  for (const operator of operators) if (!inner.has(operator.id)) walk(operator, 0);
  for (const operator of operators) walk(operator, 0);
  return rows;
}

/** The longest path to an end of the graph, in edges, for each fragment. A cycle counts once. */
export function distances(graph) {
  const targets = new Map(graph.fragments.map((fragment) => [fragment.id, []]));
  for (const edge of graph.edges) if (targets.has(edge.to)) targets.get(edge.from)?.push(edge.to);
  const found = new Map();
  const open = new Set();
  const measure = (id) => {
    if (found.has(id)) return found.get(id);
    open.add(id);
    let longest = 0;
    for (const target of targets.get(id)) if (!open.has(target)) longest = Math.max(longest, measure(target) + 1);
    open.delete(id);
    found.set(id, longest);
    return longest;
  };
  for (const id of targets.keys()) measure(id);
  return found;
}

/** Positions of items of one height: as near to the wanted centres as their order and the gap allow (pooling of
 *  adjacent violators). Returns the upper ends. */
export function spread(centres, height, gap) {
  const order = centres.map((_, index) => index).sort((a, b) => centres[a] - centres[b] || a - b);
  const step = height + gap;
  const pools = [];
  order.forEach((index, rank) => {
    pools.push({ sum: centres[index] - rank * step, members: 1 });
    while (pools.length > 1) {
      const [before, last] = pools.slice(-2);
      if (before.sum / before.members <= last.sum / last.members) break;
      pools.splice(-2, 2, { sum: before.sum + last.sum, members: before.members + last.members });
    }
  });
  const tops = new Array(centres.length);
  let rank = 0;
  for (const pool of pools) {
    for (let member = 0; member < pool.members; member += 1, rank += 1) {
      tops[order[rank]] = pool.sum / pool.members + rank * step - height / 2;
    }
  }
  return tops;
}

/** The picture's layout: {width, height, lanes, boxes, cards}.
 *
 *  lanes: {member, y, height}. boxes: by fragment {x, y, width, height, rows}. cards: by edge {x, y, width, height, compact, path},
 *  where path is the edge's path to the card and from it. */
export function layout(graph) {
  const fragments = graph.fragments;
  const columns = columnsOf(graph);
  const memberOf = lanesOf(graph);
  const boxes = new Map(fragments.map((fragment) => [fragment.id, boxOf(fragment)]));
  const last = Math.max(0, ...columns.values());
  const widths = Array.from({ length: last + 1 }, () => 0);
  for (const [id, column] of columns) widths[column] = Math.max(widths[column], boxes.get(id).width);
  let x = SIZES.margin + SIZES.lanePadding;
  const lefts = widths.map((width) => {
    const left = x;
    x += width + SIZES.cardWidth + 2 * SIZES.reach;
    return left;
  });
  const width = lefts[last] + widths[last] + SIZES.lanePadding + SIZES.margin;
  const { lanes, height } = placeBoxes(fragments, columns, memberOf, boxes, lefts);
  const cards = placeCards(graph.edges, columns, boxes, lefts);
  const lowest = Math.max(height, ...[...cards.values()].map((card) => card.y + card.height + SIZES.margin));
  const highest = Math.min(0, ...[...cards.values()].map((card) => card.y - SIZES.margin));
  for (const thing of [...lanes, ...boxes.values(), ...cards.values()]) thing.y -= highest;
  for (const edge of graph.edges) if (cards.has(edge.id)) joinPorts(edge, boxes, cards.get(edge.id));
  return { width, height: lowest - highest, lanes, boxes, cards };
}

function columnsOf(graph) {
  const far = distances(graph);
  const furthest = Math.max(0, ...far.values());
  return new Map([...far].map(([id, distance]) => [id, furthest - distance]));
}

/** The lane of each fragment. The client's is that of the fragment which feeds it. */
function lanesOf(graph) {
  const found = new Map(graph.fragments.map((fragment) => [fragment.id, laneName(fragment)]));
  for (const edge of graph.edges) {
    if (edge.to === CLIENT && found.has(CLIENT) && !found.get(CLIENT)) found.set(CLIENT, found.get(edge.from) ?? "");
  }
  return found;
}

function laneName(fragment) {
  return Array.isArray(fragment.member) ? fragment.member.join(", ") : fragment.member ?? "";
}

function boxOf(fragment) {
  if (fragment.id === CLIENT) return { width: SIZES.clientWidth, height: SIZES.clientHeight, rows: [] };
  let y = SIZES.header;
  const rows = operatorRows(fragment.operators ?? []).map(({ operator, depth }) => {
    const row = { operator, depth, y };
    y += SIZES.row + (operator.detail ? SIZES.detail : 0);
    return row;
  });
  return { width: SIZES.boxWidth, height: y + SIZES.boxPadding, rows };
}

function placeBoxes(fragments, columns, memberOf, boxes, lefts) {
  const names = [...new Set(memberOf.values())].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const lanes = [];
  let y = SIZES.margin;
  for (const member of names) {
    const heights = new Map();
    const inside = fragments.filter((fragment) => memberOf.get(fragment.id) === member);
    for (const fragment of inside) {
      const box = boxes.get(fragment.id);
      const column = columns.get(fragment.id);
      const above = heights.get(column) ?? 0;
      box.x = lefts[column];
      box.y = above;
      heights.set(column, above + box.height + SIZES.boxGap);
    }
    const content = Math.max(...heights.values()) - SIZES.boxGap;
    for (const fragment of inside) {
      const box = boxes.get(fragment.id);
      box.y += y + SIZES.laneLabel + (content - heights.get(columns.get(fragment.id)) + SIZES.boxGap) / 2;
    }
    const height = SIZES.laneLabel + content + SIZES.lanePadding;
    lanes.push({ member, y, height });
    y += height + SIZES.laneGap;
  }
  return { lanes, height: y - SIZES.laneGap + SIZES.margin };
}

const middle = (box) => box.y + box.height / 2;

function placeCards(edges, columns, boxes, lefts) {
  const cards = new Map();
  const gutters = new Map();
  for (const edge of edges) {
    if (!boxes.has(edge.from) || !boxes.has(edge.to)) continue;
    const column = columns.get(edge.to);
    gutters.set(column, [...(gutters.get(column) ?? []), edge]);
  }
  for (const [column, inside] of gutters) {
    const compact = inside.length > COMPACT_FROM;
    const height = compact ? SIZES.compactHeight : SIZES.cardHeight;
    const centres = inside.map((edge) => (middle(boxes.get(edge.from)) + middle(boxes.get(edge.to))) / 2);
    const tops = spread(centres, height, compact ? SIZES.compactGap : SIZES.cardGap);
    const x = lefts[column] - SIZES.reach - SIZES.cardWidth;
    inside.forEach((edge, index) => cards.set(edge.id, { x, y: tops[index], width: SIZES.cardWidth, height, compact }));
  }
  return cards;
}

function joinPorts(edge, boxes, card) {
  const from = boxes.get(edge.from);
  const to = boxes.get(edge.to);
  const y = middle(card);
  const right = card.x + card.width;
  card.path = [curve(from.x + from.width, middle(from), card.x, y), curve(right, y, to.x, middle(to))];
}

function curve(x, y, endX, endY) {
  const bend = Math.max(16, (endX - x) / 2);
  const points = [[x + bend, y], [endX - bend, endY], [endX, endY]];
  return `M${round(x)} ${round(y)}C${points.flat().map(round).join(" ")}`;
}

const round = (value) => Math.round(value * 10) / 10;

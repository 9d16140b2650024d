// The motion of an edge, from the figures that the server repeats: whether rows flow or wait for credit, and rows per second.

/** Seconds after the last row for which an edge still counts as flowing. */
const HOLD_SECONDS = 2;
/** The weight of the newest measurement in a rate. */
const NEWEST = 0.4;
/** States of an edge whose sender has no credit, or no connection. */
const WAITING = new Set(["waiting", "stalled", "interrupted"]);
const ENDED = new Set(["done", "finished", "closed", "complete", "ended", "failed", "cancelled"]);

/** A smoothed rate in rows per second, from counts at irregular times. */
export class Rate {
  constructor() {
    this.value = null;
    this.movedAt = null;
    this.rows = null;
    this.at = null;
  }

  /** rows: the total. at: the time in seconds. Returns rows per second, or null after the first count. */
  update(rows, at) {
    if (typeof rows !== "number") return this.value;
    if (this.rows !== null && at > this.at) {
      const now = Math.max(0, rows - this.rows) / (at - this.at);
      this.value = this.value === null ? now : NEWEST * now + (1 - NEWEST) * this.value;
      if (this.value < 0.05) this.value = 0;
      if (rows > this.rows) this.movedAt = at;
    }
    if (this.at === null || at > this.at) {
      this.rows = rows;
      this.at = at;
    }
    return this.value;
  }
}

/** Rates by key; those of keys that no longer occur are dropped. */
export class Rates {
  constructor() {
    this.byKey = new Map();
  }

  of(key) {
    if (!this.byKey.has(key)) this.byKey.set(key, new Rate());
    return this.byKey.get(key);
  }

  keep(keys) {
    const kept = new Set(keys);
    for (const key of this.byKey.keys()) if (!kept.has(key)) this.byKey.delete(key);
  }
}

/** The fraction of an edge's credit window that the sender may still fill: 0 to 1, or null without a window. */
export function creditShare(edge) {
  if (typeof edge.credit !== "number" || !(edge.window > 0)) return null;
  return Math.min(1, Math.max(0, edge.credit / edge.window));
}

/** "ended", "stalled", "flowing" or "idle". live: whether the statement still runs. */
export function motionOf(edge, rate, at, live) {
  if (!live || ENDED.has(edge.state)) return "ended";
  const share = creditShare(edge);
  if (WAITING.has(edge.state) || (share !== null && share <= 0)) return "stalled";
  return rate.movedAt !== null && at - rate.movedAt <= HOLD_SECONDS ? "flowing" : "idle";
}

// Formats figures for people. Units of sizes are powers of 1024, as in PostgreSQL's pg_size_pretty.

const GROUPED = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];
const MAGNITUDES = [[1e12, "T"], [1e9, "G"], [1e6, "M"]];
/** The placeholder for an unknown figure. */
export const UNKNOWN = "\u2013";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const pad = (value) => String(value).padStart(2, "0");

/** A number of things: all digits up to ten million, then three significant ones. */
export function count(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value < 1e7) return GROUPED.format(value);
  const [scale, unit] = MAGNITUDES.find(([least]) => value >= least);
  return `${significant(value / scale)} ${unit}`;
}

/** A size in bytes. */
export function bytes(value) {
  if (!isNumber(value)) return UNKNOWN;
  let scaled = value;
  let unit = 0;
  while (scaled >= 1023.5 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${unit ? significant(scaled) : GROUPED.format(scaled)} ${UNITS[unit]}`;
}

/** A duration in seconds. */
export function duration(seconds) {
  if (!isNumber(seconds)) return UNKNOWN;
  const value = Math.max(0, seconds);
  if (value === 0) return "0 ms";
  if (value < 0.00995) return `${(value * 1e3).toFixed(value < 0.000995 ? 2 : 1)} ms`;
  if (value < 0.9995) return `${Math.round(value * 1e3)} ms`;
  if (value < 59.95) return `${value.toFixed(value < 9.995 ? 2 : 1)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${pad(Math.floor((whole % 3600) / 60))} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

/** The time since an event, in whole seconds or larger units. */
export function age(seconds) {
  if (!isNumber(seconds)) return UNKNOWN;
  return seconds < 1 ? "now" : `${duration(seconds < 60 ? Math.floor(seconds) : seconds).replace(/\.\d+ s$/, " s")} ago`;
}

/** A rate per second. */
export function rate(value) {
  return isNumber(value) ? `${count(value)}/s` : UNKNOWN;
}

/** A fraction of 1, as a percentage. */
export function percent(share) {
  return isNumber(share) ? `${Math.round(share * 100)} %` : UNKNOWN;
}

/** A number with its noun, in the singular or plural. */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A time (seconds since the epoch), with the date if it is not today's. */
export function moment(seconds, now = Date.now() / 1000) {
  if (!isNumber(seconds)) return UNKNOWN;
  const at = new Date(seconds * 1000);
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  if (at.toDateString() === new Date(now * 1000).toDateString()) return time;
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${time}`;
}

/** A text on one line, truncated to a number of characters. */
export function oneLine(text, length = 240) {
  const line = String(text ?? "").replace(/\s+/g, " ").trim();
  return cut(line, length);
}

/** A text truncated to a number of characters, the last of which is then an ellipsis. */
export function cut(text, length) {
  const characters = Array.from(text);
  return characters.length <= length ? text : `${characters.slice(0, Math.max(0, length - 1)).join("")}\u2026`;
}

/** At most three significant digits; the integer part is never truncated. */
function significant(value) {
  if (value >= 99.95) return GROUPED.format(value);
  return value.toFixed(value >= 9.995 ? 1 : 2).replace(/\.?0+$/, "");
}

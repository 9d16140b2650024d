// Builds and patches DOM nodes. Texts become text nodes and attributes are set by name: text from clients and tables is never
// parsed as HTML. The patching functions write only differences, so the cost of an update depends on the changes only.

const SVG = "http://www.w3.org/2000/svg";
/** The rows of `keyed` by their parent element: Map of key -> row. */
const rowsOf = new WeakMap();

/** Give an element attributes, listeners (`onclick` and the like) and children. */
export function fill(node, attributes, children = []) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** An HTML element. attributes: by name; `onclick` and the like are listeners. children: nodes and texts. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element; see `el`. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Give a leaf element its text. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set an attribute; null removes it. */
export function setAttribute(node, name, value) {
  if (value === null || value === undefined) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** Give `parent` one row per item, in the order of `items`, and reuse the rows whose keys it has already.
 *
 *  create(item): returns a row, an object with a `node`. update(row, item): patches it. Of items with the same key the first
 *  counts. */
export function keyed(parent, items, keyOf, create, update) {
  if (!rowsOf.has(parent)) rowsOf.set(parent, new Map());
  const rows = rowsOf.get(parent);
  const wanted = new Map();
  for (const item of items) if (!wanted.has(keyOf(item))) wanted.set(keyOf(item), item);
  for (const [key, row] of rows) {
    if (!wanted.has(key)) {
      row.node.remove();
      rows.delete(key);
    }
  }
  let next = parent.firstElementChild;
  for (const [key, item] of wanted) {
    const row = rows.get(key) ?? create(item);
    rows.set(key, row);
    update(row, item);
    if (row.node === next) next = next.nextElementSibling;
    else parent.insertBefore(row.node, next);
  }
}

// Renders deploy/helm/sluice with Go's text/template (compiled to WebAssembly), for scripts/check_chart.py: the chart uses only what
// that engine has by itself, so that Helm renders the same.
// Usage: node render_chart.mjs CHART VALUES.json; writes the documents to standard output.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "@evertdespiegeleer/go-template";

const [chart, values] = process.argv.slice(2);
const context = { Values: JSON.parse(readFileSync(values, "utf8")), Release: { Name: "lake", Namespace: "data" } };
const folder = join(chart, "templates");
for (const name of readdirSync(folder).sort()) {
  console.log(`---\n${await parse(readFileSync(join(folder, name), "utf8"), context)}`);
}
process.exit(0);

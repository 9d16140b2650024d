// The Spark jobs of a statement: completed and total tasks, and a link to Spark's own page of the job.

import { el, keyed, setAttribute, setText } from "./dom.js";
import * as format from "./format.js";

export class SparkJobs {
  constructor() {
    this.list = el("ul", { class: "jobs" });
    this.node = el("section", { "aria-labelledby": "jobs" }, el("h2", { id: "jobs" }, "Spark jobs"), this.list);
  }

  update(jobs) {
    this.node.hidden = !jobs?.length;
    keyed(this.list, jobs ?? [], (job) => job.id, createJob, patchJob);
  }
}

function createJob() {
  const name = el("span", { class: "name" });
  const about = el("span", { class: "quiet" });
  const bar = el("progress", { "aria-label": "Tasks done" });
  const failed = el("span", { class: "bad" });
  const link = el("a", { target: "_blank", rel: "noopener noreferrer" }, "Job in Spark\u2019s UI");
  return { node: el("li", {}, el("div", { class: "job-line" }, name, about, failed, link), bar), name, about, bar, failed, link };
}

function patchJob(row, job) {
  setText(row.name, `Job ${job.id}${job.name ? `: ${job.name}` : ""}`);
  const stages = Array.isArray(job.stages) ? job.stages.length : job.stages;
  const tasks = `${format.count(job.tasks_done)} of ${format.counted(job.tasks, "task")} done`;
  setText(row.about, `${format.counted(stages, "stage")}, ${tasks}`);
  setText(row.failed, job.tasks_failed > 0 ? `${format.counted(job.tasks_failed, "task")} failed` : "");
  setAttribute(row.bar, "max", Math.max(1, job.tasks ?? 1));
  setAttribute(row.bar, "value", Math.min(job.tasks_done ?? 0, job.tasks ?? 0));
  const address = webAddress(job.url);
  row.link.hidden = address === null;
  setAttribute(row.link, "href", address);
}

/** A URL that is safe as a link: never a script. */
function webAddress(text) {
  if (!text || !URL.canParse(text)) return null;
  const url = new URL(text);
  return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
}

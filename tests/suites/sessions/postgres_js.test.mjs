// postgres.js.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import postgres from "postgres";

let sql;
before(async () => {
  sql = postgres({ onnotice: () => {}, max: 3 });
  await sql`drop table if exists js_towns`;
  await sql`create table js_towns (id integer primary key, name text, tags integer[], at timestamptz)`;
});
after(async () => {
  await sql`drop table if exists js_towns`;
  await sql.end();
});

test("browses", async () => {
  const columns = await sql`
    select a.attname, format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
    where a.attrelid = 'js_towns'::regclass and a.attnum > 0 order by a.attnum`;
  assert.deepEqual(columns.map((one) => one.type), ["integer", "text", "integer[]", "timestamp with time zone"]);
});

test("prepares", async () => {
  for (let number = 0; number < 8; number++) {
    const [row] = await sql`select ${number}::int + 1 as a, ${"x'y"}::text as b, ${sql.array([1, 2])}::int[] as c, ${null}::text as d`;
    assert.deepEqual({ ...row }, { a: number + 1, b: "x'y", c: [1, 2], d: null });
  }
  const told = await sql`select * from js_towns where id = ${1}`.describe();
  assert.deepEqual(told.columns.map((one) => one.name), ["id", "name", "tags", "at"]);
});

test("pages", async () => {
  const pages = [];
  await sql`select x from generate_series(1, 1000) x`.cursor(300, (rows) => { pages.push(rows.length); });
  assert.deepEqual(pages, [300, 300, 300, 100]);
  let count = 0;
  await sql`select x from generate_series(1, 1000) x`.forEach(() => { count += 1; });
  assert.equal(count, 1000);
});

test("batches", async () => {
  const rows = Array.from({ length: 200 }, (_, id) => ({ id, name: `n${id}`, tags: [id], at: new Date(id * 1000) }));
  const inserted = await sql`insert into js_towns ${sql(rows)} returning id`;
  assert.equal(inserted.length, 200);
  const [counted] = await sql.begin(async (one) => {
    await one`update js_towns set name = 'z' where id < 10`;
    await assert.rejects(one.savepoint((inner) => inner`select 1/0`), { code: "22012" });
    return one`select count(*)::int as n from js_towns where name = 'z'`;
  });
  assert.equal(counted.n, 10);
  const [changed] = await sql`update js_towns set ${sql({ name: "y" }, "name")} where id in ${sql([1, 2])} returning tags, at`;
  assert.deepEqual({ ...changed }, { tags: [1], at: new Date(1000) });
});

test("cancels", async () => {
  const asked = sql`select pg_sleep(600)`.execute();
  setTimeout(() => asked.cancel(), 1000);
  await assert.rejects(asked, { code: "57014" });
  assert.equal((await sql`select 1 as one`)[0].one, 1);
});

test("copies", async () => {
  await sql`truncate js_towns`;
  await pipeline(Readable.from(["1\ta\n", "2\t\\N\n"]), await sql`copy js_towns (id, name) from stdin`.writable());
  let text = "";
  for await (const piece of await sql`copy (select id, name from js_towns order by id) to stdout (format csv)`.readable()) text += piece;
  assert.equal(text, "1,a\n2,\n");
});

test("listens", async () => {
  const heard = new Promise((resolve) => sql.listen("js_news", resolve, () => sql.notify("js_news", "hello")));
  assert.equal(await heard, "hello");
});

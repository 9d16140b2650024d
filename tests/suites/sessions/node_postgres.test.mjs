// node-postgres, with its cursor and copy streams.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pg from "pg";
import Cursor from "pg-cursor";
import QueryStream from "pg-query-stream";
import copy from "pg-copy-streams";

let client;
before(async () => {
  client = new pg.Client();
  await client.connect();
  await client.query("drop table if exists node_towns");
  await client.query("create table node_towns (id integer primary key, name text, area numeric(10,2), at timestamptz, tags text[])");
});
after(async () => {
  await client.query("drop table if exists node_towns");
  await client.end();
});

test("browses", async () => {
  const found = await client.query(
    "select column_name, data_type from information_schema.columns where table_name = $1 order by ordinal_position", ["node_towns"]);
  assert.deepEqual(found.rows.map((row) => row.data_type),
    ["integer", "text", "numeric", "timestamp with time zone", "ARRAY"]);
  const types = await client.query("select oid, typname, typarray from pg_type where typname = any($1)", [["int4", "text"]]);
  assert.deepEqual(types.rows.map((row) => row.oid).sort(), [23, 25]);
});

test("prepares", async () => {
  for (let number = 0; number < 8; number++) {
    const found = await client.query({
      name: "sum", text: "select $1::int + 1 as a, $2::text as b, $3::jsonb as c, $4::timestamptz as d",
      values: [number, "x'y", { k: [1, null] }, new Date(1000)],
    });
    assert.deepEqual(found.rows[0], { a: number + 1, b: "x'y", c: { k: [1, null] }, d: new Date(1000) });
  }
});

test("pages", async () => {
  const cursor = client.query(new Cursor("select x from generate_series(1, 1000) x"));
  const pages = [];
  for (let rows = await cursor.read(300); rows.length > 0; rows = await cursor.read(300)) pages.push(rows.length);
  await cursor.close();
  assert.deepEqual(pages, [300, 300, 300, 100]);
  let count = 0;
  for await (const row of client.query(new QueryStream("select x from generate_series(1, 1000) x", [], { batchSize: 70 }))) count += row.x > 0;
  assert.equal(count, 1000);
});

test("batches", async () => {
  const inserts = [];
  for (let id = 1; id <= 60; id++) {
    inserts.push(client.query("insert into node_towns (id, name, tags) values ($1, $2, $3)", [id, `n${id}`, ["a", null]]));
  }
  const done = await Promise.all(inserts);
  assert.ok(done.every((one) => one.rowCount === 1));
  const several = await client.query("select 1 as a; select 2 as b");
  assert.deepEqual(several.map((one) => one.rows[0]), [{ a: 1 }, { b: 2 }]);
});

test("cancels", async () => {
  const other = new pg.Client();
  await other.connect();
  const asked = other.query("select pg_sleep(600)");
  const timer = setInterval(() => client.query("select pg_cancel_backend($1)", [other.processID]), 300);
  await assert.rejects(asked, { code: "57014" });
  clearInterval(timer);
  assert.equal((await other.query("select 1 as one")).rows[0].one, 1);
  await other.end();
});

test("copies", async () => {
  await client.query("truncate node_towns");
  await pipeline(Readable.from(["1\ta\n", "2\t\\N\n"]), client.query(copy.from("copy node_towns (id, name) from stdin")));
  let text = "";
  for await (const piece of client.query(copy.to("copy (select id, name from node_towns order by id) to stdout (format csv)"))) text += piece;
  assert.equal(text, "1,a\n2,\n");
});

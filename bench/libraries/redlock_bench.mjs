#!/usr/bin/env node
// What the npm package redlock costs: the figures of `holdfast bench`, for a library that shares locks with us.
//
//     redlock_bench.mjs pair HOST:PORT [COUNT]       one free name: acquire + release
//     redlock_bench.mjs handoff HOST:PORT [SECONDS]  four processes, one name; from release to acquire in another
//     redlock_bench.mjs sections HOST:PORT,… NAME CONTENDERS    one process of bench/redlock_sections.py
//
// Prints one JSON object. The packages come from .deps/node, or the folder that HOLDFAST_NODE names. The library's
// defaults are kept (it looks for a held lock every 200 ms, give or take 100), but for the number of retries; with
// sections that, too: 10, then it gives up, which is counted as an error, and it is called again.

import { fork } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline/promises";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const own_path = fileURLToPath(import.meta.url);
const packages = process.env.HOLDFAST_NODE ?? path.resolve(own_path, "../../../.deps/node");
const require = createRequire(path.join(packages, "package.json"));
const { default: Redis } = require("ioredis");
const { default: Redlock } = require("redlock");
const { version } = JSON.parse(fs.readFileSync(path.join(packages, "node_modules/redlock/package.json")));

const processes = 4;
const ttl_ms = 30_000;

const now_ns = () => process.hrtime.bigint(); // CLOCK_MONOTONIC: the same in all processes of a machine
const us_between = (from, to) => Number(to - from) / 1e3;
const sorted = (samples) => [...samples].sort((a, b) => a - b);
const share_of = (samples, share) => sorted(samples)[Math.floor(samples.length * share)] ?? null;

function open(where) {
  const colon = where.lastIndexOf(":");
  const connection = new Redis({ host: where.slice(0, colon), port: Number(where.slice(colon + 1)) });
  return { connection, locks: new Redlock([connection], { retryCount: -1 }) };
}

async function pair(where, count) {
  const { connection, locks } = open(where);
  const samples_us = [];
  for (let n = -500; n < count; ++n) {
    const start = now_ns();
    const lock = await locks.acquire([`bench/${process.pid}/pair`], ttl_ms);
    await lock.release();
    if (n >= 0) samples_us.push(us_between(start, now_ns()));
  }
  await connection.quit();
  const total_us = samples_us.reduce((sum, each) => sum + each, 0);
  return {
    scenario: "pair",
    count,
    p50_us: share_of(samples_us, 0.5),
    p99_us: share_of(samples_us, 0.99),
    per_s: (1e6 * count) / total_us,
  };
}

// Each hold: from when acquire returned until release was called.
async function contend(where, name, start_ns, end_ns) {
  const { connection, locks } = open(where);
  await connection.ping();
  await new Promise((done) => setTimeout(done, us_between(now_ns(), BigInt(start_ns)) / 1e3));
  const holds = [];
  while (now_ns() < BigInt(end_ns)) {
    const lock = await locks.acquire([name], ttl_ms);
    const granted = now_ns();
    holds.push([String(granted), String(now_ns())]);
    await lock.release();
  }
  await connection.quit();
  process.send(holds, () => process.disconnect());
}

async function handoff(where, seconds) {
  const start = now_ns() + 1_000_000_000n;
  const end = start + BigInt(Math.round(seconds * 1e9));
  const name = `bench/${process.pid}/handoff`;
  const contenders = Array.from({ length: processes }, () => fork(own_path, ["contend", where, name, `${start}`, `${end}`]));
  const reports = await Promise.all(
    contenders.map(
      (each, process_number) =>
        new Promise((done, failed) => {
          each.on("message", (holds) =>
            done(holds.map(([granted, released]) => [BigInt(granted), BigInt(released), process_number])),
          );
          each.on("disconnect", () => failed(new Error("a contending process ended without a report")));
        }),
    ),
  );
  const holds = reports.flat().sort((a, b) => (a[0] < b[0] ? -1 : 1));
  const samples_us = [];
  for (let n = 1; n < holds.length; ++n) {
    const [, released, before] = holds[n - 1];
    const [granted, , after] = holds[n];
    if (granted < released) throw new Error("MUTUAL EXCLUSION WAS VIOLATED: redlock granted a held lock");
    if (before !== after) samples_us.push(us_between(released, granted));
  }
  return {
    scenario: "handoff",
    processes,
    duration_s: seconds,
    per_s: holds.length / seconds,
    grants: holds.length,
    grants_min: Math.min(...reports.map((each) => each.length)),
    grants_max: Math.max(...reports.map((each) => each.length)),
    handovers: samples_us.length,
    p50_us: share_of(samples_us, 0.5),
    p99_us: share_of(samples_us, 0.99),
  };
}

// Until a time that a line of the input says, or until the first section; at most until a second one.
async function sections(servers, name, contenders) {
  const connections = servers.split(",").map((where) => {
    const [host, port] = where.split(":");
    const connection = new Redis({ host, port: Number(port) });
    connection.on("error", () => {}); // it connects again
    return connection;
  });
  const locks = new Redlock(connections);
  const report = { sections: [], errors: 0, problem: "" };
  console.log("ready");
  const input = readline.createInterface({ input: process.stdin });
  const [end, limit] = (await input[Symbol.asyncIterator]().next()).value.split(" ").map(BigInt);
  const contend = async (contender) => {
    while (now_ns() < limit) {
      const requested = now_ns();
      try {
        const lock = await locks.acquire([name], ttl_ms);
        const granted = now_ns();
        const released = now_ns();
        await lock.release();
        report.sections.push([contender, ...[requested, granted, released, now_ns()].map(Number)]);
      } catch (problem) {
        report.errors += 1;
        report.problem = problem.message;
      }
    }
  };
  for (let n = 0; n < Number(contenders); ++n) contend(n);
  while (now_ns() < end || (now_ns() < limit && !report.sections.length)) await pause(1);
  process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit());
}

const [scenario, where, ...rest] = process.argv.slice(2);
if (scenario === "sections") {
  await sections(where, ...rest);
} else if (scenario === "contend") {
  await contend(where, ...rest);
} else if (where && (scenario === "pair" || scenario === "handoff")) {
  const size = rest.length ? Number(rest[0]) : scenario === "pair" ? 5000 : 5;
  const figures = await (scenario === "pair" ? pair : handoff)(where, size);
  console.log(JSON.stringify({ store: `redlock ${version}`, ...figures }));
} else {
  console.error("usage: redlock_bench.mjs pair|handoff HOST:PORT [COUNT|SECONDS]");
  process.exit(64);
}

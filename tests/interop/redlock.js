// The npm package redlock, told what to do by lines on standard input, as tests/actor is; it ends with its input.
//
//   open SOCKET...                       -> open   one server, or several of which a majority decides
//   hold NAME ttl=MS [within=0]          -> held | refused
//   release                              -> released | failed TEXT
//   contend NAME WITNESS MILLISECONDS [every=MS] [sections=N]   -> contended TURNS   lock, visit, unlock; until it was
//                                 inside three times, for as long as this at least, and until all were inside N times
const fs = require('node:fs');
const readline = require('node:readline');
const {setTimeout: pause} = require('node:timers/promises');
const Redis = require('ioredis');
const {default: Redlock, ExecutionError} = require('redlock');

// Where in the page of tests/support/witness.hpp.
const [WRITERS, READERS, FRAGILE_COUNT, COUNT, OVERLAPS] = [0, 8, 32, 40, 48];

// In plain steps, which only one who is alone survives. Holdfast's own see us as a reader among writers.
class Witness {
  constructor(path) { this.file = fs.openSync(path, 'r+'); }
  get(offset) {
    const bytes = Buffer.alloc(8);
    fs.readSync(this.file, bytes, 0, 8, offset);
    return bytes.readBigInt64LE();
  }
  put(offset, value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    fs.writeSync(this.file, bytes, 0, 8, offset);
  }
  add(offset, more) { this.put(offset, this.get(offset) + more); }
  get sections() { return this.get(COUNT); }

  async visit() {
    if (this.get(WRITERS) || this.get(READERS)) this.add(OVERLAPS, 1n);
    this.add(READERS, 1n);
    const seen = this.get(FRAGILE_COUNT);
    await pause(1);
    this.put(FRAGILE_COUNT, seen + 1n);
    this.add(COUNT, 1n);
    if (this.get(WRITERS) || this.get(READERS) !== 1n) this.add(OVERLAPS, 1n);
    this.add(READERS, -1n);
  }
}

function option(args, key) {
  const found = args.find((arg) => arg.startsWith(`${key}=`));
  return found === undefined ? undefined : Number(found.slice(key.length + 1));
}

// One attempt each time. Between its own retries the library keeps what it has got on a minority of the servers, and
// counts that against itself: several that wait would block each other for a ttl.
async function acquire(locks, name, ttl, delay) {
  for (;;) {
    try {
      return await locks.acquire([name], ttl, {retryCount: 0});
    } catch (refused) {
      if (!(refused instanceof ExecutionError)) throw refused;
      await pause(delay * (0.5 + Math.random()));
    }
  }
}

let servers = [];
let locks;
let lock;
const verbs = {
  async open(...sockets) {
    servers = sockets.map((path) => new Redis({path}));
    for (const each of servers) each.on('error', () => {}); // ioredis connects again
    await Promise.all(servers.map((each) => each.ping()));
    return 'open';
  },

  async hold(name, ...options) {
    const ttl = option(options, 'ttl');
    try {
      locks = new Redlock(servers, {retryCount: 0});
      locks.on('error', () => {}); // it throws them too
      lock = option(options, 'within') === 0 ? await locks.acquire([name], ttl) : await acquire(locks, name, ttl, 10);
      return 'held';
    } catch (refused) {
      if (refused instanceof ExecutionError) return 'refused';
      throw refused;
    }
  },

  async release() {
    try {
      await locks.release(lock, {retryCount: 0});
      return 'released';
    } catch (refused) {
      return `failed ${refused.message}`;
    }
  },

  async contend(name, witness, milliseconds, ...options) {
    const place = new Witness(witness);
    const delay = option(options, 'every') ?? 20;
    const sections = BigInt(option(options, 'sections') ?? 0);
    const locks = new Redlock(servers);
    locks.on('error', () => {});
    const end = Date.now() + Number(milliseconds);
    let turns = 0;
    for (; turns < 3 || Date.now() < end || place.sections < sections; ++turns) {
      const held = await acquire(locks, name, 30000, delay);
      await place.visit();
      await held.release();
    }
    return `contended ${turns}`;
  },
};

(async () => {
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [verb, ...args] = line.split(' ');
    process.stdout.write(`${await verbs[verb](...args)}\n`);
  }
  for (const each of servers) each.disconnect();
})();

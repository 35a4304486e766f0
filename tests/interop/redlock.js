// The npm package redlock, told what to do by lines on standard input, as tests/actor is; it ends with its input.
//
//   open SOCKET                          -> open
//   hold NAME ttl=MS [within=0]          -> held | refused
//   release                              -> released | failed TEXT
//   contend NAME WITNESS MILLISECONDS [every=MS]   -> contended TURNS   lock, visit, unlock; until it was inside three
//                                                             times, and for as long as this at least
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

let redis;
let locks;
let lock;
const verbs = {
  async open(socket) {
    redis = new Redis({path: socket});
    await redis.ping();
    return 'open';
  },

  async hold(name, ...options) {
    const retryCount = option(options, 'within') === 0 ? 0 : -1;
    try {
      locks = new Redlock([redis], {retryCount, retryDelay: 10});
      locks.on('error', () => {}); // it throws them too
      lock = await locks.acquire([name], option(options, 'ttl'));
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
    const retryDelay = option(options, 'every') ?? 20;
    const locks = new Redlock([redis], {retryCount: -1, retryDelay, retryJitter: retryDelay / 2});
    const end = Date.now() + Number(milliseconds);
    let turns = 0;
    for (; turns < 3 || Date.now() < end; ++turns) {
      const held = await locks.acquire([name], 30000);
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
  redis?.disconnect();
})();

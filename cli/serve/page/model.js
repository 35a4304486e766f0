// What the page knows of the locks, and which of them are shown in which order.
import {modeText, placeOf, printable, programOf} from './format.js';
import {since} from './ages.js';

/** The columns by which rows can be sorted: \c key is compared, \c falling says which way is of most use. */
export const ORDERS = {
  waiters: {title: 'Waiting', key: (row) => row.lock.waiters, falling: true},
  name: {title: 'Name', key: (row) => row.lock.name, falling: false},
  holder: {title: 'Held by', key: (row) => row.holder, falling: false},
  held: {title: 'Held for', key: (row) => -(row.heldSince ?? Infinity), falling: true},
  wait: {title: 'Longest wait', key: (row) => -(row.waitSince ?? Infinity), falling: true},
  rate: {title: 'Hand-overs', key: (row) => row.lock.grants_per_s ?? 0, falling: true},
};

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

function stateOf(lock) {
  if (lock.holders === 0) return lock.waiters ? {kind: 'warn', text: 'Not held'} : {kind: 'plain', text: 'Free'};
  if (lock.holder?.released) return {kind: 'plain', text: 'Rests'};
  if (lock.holder?.release_request !== undefined) return {kind: 'asked', text: 'Release asked'};
  return lock.waiters ? {kind: 'warn', text: 'Waited for'} : {kind: 'good', text: 'Held'};
}

function rowOf(lock, answeredAgo, former) {
  const holder = lock.holder ? programOf(lock.holder) : '';
  const place = lock.holder ? placeOf(lock.holder) : '';
  const label = printable(lock.holder?.label);
  const row = {
    lock,
    name: printable(lock.name),
    holder,
    place: label ? `${label} · ${place}` : place,
    mode: modeText(lock, lock.capacity),
    state: stateOf(lock),
    more: Math.max(0, lock.holders - 1),
    heldSince: !lock.holders || lock.held_for_s == null ? null : since(lock.held_for_s + answeredAgo),
    waitSince: !lock.waiters || lock.longest_wait_s == null ? null : since(lock.longest_wait_s + answeredAgo),
    changedAt: former && former.lock.last_token !== lock.last_token ? performance.now() : former?.changedAt,
  };
  row.text = `${row.name}\n${holder}\n${row.place}\n${row.mode}\n${row.state.text}`.toLowerCase();
  return row;
}

export class Model {
  #rows = new Map();
  #shown = null;
  #names = null; // in order; a name comes or goes much less often than a row changes
  #listed = 0;
  #order = 'waiters';
  #falling = true;
  #words = [];

  get size() {
    return this.#rows.size;
  }
  /** The server lists so many at most; a store may have more. */
  get total() {
    return Math.max(this.#listed, this.#rows.size);
  }
  get order() {
    return this.#order;
  }
  get falling() {
    return this.#falling;
  }
  row(name) {
    return this.#rows.get(name);
  }

  replace(snapshot) {
    const former = this.#rows;
    this.#names = null;
    this.#listed = snapshot.total ?? 0;
    this.#rows = new Map();
    for (const lock of snapshot.locks) {
      this.#rows.set(lock.name, rowOf(lock, snapshot.taken_ago_s ?? 0, former.get(lock.name)));
    }
    this.#shown = null;
  }

  change({changed, removed, total = 0, taken_ago_s = 0}) {
    this.#listed = total;
    if (removed.length || changed.some((lock) => !this.#rows.has(lock.name))) this.#names = null;
    for (const name of removed) this.#rows.delete(name);
    for (const lock of changed) this.#rows.set(lock.name, rowOf(lock, taken_ago_s, this.#rows.get(lock.name)));
    this.#shown = null;
  }

  /** The same order again turns it round. */
  sortBy(order, falling) {
    this.#falling = falling ?? (order === this.#order ? !this.#falling : ORDERS[order].falling);
    this.#order = order;
    this.#shown = null;
  }

  filter(text) {
    this.#words = printable(text).toLowerCase().split(/\s+/).filter(Boolean);
    this.#shown = null;
  }

  /** The rows to show, in order. Kept until something changes. */
  get shown() {
    if (this.#shown) return this.#shown;
    const {key} = ORDERS[this.#order];
    const sign = this.#falling ? -1 : 1;
    this.#names ??= [...this.#rows.keys()].sort(compare);
    const all = this.#names.map((name) => this.#rows.get(name));
    const rows = this.#words.length ? all.filter((row) => this.#words.every((word) => row.text.includes(word))) : all;
    rows.sort((a, b) => sign * compare(key(a), key(b))); // where these are equal, the order stays that of the names
    return (this.#shown = rows);
  }

  /** Sums over all locks, and which of them stand out. */
  get totals() {
    const sums = {held: 0, holders: 0, waiting: 0, waited: 0, rate: 0, longestWait: null, longestHold: null};
    for (const row of this.#rows.values()) {
      const {lock} = row;
      sums.held += lock.holders ? 1 : 0;
      sums.holders += lock.holders;
      sums.waiting += lock.waiters;
      sums.waited += lock.waiters ? 1 : 0;
      sums.rate += lock.grants_per_s ?? 0;
      if (row.waitSince !== null && !(row.waitSince >= sums.longestWait?.waitSince)) sums.longestWait = row;
      if (row.heldSince !== null && !(row.heldSince >= sums.longestHold?.heldSince)) sums.longestHold = row;
    }
    return sums;
  }
}

// Connects the parts: the stream feeds the model, the address says what is shown, keys move in it.
import {byId, el, setText} from './dom.js';
import {freeze, shownNow, secondsSince, tick} from './ages.js';
import {askForRelease, release} from './actions.js';
import {Stream} from './api.js';
import {Detail} from './detail.js';
import {showDeadlocks} from './deadlocks.js';
import {showDoctor} from './doctor.js';
import {count, duration, plural, printable, rate} from './format.js';
import {Model, ORDERS} from './model.js';
import {lockLink, Table} from './table.js';

const DEADLOCKS_MS = 5_000;
const CONNECTION = {connecting: 'Connecting', live: 'Live', polled: 'Polling', lost: 'Reconnecting', asleep: 'Paused'};
/** The server is heard. */
const isHeard = (state) => state === 'live' || state === 'polled';

const model = new Model();
let status = null;
let lostAt = null;
let connection = 'connecting';
let hasSnapshot = false;
let view = null;

const sort = (order, falling) => {
  model.sortBy(order, falling);
  table.showOrder();
  byId('order').value = order;
  showLocks();
};
const table = new Table(byId('grid'), byId('list'), model, {
  open: (name) => (location.hash = lockLink(name)),
  move: (name) => detail.name !== null && isWide() && location.replace(lockLink(name)),
  sort,
});
const detail = new Detail(byId('detail'), {
  close: () => (location.hash = '#/'),
  isKnown: (name) => (hasSnapshot ? model.row(name) !== undefined || model.total > model.size : null),
  mayRelease: () => status?.allows_release === true,
  ask: (name, claim) => askForRelease(byId('action'), name, claim),
  release: (name, claim) => release(byId('action'), name, claim),
});
const isWide = () => matchMedia('(min-width: 62rem)').matches;

// What the locks sum up to.

const tiles = Object.fromEntries(
  ['held', 'waiting', 'wait', 'hold', 'rate'].map((name) => [
    name,
    {value: el('span', {class: 'value'}), note: el('span', {class: 'tile-note'}), link: el('a', {class: 'tile-note'})},
  ]),
);
byId('tiles').append(
  ...[
    ['held', 'Held'],
    ['waiting', 'Waiting'],
    ['wait', 'Longest wait'],
    ['hold', 'Longest hold'],
    ['rate', 'Hand-overs/s'],
  ].map(([name, title]) =>
    el(
      'div',
      {class: 'tile', 'data-tile': name},
      el('dt', {}, title),
      el('dd', {}, tiles[name].value, tiles[name].note, tiles[name].link),
    ),
  ),
);

function showLongest(tile, row, moment) {
  setText(tile.value, row ? duration(secondsSince(moment, shownNow())) : '–');
  setText(tile.link, row ? row.name : '');
  if (row) tile.link.href = lockLink(row.lock.name);
}

function showTiles() {
  // Zero would be a statement.
  if (!hasSnapshot) {
    for (const {value} of Object.values(tiles)) setText(value, '–');
    return;
  }
  const sums = model.totals;
  setText(tiles.held.value, count(sums.held));
  setText(tiles.held.note, sums.holders === sums.held ? 'names' : `names, by ${plural(sums.holders, 'holder')}`);
  setText(tiles.waiting.value, count(sums.waiting));
  setText(tiles.waiting.note, sums.waiting ? `for ${plural(sums.waited, 'name')}` : 'nobody waits');
  byId('tiles')
    .querySelector('[data-tile=waiting]')
    .classList.toggle('warn', sums.waiting > 0);
  setText(tiles.rate.value, rate(sums.rate));
  setText(tiles.rate.note, 'of the last seconds');
  showLongest(tiles.wait, sums.longestWait, sums.longestWait?.waitSince);
  showLongest(tiles.hold, sums.longestHold, sums.longestHold?.heldSince);
}

function showLocks() {
  const shown = model.shown.length;
  const listed = model.total > model.size ? `, the first ${count(model.size)} are listed` : '';
  const all = (shown === model.total ? '' : `${count(shown)} of `) + plural(model.total, 'lock');
  setText(byId('count'), hasSnapshot ? all + listed : '');
  byId('empty').hidden = shown > 0 || !hasSnapshot;
  setText(byId('empty'), model.total ? 'No lock matches the filter.' : 'No lock is held, and nobody waits for one.');
  showTiles();
  table.refresh();
}

// The connection.

/** \param refusal why the server gives no live stream: for 'polled'. */
function showConnection(state, refusal = '') {
  connection = state;
  const has_trouble = isHeard(state) && status?.error;
  byId('connection').dataset.state = has_trouble ? 'trouble' : state;
  setText(byId('connection').firstElementChild, has_trouble ? 'Store does not answer' : CONNECTION[state]);
  lostAt = isHeard(state) ? null : (lostAt ?? performance.now());
  freeze(!isHeard(state));
  byId('lost').hidden = state !== 'lost' && state !== 'polled';
  document.body.classList.toggle('stale', !isHeard(state));
  if (state === 'polled') {
    const cause = `The server gives no live stream: ${printable(refusal)}.`;
    setText(byId('lost-text'), `${cause} The locks are read every few seconds.`);
    setText(byId('lost-for'), '');
  }
  showLost();
}

function showLost() {
  if (lostAt === null) return;
  const known = hasSnapshot ? 'The page shows what was known then. ' : '';
  setText(byId('lost-text'), `No connection to the server. ${known}It reconnects by itself.`);
  // Apart from the text that is read out: it changes each second.
  setText(byId('lost-for'), `For ${duration(secondsSince(lostAt))} now.`);
}

function showStatus(data) {
  status = data;
  setText(byId('store'), printable(data.store));
  setText(byId('version'), printable(data.version));
  document.title = `${printable(data.store)} – Holdfast`;
  byId('store-error').hidden = !data.error;
  byId('deadlock-count').hidden = !data.deadlocks;
  setText(byId('deadlock-count'), data.deadlocks ? count(data.deadlocks) : '');
  setText(byId('store-error-text'), data.error ? `The store does not answer: ${printable(data.error)}` : '');
  if (isHeard(connection)) showConnection(connection, lastRefusal);
}

let lastRefusal = '';
const stream = new Stream({
  snapshot(data) {
    hasSnapshot = true;
    model.replace(data);
    showLocks();
    detail.changed(null);
  },
  change(data) {
    model.change(data);
    showLocks();
    detail.changed([...data.removed, ...data.changed.map((lock) => lock.name)]);
  },
  status: showStatus,
  state(state, refusal = '') {
    lastRefusal = refusal;
    showConnection(state, refusal);
  },
});
byId('retry').addEventListener('click', () => stream.retry());

// What the address says.

let viewing = new AbortController();

function route() {
  const [, name, argument] = location.hash.match(/^#\/([a-z]*)(?:\/(.*))?$/s) ?? [null, '', undefined];
  let lock = null;
  try {
    if (name === 'lock' && argument) lock = decodeURIComponent(argument);
  } catch {
    /* no name: the list */
  }
  const next = name === 'deadlocks' || name === 'doctor' ? name : 'locks';
  if (next !== view) {
    viewing.abort();
    viewing = new AbortController();
    for (const each of ['locks', 'deadlocks', 'doctor']) byId(`view-${each}`).hidden = each !== next;
    for (const link of document.querySelectorAll('nav a')) {
      if (link.dataset.view === next) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    view = next;
    if (view === 'deadlocks') showDeadlocks(byId('view-deadlocks'), viewing.signal);
    if (view === 'doctor') showDoctor(byId('view-doctor'), viewing.signal);
  }
  document.body.classList.toggle('has-detail', lock !== null);
  if (lock === null) {
    const had_focus = byId('detail').contains(document.activeElement);
    detail.close();
    if (had_focus) byId('grid').focus({preventScroll: true});
  } else {
    table.select(lock);
    detail.open(lock);
    if (!isWide()) byId('detail-title').focus({preventScroll: true}); // the list is not there
  }
  table.refresh();
}
window.addEventListener('hashchange', route);

// Keys.

function move(rows) {
  byId('grid').focus({preventScroll: true});
  table.moveBy(rows);
}

const KEYS = {
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  PageDown: () => move(table.pageRows),
  PageUp: () => move(-table.pageRows),
  Home: () => move(-Infinity),
  End: () => move(Infinity),
  Enter: () => table.selected !== null && (location.hash = lockLink(table.selected)),
  '/': () => {
    byId('filter').focus();
    byId('filter').select();
  },
  '?': () => byId('keys').showModal(),
};
const OF_THE_GRID = ['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End', 'Enter'];

function escape() {
  const filter = byId('filter');
  if (document.activeElement === filter) {
    filter.value = '';
    model.filter('');
    showLocks();
    byId('grid').focus({preventScroll: true});
  } else if (detail.name !== null) {
    location.hash = '#/';
    byId('grid').focus({preventScroll: true});
  }
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  if (event.key === 'Escape') return escape();
  const {target} = event;
  if (target === byId('filter') && (event.key === 'ArrowDown' || event.key === 'Enter')) {
    event.preventDefault();
    return move(1);
  }
  if (target.matches('input, select, textarea') || (view !== 'locks' && event.key !== '?')) return;
  const is_free = target === byId('grid') || target === document.body;
  if (!KEYS[event.key] || (OF_THE_GRID.includes(event.key) && !is_free)) return;
  event.preventDefault();
  KEYS[event.key]();
});

byId('help').addEventListener('click', () => byId('keys').showModal());
byId('filter').addEventListener('input', (event) => {
  model.filter(event.target.value);
  byId('list').scrollTop = Math.min(byId('list').scrollTop, byId('tiles').offsetHeight);
  showLocks();
});
byId('order').append(...Object.entries(ORDERS).map(([name, {title}]) => el('option', {value: name}, title)));
byId('order').addEventListener('change', (event) => sort(event.target.value, ORDERS[event.target.value].falling));

setInterval(() => {
  if (document.hidden) return;
  showLost();
  showTiles();
  table.refresh();
  for (const each of ['detail', 'view-doctor']) tick(byId(each));
  if (lostAt === null) detail.refreshIfStale();
}, 1000);
setInterval(
  () =>
    view === 'deadlocks' &&
    lostAt === null &&
    !document.hidden &&
    showDeadlocks(byId('view-deadlocks'), viewing.signal),
  DEADLOCKS_MS,
);

showConnection('connecting');
sort('waiters', true);
route();

// Draws why a lock is not free: its holders, the locks that these wait for, and so on to the processes that wait for none.
import {el, fit, svg} from './dom.js';
import {duration, isOfAnotherLibrary, plural, printable, processText, programOf} from './format.js';

const INDENT = 22;
const HEIGHT = 46;
const GAP = 12;
const NARROWEST = 160;
const MOST_LINES = 60;

function holdText(holder) {
  if (holder.released) return 'has released it, it rests';
  if (holder.age_s !== null) return `holds it for ${duration(holder.age_s)}`;
  // The lock of another library says no more than when it ends.
  const end = holder.expires_in_s;
  return `holds it; ${end === null ? 'does not expire' : `expires in ${duration(end)}`}`;
}

/** The tree as lines from top to bottom; a lock that stands above already is only named, which shows a cycle. */
function linesOf({name, chain}) {
  const locks = new Map(chain.map((lock) => [lock.name, lock]));
  const lines = [];
  const met = new Set();
  const addLock = (lockName, depth, parent, wait) => {
    if (lines.length >= MOST_LINES) return;
    const lock = locks.get(lockName);
    const is_repeated = met.has(lockName);
    met.add(lockName);
    const waiting = lock ? `${plural(lock.waiters, 'waiter')}` : '';
    const place = wait ? `waits for it at place ${wait.place}, for ${duration(wait.age_s)}` : waiting;
    const index =
      lines.push({
        kind: is_repeated ? 'again' : 'lock',
        lockName,
        depth,
        parent,
        title: printable(lockName),
        text: is_repeated ? `${place}: see above` : place,
      }) - 1;
    if (is_repeated || !lock) return;
    for (const holder of lock.holders) addHolder(holder, depth + 1, index);
    if (!lock.holders.length) {
      lines.push({
        kind: 'end',
        depth: depth + 1,
        parent: index,
        title: lock.pause_reason ? 'nothing is granted now' : 'held by nobody',
        text: printable(lock.pause_reason),
      });
    }
  };
  const addHolder = (holder, depth, parent) => {
    const waits = holder.waits_for ?? [];
    const held = holdText(holder);
    const is_end = !waits.length && !isOfAnotherLibrary(holder); // of whose process nobody knows what it waits for
    const index =
      lines.push({
        kind: waits.length ? 'process' : 'root',
        depth,
        parent,
        title: processText(holder),
        short: programOf(holder),
        text: is_end ? `${held}; waits for no lock of this store` : held,
      }) - 1;
    for (const wait of waits) addLock(wait.name, depth + 1, index, wait);
  };
  addLock(name, 0, -1, null);
  return lines;
}

/** Where a line begins. A chain of many locks stops moving to the right where its text would have no room. */
const leftOf = (depth, width) => Math.max(0, Math.min(depth, Math.floor((width - NARROWEST) / INDENT))) * INDENT;

function drawLine(line, i, width) {
  const left = leftOf(line.depth, width);
  const top = i * (HEIGHT + GAP);
  const room = width - left - 1;
  const is_lock = line.kind === 'lock' || line.kind === 'again';
  const box = svg('rect', {
    x: left + 0.5,
    y: top + 0.5,
    width: room - 1,
    height: HEIGHT - 1,
    rx: is_lock ? 8 : HEIGHT / 2,
  });
  const inset = left + (is_lock ? 14 : 22);
  const title = svg('text', {class: 'title', x: inset, y: top + 19}, line.title);
  const text = svg('text', {class: 'text', x: inset, y: top + 36}, line.text);
  const group = svg('g', {class: `node ${line.kind}`}, box, title, text);
  return {
    element: is_lock ? svg('a', {href: `#/lock/${encodeURIComponent(line.lockName)}`}, group) : group,
    fit() {
      for (const each of [title, text]) fit(each, room - (inset - left) - 14);
    },
  };
}

/** From under a parent's left corner down, and right into its child. */
function drawEdge(line, i, width) {
  const left = leftOf(line.depth, width);
  const x = leftOf(line.depth - 1, width) + 9;
  const from = line.parent * (HEIGHT + GAP) + HEIGHT;
  const to = i * (HEIGHT + GAP) + HEIGHT / 2;
  const is_wait = line.kind === 'lock' || line.kind === 'again';
  return svg('path', {
    class: `edge ${is_wait ? 'wait' : 'hold'}${line.kind === 'again' ? ' again' : ''}`,
    d: x >= left ? `M${x} ${from}V${to - HEIGHT / 2}` : `M${x} ${from}V${to - 7}Q${x} ${to} ${x + 7} ${to}H${left}`,
  });
}

export function drawChain(into, why, width) {
  const lines = linesOf(why);
  const height = lines.length * (HEIGHT + GAP) - GAP;
  const drawing = svg('svg', {
    class: 'chain',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'group',
    'aria-label': 'Chain of holders and the locks that they wait for',
  });
  lines.forEach((line, i) => line.parent >= 0 && drawing.append(drawEdge(line, i, width)));
  const nodes = lines.map((line, i) => drawLine(line, i, width));
  drawing.append(...nodes.map((node) => node.element));
  into.replaceChildren(drawing);
  if (lines.length >= MOST_LINES)
    into.append(el('p', {class: 'note'}, 'The chain goes on; these are its first locks.'));
  for (const node of nodes) node.fit();
}

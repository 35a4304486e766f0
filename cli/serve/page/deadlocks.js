// The deadlocks of the store, each drawn as the ring that it is, with the command that ends it.
import {el, fit, svg} from './dom.js';
import {get} from './api.js';
import {plural, printable, processText} from './format.js';

const HEIGHT = 44;
const STEP = 88;
const LEFT = 40;

const keyOf = ({host, pid}) => `${host}\n${pid}`;

/** What a member waits for, and which member has it: a lock that another holds, or the process that it runs. */
function edgesOf(member, members) {
  const edges = [];
  for (const wait of member.waits_for) {
    for (const other of members) {
      if (other.holds.some((hold) => hold.name === wait.name)) edges.push({to: other, lock: wait.name});
    }
  }
  for (const pid of member.runs) {
    const other = members.find((each) => keyOf(each) === keyOf({host: member.host, pid}));
    if (other) edges.push({to: other, lock: null});
  }
  return edges;
}

/** Members in the order in which each waits for the next, from the first one on until one comes again. */
function ringOf(members) {
  const ring = [];
  let member = members[0];
  while (member && !ring.some((each) => each.member === member)) {
    const edges = edgesOf(member, members);
    const edge = edges.find(({to}) => !ring.some((each) => each.member === to)) ?? edges[0];
    ring.push({member, edge});
    member = edge?.to;
  }
  return ring;
}

const edgeText = (edge) => (edge.lock === null ? 'runs' : `waits for ${printable(edge.lock)}, held by`);

function drawRing(into, members) {
  const ring = ringOf(members);
  const width = Math.min(560, into.clientWidth);
  const height = ring.length * STEP;
  const drawing = svg('svg', {
    class: 'ring',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-label': ring.map(({member, edge}) => `${processText(member)} ${edge ? edgeText(edge) : ''}`).join('; '),
  });
  const texts = [];
  ring.forEach(({member, edge}, i) => {
    const top = i * STEP;
    const title = svg('text', {class: 'title', x: LEFT + 18, y: top + 27}, processText(member));
    drawing.append(
      svg(
        'g',
        {class: 'node process'},
        svg('rect', {x: LEFT + 0.5, y: top + 0.5, width: width - LEFT - 1, height: HEIGHT - 1, rx: HEIGHT / 2}),
        title,
      ),
    );
    texts.push([title, width - LEFT - 36]);
    if (!edge) return;
    const label = svg('text', {class: 'text', x: LEFT + 42, y: top + HEIGHT + 26}, edgeText(edge));
    texts.push([label, width - LEFT - 44]);
    drawing.append(label);
    const target = ring.findIndex((each) => each.member === edge.to);
    const end = target * STEP + HEIGHT / 2;
    if (target > i) {
      const x = LEFT + 28;
      drawing.append(
        svg('path', {class: 'edge again', d: `M${x} ${top + HEIGHT}V${end - HEIGHT / 2 - 2}`}),
        svg('path', {class: 'tip', d: `M${x - 5} ${end - HEIGHT / 2 - 8}l5 8l5 -8z`}),
      );
    } else {
      const low = top + HEIGHT + 22;
      drawing.append(
        svg('path', {
          class: 'edge again',
          d:
            `M${LEFT + 28} ${top + HEIGHT}V${low - 12}Q${LEFT + 28} ${low} ${LEFT + 16} ${low}H22Q10 ${low} 10 ${low - 12}` +
            `V${end + 12}Q10 ${end} 22 ${end}H${LEFT - 3}`,
        }),
        svg('path', {class: 'tip', d: `M${LEFT - 9} ${end - 5}l8 5l-8 5z`}),
      );
    }
  });
  into.replaceChildren(drawing);
  for (const [text, room] of texts) fit(text, room);
}

/** What ends the deadlock, as the server has found it out. A name that does not show as it is cannot be copied. */
function advice(members) {
  const hold = members.flatMap((member) => member.holds).find((each) => each.ends_deadlock);
  if (!hold) return [el('p', {}, 'End one of these processes.')];
  const before =
    'End one of these processes. Or take a lock away from one; it then goes on without the lock';
  if (hold.release_command)
    return [el('p', {}, `${before}:`), el('pre', {}, el('code', {}, hold.release_command))];
  return [
    el('p', {}, `${before}: that of `, el('bdi', {}, printable(hold.name)), `, token ${hold.token}.`),
    el('p', {}, 'No command for it can be pasted, because the name or the store has characters that do not show.'),
  ];
}

const lockLinks = (claims) =>
  claims.flatMap((claim, i) => [
    i ? ', ' : '',
    el('a', {href: `#/lock/${encodeURIComponent(claim.name)}`}, el('bdi', {}, printable(claim.name))),
  ]);

function card(members) {
  const drawing = el('div', {class: 'drawing'});
  const element = el(
    'article',
    {class: 'card deadlock'},
    el('h2', {}, `Deadlock of ${plural(members.length, 'process', 'processes')}`),
    drawing,
    el(
      'ul',
      {class: 'members'},
      ...members.map((member) =>
        el(
          'li',
          {},
          el('bdi', {}, processText(member)),
          ': ',
          member.holds.length > 0 && ['holds ', ...lockLinks(member.holds)],
          member.holds.length > 0 && member.waits_for.length > 0 && '; ',
          member.waits_for.length > 0 && ['waits for ', ...lockLinks(member.waits_for)],
          member.runs.length > 0 && `; runs the process ${member.runs.join(', ')}`,
        ),
      ),
    ),
    ...advice(members),
  );
  return {element, draw: () => drawRing(drawing, members)};
}

export async function showDeadlocks(into, signal) {
  if (!into.firstChild)
    into.replaceChildren(el('h1', {}, 'Deadlocks'), el('p', {class: 'nobody'}, 'Reading the queues…'));
  try {
    const found = await get('/api/deadlocks', signal);
    const key = JSON.stringify(found, (name, value) => (name.endsWith('_s') ? undefined : value));
    if (signal.aborted || (key === into.dataset.shown && into.querySelector('.verdict'))) return;
    into.dataset.shown = key;
    const cards = found.deadlocks.map(card);
    into.replaceChildren(
      el('h1', {}, 'Deadlocks'),
      el(
        'p',
        {class: 'verdict', 'data-kind': cards.length ? 'broken' : 'good', role: 'status'},
        cards.length
          ? plural(cards.length, 'deadlock')
          : `No deadlock among the ${plural(found.queues, 'lock that is', 'locks that are')} waited for`,
      ),
      ...cards.map((each) => each.element),
    );
    for (const each of cards) each.draw();
  } catch (cause) {
    if (signal.aborted) return;
    delete into.dataset.shown;
    into.replaceChildren(
      el('h1', {}, 'Deadlocks'),
      el('p', {class: 'problem', role: 'alert'}, `The queues cannot be read: ${printable(cause.message)}.`),
    );
  }
}

// Draws who had a lock when: a line for each process, a bar for each hold, and a step from each hold to the next.
import {el, fit, svg} from './dom.js';
import {age} from './ages.js';
import {duration, plural, processText, programOf} from './format.js';

const MOST_DRAWN = 60;
const MOST_LANES = 8;
const LANE = 34;
const AXIS = 26;
const MARGIN = 2;
const THINNEST = 3;

const keyOf = ({host, pid}) => `${host}\n${pid}`;

/** The last processes that had it, the latest at the top; those before share the last lane. */
function lanesOf(events) {
  const lanes = new Map();
  for (const {holder} of [...events].reverse()) {
    const key = keyOf(holder);
    if (!lanes.has(key)) lanes.set(key, {holder, number: lanes.size});
  }
  const hasOthers = lanes.size > MOST_LANES;
  return {
    numberOf: (event) => Math.min(lanes.get(keyOf(event.holder)).number, MOST_LANES - 1),
    titles: [...lanes.values()]
      .slice(0, hasOthers ? MOST_LANES - 1 : MOST_LANES)
      .map(({holder}) => holder)
      .map((holder) => `${programOf(holder)} · ${processText(holder).split(' on ').slice(1).join(' on ')}`)
      .concat(hasOthers ? [`${plural(lanes.size - MOST_LANES + 1, 'other process', 'other processes')}`] : []),
  };
}

/**
 * The server notices the end of a hold with the next reading of the store, and the beginning of the next hold has its true
 * time. So an exclusive hold ended when the next one began, at the latest.
 */
export const withoutOverlaps = (events) =>
  events.map((event, i) => {
    const next = events[i + 1];
    const overlaps = next && event.mode === 'exclusive' && event.ended_ago_s !== null;
    if (!overlaps || event.ended_ago_s >= next.began_ago_s) return event;
    return {...event, ended_ago_s: Math.min(event.began_ago_s, next.began_ago_s)};
  });

/** A round number of seconds, so that an axis of so many has about four marks. */
function stepOf(seconds) {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];
  return steps.find((step) => seconds / step <= 4.5) ?? 86400 * Math.ceil(seconds / 4 / 86400);
}

export function drawTimeline(into, events, width) {
  const drawn = events.slice(-MOST_DRAWN);
  const lanes = lanesOf(drawn);
  const height = lanes.titles.length * LANE + AXIS;
  const oldest = Math.max(1, ...drawn.map((event) => event.began_ago_s));
  const x = (ago) => MARGIN + (1 - ago / oldest) * (width - 2 * MARGIN);
  const top = (event) => lanes.numberOf(event) * LANE + 17;

  const drawing = svg('svg', {
    class: 'timeline',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-label':
      `The last ${plural(drawn.length, 'hold')}, of ${plural(lanes.titles.length, 'process', 'processes')}; ` +
      'the table below has them as text',
  });
  const bottom = height - AXIS;
  const step = stepOf(oldest);
  for (let ago = 0; ago <= oldest; ago += step) {
    const anchor = ago === 0 ? 'end' : x(ago) < 24 ? 'start' : 'middle';
    drawing.append(
      svg('line', {class: 'grid-line', x1: x(ago), x2: x(ago), y1: 0, y2: bottom}),
      svg(
        'text',
        {class: 'axis', x: x(ago), y: bottom + 17, 'text-anchor': anchor},
        ago === 0 ? 'now' : `${duration(ago).replace(/(?<=[mh])00[sm]$/, '')} ago`,
      ),
    );
  }
  drawn.forEach((event, i) => {
    const next = drawn[i + 1];
    if (next && event.ended_ago_s !== null && top(next) !== top(event)) {
      drawing.append(
        svg('path', {
          class: 'step',
          d: `M${x(event.ended_ago_s)} ${top(event) + 5}L${x(next.began_ago_s)} ${top(next) + 5}`,
        }),
      );
    }
  });
  for (const event of drawn) {
    const from = x(event.began_ago_s);
    const to = x(event.ended_ago_s ?? 0);
    drawing.append(
      svg(
        'rect',
        {
          class: event.ended_ago_s === null ? 'bar now' : 'bar',
          x: Math.min(from, width - THINNEST),
          y: top(event),
          width: Math.max(THINNEST, to - from),
          height: 10,
          rx: 3,
        },
        svg(
          'title',
          {},
          `${processText(event.holder)}, token ${event.token ?? '–'}: ` +
            (event.ended_ago_s === null
              ? `holds it for ${duration(event.began_ago_s)}`
              : `held it for ${duration(event.began_ago_s - event.ended_ago_s)}, until ${duration(event.ended_ago_s)} ago`),
        ),
      ),
    );
  }
  const titles = lanes.titles.map((title, i) => svg('text', {class: 'lane', x: MARGIN, y: i * LANE + 12}, title));
  drawing.append(...titles);
  into.replaceChildren(drawing);
  for (const title of titles) fit(title, width - 2 * MARGIN);
}

/** All of it as text, the latest first. */
export function timelineTable(events) {
  return el(
    'table',
    {},
    el(
      'thead',
      {},
      el('tr', {}, ...['Token', 'Holder', 'Began', 'Held for'].map((title) => el('th', {scope: 'col'}, title))),
    ),
    el(
      'tbody',
      {},
      ...[...events]
        .reverse()
        .map((event) =>
          el(
            'tr',
            {},
            el('td', {}, String(event.token ?? '–')),
            el('td', {}, el('bdi', {}, processText(event.holder))),
            el('td', {}, age(event.began_ago_s), ' ago'),
            el('td', {}, event.ended_ago_s === null ? 'holds it now' : duration(event.began_ago_s - event.ended_ago_s)),
          ),
        ),
    ),
  );
}

// One lock: its holders, its queue, its hand-overs, and why it is not free.
import {el, setText} from './dom.js';
import {age, remaining} from './ages.js';
import {get, lockPath, timelinePath, whyPath} from './api.js';
import {count, modeText, placeOf, plural, printable, programOf} from './format.js';
import {drawChain} from './chain.js';
import {Part} from './part.js';
import {drawTimeline, timelineTable, withoutOverlaps} from './timeline.js';

const FIRST_WAITERS = 50;
/** Renewals are no change of a lock, but move the end of its leases. */
const STALE_MS = 5_000;
const LEAST_PAUSE_MS = 400;
/** For the chain the server reads all queues of the store. It may grow by a wait for a lock that is not in it yet. */
const CHAIN_PAUSE_MS = 3_000;
const CHAIN_STALE_MS = 10_000;

function processLines(claim) {
  return [
    el(
      'p',
      {class: 'who'},
      el('bdi', {class: 'program'}, programOf(claim)),
      claim.label && el('bdi', {class: 'label'}, printable(claim.label)),
    ),
    el(
      'p',
      {class: 'place'},
      el('bdi', {}, placeOf(claim)),
      claim.job && ['; command ', el('bdi', {}, printable(claim.job))],
    ),
  ];
}

/** \return \c otherwise of a lock that became free meanwhile. */
const getOr = (otherwise, path, signal) =>
  get(path, signal).catch((cause) => {
    if (cause.status === 404) return otherwise;
    throw cause;
  });

const fact = (title, ...value) => el('div', {}, el('dt', {}, title), el('dd', {}, ...value));

export class Detail {
  #panel;
  #on;
  #name = null;
  #loading = null;
  #isLoadDue = false;
  #whyLoading = null;
  #timer = 0;
  #loadedAt = 0;
  #chained = new Set();
  #hasAllWaiters = false;
  #wasKnown = false;
  #why = null;
  #whyAt = 0;
  #isWhyDue = false;
  #whyTimer = 0;
  #changedAt = -Infinity;
  #events = null;
  #width = 0;

  /**
   * \param on \c close(), \c ask(name, claim), \c release(name, claim), \c mayRelease(), and \c isKnown(name): whether the
   *        list has it, null as long as there is no list. A browser writes each answer 404 to its console as an error, so
   *        that nothing is asked of a lock that is free.
   */
  constructor(panel, on) {
    this.#panel = panel;
    this.#on = on;
    new ResizeObserver(() => this.#name !== null && this.#redraw()).observe(panel);
  }

  get name() {
    return this.#name;
  }

  open(name) {
    if (name === this.#name) return;
    this.close();
    this.#name = name;
    this.#hasAllWaiters = this.#wasKnown = false;
    this.title = el('h2', {id: 'detail-title', tabindex: '-1'}, el('bdi', {}, printable(name)));
    this.summary = el('p', {class: 'summary'});
    this.notes = el('div', {class: 'notes'});
    this.problem = el('p', {class: 'problem', role: 'alert', hidden: true});
    this.holders = new Part('Held by', 'part-holders');
    this.queue = new Part('Queue', 'part-queue');
    this.chain = new Part('Why', 'part-why');
    this.timeline = new Part('Hand-overs', 'part-timeline');
    this.chainDrawing = el('div', {class: 'drawing'});
    this.chainDrawing.append(el('p', {class: 'nobody'}, 'Reading the queues…'));
    this.chain.body.append(this.chainDrawing);
    this.timelineDrawing = el('div', {class: 'drawing'});
    this.timelineText = new Part('', 'part-timeline-text');
    this.timeline.body.append(
      this.timelineDrawing,
      el('details', {}, el('summary', {}, 'As a table'), el('div', {class: 'wide'}, this.timelineText.body)),
    );
    this.#panel.replaceChildren(
      el(
        'header',
        {},
        this.title,
        el(
          'button',
          {type: 'button', class: 'quiet close', 'aria-keyshortcuts': 'Escape', onclick: () => this.#on.close()},
          'Close',
        ),
      ),
      this.summary,
      this.problem,
      this.notes,
      this.holders.element,
      this.chain.element,
      this.timeline.element,
      this.queue.element,
    );
    this.#panel.hidden = false;
    this.#panel.scrollTop = 0;
    this.#load();
  }

  close() {
    this.#loading?.abort();
    this.#whyLoading?.abort();
    this.#loading = this.#whyLoading = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#whyTimer);
    this.#timer = this.#whyTimer = this.#whyAt = 0;
    this.#isWhyDue = false;
    this.#name = this.#why = this.#events = null;
    this.#chained = new Set();
    this.#panel.hidden = true;
    this.#panel.replaceChildren();
  }

  /** \param names of locks that have changed; null for all. */
  changed(names) {
    if (this.#name === null) return;
    if (names !== null && !names.some((name) => name === this.#name || this.#chained.has(name))) return;
    this.#isWhyDue = true;
    this.#changedAt = performance.now();
    this.#loadSoon(names === null ? 0 : LEAST_PAUSE_MS);
  }

  refreshIfStale() {
    if (this.#name !== null && performance.now() - this.#loadedAt > STALE_MS) this.#loadSoon(0);
  }

  #loadSoon(pause) {
    this.#timer ||= setTimeout(() => this.#load(), pause);
  }

  /**
   * One at a time: a load that is ended for the next one would show nothing where the server takes longer than the time
   * between two. It ends by the limit of each question.
   */
  #load() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#isLoadDue = this.#loading !== null;
    if (this.#isLoadDue) return;
    const is_known = this.#on.isKnown(this.#name);
    if (is_known === null) return; // changed() is called with the list
    this.#wasKnown ||= is_known;
    this.#loadedAt = performance.now();
    this.#loadLock(is_known);
    this.#loadWhy(is_known); // takes longer, and keeps nobody from the holders
  }

  async #loadLock(is_known) {
    const name = this.#name;
    const loading = (this.#loading = new AbortController());
    const ask = (path, is_asked, otherwise) => (is_asked ? getOr(otherwise, path, loading.signal) : otherwise);
    try {
      const [lock, timeline] = await Promise.all([
        ask(lockPath(name), is_known, {name, holders: [], waiters: [], last_token: null}),
        ask(timelinePath(name), this.#wasKnown, {events: []}),
      ]);
      loading.signal.throwIfAborted();
      this.problem.hidden = true;
      this.#show(lock, timeline);
    } catch (cause) {
      if (loading.signal.aborted) return;
      this.problem.hidden = false;
      setText(this.problem, `This lock cannot be read: ${printable(cause.message)}.`);
    }
    this.#loading = null;
    if (this.#isLoadDue) this.#loadSoon(LEAST_PAUSE_MS);
  }

  async #loadWhy(is_known) {
    const name = this.#name;
    if (!is_known) {
      this.#whyLoading?.abort();
      this.#whyLoading = null;
      this.#whyAt = 0;
      return this.#showWhy({name, chain: [], deadlocks: []});
    }
    if (this.#whyLoading) return;
    const pause = performance.now() - this.#whyAt;
    if (this.#why && pause <= CHAIN_STALE_MS && !(this.#isWhyDue && pause > CHAIN_PAUSE_MS)) {
      if (this.#isWhyDue) this.#loadWhyIn(CHAIN_PAUSE_MS - pause);
      return;
    }
    this.#isWhyDue = false;
    this.#whyAt = performance.now();
    const loading = (this.#whyLoading = new AbortController());
    try {
      const why = await getOr({name, chain: [], deadlocks: [], taken_ago_s: 0}, whyPath(name), loading.signal);
      loading.signal.throwIfAborted();
      // The server may have read the queues for somebody else, before this lock changed.
      this.#isWhyDue ||= why.taken_ago_s * 1000 > performance.now() - this.#changedAt;
      this.#showWhy(why);
      if (this.#isWhyDue) this.#loadWhyIn(CHAIN_PAUSE_MS);
    } catch (cause) {
      if (loading.signal.aborted) return;
      this.#why = null; // read again by refreshIfStale()
      this.chainDrawing.replaceChildren(
        el('p', {class: 'problem', role: 'alert'}, `The queues cannot be read: ${printable(cause.message)}.`),
      );
    }
    this.#whyLoading = null;
  }

  #loadWhyIn(pause) {
    this.#whyTimer ||= setTimeout(() => {
      this.#whyTimer = 0;
      this.#loadSoon(0);
    }, pause);
  }

  #showWhy(why) {
    this.#why = why;
    this.#chained = new Set(why.chain.map((each) => each.name));
    this.#redraw(true);
  }

  #show(lock, timeline) {
    setText(
      this.summary,
      lock.last_token === null
        ? 'Nobody holds it, and nobody waits for it'
        : `${plural(lock.holders.length, 'holder')}, ${plural(lock.waiters.length, 'waiter')}, ` +
            `last token ${lock.last_token}${lock.capacity ? `, ${lock.capacity} permits` : ''}`,
    );
    this.notes.replaceChildren(
      ...(lock.pause_reason
        ? [el('p', {class: 'note warn'}, `Nothing is granted now: ${printable(lock.pause_reason)}`)]
        : []),
      ...(lock.notes ?? []).map((note) =>
        el('p', {class: 'note'}, el('bdi', {}, `${printable(note.server)}: ${printable(note.text)}`)),
      ),
    );
    this.holders.show([lock.holders, lock.capacity, this.#on.mayRelease()], () => this.#holders(lock));
    setText(this.queue.count, lock.waiters.length ? count(lock.waiters.length) : '');
    this.queue.show([lock.waiters, lock.capacity, this.#hasAllWaiters], () => this.#queue(lock));
    this.#events = withoutOverlaps(timeline.events);
    this.timelineText.show(this.#events, () => [timelineTable(this.#events)]);
    setText(this.timeline.count, this.#events.length ? count(this.#events.length) : '');
    this.#redraw(true);
  }

  #holders(lock) {
    if (!lock.holders.length) return [el('p', {class: 'nobody'}, 'Nobody holds it.')];
    return [
      el(
        'ul',
        {class: 'cards'},
        ...lock.holders.map((claim) =>
          el(
            'li',
            {class: 'card'},
            ...processLines(claim),
            el(
              'dl',
              {class: 'facts'},
              fact('held for', age(claim.age_s)),
              fact(claim.released ? 'rests for' : 'expires in', remaining(claim.expires_in_s)),
              fact('mode', modeText(claim, lock.capacity)),
              fact('token', String(claim.token ?? '–')),
            ),
            claim.release_request !== undefined &&
              el(
                'p',
                {class: 'note asked'},
                'Asked to release',
                claim.release_request && [': ', el('bdi', {}, printable(claim.release_request))],
              ),
            this.#on.mayRelease() && claim.token != null && this.#buttons(lock.name, claim),
          ),
        ),
      ),
    ];
  }

  #buttons(name, claim) {
    return el(
      'p',
      {class: 'buttons'},
      el(
        'button',
        {type: 'button', 'data-focus': `ask ${claim.token}`, onclick: () => this.#on.ask(name, claim)},
        'Ask to release…',
      ),
      el(
        'button',
        {
          type: 'button',
          class: 'danger',
          'data-focus': `release ${claim.token}`,
          onclick: () => this.#on.release(name, claim),
        },
        'Take the lock away…',
      ),
    );
  }

  #queue(lock) {
    if (!lock.waiters.length) return [el('p', {class: 'nobody'}, 'Nobody waits.')];
    const shown = this.#hasAllWaiters ? lock.waiters : lock.waiters.slice(0, FIRST_WAITERS);
    const rest = lock.waiters.length - shown.length;
    return [
      el(
        'ol',
        {class: 'queue'},
        ...shown.map((claim) =>
          el(
            'li',
            {},
            el('div', {}, ...processLines(claim)),
            el(
              'p',
              {class: 'wait'},
              age(claim.age_s),
              claim.mode !== 'exclusive' && el('span', {}, modeText(claim, lock.capacity)),
            ),
          ),
        ),
      ),
      rest > 0 &&
        el(
          'button',
          {
            type: 'button',
            class: 'quiet',
            onclick: () => {
              this.#hasAllWaiters = true;
              this.#load();
            },
          },
          `Show ${count(rest)} more`,
        ),
    ].filter(Boolean);
  }

  /** The drawings are made for the width that there is. */
  #redraw(is_new = false) {
    const width = Math.floor(this.chainDrawing.clientWidth);
    if (!width || (!is_new && width === this.#width)) return;
    this.#width = width;
    if (this.#why) this.#drawWhy(width);
    if (this.#events) this.#drawEvents(width);
  }

  #drawWhy(width) {
    if (this.#why.chain.length) {
      // A link that has the focus keeps it.
      const focused = this.chainDrawing.contains(document.activeElement)
        ? document.activeElement.getAttribute('href')
        : null;
      drawChain(this.chainDrawing, this.#why, width);
      if (focused) this.chainDrawing.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
    } else {
      this.chainDrawing.replaceChildren(el('p', {class: 'nobody'}, 'It is free.'));
    }
    if (this.#why.deadlocks.length) {
      this.chainDrawing.append(
        el('p', {class: 'note broken'}, 'It leads to a ', el('a', {href: '#/deadlocks'}, 'deadlock'), '.'),
      );
    }
  }

  #drawEvents(width) {
    if (this.#events.length) drawTimeline(this.timelineDrawing, this.#events, width);
    else
      this.timelineDrawing.replaceChildren(
        el('p', {class: 'nobody'}, 'This server has seen none since it was started.'),
      );
  }
}

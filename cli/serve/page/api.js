// Talks with the server: questions, and the stream of changes.

const PATIENCE_MS = 10_000;
/** The server says something at least every 15 seconds. */
const SILENCE_MS = 20_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** A browser opens six connections to a server; pages that nobody looks at must not use them up. */
const HIDDEN_MS = 60_000;

// A token has 64 bits, more than a number of JavaScript: it stays text. In JSON, a quotation mark within a text has a
// backslash before it, so that this finds members only.
const TOKEN = /"(token|last_token|holder_token)":\s*(\d+)/g;
export const parse = (text) => JSON.parse(text.replace(TOKEN, '"$1":"$2"'));

export class Refusal extends Error {
  constructor(status, body) {
    super(body?.message ?? `the server answers with status ${status}`);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
  const response = await fetch(path, {...options, signal, credentials: 'omit', redirect: 'error'});
  const text = await response.text();
  let body = null;
  try {
    body = text ? parse(text) : null;
  } catch {
    if (response.ok) throw new Refusal(response.status, {message: 'the server answers with no JSON'});
  }
  if (!response.ok) throw new Refusal(response.status, body);
  return body;
}

export const get = (path, signal) => ask(path, {signal});

// The server takes a = from before a name. Without it a URL would lose the names . and .., also escaped.
const named = (name) => `=${encodeURIComponent(name)}`;
export const lockPath = (name) => `/api/locks/${named(name)}`;
export const timelinePath = (name) => `${lockPath(name)}/timeline`;
export const whyPath = (name) => `/api/why/${named(name)}`;

export const post = (path, body, secret) =>
  ask(path, {method: 'POST', body, headers: {'Content-Type': 'application/json', Authorization: `Bearer ${secret}`}});

/** Why the server gives no stream of events; null: it gives one, or is not heard. An EventSource does not tell. */
async function refusalOfEvents() {
  const giving_up = new AbortController();
  try {
    const signal = AbortSignal.any([giving_up.signal, AbortSignal.timeout(PATIENCE_MS)]);
    const response = await fetch('/api/events', {signal, credentials: 'omit', redirect: 'error'});
    if (response.ok) return null;
    return parse(await response.text())?.message ?? `it answers with status ${response.status}`;
  } finally {
    giving_up.abort();
  }
}

/**
 * The stream of /api/events, opened again whenever it ends or falls silent. While the server refuses it, what it would
 * tell is read every few seconds.
 * \param on handlers: snapshot(data), change(data), status(data),
 * state('connecting' | 'live' | 'polled' | 'lost' | 'asleep', why the server refuses).
 */
export class Stream {
  #on;
  #source = null;
  #pause = FIRST_PAUSE_MS;
  #retryTimer = 0;
  #silenceTimer = 0;
  #hiddenTimer = 0;
  #isPolled = false;

  constructor(on) {
    this.#on = on;
    document.addEventListener('visibilitychange', () => this.#visibility());
    window.addEventListener('online', () => this.retry());
    this.#open();
  }

  /** Tries now what would be tried later. */
  retry() {
    if (this.#source === null) this.#open();
  }

  #open() {
    clearTimeout(this.#retryTimer);
    const source = new EventSource('/api/events');
    this.#source = source;
    this.#listen();
    for (const kind of ['snapshot', 'change', 'status']) {
      source.addEventListener(kind, (event) => this.#take(source, kind, event.data));
    }
    source.addEventListener('error', () => source === this.#source && this.#lose());
  }

  #take(source, kind, text) {
    if (source !== this.#source) return;
    this.#listen();
    const data = parse(text);
    this.#pause = FIRST_PAUSE_MS;
    this.#isPolled = false;
    this.#on.state('live');
    this.#on[kind](data);
  }

  #listen() {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => this.#lose(), SILENCE_MS);
  }

  #close() {
    clearTimeout(this.#silenceTimer);
    clearTimeout(this.#retryTimer);
    this.#source?.close();
    this.#source = null;
  }

  #lose() {
    this.#close();
    if (!this.#isPolled) this.#on.state('lost');
    this.#retryTimer = setTimeout(() => this.#open(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    this.#poll();
  }

  async #poll() {
    const is_current = () => this.#pause !== FIRST_PAUSE_MS && !document.hidden; // no stream has come meanwhile
    try {
      const refusal = await refusalOfEvents();
      if (refusal === null || !is_current()) return;
      const [status, locks] = await Promise.all([get('/api/status'), get('/api/locks')]);
      if (!is_current()) return;
      this.#isPolled = true;
      this.#on.state('polled', refusal);
      this.#on.status(status);
      this.#on.snapshot(locks);
    } catch {
      if (!is_current()) return;
      this.#isPolled = false;
      this.#on.state('lost');
    }
  }

  #visibility() {
    clearTimeout(this.#hiddenTimer);
    if (!document.hidden) return this.retry();
    this.#hiddenTimer = setTimeout(() => {
      this.#close();
      this.#isPolled = false;
      this.#on.state('asleep');
    }, HIDDEN_MS);
  }
}

// How values are written. Durations look as those of the command.

// Characters that show as nothing, or that change how others are shown; the ranges of cli/output/unicode.cpp.
const DECEPTIVE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

const PLAIN = /^[ -~]*$/; // nearly all texts, and found out much sooner

/** A foreign text in which nothing hides: U+202E becomes \u{202e}. */
export function printable(text) {
  if (PLAIN.test(text ?? '')) return text ?? '';
  return String(text).replace(DECEPTIVE, (character) => {
    const code = character.codePointAt(0).toString(16);
    return character < '\x80' ? `\\x${code.padStart(2, '0')}` : `\\u{${code}}`;
  });
}

const two = (number) => String(number).padStart(2, '0');

/** 12s, 4m05s, 3h07m, 2d04h; a dash for what a store does not know of the lock of another library. */
export function duration(seconds) {
  if (seconds === null) return '–';
  const all = Math.max(0, Math.floor(seconds));
  if (all < 60) return `${all}s`;
  if (all < 3600) return `${Math.floor(all / 60)}m${two(all % 60)}s`;
  if (all < 86400) return `${Math.floor(all / 3600)}h${two(Math.floor(all / 60) % 60)}m`;
  return `${Math.floor(all / 86400)}d${two(Math.floor(all / 3600) % 24)}h`;
}

const grouped = new Intl.NumberFormat('en');
export const count = (number) => grouped.format(number);

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** Hand-overs in a second. */
export const rate = (number) => (number ? number.toFixed(number < 10 ? 1 : 0) : '0');

export const programOf = (process) => printable(process.program) || '?';
export const placeOf = (process) => `${printable(process.host) || '?'}, pid ${process.pid ?? '?'}`;

/** Whether a claim is of another library, of which the process is not known. */
export const isOfAnotherLibrary = (process) => !process.program && !process.host && !process.pid;

/** nightly-report on web-1, pid 812 (shard 3) */
export function processText(process) {
  const label = process.label ? ` (${printable(process.label)})` : '';
  if (isOfAnotherLibrary(process)) return `a client of another library${label}`;
  return `${programOf(process)} on ${placeOf(process)}${label}`;
}

export function modeText(claim, capacity) {
  if (claim.mode !== 'permits') return claim.mode;
  if (claim.permits) return `${claim.permits} of ${capacity ?? '?'} permits`;
  return capacity ? `permits of ${capacity}` : 'permits';
}

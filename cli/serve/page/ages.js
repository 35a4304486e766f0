// Times that count up between two answers of the server, or down to an end.
import {el, setText} from './dom.js';
import {duration} from './format.js';

const SECOND = 1000;
/** Milliseconds of a clock that nobody sets. */
export const now = () => performance.now();
export const since = (seconds, at = now()) => at - seconds * SECOND;
export const secondsSince = (moment, at = now()) => (at - moment) / SECOND;

let frozenAt = null;
/** While the server is not heard, nobody knows that a hold still lasts. */
export function freeze(is_lost) {
  if (is_lost !== (frozenAt !== null)) frozenAt = is_lost ? now() : null;
}
export const shownNow = () => frozenAt ?? now();

const show = (element) => {
  const seconds = secondsSince(element.moment, shownNow());
  setText(element, duration(element.isDown ? -seconds : seconds));
};

/** An element that counts up from so many seconds; for null, which is not known, a dash. */
export function age(seconds) {
  if (seconds === null) return el('span', {}, duration(seconds));
  const element = el('span', {class: 'age'});
  element.moment = since(seconds);
  show(element);
  return element;
}

/** An element that counts down from so many seconds; null is without an end. */
export function remaining(seconds) {
  if (seconds === null) return el('span', {}, 'does not expire');
  const element = el('span', {class: 'age'});
  element.isDown = true;
  element.moment = since(-seconds);
  show(element);
  return element;
}

/** Takes the moments of a newly built part over into the one that is shown, which is otherwise the same. */
export function adopt(shown, fresh) {
  const newer = fresh.querySelectorAll('.age');
  shown.querySelectorAll('.age').forEach((element, i) => {
    if (newer[i]) element.moment = newer[i].moment;
    show(element);
  });
}

export const tick = (root) => root.querySelectorAll('.age').forEach(show);

// A section of a panel, with a title, whose body keeps its elements as long as they say the same.
import {el} from './dom.js';
import {adopt} from './ages.js';

/** A time that is not known, or has no end, is no time. */
const withoutTimes = (value) => JSON.stringify(value, (key, member) => (key.endsWith('_s') && member !== null ? undefined : member));

/** A part of the panel that is built anew only if something but its times has changed. */
export class Part {
  constructor(title, id) {
    this.count = el('span', {class: 'part-count'});
    this.body = el('div', {class: 'part-body'});
    this.element = el('section', {'aria-labelledby': id}, el('h3', {id}, title, ' ', this.count), this.body);
  }

  show(data, build) {
    const key = withoutTimes(data);
    const fresh = el('div', {}, ...build());
    if (key === this.key) return adopt(this.body, fresh);
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
    this.key = key;
    this.body.replaceChildren(...fresh.childNodes);
    if (focused)
      [...this.body.querySelectorAll('[data-focus]')].find((each) => each.dataset.focus === focused)?.focus();
  }
}

// What doctor has found in the store, the worst first.
import {el} from './dom.js';
import {age} from './ages.js';
import {get} from './api.js';
import {plural, printable} from './format.js';

const GRADES = ['broken', 'warning', 'unknown', 'kept'];
const KINDS = {broken: 'broken', warning: 'warn', unknown: 'plain', kept: 'good'};
const VERDICTS = {
  broken: 'A condition is broken: locks fail, or may be held twice',
  warning: 'All conditions are kept now; a fault may break one',
  unknown: 'A condition could not be examined',
  kept: 'All conditions are kept',
};

function findingOf({condition, result, observed, meaning, remedy}) {
  return el(
    'li',
    {class: 'finding'},
    el(
      'p',
      {class: 'finding-title'},
      el('span', {class: 'chip', 'data-kind': KINDS[result] ?? 'plain'}, result),
      el('strong', {}, printable(condition)),
      el('bdi', {}, printable(observed)),
    ),
    result !== 'kept' && meaning && el('p', {}, el('bdi', {}, printable(meaning))),
    result !== 'kept' &&
      remedy &&
      el('p', {class: 'remedy'}, el('span', {}, 'Mend: '), el('bdi', {}, printable(remedy))),
  );
}

function subjectOf(subject, findings) {
  const sorted = [...findings].sort((a, b) => GRADES.indexOf(a.result) - GRADES.indexOf(b.result));
  const open = sorted.filter(({result}) => result !== 'kept');
  const kept = sorted.filter(({result}) => result === 'kept');
  return el(
    'article',
    {class: 'card'},
    el('h2', {}, el('bdi', {}, printable(subject))),
    el('p', {class: 'nobody'}, `${kept.length} of ${plural(findings.length, 'condition')} kept`),
    open.length > 0 && el('ul', {class: 'findings'}, ...open.map(findingOf)),
    kept.length > 0 &&
      el(
        'details',
        {},
        el('summary', {}, `Show what is kept (${kept.length})`),
        el('ul', {class: 'findings'}, ...kept.map(findingOf)),
      ),
  );
}

export async function showDoctor(into, signal, fresh = false) {
  const again = el(
    'button',
    {
      type: 'button',
      onclick: async () => {
        again.disabled = true;
        await showDoctor(into, signal, true);
        into.querySelector('button')?.focus();
      },
    },
    'Examine again',
  );
  const head = el('h1', {}, 'Doctor');
  if (!into.firstChild) into.replaceChildren(head, el('p', {class: 'nobody'}, 'Examining the store…'));
  try {
    const {result, findings, taken_ago_s} = await get(`/api/doctor${fresh ? '?fresh=1' : ''}`, signal);
    if (signal.aborted) return;
    const subjects = [...new Set(findings.map(({subject}) => subject))];
    into.replaceChildren(
      head,
      el(
        'p',
        {class: 'verdict', 'data-kind': KINDS[result] ?? 'plain', role: 'status'},
        VERDICTS[result] ?? printable(result),
      ),
      el('p', {class: 'buttons'}, again, el('span', {class: 'nobody'}, 'examined ', age(taken_ago_s), ' ago')),
      ...subjects.map((subject) =>
        subjectOf(
          subject,
          findings.filter((each) => each.subject === subject),
        ),
      ),
    );
  } catch (cause) {
    if (signal.aborted) return;
    into.replaceChildren(
      head,
      el('p', {class: 'problem', role: 'alert'}, `The store cannot be examined: ${printable(cause.message)}.`),
      el('p', {class: 'buttons'}, again),
    );
    again.disabled = false;
  }
}

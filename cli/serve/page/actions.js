// Asks a holder to release, or takes its lock away. Only where the server allows it, with its secret, and after a question.
import {el, setText} from './dom.js';
import {lockPath, post} from './api.js';
import {printable, processText} from './format.js';

/** For as long as the page is open, and nowhere else. */
let secret = '';

function secretField() {
  const input = el('input', {type: 'password', name: 'secret', autocomplete: 'off', required: true});
  input.value = secret; // no attribute: that would be markup, which the page's text may be copied with
  return el('label', {}, 'Secret of the server', input);
}

/** \param perform takes the form, and does it; what it throws is shown. */
function confirm(dialog, {title, text, fields, verb, is_dangerous}, perform) {
  const problem = el('p', {class: 'problem', role: 'alert', hidden: true});
  const button = el('button', {type: 'submit', class: is_dangerous ? 'danger' : 'main'}, verb);
  const form = el(
    'form',
    {method: 'dialog'},
    el('h2', {id: 'action-title'}, title),
    ...text,
    ...fields,
    problem,
    el('p', {class: 'buttons'}, el('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel'), button),
  );
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      secret = form.elements.secret.value;
      await perform(form);
      dialog.close();
    } catch (cause) {
      if (cause.status === 401) secret = form.elements.secret.value = '';
      problem.hidden = false;
      setText(problem, printable(cause.message));
      button.disabled = false;
    }
  });
  dialog.replaceChildren(form);
  dialog.addEventListener('close', () => form.remove(), {once: true});
  dialog.showModal();
}

const subject = (name, claim) =>
  el(
    'p',
    {},
    el('strong', {}, el('bdi', {}, printable(name))),
    ', held by ',
    el('bdi', {}, processText(claim)),
    `, token ${claim.token}.`,
  );

export function askForRelease(dialog, name, claim) {
  confirm(
    dialog,
    {
      title: 'Ask to release',
      text: [subject(name, claim), el('p', {}, 'A program that listens gives the lock back when it can.')],
      fields: [
        el(
          'label',
          {},
          'Reason, which the holder is told',
          el('input', {name: 'reason', maxlength: 200, autocomplete: 'off'}),
        ),
        secretField(),
      ],
      verb: 'Ask',
    },
    (form) =>
      post(`${lockPath(name)}/ask`, JSON.stringify({reason: form.elements.reason.value, token: claim.token}), secret),
  );
}

export function release(dialog, name, claim) {
  confirm(
    dialog,
    {
      title: 'Take the lock away',
      text: [
        subject(name, claim),
        el(
          'p',
          {},
          'The next in the queue gets it at once. The holder is told, and may act for a moment ' +
            'longer without it: only a resource that checks the token is safe from that.',
        ),
      ],
      fields: [
        secretField(),
        el('label', {class: 'tick'}, el('input', {type: 'checkbox', required: true}), ' I have seen whose lock it is'),
      ],
      verb: 'Take it away',
      is_dangerous: true,
    },
    () => post(`${lockPath(name)}/release`, JSON.stringify({token: claim.token}), secret),
  );
}

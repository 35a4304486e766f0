// The table of locks. Only the rows that can be seen exist, however many locks there are.
import {el, setAttribute, setText} from './dom.js';
import {count, duration, rate} from './format.js';
import {now, secondsSince, shownNow} from './ages.js';

const SPARE_ROWS = 8;
const CHANGED_MS = 1500;

const COLUMNS = [
  {name: 'state', title: 'State'},
  {name: 'name', title: 'Name', order: 'name'},
  {name: 'holder', title: 'Held by', order: 'holder'},
  {name: 'mode', title: 'Mode'},
  {name: 'held', title: 'Held for', order: 'held'},
  {name: 'waiters', title: 'Waiting', order: 'waiters'},
  {name: 'wait', title: 'Longest wait', order: 'wait'},
  {name: 'rate', title: 'Hand-overs/s', order: 'rate'},
];

export const lockLink = (name) => `#/lock/${encodeURIComponent(name)}`;

/** One element of the pool; it shows another lock when the table scrolls. */
class Row {
  constructor(number) {
    this.cells = {};
    const cell = (name, ...children) =>
      (this.cells[name] = el('div', {role: 'gridcell', class: `cell ${name}`}, ...children));
    this.chip = el('span', {class: 'chip'});
    this.link = el('a', {tabindex: '-1'});
    this.program = el('bdi', {class: 'program'});
    this.more = el('span', {class: 'more'});
    this.place = el('bdi', {class: 'place'});
    this.element = el(
      'div',
      {role: 'row', class: 'row', id: `row-${number}`},
      cell('state', this.chip),
      cell('name', el('bdi', {}, this.link)),
      cell('holder', this.program, this.more, this.place),
      cell('mode'),
      cell('held'),
      cell('waiters'),
      cell('wait'),
      cell('rate'),
    );
  }

  show(row, index, is_selected) {
    const {lock} = row;
    this.name = lock.name;
    setAttribute(this.chip, 'data-kind', row.state.kind);
    setText(this.chip, row.state.text);
    if (this.link.textContent !== row.name) {
      this.link.textContent = row.name;
      this.link.title = row.name;
      this.link.href = lockLink(lock.name);
    }
    setText(this.program, lock.holders ? row.holder : 'nobody');
    setText(this.more, row.more ? `+${count(row.more)}` : '');
    setText(this.place, row.place);
    setAttribute(this.place, 'title', row.place);
    setText(this.cells.mode, row.mode);
    setText(this.cells.waiters, lock.waiters ? count(lock.waiters) : '–');
    this.cells.waiters.classList.toggle('some', lock.waiters > 0);
    setText(this.cells.rate, lock.grants_per_s ? rate(lock.grants_per_s) : '–');
    setAttribute(this.element, 'aria-rowindex', String(index + 2));
    setAttribute(this.element, 'aria-selected', String(is_selected));
    this.element.classList.toggle('changed', row.changedAt !== undefined && now() - row.changedAt < CHANGED_MS);
    const text = (moment) => (moment === null ? '–' : duration(secondsSince(moment, shownNow())));
    setText(this.cells.held, text(row.heldSince));
    setText(this.cells.wait, text(row.waitSince));
  }
}

export class Table {
  #model;
  #grid;
  #scroller;
  #body;
  #headers = new Map();
  #pool = [];
  #visible = [];
  #selected = null;
  #frame = 0;
  #rowHeight = 44; // as the style sheet has it, which makes it higher on a phone
  #open;
  #move;

  /** \param on \c open(name) when a lock is chosen, \c move(name) when another one is selected by key. */
  constructor(grid, scroller, model, on) {
    this.#model = model;
    this.#grid = grid;
    this.#scroller = scroller;
    this.#open = on.open;
    this.#move = on.move;
    this.#body = el('div', {class: 'rows', role: 'rowgroup'});
    grid.setAttribute('aria-colcount', COLUMNS.length);
    grid.append(
      el(
        'div',
        {role: 'rowgroup', class: 'head'},
        el(
          'div',
          {role: 'row', class: 'row', 'aria-rowindex': 1},
          ...COLUMNS.map((column) => this.#header(column, on.sort)),
        ),
      ),
      this.#body,
    );
    this.#body.addEventListener('click', (event) => this.#click(event));
    scroller.addEventListener('scroll', () => this.refresh(), {passive: true});
    new ResizeObserver(() => {
      this.#rowHeight = Number.parseFloat(getComputedStyle(grid).getPropertyValue('--row'));
      this.refresh();
    }).observe(scroller);
    this.showOrder();
  }

  get selected() {
    return this.#selected;
  }

  #header(column, sort) {
    const header = el('div', {role: 'columnheader', class: `cell ${column.name}`});
    if (column.order) {
      header.append(el('button', {type: 'button', onclick: () => sort(column.order)}, column.title));
      this.#headers.set(column.order, header);
    } else {
      header.append(column.title);
    }
    return header;
  }

  showOrder() {
    for (const [order, header] of this.#headers) {
      const is_sorted = order === this.#model.order;
      header.setAttribute('aria-sort', !is_sorted ? 'none' : this.#model.falling ? 'descending' : 'ascending');
    }
  }

  #click(event) {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // the link of the name opens elsewhere
    const element = event.target.closest('.row');
    const row = this.#visible.find((each) => each.element === element);
    if (!row) return;
    event.preventDefault();
    this.#grid.focus({preventScroll: true});
    this.select(row.name);
    this.#open(row.name);
  }

  select(name) {
    this.#selected = name;
    this.refresh();
  }

  /** By so many rows; to the first or the last by an infinite number. */
  moveBy(rows) {
    const {shown} = this.#model;
    if (!shown.length) return;
    const at = shown.findIndex((row) => row.lock.name === this.#selected);
    const wanted = at < 0 ? (rows > 0 && Number.isFinite(rows) ? 0 : rows) : at + rows;
    const index = Math.max(0, Math.min(shown.length - 1, wanted));
    this.#selected = shown[index].lock.name;
    this.#reveal(index);
    this.#draw();
    this.#move(this.#selected);
  }

  get pageRows() {
    return Math.max(1, Math.floor(this.#scroller.clientHeight / this.#rowHeight) - 3);
  }

  /** The height of what stays at the top of the list. */
  #coveredHeight() {
    const head = this.#grid.querySelector('.head');
    return head.offsetHeight + Number.parseFloat(getComputedStyle(head).top || '0');
  }

  #reveal(index) {
    const height = this.#rowHeight;
    const top = this.#body.offsetTop + index * height;
    const covered = this.#coveredHeight();
    const {scrollTop, clientHeight} = this.#scroller;
    if (top < scrollTop + covered) this.#scroller.scrollTop = index === 0 ? 0 : top - covered;
    else if (top + height > scrollTop + clientHeight) this.#scroller.scrollTop = top + height - clientHeight;
  }

  /** Draws once before the next picture, however often it is called. */
  refresh() {
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const {shown} = this.#model;
    const height = this.#rowHeight;
    const seen = this.#scroller.scrollTop - this.#body.offsetTop;
    const first = Math.max(0, Math.floor(seen / height) - SPARE_ROWS);
    const room = Math.ceil(this.#scroller.clientHeight / height) + 2 * SPARE_ROWS;
    const end = Math.min(shown.length, first + room);
    this.#body.style.height = `${shown.length * height}px`;
    this.#grid.setAttribute('aria-rowcount', shown.length + 1);

    const needed = Math.max(0, end - first);
    while (this.#pool.length < needed) this.#pool.push(new Row(this.#pool.length));
    this.#visible = [];
    let active = null;
    for (let index = first; index < end; ++index) {
      // A lock keeps its element while it scrolls by: each element shows the rows of one remainder.
      const row = this.#pool[index % this.#pool.length];
      const is_selected = shown[index].lock.name === this.#selected;
      row.show(shown[index], index, is_selected);
      if (row.index !== index || row.height !== height) {
        row.element.remove();
        row.element.style.transform = `translateY(${index * height}px)`;
        [row.index, row.height] = [index, height];
      }
      if (is_selected) active = row.element.id;
      this.#visible.push(row);
    }
    this.#place();
    if (active) this.#grid.setAttribute('aria-activedescendant', active);
    else this.#grid.removeAttribute('aria-activedescendant');
  }

  /** In the document, the elements stand in the order of their rows: so they are read out. */
  #place() {
    const kept = new Set(this.#visible);
    for (const row of this.#pool) if (!kept.has(row)) row.element.remove();
    let next = this.#body.firstChild;
    for (const {element} of this.#visible) {
      if (element === next) next = next.nextSibling;
      else this.#body.insertBefore(element, next);
    }
  }
}

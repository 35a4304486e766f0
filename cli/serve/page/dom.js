// Elements out of data. Text always becomes a text node, so that no name or label is ever read as markup.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, properties, children) {
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** `el('p', {class: 'note'}, 'text', other)`. Keys are attributes; 'onclick' and the like are listeners. */
export const el = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);

/** The same for a drawing. */
export const svg = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);

export const byId = (id) => document.getElementById(id);

/** Changes nothing where nothing changed: a live region would be read out again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The same of an attribute: styles and what screen readers see are not computed again. */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Shortens the text of a drawn <text> to a width, and leaves the whole of it as its title. */
export function fit(text, width) {
  const whole = text.textContent;
  if (text.getComputedTextLength() <= width) return;
  const characters = [...whole];
  let [least, most] = [0, characters.length];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    text.textContent = characters.slice(0, middle).join('') + '…';
    if (text.getComputedTextLength() <= width) least = middle;
    else most = middle - 1;
  }
  text.textContent = characters.slice(0, least).join('') + '…';
  text.append(svg('title', {}, whole));
}

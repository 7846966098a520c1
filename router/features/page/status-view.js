// Makes the page's elements. All text from the hub goes in as text, never as markup: agents choose their names.
export function make(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value);
  }
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

// Shows hidden characters, and those that change the order of a text, as escapes: an approver must see what is asked.
export const visible = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

// Changes text only where it is another one: what is selected stays so, and nobody is read the same again.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A share of something as a bar.
export function meter(share, label, state = share >= 0.95 ? 'down' : share >= 13 / 16 ? 'attention' : 'well') {
  const box = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  box.setAttribute('class', 'meter');
  box.setAttribute('viewBox', '0 0 100 1');
  box.setAttribute('preserveAspectRatio', 'none');
  box.setAttribute('role', 'img');
  box.setAttribute('aria-label', label);
  box.dataset.state = state;
  bar.setAttribute('height', '1');
  bar.setAttribute('width', String(Math.max(0, Math.min(100, share * 100))));
  box.append(bar);
  return box;
}

// A table's body anew. `columns` are of {title, name, number, wide, long, sort}; a row is an array of texts or elements.
export function fill(table, columns, rows, sorting) {
  const focused = table.contains(document.activeElement) ? document.activeElement.dataset.sort : null;
  const head = make('tr', {}, ...columns.map((column, index) => {
    const sorted = sorting?.index === index ? (sorting.down ? 'descending' : 'ascending') : column.sort && 'none';
    const cell = make('th', { scope: 'col', class: classes(column), 'aria-sort': sorted });
    if (column.sort) {
      const button = make('button', { type: 'button', 'data-sort': String(index), text: column.title });
      button.addEventListener('click', () => sorting.by(index));
      cell.append(button);
    } else {
      cell.textContent = column.title;
    }
    return cell;
  }));
  const lines = rows.map((row) => make('tr', {}, ...row.map((value, index) => {
    const cell = make('td', { class: classes(columns[index]) });
    if (value instanceof Element) {
      cell.append(value);
    } else {
      cell.textContent = value;
      if (columns[index].long) cell.title = value;
    }
    return cell;
  })));
  table.replaceChildren(make('thead', {}, head), make('tbody', {}, ...lines));
  if (focused !== null) table.querySelector(`[data-sort="${focused}"]`)?.focus();
}

const classes = (column) =>
  ['number', 'name', 'wide', 'long'].filter((name) => column[name]).join(' ') || undefined;

// A table in a box, or a word where there are no rows.
export function list(box, columns, rows, none) {
  if (!rows.length) {
    if (box.firstChild?.className !== 'none') box.replaceChildren(make('p', { class: 'none' }));
    say(box.firstChild, none);
    return;
  }
  let table = box.querySelector('table');
  if (!table) {
    table = make('table');
    box.replaceChildren(make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': none }, table));
  }
  fill(table, columns, rows);
}

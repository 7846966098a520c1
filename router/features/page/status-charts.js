// Small charts of the last minutes, in SVG. The pointer, or the arrow keys, choose a moment; then the legend tells that
// one.
const SPANS_S = [60, 120, 300]; // the shortest one that has room for all points
const WIDTH = 300, HEIGHT = 100, TOP = 4;
const svg = (name, attributes = {}) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const html = (name, className, text = '') => {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.textContent = text;
  return element;
};

// The next round number above, so that the scale stands still while values move a little.
function ceiling(value, base) {
  if (value <= 0) return 1;
  const power = base ** Math.floor(Math.log(value) / Math.log(base));
  for (const factor of base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 5, 10]) {
    if (value <= power * factor) return power * factor;
  }
  return power * base;
}

export class Chart {
  #points = [];
  #chosen = null; // an index from the newest one, or null: that

  // `series` are up to two of {name, key}; `write` makes text of a value; `bound` is a key for a fixed top, or none.
  constructor(parent, { title, series, write, base = 10 }) {
    Object.assign(this, { title, series, write, base });
    const figure = html('figure', 'chart');
    figure.append(html('h3', '', title), this.#legend(), this.#drawing(), this.#scale());
    parent.append(figure);
  }

  #legend() {
    const legend = html('div', 'legend');
    this.values = this.series.map(({ name }, index) => {
      const entry = html('span'), value = html('strong');
      entry.append(html('span', index ? 'key two' : 'key'), `${name} `, value);
      legend.append(entry);
      return value;
    });
    this.when = html('span', 'when', 'now');
    legend.append(this.when);
    return legend;
  }

  #drawing() {
    const box = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', tabindex: '0' });
    for (const at of [TOP, (HEIGHT + TOP) / 2, HEIGHT]) box.append(svg('path', { class: 'grid', d: `M0 ${at}H${WIDTH}` }));
    this.area = svg('path', { class: 'area' });
    this.lines = this.series.map((_, index) => svg('path', { class: `series ${index ? 'two' : 'one'}` }));
    this.cursor = svg('path', { class: 'cursor' });
    box.append(this.area, ...this.lines, this.cursor);
    box.addEventListener('pointermove', (event) => {
      const { left, width } = box.getBoundingClientRect();
      this.#choose(Math.round((1 - (event.clientX - left) / width) * this.#span()));
    });
    box.addEventListener('pointerleave', () => this.#choose(null));
    box.addEventListener('blur', () => this.#choose(null));
    box.addEventListener('keydown', (event) => this.#key(event));
    this.box = box;
    return box;
  }

  #scale() {
    const scale = html('div', 'scale');
    this.top = html('span');
    this.begin = html('span');
    scale.append(this.begin, this.top, html('span', '', 'now'));
    return scale;
  }

  #span() {
    return SPANS_S.find((span) => this.#points.length <= span + 1) ?? SPANS_S.at(-1);
  }

  #key(event) {
    const step = { ArrowLeft: 1, ArrowRight: -1, PageUp: 30, PageDown: -30 }[event.key];
    if (event.key === 'Escape') this.#choose(null);
    else if (step) this.#choose((this.#chosen ?? 0) + step);
    else return;
    event.preventDefault();
  }

  #choose(index) {
    const last = this.#points.length - 1;
    this.#chosen = index === null || last < 0 ? null : Math.max(0, Math.min(last, index));
    this.#tell();
  }

  draw(points) {
    this.#points = points;
    const values = points.flatMap((one) => this.series.map(({ key }) => one[key]));
    const top = ceiling(Math.max(0, ...values), this.base);
    const span = this.#span(), x = (index) => WIDTH - (points.length - 1 - index) * (WIDTH / span);
    const y = (value) => HEIGHT - (value / top) * (HEIGHT - TOP);
    this.series.forEach(({ key }, index) => {
      const path = points.map((one, at) => `${at ? 'L' : 'M'}${x(at).toFixed(2)} ${y(one[key]).toFixed(2)}`).join('');
      this.lines[index].setAttribute('d', path);
      if (index === 0) this.area.setAttribute('d', path && `${path}V${HEIGHT}H${x(0).toFixed(2)}Z`);
    });
    this.begin.textContent = `${span / 60} min ago`;
    this.top.textContent = `top ${this.write(top)}`;
    this.#tell();
  }

  #tell() {
    const last = this.#points.length - 1, back = this.#chosen ?? 0, one = this.#points[last - back];
    if (!one) return;
    const texts = this.series.map(({ name, key }, index) => {
      this.values[index].textContent = this.write(one[key]);
      return `${name} ${this.write(one[key])}`;
    });
    const when = back ? `${Math.round((this.#points[last].at - one.at) / 1000)} s ago` : 'now';
    this.when.textContent = when;
    this.box.setAttribute('aria-label', `${this.title}, ${when}: ${texts.join(', ')}`);
    const x = WIDTH - back * (WIDTH / this.#span());
    this.cursor.setAttribute('d', this.#chosen === null ? '' : `M${x.toFixed(2)} 0V${HEIGHT}`);
  }
}

// The plots of the sweeps, as SVG, and as PNG where librsvg is there (rsvg-convert).
// It goes well: NAME.svg and NAME.png beside the results. It fails: without rsvg-convert there are no PNG; what it
// refuses the caller is told, and the figures stay.
//
// They are drawn here, in plain shapes that every renderer knows: on a ground of their own, so that a dark page doesn't
// matter; in letters that a phone shows; with each line's name at its end, and the hub's line the strongest.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { spreadOf } from './figures.mjs';

const PERCENTILES = ['p50', 'p90', 'p99', 'p99.9'];
const COLOURS = { hub: '#0b57d0', relay: '#6e7781', nats: '#9a6700', redis: '#cf222e', mosquitto: '#8250df' };
const DASHES = ['', '10 5', '3 4'];
const WIDTH = 800, HEIGHT = 560, LEFT = 96, RIGHT = 168, TOP = 84, BOTTOM = 78, NAME_HEIGHT = 21;
const INK = '#1f2328', FAINT = '#d0d7de';

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const round = (number) => Number(number.toFixed(1));
const text = (x, y, content, rest = '') => `<text x="${round(x)}" y="${round(y)}" ${rest}>${escaped(content)}</text>`;
const stroke = (points, rest) => `<polyline points="${points.map((point) => point.map(round).join(',')).join(' ')}" fill="none" ${rest}/>`;

// 1.5M, 20k, 0.05
export function tickText(value) {
  const [scale, unit] = value >= 1e6 ? [1e6, 'M'] : value >= 1e4 ? [1e3, 'k'] : [1, ''];
  return `${Number((value / scale).toPrecision(3))}${unit}`;
}

// Sizes of bodies are powers of two.
const sizeText = (bytes) => (bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} B`);

// 1, 2 and 5 times each power of ten from the first at or below `least` to the last at or above `most`: the ends of the
// axis, and what is written beside it.
export function ticksOf(least, most) {
  const steps = [];
  for (let power = Math.floor(Math.log10(least)) - 1; power <= Math.ceil(Math.log10(most)) + 1; power++) {
    for (const step of [1, 2, 5]) steps.push(Number((step * 10 ** power).toPrecision(1)));
  }
  const first = steps.findLastIndex((step) => step <= least), last = steps.findIndex((step) => step >= most);
  const ticks = steps.slice(first, Math.max(last, first + 1) + 1);
  return ticks.length <= 8 ? ticks : ticks.filter((tick, index) => index === 0 || index === ticks.length - 1 || /^1/.test(tick.toExponential()));
}

// A line a server; of percentiles, one a server and value of x. Points: x, median, least, most.
function linesOf(sweep, plot, results) {
  const points = (runs, xs) => xs.map(([x, path, of]) => [x, spreadOf(of ?? runs, path)])
    .filter(([, y]) => y).map(([x, y]) => [x, y.median, y.min, y.max]);
  const lines = sweep.servers.flatMap((server) => (plot.percentiles
    ? sweep.values.map((x, index) => ({
      server, name: `${server}, ${tickText(x)}/s`, dashes: DASHES[index % DASHES.length],
      points: points(results[server][x] ?? [], PERCENTILES.map((name, at) => [at, `latencyUs.${name}`])),
    }))
    : [{ server, name: server, dashes: '', points: points([], sweep.values.map((x) => [x, plot.y, results[server][x] ?? []])) }]));
  return lines.filter((line) => line.points.length > 0).sort((a, b) => (a.server === 'hub') - (b.server === 'hub')); // the hub's on top
}

function scales(sweep, plot, lines) {
  const values = lines.flatMap((line) => line.points.flatMap(([, ...spread]) => spread));
  const ticks = ticksOf(Math.min(...values), Math.max(...values));
  const [low, high] = [Math.log(ticks[0]), Math.log(ticks.at(-1))];
  const xs = plot.percentiles ? [0, PERCENTILES.length - 1] : [sweep.values[0], sweep.values.at(-1)].map(Math.log);
  const across = WIDTH - LEFT - RIGHT, down = HEIGHT - TOP - BOTTOM;
  return {
    ticks,
    x: (value) => LEFT + ((plot.percentiles ? value : Math.log(value)) - xs[0]) / (xs[1] - xs[0] || 1) * across,
    y: (value) => HEIGHT - BOTTOM - (Math.log(value) - low) / (high - low) * down,
  };
}

function axes(sweep, plot, { ticks, x, y }) {
  const marks = plot.percentiles ? PERCENTILES.map((name, at) => [at, name]) : sweep.values.map((value) => [value, plot.sizes ? sizeText(value) : tickText(value)]);
  const middle = (LEFT + WIDTH - RIGHT) / 2;
  return [
    ...ticks.flatMap((tick) => [stroke([[LEFT, y(tick)], [WIDTH - RIGHT, y(tick)]], `stroke="${FAINT}"`),
      text(LEFT - 10, y(tick) + 6, tickText(tick), 'text-anchor="end"')]),
    ...marks.map(([value, name]) => text(x(value), HEIGHT - BOTTOM + 26, name, 'text-anchor="middle"')),
    text(middle, HEIGHT - 18, plot.percentiles ? 'percentile' : sweep.x, 'text-anchor="middle"'),
  ];
}

// Names stand where their lines end, and no two in one place.
function placed(lines, y) {
  const names = lines.map((line) => ({ line, at: y(line.points.at(-1)[1]) })).sort((a, b) => a.at - b.at);
  names.forEach((name, index) => {
    if (index > 0) name.at = Math.max(name.at, names[index - 1].at + NAME_HEIGHT);
  });
  const over = names.length > 0 ? Math.max(0, names.at(-1).at - (HEIGHT - BOTTOM)) : 0;
  return names.map(({ line, at }) => ({ line, at: at - over }));
}

function drawLine({ server, dashes, points }, { x, y }) {
  const colour = COLOURS[server] ?? INK, width = server === 'hub' ? 5 : 2.5;
  return [
    ...points.filter(([, , least, most]) => most > least)
      .map(([at, , least, most]) => stroke([[x(at), y(least)], [x(at), y(most)]], `stroke="${colour}" stroke-width="1.5"`)),
    stroke(points.map(([at, median]) => [x(at), y(median)]),
      `stroke="${colour}" stroke-width="${width}" stroke-linejoin="round"${dashes ? ` stroke-dasharray="${dashes}"` : ''}`),
    ...points.map(([at, median]) => `<circle cx="${round(x(at))}" cy="${round(y(median))}" r="${width + 1}" fill="${colour}"/>`),
  ];
}

// The plot as SVG; undefined where nothing was measured.
export function svgOf(sweep, plot, results) {
  const lines = linesOf(sweep, plot, results);
  if (lines.length === 0) return undefined;
  const scale = scales(sweep, plot, lines);
  const names = placed(lines, scale.y).map(({ line, at }) => text(WIDTH - RIGHT + 14, at + 6, line.name,
    `fill="${COLOURS[line.server] ?? INK}" font-weight="${line.server === 'hub' ? 'bold' : 'normal'}"`));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="18" fill="${INK}">`,
    `<title>${escaped(plot.label)}, ${plot.better} is better</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="8" fill="#ffffff"/>`,
    text(20, 34, `${plot.label}: ${plot.better} is better`, 'font-size="22" font-weight="bold"'),
    text(20, 60, sweep.title),
    ...axes(sweep, plot, scale), ...lines.flatMap((line) => drawLine(line, scale)), ...names, '</svg>', '',
  ].join('\n');
}

function toPng(file) {
  try {
    execFileSync('rsvg-convert', ['--width', '1600', '--output', `${file}.png`, `${file}.svg`], { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}

// `results[server][x]` are the runs of a sweep.
export function drawSweep(sweep, results, out) {
  for (const plot of sweep.plots) {
    const svg = svgOf(sweep, plot, results), file = join(out, plot.file);
    if (!svg) continue;
    writeFileSync(`${file}.svg`, svg);
    toPng(file);
  }
}

// The plots of the sweeps, as SVG, and as PNG where librsvg is there (rsvg-convert).
// Success: NAME.svg and NAME.png beside the results. Failure: without rsvg-convert there are no PNG; what it
// refuses the caller is told, and the figures stay.
//
// The plots are plain shapes and attributes that every renderer knows, on a ground of their own. A renderer with style
// sheets (a browser) draws them dark where the page is. The letters are large enough for a phone's width; each line's
// name stands at its end, and the hub's line is the strongest.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { spreadOf } from './figures.mjs';

const PERCENTILES = ['p50', 'p90', 'p99', 'p99.9'];
// On a light page, and on a dark one.
const COLOURS = {
  hub: ['#0b57d0', '#6cb0ff'], relay: ['#59636e', '#a5afb9'], nats: ['#8a5d00', '#e0a92e'], redis: ['#cf222e', '#ff8078'],
  mosquitto: ['#8250df', '#c9a6ff'], ink: ['#1f2328', '#f0f3f6'], quiet: ['#59636e', '#b1bac4'], grid: ['#d0d7de', '#3d444d'], ground: ['#ffffff', '#0d1117'],
};
const DASHES = ['', '10 5', '3 4'];
const WIDTH = 640, HEIGHT = 524, LEFT = 74, TOP = 96, BOTTOM = 80, NAME_HEIGHT = 23, LETTER = 11.5;

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const round = (number) => Number(number.toFixed(1));
const nameOf = (server) => (COLOURS[server] ? server : 'ink');
// The attribute is for who doesn't know style sheets, the class for who does.
const filled = (name) => `class="f-${name}" fill="${COLOURS[name][0]}"`;
const drawn = (name) => `class="s-${name}" stroke="${COLOURS[name][0]}"`;
const dark = (names) => `<style>@media (prefers-color-scheme: dark) { ${names.map((name) =>
  `.f-${name} { fill: ${COLOURS[name][1]} } .s-${name} { stroke: ${COLOURS[name][1]} }`).join(' ')} }</style>`;
const text = (x, y, content, rest = filled('ink')) => `<text x="${round(x)}" y="${round(y)}" ${rest}>${escaped(content)}</text>`;
const stroke = (points, rest) => `<polyline points="${points.map((point) => point.map(round).join(',')).join(' ')}" fill="none" ${rest}/>`;

// 1.5M, 20k, 0.05
export function tickText(value) {
  const [scale, unit] = value >= 1e6 ? [1e6, 'M'] : value >= 1e4 ? [1e3, 'k'] : [1, ''];
  return `${Number((value / scale).toPrecision(3))}${unit}`;
}

// Sizes of bodies are powers of two.
const sizeText = (bytes) => (bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} B`);

// The ends of the axis and its labels: 1, 2 and 5 times each power of ten, from the first at or below `least` to the
// last at or above `most`.
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

// Room for the longest name, or for half of what stands below the last point.
const rightOf = (lines) => Math.max(44, 26 + LETTER * Math.max(...lines.map(({ name }) => name.length)));

function scales(sweep, plot, lines) {
  const values = lines.flatMap((line) => line.points.flatMap(([, ...spread]) => spread));
  const ticks = ticksOf(Math.min(...values), Math.max(...values));
  const [low, high] = [Math.log(ticks[0]), Math.log(ticks.at(-1))];
  const xs = plot.percentiles ? [0, PERCENTILES.length - 1] : [sweep.values[0], sweep.values.at(-1)].map(Math.log);
  const across = WIDTH - LEFT - rightOf(lines), down = HEIGHT - TOP - BOTTOM;
  return {
    ticks, end: LEFT + across,
    x: (value) => LEFT + ((plot.percentiles ? value : Math.log(value)) - xs[0]) / (xs[1] - xs[0] || 1) * across,
    y: (value) => HEIGHT - BOTTOM - (Math.log(value) - low) / (high - low) * down,
  };
}

function axes(sweep, plot, { ticks, x, y, end }) {
  const marks = plot.percentiles ? PERCENTILES.map((name, at) => [at, name]) : sweep.values.map((value) => [value, plot.sizes ? sizeText(value) : tickText(value)]);
  const centred = `${filled('quiet')} text-anchor="middle"`;
  return [
    ...ticks.flatMap((tick) => [stroke([[LEFT, y(tick)], [end, y(tick)]], drawn('grid')),
      text(LEFT - 10, y(tick) + 7, tickText(tick), `${filled('quiet')} text-anchor="end"`)]),
    ...marks.map(([value, name]) => text(x(value), HEIGHT - BOTTOM + 32, name, centred)),
    text((LEFT + end) / 2, HEIGHT - 16, `${plot.percentiles ? 'percentile; the other axis is' : `${sweep.x}; both axes are`} logarithmic, bars show least and most`, centred),
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
  const colour = nameOf(server), width = server === 'hub' ? 6 : 2.5;
  return [
    ...points.filter(([, , least, most]) => most > least)
      .map(([at, , least, most]) => stroke([[x(at), y(least)], [x(at), y(most)]], `${drawn(colour)} stroke-width="1.5"`)),
    stroke(points.map(([at, median]) => [x(at), y(median)]),
      `${drawn(colour)} stroke-width="${width}" stroke-linejoin="round"${dashes ? ` stroke-dasharray="${dashes}"` : ''}`),
    ...points.map(([at, median]) => `<circle cx="${round(x(at))}" cy="${round(y(median))}" r="${width + 1}" ${filled(colour)}/>`),
  ];
}

// The plot as SVG; undefined where nothing was measured.
export function svgOf(sweep, plot, results) {
  const lines = linesOf(sweep, plot, results);
  if (lines.length === 0) return undefined;
  const scale = scales(sweep, plot, lines);
  const names = placed(lines, scale.y).map(({ line, at }) => text(scale.end + 16, at + 7, line.name,
    `${filled(nameOf(line.server))} font-weight="${line.server === 'hub' ? 'bold' : 'normal'}"`));
  const way = `${plot.better === 'less' ? '↓ less' : '↑ more'} is better`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="20">`,
    `<title>${escaped(plot.label)}, ${plot.better} is better</title>`,
    dark(['ink', 'quiet', 'grid', 'ground', ...new Set(lines.map(({ server }) => nameOf(server)).filter((name) => name !== 'ink'))]),
    `<rect width="${WIDTH}" height="${HEIGHT}" rx="8" ${filled('ground')}/>`,
    text(20, 36, plot.label, `${filled('ink')} font-size="24" font-weight="bold"`),
    text(20, 64, way, `${filled('ink')} font-weight="bold"`), text(20 + LETTER * (way.length + 1), 64, sweep.title, filled('quiet')),
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

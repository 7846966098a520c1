// The plots of the sweeps, drawn by gnuplot, as SVG and PNG.
// It goes well: NAME.svg and NAME.png beside the results. It fails: without gnuplot, or when it refuses, the caller is
// told and the figures stay.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { spreadOf } from './figures.mjs';

const PERCENTILES = ['p50', 'p90', 'p99', 'p99.9'];
const COLOURS = { hub: '#1f6feb', relay: '#8b949e', nats: '#d29922', redis: '#cf222e', mosquitto: '#8250df' };
const TERMINALS = {
  svg: "svg size 800,500 font 'sans,13' background '#ffffff'",
  png: "pngcairo size 1200,750 font 'sans,14' background '#ffffff'",
};

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

// A block of data and the line that draws it: x, median, least, most.
function line(name, title, colour, rows, shape, dashes = 1) {
  const data = [`$${name} << EOD`, ...rows.map((row) => row.join(' ')), 'EOD'];
  const style = `lc rgb '${colour}' lw 2 pt ${shape} dt ${dashes}`;
  return {
    data,
    draw: [`$${name} using 1:2 with linespoints ${style} title ${quoted(title)}`,
      `$${name} using 1:2:3:4 with yerrorbars lc rgb '${colour}' lw 1 ps 0 notitle`],
  };
}

// A point a value of x.
function overRange(sweep, plot, results) {
  return sweep.servers.map((server, index) => {
    const rows = sweep.values.map((x) => [x, spreadOf(results[server][x] ?? [], plot.y)])
      .filter(([, y]) => y).map(([x, y]) => [x, y.median, y.min, y.max]);
    return line(server, server, COLOURS[server], rows, index + 5);
  });
}

// A line a server and value of x, over the percentiles.
function overPercentiles(sweep, results) {
  const lines = [];
  sweep.servers.forEach((server) => sweep.values.forEach((x, index) => {
    const rows = PERCENTILES.map((name, at) => [at, spreadOf(results[server][x] ?? [], `latencyUs.${name}`)])
      .filter(([, y]) => y).map(([at, y]) => [at, y.median, y.min, y.max]);
    lines.push(line(`${server}${index}`, `${server}, ${x.toLocaleString('en')} a second`, COLOURS[server], rows, index + 5, index + 1));
  }));
  return lines;
}

function axes(sweep, plot) {
  if (plot.percentiles) {
    const ticks = PERCENTILES.map((name, at) => `'${name}' ${at}`).join(', ');
    return [`set xtics (${ticks})`, 'set xrange [-0.2:3.2]', 'set xlabel "percentile"'];
  }
  return ['set logscale x', `set xtics (${sweep.values.join(', ')})`, `set xlabel ${quoted(sweep.x)}`];
}

function draw(sweep, plot, results, out) {
  const lines = (plot.percentiles ? overPercentiles(sweep, results) : overRange(sweep, plot, results))
    .filter((each) => each.data.length > 2);
  if (lines.length === 0) return;
  const script = [
    ...lines.flatMap((each) => each.data),
    `set title ${quoted(sweep.title)}`, `set ylabel ${quoted(plot.label)}`, ...axes(sweep, plot),
    'set logscale y', 'set grid', 'set key outside right top', 'set offsets graph 0.02, graph 0.02, 0, 0',
    ...Object.entries(TERMINALS).flatMap(([ending, terminal]) => [
      `set terminal ${terminal}`, `set output ${quoted(`${plot.file}.${ending}`)}`,
      `plot ${lines.flatMap((each) => each.draw).join(', \\\n     ')}`, 'unset output']),
  ].join('\n');
  const file = join(out, `${plot.file}.gnuplot`);
  writeFileSync(file, `${script}\n`);
  execFileSync('gnuplot', [file], { cwd: out, stdio: ['ignore', 'ignore', 'pipe'] });
  rmSync(file);
}

// `results[server][x]` are the runs of a sweep.
export function drawSweep(sweep, results, out) {
  for (const plot of sweep.plots) draw(sweep, plot, results, out);
}

// The suite's program: runs what was asked for in rounds, and writes results.json, results.md and the plots.
// Success: exit status 0. Failure: a measurement that fails is told, left out of the figures, and makes the exit
// status 1; arguments that mean nothing are status 2.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { judge } from './figures.mjs';
import { describe, load } from './machine.mjs';
import { measure } from './measure.mjs';
import { peerNames, replacePeer } from './peers.mjs';
import { drawSweep } from './plots.mjs';
import { paired } from './against.mjs';
import { labelOf, page } from './report.mjs';
import { comparisons, isNamed, sweeps } from './scenarios.mjs';

const options = {
  build: { type: 'string' }, out: { type: 'string' }, only: { type: 'string', multiple: true }, list: { type: 'boolean' },
  quick: { type: 'boolean' }, rounds: { type: 'string' }, seconds: { type: 'string' }, warmup: { type: 'string' },
  against: { type: 'string' }, 'against-build': { type: 'string' }, 'hub-build': { type: 'string' },
  'peer-path': { type: 'string', multiple: true }, 'server-cpu': { type: 'string' }, 'load-cpu': { type: 'string' }, help: { type: 'boolean' },
};
const usage = 'usage: bench/run [--quick] [--only NAME]... [--peer-path PEER=PATH]... [--list] [--against COMMIT | --deployed] [--rounds N] [--seconds S] [--warmup S] ' +
  '[--server-cpu N] [--load-cpu N] [--out DIRECTORY]';

class UsageError extends Error {}

// Takes another program in the place of a peer's packaged one.
function takePeerPaths(given) {
  for (const one of given) {
    const [peer, path] = [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)];
    if (!replacePeer(peer, resolve(path))) throw new UsageError(`--peer-path ${one}: PEER is one of ${peerNames().join(', ')}`);
  }
}

function readNumber(values, name, fallback, least) {
  const value = values[name] === undefined ? fallback : Number(values[name]);
  if (!(value >= least)) throw new UsageError(`--${name}: ${values[name]}`);
  return value;
}

function readSettings() {
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    throw new UsageError(error.message);
  }
  takePeerPaths(values['peer-path'] ?? []);
  const build = resolve(values.build ?? 'build/bench');
  return {
    against: values.against, againstBuild: values['against-build'] && resolve(values['against-build']),
    list: values.list, help: values.help, only: values.only ?? ['*'],
    build, hubBuild: resolve(values['hub-build'] ?? build), out: resolve(values.out ?? 'build/bench/results'),
    rounds: readNumber(values, 'rounds', values.quick ? 1 : 5, 1),
    seconds: readNumber(values, 'seconds', values.quick ? 0.5 : 3, 0.05),
    warmup: readNumber(values, 'warmup', values.quick ? 0.2 : 1, 0),
    serverCpu: readNumber(values, 'server-cpu', 0, 0), loadCpu: readNumber(values, 'load-cpu', 1, 0),
  };
}

const say = (text) => process.stderr.write(text);

// Runs one measurement into `runs`, which gets null when it failed, so that rounds stay pairs.
async function attempt(name, what, settings, runs, failures) {
  say(`  ${name} … `);
  try {
    const figures = await measure(what, settings);
    runs.push(figures);
    say(`${figures.cpuUs?.toFixed(3) ?? '?'} µs, ${figures.messagesPerSecond.toLocaleString('en')} a second\n`);
  } catch (error) {
    runs.push(null);
    failures.push(`${name}: ${error.message.replaceAll('\n', ' ')}`);
    say(`FAILED: ${error.message}\n`);
  }
}

// The hubs may be of another build than what is measured beside them and what measures.
const buildOf = (server, settings) => (server === 'hub' ? settings.hubBuild : settings.build);

// The sides in turns, each second round the other way round.
async function runComparison({ comparison, sides }, round, settings, failures) {
  const order = comparison.sides.map((side, index) => index);
  for (const index of round % 2 === 0 ? order : order.reverse()) {
    const side = comparison.sides[index];
    const what = { unix: comparison.unix, build: buildOf(side.server, settings), ...side, load: { ...comparison.load, ...side.load } };
    await attempt(`${comparison.name}: ${labelOf(side)}`, what, settings, sides[index], failures);
  }
}

async function runSweep({ sweep, results }, settings, failures) {
  for (const x of sweep.values) {
    for (const server of sweep.servers) {
      await attempt(`${sweep.name}: ${server} at ${x}`, { server, build: buildOf(server, settings), load: sweep.load(x) }, settings, results[server][x], failures);
    }
  }
}

function prepare(settings) {
  const wanted = ({ name }) => settings.only.some((pattern) => isNamed(name, pattern));
  const { against, againstBuild } = settings;
  const chosen = comparisons.filter(wanted).flatMap((one) => (against ? paired(one, against, againstBuild) : [one]));
  return {
    comparisons: chosen.map((comparison) => ({ comparison, sides: comparison.sides.map(() => []) })),
    sweeps: (against ? [] : sweeps.filter(wanted)).map((sweep) => ({
      sweep,
      results: Object.fromEntries(sweep.servers.map((server) => [server, Object.fromEntries(sweep.values.map((x) => [x, []]))])),
    })),
  };
}

function write(run, settings) {
  mkdirSync(settings.out, { recursive: true });
  const json = {
    machine: run.machine, settings: run.settings, loadAverage: run.load, failures: run.failures,
    comparisons: run.comparisons.map(({ comparison, sides }) => ({
      name: comparison.name, title: comparison.title,
      sides: comparison.sides.map((side, index) => ({ label: labelOf(side), server: side.server, runs: sides[index] })),
      aims: comparison.aims.map((aim) => ({ ...aim, ...judge(aim, sides) })),
    })),
    sweeps: run.sweeps.map(({ sweep, results }) => ({ name: sweep.name, x: sweep.x, results })),
  };
  writeFileSync(join(settings.out, 'results.json'), `${JSON.stringify(json, null, 1)}\n`);
  writeFileSync(join(settings.out, 'results.md'), page(run));
  for (const { sweep, results } of run.sweeps) {
    try {
      drawSweep(sweep, results, settings.out);
    } catch (error) {
      run.failures.push(`plots of ${sweep.name}: ${error.stderr ?? error.message}`);
    }
  }
}

async function main() {
  const settings = readSettings();
  if (settings.help || settings.list) {
    const names = [...comparisons, ...sweeps].map(({ name, title }) => `${name.padEnd(24)}${title}`).join('\n');
    process.stdout.write(`${settings.help ? usage : names}\n`);
    return 0;
  }
  const { build, hubBuild, out, only, againstBuild, ...rest } = settings;
  const shown = { ...rest, deployed: hubBuild !== build };
  const run = { ...prepare(settings), settings: shown, failures: [], load: { start: load() } };
  if (run.comparisons.length + run.sweeps.length === 0) throw new UsageError(`nothing is called ${only.join(' or ')}`);
  run.machine = describe(hubBuild, dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
  for (let round = 0; round < settings.rounds; round++) {
    say(`round ${round + 1} of ${settings.rounds}\n`);
    for (const each of run.comparisons) await runComparison(each, round, settings, run.failures);
    for (const each of run.sweeps) await runSweep(each, settings, run.failures);
    run.load.end = load();
    write(run, settings); // after each round, so that an interrupted suite has not been for nothing
  }
  for (const failure of run.failures) say(`failed: ${failure}\n`);
  process.stdout.write(`${page(run)}\nwritten to ${out}\n`);
  return run.failures.length > 0 ? 1 : 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  say(`${error.message}\n${usage}\n`);
  process.exitCode = 2;
}

// The results as a page of tables.
import { judge, spreadOf } from './figures.mjs';

function number(value) {
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

// median (least – most)
function shown(spread, scale = 1, unit = '') {
  if (!spread) return '—';
  const [median, min, max] = [spread.median, spread.min, spread.max].map((value) => number(value / scale) + unit);
  return spread.count === 1 ? median : `${median} (${min} – ${max})`;
}

const row = (...cells) => `| ${cells.join(' | ')} |`;
const table = (head, rows) => [row(...head), row(...head.map(() => '---')), ...rows, ''];

export const labelOf = (side) => side.label ?? side.server;

const units = { cpuUs: ['server CPU', ' µs'], idleBytes: ['memory', ' B'], messagesPerSecond: ['messages a second', ''] };
function valueName(path) {
  return units[path] ?? [path.replace('highLatencyUs.', 'high priority ').replace('latencyUs.', ''), ' µs'];
}

function aimRows({ comparison, sides }) {
  return comparison.aims.map((aim) => {
    const { of, over, ratio, met } = judge(aim, sides);
    const [value, unit] = valueName(aim.of[1]);
    const [ofSide, overSide] = [comparison.sides[aim.of[0]], comparison.sides[aim.over?.[0]]];
    const bound = aim.atMost === undefined ? '' : `≤ ${aim.over ? aim.atMost : number(aim.atMost) + unit}`;
    return row(`${comparison.name}: ${comparison.title}`, value, `${labelOf(ofSide)} ${shown(of, 1, unit)}`,
      aim.over ? `${ofSide === overSide ? valueName(aim.over[1])[0] : labelOf(overSide)} ${shown(over, 1, unit)}` : '',
      aim.over ? shown(ratio) : '', bound, met === null ? '' : met ? 'yes' : '**no**');
  });
}

const columns = [
  ['messages/s', (runs) => shown(spreadOf(runs, 'messagesPerSecond'))],
  ['CPU µs', (runs) => shown(spreadOf(runs, 'cpuUs'))],
  ...['p50', 'p90', 'p99', 'p99.9'].map((name) => [`${name} µs`, (runs) => shown(spreadOf(runs, `latencyUs.${name}`))]),
  ['kernel entries', (runs) => shown(spreadOf(runs, 'kernelEntries'))],
  ['resident MiB', (runs) => shown(spreadOf(runs, 'residentBytes'), 2 ** 20)],
  ['load CPU %', (runs) => shown(spreadOf(runs, 'generatorCpuPercent'))],
];

function figureRows({ comparison, sides }) {
  return comparison.sides.map((side, index) =>
    row(comparison.name, labelOf(side), ...columns.map(([, cell]) => cell(sides[index]))));
}

function sweepRows({ sweep, results }) {
  return sweep.servers.flatMap((server) => sweep.values.map((x) =>
    row(sweep.name, `${server}, ${x.toLocaleString('en')} ${sweep.x}`, ...columns.map(([, cell]) => cell(results[server][x])))));
}

function preface({ machine, settings, load, failures, comparisons }) {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`).join(', ');
  const servers = comparisons.flatMap(({ comparison }) => comparison.sides.map(({ server }) => server));
  const stalls = servers.some((server) => server.startsWith('nats'));
  return [
    '# Measured', '',
    `${machine.date}. ${machine.processors}, ${machine.memory}, ${machine.system}. ${machine.compiler}. ${versions}.`, '',
    `${settings.rounds} rounds of ${settings.seconds} s after ${settings.warmup} s of warm-up, the sides of a comparison in turns; ` +
    `server on processor ${settings.serverCpu}, load on ${settings.loadCpu}. Median, in parentheses least and most; ratios pair by pair. ` +
    `${settings.deployed ? 'The hub is built by a profile, as it is to be deployed. ' : ''}` +
    `Load average at the start ${load.start.toFixed(2)}, at the end ${load.end.toFixed(2)}` +
    `${load.start > 0.5 ? ': **the machine had other work, and these figures are worth little**' : ''}.`, '',
    ...(stalls ? ['nats-server lets producers wait when consumers are slow (2.9.10 does): its rate in a closed loop is then its choice.', ''] : []),
    ...failures.map((failure) => `- **failed**: ${failure}`), ...(failures.length > 0 ? [''] : []),
  ];
}

// The figures that a reader asks for first.
const legend = [
  '## How to read the figures', '',
  '- **CPU µs**: processor time of the server for a message, user and kernel. A request counts together with its response.',
  '- **p50 to p99.9**: time from a send to its answer. In a closed loop (a fixed number pending) most of p50 is waiting behind the other ' +
    'pending requests: p50 is about pending ÷ messages/s. An open loop (`--rate`) counts from the moment when a message was due.',
  '- **kernel entries**: system calls of the server a message, by its own counter; io_uring_enter counts once, whatever it carries.',
  '- **wrong**, in a failure: a message with other bytes or another id than it must have.',
  '- **lost**, in a failure: events that a subscriber did not get, though a later one came.',
  '- **missing**, in a failure: messages that had not come when the time for the last ones was over.',
  '- **load CPU %**: processor time of the load generator. Near 100 the generator is the limit for messages/s, but not for CPU µs.', '',
];

export function page(run) {
  const aims = run.comparisons.flatMap(aimRows);
  const head = ['', '', ...columns.map(([name]) => name)];
  return [
    ...preface(run),
    ...(aims.length > 0 ? ['## Comparisons', '', ...table(['', 'value', 'of', 'over', 'ratio', 'aim', 'met'], aims)] : []),
    ...(aims.length > 0 ? ['## All figures', '', ...table(head, run.comparisons.flatMap(figureRows))] : []),
    ...(run.sweeps.length > 0 ? ['## Sweeps', '', ...table(head, run.sweeps.flatMap(sweepRows))] : []),
    ...legend,
  ].join('\n');
}

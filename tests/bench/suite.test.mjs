// The results of bench/run: medians, ratios pair by pair, the page; and the list of its comparisons.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paired } from '../../bench/suite/against.mjs';
import { judge, spread, valueAt } from '../../bench/suite/figures.mjs';
import { svgOf, ticksOf, tickText } from '../../bench/suite/plots.mjs';
import { page } from '../../bench/suite/report.mjs';
import { peerProgram, replacePeer } from '../../bench/suite/peers.mjs';
import { comparisons, isNamed, sweeps } from '../../bench/suite/scenarios.mjs';

test('a value is found by its path, also one whose name has a dot', () => {
  assert.equal(valueAt({ cpuUs: 5 }, 'cpuUs'), 5);
  assert.equal(valueAt({ latencyUs: { 'p99.9': 7 } }, 'latencyUs.p99.9'), 7);
  assert.equal(valueAt({ latencyUs: null }, 'latencyUs.p50'), null);
  assert.equal(valueAt(null, 'cpuUs'), null);
});

test('the median of an even count lies between the middle two; what is no number is left out', () => {
  assert.deepEqual(spread([4, 1, 3, 2]), { median: 2.5, min: 1, max: 4, count: 4 });
  assert.deepEqual(spread([9, null, NaN, undefined, 1, 5]), { median: 5, min: 1, max: 9, count: 3 });
  assert.equal(spread([null]), null);
});

const runs = (...values) => values.map((cpuUs) => (cpuUs === null ? null : { cpuUs }));
const aim = { of: [0, 'cpuUs'], over: [1, 'cpuUs'], atMost: 0.5 };

test('a ratio is of the runs of one round, not of the medians', () => {
  const judged = judge(aim, [runs(1, 10, 100), runs(2, 40, 100)]);
  assert.deepEqual(judged.ratio, { median: 0.5, min: 0.25, max: 1, count: 3 });
  assert.equal(judged.met, true);
  assert.equal(judge(aim, [runs(3), runs(4)]).met, false);
});

test('a round of which one side failed is no pair', () => {
  const judged = judge(aim, [runs(1, null, 100), runs(4, 2, null)]);
  assert.deepEqual(judged.ratio, { median: 0.25, min: 0.25, max: 0.25, count: 1 });
  assert.equal(judge(aim, [runs(null), runs(1)]).met, null);
});

test('an aim may be a bound for one value, or have none', () => {
  assert.equal(judge({ of: [0, 'cpuUs'], atMost: 2 }, [runs(3)]).met, false);
  assert.equal(judge({ of: [0, 'cpuUs'], over: [1, 'cpuUs'] }, [runs(3), runs(1)]).met, null);
});

test('names are told apart, and every aim names sides and values that there are', () => {
  const names = [...comparisons, ...sweeps].map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const { aims, sides, load } of comparisons) {
    for (const [side] of aims.flatMap(({ of, over }) => (over ? [of, over] : [of]))) assert.ok(sides[side]);
    for (const field of load.flood ? ['flood'] : ['sources', 'targets', 'depth', 'body']) assert.ok(load.clients || load[field]);
  }
});

test('against another build each hub has itself for a peer, with its own figures and no bound', () => {
  const sides = [{ server: 'hub', label: 'lines', framing: '-lines' }, { server: 'nats' }, { server: 'hub', options: ['x'] }];
  const pairs = paired({ name: 'n', title: 't', load: {}, sides, aims: [{ of: [2, 'idleBytes'], atMost: 1 }, { of: [0, 'cpuUs'], over: [1, 'other'] }] }, 'abc', '/b');
  assert.deepEqual(pairs.map(({ name }) => name), ['n (lines)', 'n']);
  assert.deepEqual(pairs[0].sides, [{ server: 'hub', framing: '-lines', label: 'this' }, { server: 'hub', framing: '-lines', label: 'abc', build: '/b' }]);
  assert.deepEqual(pairs[1].sides.map((side) => side.options), [['x'], ['x']]);
  const paths = pairs.map(({ aims }) => aims.map(({ of, over, atMost }) => {
    assert.deepEqual([of[0], over[0], over[1], atMost], [0, 1, of[1], undefined]);
    return of[1];
  }));
  const always = ['cpuUs', 'messagesPerSecond', 'latencyUs.p50', 'latencyUs.p99'];
  assert.deepEqual(paths, [always, [...always, 'idleBytes']]);
});

// Bounds that were set for the hub: a change here is a change of what it promises.
test('what the hub aims at', () => {
  const bounds = comparisons.flatMap(({ name, aims }) =>
    aims.filter((one) => one.atMost).map((one) => `${name} ${one.of[1]} ${one.atMost}`));
  assert.deepEqual(bounds, [
    'request-256 cpuUs 0.4', 'request-1-pending cpuUs 0.75', 'request-1-pending latencyUs.p99 0.5', 'request-16k cpuUs 0.6',
    'events-100 cpuUs 0.35', 'events-1000 cpuUs 0.35', 'events-1000-1 cpuUs 0.75', 'events-16k cpuUs 0.35',
    'relay-4-256 cpuUs 1.05', 'relay-4-1024 cpuUs 1.05', 'relay-4-16384 cpuUs 1.05',
    'relay-first-256 cpuUs 1.25', 'relay-first-1024 cpuUs 1.2', 'relay-first-16384 cpuUs 1.1',
    'relay-last-256 cpuUs 1.3', 'relay-last-1024 cpuUs 1.35', 'relay-last-16384 cpuUs 1.25',
    'connections cpuUs 1.3', 'shards cpuUs 1.15', 'priorities highLatencyUs.p99 0.1', 'idle idleBytes 2048',
    ...['none', 'events', 'registrations', 'bodies', 'leaving', 'deserting', 'journal'].flatMap((flood) =>
      [`bystander-${flood} latencyUs.p99 5000`, `bystander-${flood} latencyUs.max 20000`]),
    'web-events cpuUs 1.1', 'web-events cpuUs 1.15', 'web-events cpuUs 1.1', 'web-events cpuUs 1.15',
    'web-events-16k cpuUs 1.1', 'web-events-16k cpuUs 1.15', 'web-events-16k cpuUs 1.1', 'web-events-16k cpuUs 1.15',
    ...Array(4).fill('web-peers cpuUs 0.5'), ...Array(4).fill('web-peers-16k cpuUs 0.5'),
    'web-requests cpuUs 1.2', 'web-requests-nats cpuUs 0.5', 'rpc cpuUs 1.5',
    'idle-websocket idleBytes 1024', 'idle-sse idleBytes 1024',
    'mcp-mcp-proxy cpuUs 0.02', 'mcp-supergateway cpuUs 0.02', 'mcp-framed cpuUs 1.6',
    'tls-256 cpuUs 1.6', 'tls-256 cpuUs 0.6', 'tls-16k cpuUs 2', 'tls-16k cpuUs 0.6',
    'users-256 cpuUs 1.03', 'sandbox-256 cpuUs 1.01',
    'cluster-request-256 cpuUs 3', 'cluster-events-1000 cpuUs 1.15',
  ]);
});

test('the page says what was met, what was not, and what failed', () => {
  const comparison = (name, atMost) => ({
    name, title: 'a title', aims: [{ ...aim, atMost }], sides: [{ server: 'hub' }, { server: 'nats' }],
  });
  const text = page({
    machine: { date: '2024-01-01', processors: '2 x Some', memory: '1 GiB', system: 'Linux', compiler: 'cc', versions: { patchbay: '1' } },
    settings: { rounds: 2, seconds: 1, warmup: 0, serverCpu: 0, loadCpu: 1 },
    load: { start: 3, end: 3 }, failures: ['x: y'],
    comparisons: [
      { comparison: comparison('good', 0.5), sides: [runs(1, 1), runs(2, 4)] },
      { comparison: comparison('bad', 0.1), sides: [runs(1, 1), runs(2, 4)] },
    ],
    sweeps: [],
  });
  assert.match(text, /\| good: a title \| server CPU \| hub 1\.00 µs .*\| 0\.375 \(0\.250 – 0\.500\) \| ≤ 0\.5 \| yes \|/);
  assert.match(text, /\| bad: .*\| ≤ 0\.1 \| \*\*no\*\* \|/);
  assert.match(text, /\*\*failed\*\*: x: y/);
  assert.match(text, /worth little/);
});

test('an axis reaches from a round number to a round number', () => {
  assert.deepEqual(ticksOf(3, 40), [2, 5, 10, 20, 50]);
  assert.deepEqual(ticksOf(0.15, 0.15), [0.1, 0.2]);
  assert.deepEqual(ticksOf(1, 90000), [1, 10, 100, 1000, 10000, 100000]);
  assert.deepEqual([1500000, 20000, 5000, 0.05].map(tickText), ['1.5M', '20k', '5000', '0.05']);
});

const sweep = { title: 'a & b', x: 'subscribers', values: [10, 1000], servers: ['hub', 'nats'] };
const plot = { y: 'cpuUs', label: 'CPU', better: 'less' };

test('a plot says what it shows and which way is better, and names each line once, where it ends', () => {
  const svg = svgOf(sweep, plot, { hub: { 10: runs(1, 2, 3), 1000: runs(4) }, nats: { 10: runs(5), 1000: runs(6) } });
  assert.match(svg, /<title>CPU, less is better<\/title>/);
  assert.match(svg, />a &amp; b</);
  assert.match(svg, />↓ less is better</);
  for (const [, name] of svg.matchAll(/class="([fs]-\w+)"/g)) assert.ok(svg.includes(`.${name} {`), name); // has a colour on a dark page
  for (const [shape] of svg.matchAll(/<(?:circle|text|polyline|rect)[^>]*>/g)) assert.match(shape, /(?:fill|stroke)="#/); // and without style sheets one
  for (const name of ['hub', 'nats']) assert.equal(svg.split(`>${name}<`).length, 2);
  assert.ok(svg.indexOf('stroke-width="6"') > svg.indexOf('stroke-width="2.5"')); // the hub's is drawn last
  assert.doesNotMatch(svg, /NaN|Infinity|undefined|transform/);
});

test('a server of which nothing was measured has no line, and a plot without lines is none', () => {
  assert.equal(svgOf(sweep, plot, { hub: {}, nats: {} }), undefined);
  const svg = svgOf(sweep, plot, { hub: { 10: runs(1), 1000: runs(null) }, nats: {} });
  assert.doesNotMatch(svg, />nats<|NaN/);
});

test('the names of lines that end in one place stand below each other', () => {
  const svg = svgOf(sweep, plot, { hub: { 10: runs(1), 1000: runs(2) }, nats: { 10: runs(3), 1000: runs(2) } });
  const at = [...svg.matchAll(/ y="([\d.]+)" class="f-(?:hub|nats)"/g)].map(([, y]) => Number(y));
  assert.equal(at.length, 2);
  assert.ok(Math.abs(at[0] - at[1]) >= 18);
});

test('a name picks itself alone, and * picks several', () => {
  assert.deepEqual(['request-256', 'request-256k', 'cluster-request-256'].map((name) => isNamed(name, 'request-256')), [true, false, false]);
  assert.deepEqual(['request-256', 'request-256k', 'cluster-request-256'].map((name) => isNamed(name, 'request-*')), [true, true, false]);
  assert.ok(isNamed('a.b', 'a.b') && !isNamed('axb', 'a.b'));
});

test('a peer is another program where that is asked for; valkey takes the place of redis', () => {
  assert.equal(replacePeer('nothing', '/x'), false);
  assert.equal(replacePeer('valkey', '/opt/valkey-server'), true);
  assert.equal(peerProgram('redis'), '/opt/valkey-server');
  assert.equal(peerProgram('nats'), 'nats-server');
});

// What bench/run makes of its measurements: medians, ratios pair by pair, the page; and the list of what it measures.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge, spread, valueAt } from '../../bench/suite/figures.mjs';
import { page } from '../../bench/suite/report.mjs';
import { comparisons, sweeps } from '../../bench/suite/scenarios.mjs';

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
    for (const field of ['sources', 'targets', 'depth', 'body']) assert.ok(load[field] > 0);
  }
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
    'connections cpuUs 1.3', 'shards cpuUs 1.15', 'idle idleBytes 2048',
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

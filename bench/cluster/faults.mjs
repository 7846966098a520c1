// How requests between hubs end at each fault. Three NATS servers and three hubs run, each in a network namespace of
// its own. 1,000 requests are in flight from the first hub to the second. Prints a table. Needs root, `ip` and
// `nats-server`.
//
// usage: faults.mjs PATCHBAYD [FAULT…]
//
// Exit status 1: a request was lost, ended twice, came to its target twice, or ended too late (router/docs/cluster.md).
// Or the cluster did not heal.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { Peer, requestText } from '../../tests/e2e/peer.mjs';

const TAKEN = 700, SENT_AT_FAULT = 300, COUNT = TAKEN + SENT_AT_FAULT;
const ANSWER_EVERY_MS = 10; // from the fault on the target answers one request after the other
const ACKNOWLEDGED_MS = 600; // after that the source's hub knows which hub has a request
const STOP_MS = 10_000, DEADLINE_MS = 20_000, WATCH_MS = 3000, HEAL_MS = 30_000;
const HEARD_S = 4, AT_ONCE_S = 1; // section "When something fails" of router/docs/cluster.md

const [patchbayd, ...only] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'patchbay-faults-'));
const prefix = `pbf${process.pid % 10_000}`;
const ip = (...words) => execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'inherit'] });
const space = (name) => `${prefix}-${name}`;

// --- The network: a switch with two bridges; hubs and servers are on the first, servers alone on the second

const SERVERS = ['s0', 's1', 's2'], HUBS = ['h0', 'h1', 'h2'];
const addressOf = (name, net = 0) => `10.77.${net}.${name[0] === 's' ? 10 + Number(name[1]) : 20 + Number(name[1])}`;

function plug(name, side) {
  const cable = `${name}-${side}`;
  ip('-n', space('switch'), 'link', 'add', cable, 'type', 'veth', 'peer', 'name', `eth${side}`, 'netns', space(name));
  ip('-n', space('switch'), 'link', 'set', cable, 'master', `bridge${side}`, 'up');
  ip('-n', space(name), 'address', 'add', `${addressOf(name, side)}/24`, 'dev', `eth${side}`);
  ip('-n', space(name), 'link', 'set', `eth${side}`, 'up');
}

function buildNetwork() {
  ip('netns', 'add', space('switch'));
  for (const side of [0, 1]) {
    ip('-n', space('switch'), 'link', 'add', `bridge${side}`, 'type', 'bridge');
    ip('-n', space('switch'), 'link', 'set', `bridge${side}`, 'up');
  }
  for (const name of [...SERVERS, ...HUBS]) {
    ip('netns', 'add', space(name));
    ip('-n', space(name), 'link', 'set', 'lo', 'up');
    plug(name, 0);
    if (name[0] === 's') plug(name, 1);
  }
}

function removeNetwork() {
  for (const name of ['switch', ...SERVERS, ...HUBS])
    try { execFileSync('ip', ['netns', 'delete', space(name)], { stdio: 'ignore' }); } catch { /* it was not made */ }
}

// What is on its way is lost, and nobody is told.
const cable = (name, side, state) => ip('-n', space('switch'), 'link', 'set', `${name}-${side}`, state);

// --- Programs

const programs = new Map();

async function start(name, command, ready) {
  const child = spawn('ip', ['netns', 'exec', space(name), ...command], { stdio: ['ignore', 'ignore', 'pipe'] });
  programs.set(name, child);
  let said = '';
  await new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text) => ready.test(said += text) && resolve());
    child.once('exit', () => reject(new Error(`${name} has ended: ${said}`)));
  });
}

function startServer(name) {
  const others = SERVERS.filter((one) => one !== name).map((one) => `nats://${addressOf(one, 1)}:6222`);
  const file = join(directory, `${name}.conf`);
  writeFileSync(file, `listen: "${addressOf(name)}:4222"\nserver_name: ${name}\nping_interval: "2s"\nping_max: 1\n`
    + `cluster { name: faults, listen: "${addressOf(name, 1)}:6222", routes: ${JSON.stringify(others)}, no_advertise: true }\n`);
  return start(name, ['nats-server', '-c', file], /Server is ready/);
}

// A hub prefers the server of its number.
function startHub(name) {
  const own = `s${name[1]}`, urls = [own, ...SERVERS.filter((one) => one !== own)].map((one) => `nats://${addressOf(one)}:4222`);
  return start(name, [patchbayd, '--listen', `unix://${directory}/${name}.sock`, '--http', 'off', '--nats', urls.join(','), '--cluster', 'faults',
    '--hub-name', name, '--insecure'], /stands, as hub/);
}

async function end(name, signal = 'SIGKILL') {
  const child = programs.get(name);
  programs.delete(name);
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGCONT');
  child.kill(signal);
  await ended;
}

async function dial(hub) {
  const socket = net.connect(join(directory, `${hub}.sock`));
  await once(socket, 'connect');
  return new Peer(socket);
}

// --- Peers

// Holds what it is asked, and counts how often each request came.
class Target {
  constructor(peer) {
    this.peer = peer;
    this.held = [];
    this.came = new Array(COUNT).fill(0);
    peer.frames = { push: (frame) => this.take(frame.json), findIndex: () => -1 };
  }

  take({ id, method, params }) {
    if (method === 'find') this.peer.reply(id, 'here');
    if (method !== 'work') return;
    this.came[params.number]++;
    this.held.push(id);
    if (this.held.length === TAKEN) this.full?.();
  }

  answer() {
    const id = this.held.shift();
    if (id !== undefined) this.peer.reply(id, 'done');
  }
}

// Sends requests, and keeps when and how each ended.
class Source {
  constructor(peer) {
    this.peer = peer;
    this.ends = [];
    this.times = new Array(COUNT).fill(0);
    peer.frames = { push: (frame) => this.take(frame.json), findIndex: () => -1 };
  }

  take({ id, error }) {
    if (typeof id !== 'number') return;
    this.times[id]++;
    this.ends.push({ at: performance.now(), code: error ? error.code : 0, reason: error?.data?.reason ?? error?.data?.link });
    if (this.ends.length === COUNT) this.over?.();
  }

  send(from, to) {
    let bytes = [];
    for (let number = from; number < to; number++)
      bytes.push(this.peer.wire.write(requestText(number, 'work', { targetAgent: 'target', number })));
    return this.peer.write(Buffer.concat(bytes));
  }
}

// Until a request that crosses is answered; returns in how many seconds.
async function found() {
  const from = performance.now();
  for (let answer; performance.now() - from < HEAL_MS; await sleep(50)) {
    const peer = await dial('h0').catch(() => null);
    answer = await peer?.ask('find', { targetAgent: 'target' }).catch(() => null);
    peer?.drop();
    if (answer?.result === 'here') return (performance.now() - from) / 1000;
  }
  return Infinity;
}

async function target() {
  const peer = await dial('h1');
  await peer.register('target');
  return new Target(peer);
}

// --- Faults

// Each: what goes wrong, within how many seconds all requests end, and what makes good. `wrong` returns when the fault has happened.
const signal = (name, word) => programs.get(name).kill(word);
const stopped = (name) => ({ wrong: () => signal(name, 'SIGSTOP'), right: () => signal(name, 'SIGCONT') });
const parted = (name, side = 0) => ({ wrong: () => cable(name, side, 'down'), right: () => cable(name, side, 'up') });
const killed = (name, begin) => ({ wrong: () => end(name), right: () => begin(name) });
const FAULTS = {
  'hub-of-target-killed': { ...killed('h1', startHub), bound: HEARD_S, targetGone: true },
  'hub-of-target-parted': { ...parted('h1'), bound: HEARD_S },
  'hub-of-target-stopped': { ...stopped('h1'), bound: HEARD_S },
  'hub-of-source-parted': { ...parted('h0'), bound: HEARD_S },
  // It says nothing while it stands still, and notices by its own clock.
  'hub-of-source-stopped': { ...stopped('h0'), lasts: true, bound: STOP_MS / 1000 + AT_ONCE_S },
  'server-of-target-killed': { ...killed('s1', startServer), bound: HEARD_S },
  'server-of-target-parted': { ...parted('s1'), bound: HEARD_S },
  'server-of-target-stopped': { ...stopped('s1'), bound: HEARD_S },
  'server-of-source-killed': { ...killed('s0', startServer), bound: AT_ONCE_S },
  'server-of-source-parted': { ...parted('s0'), bound: HEARD_S },
  'server-of-source-stopped': { ...stopped('s0'), bound: HEARD_S },
  'servers-apart': { ...parted('s1', 1), bound: HEARD_S },
};

const within = (promise, ms) => Promise.race([promise, sleep(ms, undefined, { ref: false })]);

async function measure(name, fault) {
  const agent = await target(), source = new Source(await dial('h0'));
  if (await found() === Infinity) throw new Error(`${name}: the hubs don't find each other`);
  const full = new Promise((resolve) => { agent.full = resolve; }), over = new Promise((resolve) => { source.over = resolve; });
  await source.send(0, TAKEN);
  await full;
  await sleep(ACKNOWLEDGED_MS);
  source.send(TAKEN, COUNT);
  const from = performance.now();
  await fault.wrong();
  const answers = setInterval(() => agent.answer(), ANSWER_EVERY_MS);
  if (fault.lasts) {
    await sleep(STOP_MS);
    await fault.right();
  }
  await within(over, DEADLINE_MS);
  if (!fault.lasts && !fault.targetGone) await sleep(Math.max(0, STOP_MS - (performance.now() - from)));
  if (!fault.lasts) await fault.right();
  const back = fault.targetGone ? await target() : agent;
  const healed = await found();
  await sleep(WATCH_MS); // whether anything ends again
  clearInterval(answers);
  for (const one of [source.peer, agent.peer, back.peer]) one.drop();
  const codes = {};
  for (const { code, reason } of source.ends) if (code) codes[reason ? `${code} ${reason}` : code] = (codes[reason ? `${code} ${reason}` : code] ?? 0) + 1;
  return {
    name, bound: fault.bound, healed, answered: source.ends.filter((one) => !one.code).length, codes,
    lost: source.times.filter((times) => times === 0).length, doubled: source.times.filter((times) => times > 1).length,
    twice: agent.came.filter((times) => times > 1).length, slowest: Math.max(...source.ends.map((one) => one.at - from)) / 1000,
  };
}

async function main() {
  const rows = [];
  const load = loadavg()[0].toFixed(1);
  buildNetwork();
  for (const [name, fault] of Object.entries(FAULTS)) if (!only.length || only.includes(name)) {
    // Each fault has programs of its own: hubs stay at the server that they have gone to.
    for (const server of SERVERS) await startServer(server);
    for (const hub of HUBS) await startHub(hub);
    rows.push(await measure(name, fault));
    process.stderr.write(`${JSON.stringify(rows.at(-1))}\n`);
    for (const program of [...HUBS, ...SERVERS]) await end(program, 'SIGTERM');
  }
  console.log(`${COUNT} requests in flight, load average ${load}\n`);
  console.log('| fault | in flight | answered | errors | lost | ended twice | at the target twice | slowest end, s | bound, s | healed after, s |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const row of rows) {
    const codes = Object.entries(row.codes).map(([code, count]) => `${count} × ${code}`).join(', ') || '0';
    console.log(`| ${row.name} | ${COUNT} | ${row.answered} | ${codes} | ${row.lost} | ${row.doubled} | ${row.twice} | ${row.slowest.toFixed(2)} | ${row.bound} | ${row.healed.toFixed(2)} |`);
  }
  if (rows.some((row) => row.lost || row.doubled || row.twice || !(row.slowest <= row.bound) || row.healed === Infinity)) process.exitCode = 1;
}

try {
  await main();
} finally {
  for (const name of [...programs.keys()]) await end(name);
  removeNetwork();
  rmSync(directory, { recursive: true });
}

// The load generator, `patchbay bench`: every exchange through a real hub. Servers with faults show that the generator
// finds their faults.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { file } from './certificates.mjs';
import { scenario } from './hub.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the patchbay to test');
const refuser = process.env.REFUSE;
const relayProgram = process.env.BENCH_RELAY; // built where the benchmarks are

const running = new Set();
after(() => running.forEach((one) => one.kill('SIGKILL')));

// Runs the load to its end: {status, report, error}.
function bench(before, load, ...options) {
  return run([program, ...before, 'bench', ...load.map(String), '--warmup', '0.05', '--json', ...options]);
}

function run(command) {
  const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60000, killSignal: 'SIGKILL' });
  running.add(child);
  let out = '', error = '';
  child.stdout.on('data', (bytes) => (out += bytes));
  child.stderr.on('data', (bytes) => (error += bytes));
  return new Promise((resolve) => {
    child.once('close', (status) => {
      running.delete(child);
      resolve({ status, report: status < 2 && out ? JSON.parse(out) : null, error });
    });
  });
}

async function assertGood(result) {
  const { status, report, error } = await result;
  assert.equal(status, 0, error);
  assert.ok(report.messages > 0);
  assert.deepEqual([report.wrong, report.lost, report.missing], [0, 0, 0]);
  const [least, most] = [0.0005, -0.0005].map((off) => report.messages / (report.seconds + off)); // it is rounded
  const { messagesPerSecond } = report;
  assert.ok(messagesPerSecond > least - 0.01 && messagesPerSecond < most + 0.01, JSON.stringify(report));
  const { p50, p90, p99, max } = report.latencyUs;
  assert.ok(p50 <= p90 && p90 <= p99 && p99 <= max, JSON.stringify(report.latencyUs));
  return report;
}

// --- A real hub

const loads = {
  'requests': [[4, 2, 16, 256, 0.1]],
  'an id behind the params': [[4, 2, 16, 1024, 0.1], '--id-last'],
  'large bodies': [[2, 2, 2, 262144, 0.5]],
  'bodies smaller than can be': [[4, 2, 16, 1, 0.1]],
  'few in flight at many': [[40, 2, 4, 256, 0.1], '--in-flight', '8'],
  'a rate': [[10, 2, 64, 256, 0.2], '--rate', '2000'],
  'connections that idle': [[2, 2, 4, 256, 0.1], '--idle', '50'],
  'a trickle': [[4, 2, 16, 256, 0.1], '--trickle'],
  'large bodies in a trickle': [[2, 2, 2, 262144, 0.5], '--trickle'],
  'events': [[1, 20, 8, 256, 0.1], '--events'],
  'large events at a rate': [[1, 5, 8, 65536, 0.5], '--events', '--rate', '200'],
  'a subscriber that never reads': [[1, 5, 8, 1024, 0.1], '--events', '--slow', '1'],
};

for (const [name, [load, ...options]] of Object.entries(loads)) {
  scenario(`a load of ${name}`, { shards: [1, 2] }, async (hub) => {
    const report = await assertGood(bench(['--hub', hub.uri()], load, ...options));
    assert.equal(report.protocol, 'patchbay');
    assert.ok(report.cpuUs > 0 && report.kernelEntries > 0 && report.residentBytes >= report.anonymousBytes);
  });
}

const here = dirname(fileURLToPath(import.meta.url));
const programs = join(here, '../../bench/clients');
process.env.PYTHONPATH = join(here, '../../tools/clients/python/src');
process.env.PYTHONDONTWRITEBYTECODE = '1';

for (const command of ['python3 python_loop.py', 'python3 python_loop.py --batch', 'python3 python_library.py', 'node node_loop.mjs', 'node node_loop.mjs --batch', 'node node_library.mjs']) {
  scenario(`targets that are programs: ${command}`, { transports: ['tcp', 'unix'] }, async (hub) => {
    const report = await assertGood(bench(['--hub', hub.uri()], [4, 2, 16, 256, 0.2], '--program', command.replace(' ', ` ${programs}/`)));
    assert.ok(report.programCpuUs > 0);
  });
}

scenario('programs that are no targets', {}, async (hub) => {
  for (const command of ['true', 'echo ready; exit 1;', '/nothing']) {
    const { status } = await bench(['--hub', hub.uri()], [1, 1, 1, 256, 0.1], '--program', command);
    assert.notEqual(status, 0, command);
  }
  const { status, error } = await bench(['--hub', hub.uri()], [1, 1, 1, 256, 0.1], '--events', '--program', 'true');
  assert.deepEqual([status, error.includes('no such exchange')], [1, true]);
});

for (const [load, ...options] of [loads.requests, loads['large bodies'], loads.events]) {
  scenario(`a load in lines: ${[...load, ...options].join(' ')}`, { transports: ['tcp-lines', 'unix-lines'] }, async (hub) => {
    const report = await assertGood(bench(['--hub', hub.uri()], load, ...options));
    assert.equal(report.protocol, 'patchbay-lines');
    assert.ok(report.cpuUs > 0 && report.kernelEntries > 0);
  });
}

for (const [load, ...options] of [loads.requests, loads['large bodies'], loads.events]) {
  scenario(`a load over TLS: ${[...load, ...options].join(' ')}`, { transports: ['tls', 'tls-lines'] }, async (hub) => {
    const report = await assertGood(bench(['--tls-ca', file('authority.pem'), '--hub', hub.uri()], load, ...options));
    assert.equal(report.protocol, hub.transport === 'tls' ? 'patchbay' : 'patchbay-lines');
    assert.ok(report.cpuUs > 0 && report.kernelEntries > 0);
  });
}

const WEB = { transports: ['tcp'], options: ['--http', '127.0.0.1:0'] };
for (const [scheme, [load, ...options], protocol] of [['ws', loads.requests, 'patchbay-websocket'], ['ws', loads['large bodies'], 'patchbay-websocket'],
  ['ws', loads.events, 'patchbay-websocket'], ['http', loads.requests, 'patchbay-websocket'], ['http', loads.events, 'patchbay-sse']]) {
  scenario(`a load over ${scheme}: ${[...load, ...options].join(' ')}`, WEB, async (hub) => {
    const at = hub.uri('http').replace('http', scheme);
    assert.equal((await assertGood(bench(['--hub', at], load, ...options))).protocol, protocol);
    assert.equal((await assertGood(bench(['--hub', at], load, ...options, '--sources', hub.uri()))).protocol, protocol);
  });
}

scenario('two priorities are told apart', {}, async (hub) => {
  // Long enough that both come through on a machine that stands still for a while.
  const report = await assertGood(bench(['--hub', hub.uri()], [4, 1, 16, 256, 0.5], '--high', '50'));
  assert.ok(report.highLatencyUs.max > 0);
});

scenario('a rate that the hub can keep is kept', {}, async (hub) => {
  const report = await assertGood(bench(['--hub', hub.uri()], [4, 2, 64, 256, 1], '--rate', '500'));
  const rate = report.messagesPerSecond; // in a closed loop it would be tens of thousands
  assert.ok(rate > 250 && rate < 1000, `${rate} of 500 a second`);
});

const ENOSYS = '38', IO_URING_SETUP = '425';
scenario('where the kernel refuses io_uring, the load goes by epoll', {}, async (hub) => {
  assert.ok(refuser, 'REFUSE must name the program that refuses system calls');
  for (const options of [['4', '2', '16', '256', '0.1'], ['1', '10', '8', '65536', '0.1', '--events']]) {
    await assertGood(run([refuser, ENOSYS, IO_URING_SETUP, program, '--hub', hub.uri(), 'bench', ...options, '--json']));
  }
});

// --- Servers that do it wrong, in redis's protocol

// A server that makes of each event what `deliver(event, number)` gives: a list of bodies, which go to every
// subscriber.
async function redis(deliver) {
  const subscribers = [];
  let number = 0;
  const server = net.createServer((socket) => {
    let held = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      held = Buffer.concat([held, bytes]);
      for (let taken; (taken = take(held)); held = held.subarray(taken.bytes)) {
        if (taken.subscribe) {
          subscribers.push({ socket, channel: taken.subscribe });
          socket.write(`*3\r\n$9\r\nsubscribe\r\n$${taken.subscribe.length}\r\n${taken.subscribe}\r\n:1\r\n`);
        } else if (taken.event) {
          socket.write(`:${subscribers.length}\r\n`);
          for (const body of deliver(taken.event, ++number)) {
            for (const one of subscribers) {
              one.socket.write(`*3\r\n$7\r\nmessage\r\n$${one.channel.length}\r\n${one.channel}\r\n$${body.length}\r\n${body}\r\n`);
            }
          }
        } else {
          socket.write('+PONG\r\n');
        }
      }
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { peer: ['--peer', `redis=127.0.0.1:${server.address().port}`], close: () => server.close() };
}

// The first whole command: PING and SUBSCRIBE come as a line, PUBLISH as an array of three strings.
function take(held) {
  const text = held.toString('latin1');
  const line = /^(PING|SUBSCRIBE (\S+))\r\n/.exec(text);
  if (line) return { bytes: line[0].length, subscribe: line[2] };
  const head = /^\*3\r\n\$7\r\nPUBLISH\r\n\$\d+\r\n\S+\r\n\$(\d+)\r\n/.exec(text);
  if (!head || text.length < head[0].length + Number(head[1]) + 2) return null;
  return { bytes: head[0].length + Number(head[1]) + 2, event: text.substr(head[0].length, Number(head[1])) };
}

async function against(deliver, load, ...options) {
  const server = await redis(deliver);
  try {
    return await bench([], load, '--events', ...server.peer, ...options);
  } finally {
    server.close();
  }
}

const EVENTS = [1, 3, 4, 256, 0.2];

test('a server that does it right is found to', async () => {
  const report = await assertGood(against((event) => [event], EVENTS));
  assert.equal(report.protocol, 'redis');
});

test('an event that did not come is lost', async () => {
  const { status, report } = await against((event, number) => (number % 10 === 5 ? [] : [event]), EVENTS);
  assert.equal(status, 1);
  assert.ok(report.lost > 0);
  assert.equal(report.wrong, 0);
});

test('an event that comes twice is wrong', async () => {
  const { status, report } = await against((event, number) => (number % 10 === 5 ? [event, event] : [event]), EVENTS);
  assert.equal(status, 1);
  assert.ok(report.wrong > 0);
  assert.equal(report.lost, 0);
});

test('an event with another nonce is wrong', async () => {
  const change = (event) => event.replace(/"nonce":"(.)/, (found, letter) => `"nonce":"${letter === 'a' ? 'b' : 'a'}`);
  const { status, report, error } = await against((event, number) => (number === 5 ? [change(event)] : [event]), EVENTS);
  assert.equal(status, 1);
  assert.ok(report.wrong > 0);
  assert.match(error, /the first wrong message: .*sequence/);
});

test('a server that says nothing leaves all of it missing', async () => {
  const { status, report } = await against(() => [], [1, 1, 4, 256, 0.1]);
  assert.equal(status, 1);
  assert.equal(report.missing, 4);
});

// The one stall is 300 ms of a second. In the closed loop one event waits for it; in the open loop all that were due
// meanwhile, a third of them, also those that could not even be sent.
test('an open loop charges a stall to all that were due in it', async () => {
  const stalling = () => {
    const begun = Date.now();
    let stalled = false;
    return (event) => {
      if (!stalled && Date.now() - begun > 400) {
        stalled = true;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      }
      return [event];
    };
  };
  const closed = await assertGood(against(stalling(), [1, 1, 1, 256, 1]));
  const open = await assertGood(against(stalling(), [1, 1, 4, 256, 1], '--rate', '500'));
  assert.ok(closed.latencyUs.max > 290000, 'the closed loop saw the stall once');
  assert.ok(open.latencyUs.p90 > 100000, `open ${open.latencyUs.p90} µs`);
  assert.ok(closed.latencyUs.p90 < open.latencyUs.p90 / 2, `closed ${closed.latencyUs.p90} µs`);
});

// --- What can't be run

test('what means nothing is status 2, what a protocol has not is status 1', async () => {
  assert.equal((await bench([], [1, 1, 1, 256])).status, 2);
  assert.equal((await bench([], [2, 1, 1, 256, 0.1], '--events')).status, 2);
  assert.equal((await bench([], [1, 1, 1, 256, 0.1], '--rate', '5', '--in-flight', '5')).status, 2);
  assert.equal((await bench([], [1, 1, 1, 256, 0.1], '--peer', 'smoke=127.0.0.1:1')).status, 2);
  const { status, error } = await bench([], [1, 1, 1, 256, 0.1], '--peer', 'redis=127.0.0.1:1');
  assert.equal(status, 1);
  assert.match(error, /no such exchange/);
  assert.equal((await bench([], [1, 1, 1, 256, 0.1], '--events', '--peer', 'redis=127.0.0.1:1')).status, 3);
});

// --- The blind relay

// Starts one on a port of its own; its URI.
async function startRelay(blockBytes, ...options) {
  const child = spawn(relayProgram, ['tcp://127.0.0.1:0', String(blockBytes), ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.add(child);
  child.once('close', () => running.delete(child));
  const line = await new Promise((resolve) => child.stderr.once('data', (bytes) => resolve(String(bytes))));
  return { child, uri: /^listening (\S+)\n/.exec(line)[1] };
}

for (const [name, body, ...options] of [['small blocks', 256], ['large blocks', 16384], ['one to one', 256, '--one-to-one']]) {
  test(`every answer comes back through the blind relay: ${name}`, { skip: !relayProgram && 'it is not built' }, async () => {
    const relay = await startRelay(body + 24, ...options);
    await assertGood(bench([], [5, 3, 16, body, 0.2], '--peer', `relay=${relay.uri}`));
    relay.child.kill();
  });
}

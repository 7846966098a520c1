// The way of spans to a collector: dead, slow, refusing, lying and dripping ones; Retry-After; partial success; what waits,
// what is dropped, and what is sent at the hub's end. Each span is counted once.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Collector, attributes } from './collector.mjs';
import { Hub } from './hub.mjs';
import { test } from './parallel.mjs';
import { within } from './peer.mjs';

const ALWAYS = ['--trace-sample', '1'];

// A hub and somebody who answers, both ready; `url` says where spans go.
async function start(url, options = [], shards = 2) {
  const hub = await Hub.start(['--shards', `${shards}`, '--otlp', url, ...ALWAYS, ...options]);
  (await hub.agent('worker')).serve(() => 1);
  hub.asker = await hub.peer();
  return hub;
}

// Asks so many times, and has all answers.
async function ask(hub, count, method = 'work') {
  for (let at = 0; at < count; at++) hub.asker.send({ jsonrpc: '2.0', id: at, method, params: { targetAgent: 'worker' } });
  for (let at = 0; at < count; at++) await hub.asker.next();
}

async function counted(hub) {
  const { result } = await (await hub.peer()).ask('hub/stats', {});
  const { spans_exported: exported, spans_dropped_queue: queue, spans_dropped_rate: rate, spans_dropped_refused: refused } = result.counters ?? result;
  return { exported, queue, rate, refused };
}

async function until(hub, holds, what) {
  for (const end = Date.now() + 20_000; ; await sleep(50)) {
    const counts = await counted(hub);
    if (holds(counts)) return counts;
    assert.ok(Date.now() < end, `${what}: ${JSON.stringify(counts)}`);
  }
}

// A port where nobody listens.
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

// A server that does with each connection what it is told, as HTTP or not.
async function raw(serve) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    server.connections.push(Date.now());
    serve(socket, server.connections.length);
  });
  server.connections = [];
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.url = `http://127.0.0.1:${server.address().port}`;
  server.finish = () => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  };
  return server;
}

// The longest begins first. A connection is noted when this process gets round to it: between two of them may be less than the hub has waited.
test('a POST has ten seconds, whoever is silent or drips', async () => {
  const server = await raw((socket, number) => {
    if (number === 1) return; // takes nothing and says nothing
    if (number > 2) return socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'));
    const drip = setInterval(() => socket.write('x'), 100);
    socket.write('HTTP/1.1 200 OK\r\nA: ');
    socket.on('close', () => clearInterval(drip));
  });
  const hub = await start(server.url, [], 1);
  try {
    await ask(hub, 2);
    await within(new Promise((resolve) => {
      const look = setInterval(() => {
        if (server.connections.length < 3) return;
        clearInterval(look);
        resolve();
      }, 50);
    }), 'three connections', 30_000);
    const [one, two, three] = server.connections;
    assert.ok(two - one >= 10_500 && two - one < 12_500, `${two - one}`);
    assert.ok(three - two >= 11_500 && three - two < 13_500, `${three - two}`);
    await until(hub, ({ exported }) => exported === 2, 'exported');
    await ask(hub, 1); // nobody waited for any of it
  } finally {
    await hub.stop();
    server.finish();
  }
});

test('spans wait for a collector that is dead, and for one that comes back', async () => {
  const port = await freePort();
  const hub = await start(`http://127.0.0.1:${port}`);
  let collector;
  try {
    await ask(hub, 20);
    while (!hub.stderr.includes(`collector 127.0.0.1:${port}: Connection refused`)) await once(hub.process.stderr, 'data');
    assert.deepEqual(await counted(hub), { exported: 0, queue: 0, rate: 0, refused: 0 });
    assert.deepEqual(hub.stderr.match(/collector .*/g), [`collector 127.0.0.1:${port}: Connection refused`]);
    collector = await Collector.open(port);
    await collector.until(({ spans }) => spans.length === 20, 'all spans');
    await until(hub, ({ exported }) => exported === 20, 'all are exported');
    assert.equal(new Set(collector.spans.map(({ spanId }) => spanId)).size, 20);
  } finally {
    await hub.stop();
    await collector?.close();
  }
});

test('Retry-After is heeded, and without it a pause doubles', async () => {
  const collector = await Collector.open();
  const heads = [[503, { 'retry-after': '2' }], [429, {}], [502, {}], [504, { 'retry-after': 'soon' }]];
  collector.takes = () => heads.length === 0;
  collector.answer = (response) => {
    const [status, fields] = heads.shift() ?? [200, {}];
    response.writeHead(status, fields).end();
  };
  const hub = await start(collector.url);
  try {
    await ask(hub, 3);
    await collector.until(({ posts }) => posts.length === 5, 'five POSTs');
    const [one, two, three, four, five] = collector.posts.map(({ time }) => time);
    const pauses = [two - one, three - two, four - three, five - four];
    for (const [at, least] of [2000, 1000, 2000, 4000].entries())
      assert.ok(pauses[at] >= least - 400 && pauses[at] < least + 1500, `${pauses}`);
    assert.equal(new Set(collector.posts.map(({ text }) => text)).size, 1, 'the same spans each time');
    assert.deepEqual(await until(hub, ({ exported }) => exported === 3, 'exported'), { exported: 3, queue: 0, rate: 0, refused: 0 });
  } finally {
    await hub.stop();
    await collector.close();
  }
});

test('other refusals are for good, and so is what a partial success leaves out', async () => {
  const collector = await Collector.open();
  const answers = [
    [400, ''], [404, '{"partialSuccess":{"rejectedSpans":"1"}}'], [301, ''], [500, ''],
    [200, '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}'], [200, '{"partialSuccess":{"rejectedSpans":1}}'],
    [200, '{"partialSuccess":{"rejectedSpans":"99"}}'], [200, '{"partialSuccess":{"rejectedSpans":"-1"}}'],
    [200, ' \n{ "partialSuccess" : { "rejectedSpans" : "2" } } '], [202, '{"partialSuccess":{}}'], [200, ''], [200, 'no JSON'], [204, ''],
  ];
  const refused = [3, 3, 3, 3, 2, 1, 3, 0, 2, 0, 0, 0, 0];
  collector.answer = (response, post) => {
    const [status, body] = answers[collector.posts.indexOf(post)];
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
  const hub = await start(collector.url);
  try {
    for (const at of answers.keys()) {
      await ask(hub, 3);
      await collector.until(({ posts }) => posts.length === at + 1, `POST ${at}`);
      const sum = refused.slice(0, at + 1).reduce((all, one) => all + one, 0);
      const wanted = { exported: 3 * (at + 1) - sum, queue: 0, rate: 0, refused: sum };
      assert.deepEqual(await until(hub, ({ exported, refused: lost }) => exported + lost === 3 * (at + 1), `${answers[at]}`), wanted, `${answers[at]}`);
    }
    assert.match(hub.stderr, /spans dropped/);
    assert.match(hub.stderr, /collector 127\.0\.0\.1:\d+: it answers \d\d\d\n/);
  } finally {
    await hub.stop();
    await collector.close();
  }
});

test('an answer of any size and speed decides, and no count of rejected spans is lost', async () => {
  const taken = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n', rejects = '"rejectedSpans":"1"', length = (body) => `${taken}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunks = (body) => `${taken}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const late = `{"partialSuccess":{"errorMessage":"${'no, '.repeat(50_000)}",${rejects}}}`;
  const serves = [ // [what is done, how many spans are rejected, whether the answer couldn't be read so far]
    [(socket) => socket.end(`${taken}Content-Length: 1073741824\r\n\r\n{`), 0, 1],
    [(socket) => socket.end(`${taken}Content-Length: 1073741824\r\n\r\n{"partialSuccess":{${rejects},`), 1, 0],
    [(socket) => socket.end(`${taken}Content-Length: 99999999999\r\n\r\n{"partialSuccess":{${rejects}}}`), 0, 1],
    [(socket) => socket.write(`${taken}\r\n${' '.repeat(2_000_000)}`), 0, 1],
    [(socket) => socket.write(`${taken}\r\n{"partialSuccess":{${rejects},"errorMessage":"${'x'.repeat(1_000_000)}`), 1, 0],
    [(socket) => socket.write(length(late)), 1, 0],
    [(socket) => socket.write(chunks(late)), 1, 0],
    [(socket) => socket.end(`${taken}\r\n${late}`), 1, 0],
    [(socket) => socket.end(`${taken}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`), 0, 0],
    [(socket) => socket.end(`HTTP/1.1 100 Continue\r\n\r\n${taken}\r\n{}`), 0, 0],
    [(socket) => {
      const bytes = `${taken}Content-Length: 2\r\n\r\n{}`;
      let at = 0;
      const drip = setInterval(() => (at < bytes.length ? socket.write(bytes[at++]) : clearInterval(drip)), 5);
      socket.on('close', () => clearInterval(drip));
    }, 0, 0],
  ];
  await Promise.all(serves.map(async ([serve, refused, unread], at) => {
    const server = await raw((socket) => socket.once('data', () => serve(socket)));
    const hub = await start(server.url, [], 1);
    try {
      await ask(hub, 2);
      const counts = await until(hub, (now) => now.exported + now.refused === 2, `answer ${at}`);
      assert.deepEqual(counts, { exported: 2 - refused, queue: 0, rate: 0, refused }, `answer ${at}`);
      const { result } = await (await hub.peer()).ask('hub/stats', {});
      assert.equal((result.counters ?? result).span_answers_unread, unread, `answer ${at}`);
      assert.equal(server.connections.length, 1);
    } finally {
      await hub.stop();
      server.finish();
    }
  }));
});

test('what is no answer is none: the spans are sent again', async () => {
  const serves = [
    [(socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n'), "its answer isn't HTTP, or isn't whole"],
    [(socket) => socket.destroy(), 'no answer'],
    [(socket) => socket.resetAndDestroy(), 'Connection reset by peer'],
    [(socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2'), "its answer isn't HTTP, or isn't whole"],
    [(socket) => socket.write(`HTTP/1.1 200 OK\r\nA: ${'x'.repeat(100_000)}`), "its answer isn't HTTP, or isn't whole"],
  ];
  for (const [at, [serve, reason]] of serves.entries()) {
    const server = await raw((socket, number) => {
      socket.once('data', () => (number === 1 ? serve(socket) : socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')));
    });
    const hub = await start(server.url, [], 1);
    try {
      await ask(hub, 2);
      assert.deepEqual(await until(hub, ({ exported }) => exported === 2, `answer ${at}`), { exported: 2, queue: 0, rate: 0, refused: 0 });
      assert.equal(server.connections.length, 2, `answer ${at}`);
      assert.deepEqual(hub.stderr.match(/collector .*/g), [`collector ${new URL(server.url).host}: ${reason}`], `answer ${at}`);
      assert.ok(server.connections[1] - server.connections[0] >= 600);
    } finally {
      await hub.stop();
      server.finish();
    }
  }
});

test('a refusal that comes before the spans are read counts', async () => {
  const server = await raw((socket) => {
    socket.pause();
    socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n');
  });
  const hub = await start(server.url, [], 1);
  try {
    await ask(hub, 5);
    assert.deepEqual(await until(hub, ({ refused }) => refused === 5, 'refused'), { exported: 0, queue: 0, rate: 0, refused: 5 });
  } finally {
    await hub.stop();
    server.finish();
  }
});

const residentKb = (hub) => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${hub.process.pid}/status`, 'utf8'))[1]);

test('8,192 spans wait at most, and later ones are dropped', async () => {
  const port = await freePort();
  const hub = await start(`http://127.0.0.1:${port}`, ['--trace-rate', '1000000']);
  let collector;
  try {
    for (let round = 0; round < 10; round++) await ask(hub, 1000, 'm');
    const full = await counted(hub);
    assert.equal(full.exported + full.rate + full.refused, 0);
    const waiting = 10_000 - full.queue;
    assert.ok(waiting <= 8192 && waiting > 3000, `${waiting} wait`); // by their number or their memory
    const before = residentKb(hub);
    await ask(hub, 1000, 'm');
    assert.equal((await counted(hub)).queue, full.queue + 1000);
    const sanitized = /lib[at]san/.test(readFileSync(`/proc/${hub.process.pid}/maps`, 'latin1')); // it holds on to what was given back
    assert.ok(sanitized || residentKb(hub) - before < 2048, 'nothing more is kept');
    collector = await Collector.open(port);
    await collector.until(({ spans }) => spans.length === waiting, 'all that waited');
    assert.ok(collector.posts.every(({ spans }) => spans.length <= 512));
    const counts = await until(hub, ({ exported }) => exported === waiting, 'exported');
    assert.equal(counts.exported + counts.queue, 11_000);
    assert.match(hub.stderr, /spans dropped/);
  } finally {
    await hub.stop();
    await collector?.close();
  }
});

test('past the rate there are no spans', async () => {
  const collector = await Collector.open();
  const hub = await start(collector.url, ['--trace-rate', '10'], 4);
  try {
    const askers = await Promise.all([hub.peer(), hub.peer(), hub.peer()]);
    const began = Date.now();
    for (const asker of askers) for (let at = 0; at < 100; at++) asker.send({ jsonrpc: '2.0', id: at, method: 'work', params: { targetAgent: 'worker' } });
    for (const asker of askers) for (let at = 0; at < 100; at++) await asker.next();
    const seconds = Math.ceil((Date.now() - began) / 1000) + 1;
    const counts = await until(hub, ({ exported, rate }) => exported + rate === 300, 'all');
    assert.ok(counts.exported >= 10 && counts.exported <= 10 * seconds, JSON.stringify({ counts, seconds }));
    assert.equal(collector.spans.length, counts.exported);
  } finally {
    await hub.stop();
    await collector.close();
  }
});

test('at its end the hub sends what waits', async () => {
  for (const shards of [1, 3]) {
    const collector = await Collector.open();
    const hub = await start(collector.url, [], shards);
    try {
      await ask(hub, 700);
    } finally {
      await hub.stop();
      await collector.close();
    }
    assert.equal(collector.spans.length, 700);
  }
});

test('spans of requests that the drain ends are sent, too', async () => {
  const collector = await Collector.open();
  const hub = await Hub.start(['--shards', '2', '--otlp', collector.url, ...ALWAYS, '--drain-timeout', '300ms']);
  try {
    const target = await hub.agent('worker');
    const asker = await hub.peer();
    for (let at = 0; at < 3; at++) asker.send({ jsonrpc: '2.0', id: at, method: 'work', params: { targetAgent: 'worker' } });
    for (let at = 0; at < 3; at++) await target.next();
    hub.process.kill('SIGTERM');
    for (let at = 0; at < 3; at++) assert.equal((await asker.next()).json.error.code, -32050);
    await hub.ended();
    assert.equal(collector.spans.length, 3);
    for (const { status, attributes } of collector.spans) {
      assert.equal(status.code, 2);
      assert.ok(attributes.some(({ key, value }) => key === 'error.type' && value.stringValue === '-32050'));
    }
  } finally {
    hub.process.kill('SIGKILL');
    hub.clean();
    await collector.close();
  }
});

test('a dead or silent collector holds no end up', async () => {
  const silent = await raw(() => {});
  for (const url of [`http://127.0.0.1:${await freePort()}`, silent.url]) {
    const hub = await start(url, ['--drain-timeout', '1s']);
    await ask(hub, 10);
    const began = Date.now();
    hub.peers.forEach((peer) => peer.drop());
    hub.process.kill('SIGTERM');
    await hub.ended();
    assert.ok(Date.now() - began < 2500, `${Date.now() - began} ms`);
    assert.match(hub.stderr, /10 spans dropped/);
    hub.clean();
  }
  silent.finish();
});

test('what can\'t be a collector, a part or a rate is named, and nothing that may be a secret', async () => {
  const check = (...args) => new Promise((resolve) => {
    execFile(process.env.PATCHBAYD, ['--check', '--sandbox', 'off', '--listen', 'tcp://127.0.0.1:0', ...args], (error, _, stderr) => resolve({ status: error?.code ?? 0, stderr }));
  });
  const good = [
    ['--otlp', 'http://127.0.0.1:4318'], ['--otlp', 'http://localhost:4318/'], ['--otlp', 'http://[::1]:4318/v1/traces?x=1'],
    ['--otlp', 'http://otel.example:4318', '--insecure'], ['--otlp', 'http://192.0.2.1:4318', '--insecure'],
    ['--trace-sample', '0'], ['--trace-sample', '1'], ['--trace-sample', '0.000000001'], ['--trace-rate', '1'], ['--trace-parent', 'hub'],
  ];
  for (const args of good) {
    const { status, stderr } = await check(...args);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' }, args.join(' '));
  }
  const bad = [
    ['otlp', 'https://127.0.0.1:4318', /expected http:\/\/HOST:PORT/], ['otlp', '127.0.0.1:4318', /expected/], ['otlp', 'http://127.0.0.1', /expected/],
    ['otlp', 'http://300.0.0.1:4318', /expected/], ['otlp', 'http://user:hunter2@127.0.0.1:4318', /expected/], ['otlp', 'http://127.0.0.1:4318/a b', /expected/],
    ['otlp', 'http://192.0.2.1:4318', /192\.0\.2\.1:4318 isn't on this machine.*--insecure/], ['otlp', 'http://otel.example:4318', /otel\.example:4318 isn't on this machine/],
    ['trace-sample', '1.1', /from 0 to 1/], ['trace-sample', '-1', /from 0 to 1/], ['trace-sample', '1e-3', /from 0 to 1/],
    ['trace-rate', '0', /from 1 to 1000000/], ['trace-parent', 'both', /keep or hub/],
  ];
  for (const [option, value, says] of bad) {
    const { status, stderr } = await check(`--${option}`, value);
    assert.equal(status, 2, `${value}: ${stderr}`);
    assert.match(stderr, new RegExp(`--${option}: `));
    assert.match(stderr, says);
    assert.doesNotMatch(stderr, /hunter2/);
  }
});

test('a collector is found by its name', async () => {
  const collector = await Collector.open();
  const name = hostname();
  const { address } = await lookup(name, { family: 4 }).catch(() => ({}));
  const server = address && address !== '127.0.0.1' ? null : collector; // who listens at this machine's address, if that is the loopback one
  const hub = await start(`http://${server ? name : 'localhost'}:${collector.port}`, ['--insecure'], 1);
  try {
    await ask(hub, 3);
    await collector.until(({ spans }) => spans.length === 3, 'spans');
    assert.equal(collector.posts[0].headers.host, `${server ? name : 'localhost'}:${collector.port}`);
  } finally {
    await hub.stop();
    await collector.close();
  }
});

test('a name that means nothing is in the log, and the spans wait', async () => {
  const hub = await start('http://no-such-host.invalid:4318', ['--insecure'], 1);
  try {
    await ask(hub, 3);
    await within((async () => {
      while (!/collector no-such-host\.invalid:4318: \w+/.test(hub.stderr)) await sleep(20);
    })(), 'the line', 20_000);
    assert.deepEqual(await counted(hub), { exported: 0, queue: 0, rate: 0, refused: 0 });
  } finally {
    await hub.stop();
  }
});

test('a resolver that has ended is in the log at once, and the spans wait', async () => {
  const hub = await start('http://no-such-host.invalid:4318', ['--insecure'], 1);
  try {
    const { pid } = hub.process, comm = (child) => readFileSync(`/proc/${child}/comm`, 'utf8').trim();
    const resolver = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').find((child) => comm(child) === 'patchbay-names');
    process.kill(Number(resolver), 'SIGKILL');
    await ask(hub, 3);
    await within((async () => {
      while (!/collector no-such-host\.invalid:4318: the process that looks names up has ended: restart the hub/.test(hub.stderr)) await sleep(20);
    })(), 'the line', 5_000);
    assert.deepEqual(await counted(hub), { exported: 0, queue: 0, rate: 0, refused: 0 });
  } finally {
    await hub.stop();
  }
});

test('SIGHUP changes the part, the rate and whose span stands in what is forwarded', async () => {
  const collector = await Collector.open(), elsewhere = await Collector.open();
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-traces-')), file = join(directory, 'hub.ini');
  const write = (keys) => writeFileSync(file, Object.entries({ otlp: collector.url, ...keys }).map(([key, value]) => `${key} = ${value}\n`).join(''));
  write({ 'trace-sample': 0 });
  const hub = await Hub.start(['--config', file, '--shards', '2']);
  let reloads = 0;
  const reload = async (keys) => {
    write(keys);
    hub.process.kill('SIGHUP');
    reloads++;
    while (hub.stderr.split('configuration was read again').length <= reloads) await sleep(5);
  };
  try {
    const target = await hub.agent('worker'), source = await hub.peer();
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    const ids = () => collector.spans.map((span) => attributes(span)['jsonrpc.request.id']);
    const ask = async (id, context) => {
      source.send({ jsonrpc: '2.0', id, method: 'work', params: { targetAgent: 'worker', ...(context && { _meta: { traceparent } }) } });
      const { json } = await target.next();
      target.reply(json.id, 1);
      await source.next();
      return json.params._meta?.traceparent;
    };
    await ask('none'); // before the part is another
    await reload({ 'trace-sample': 1, otlp: elsewhere.url });
    assert.match(hub.stderr, /--otlp takes effect at the next start/);
    await ask('all');
    await collector.until(() => ids().includes('all'), 'a span, at the former collector');
    await reload({ 'trace-sample': 0, 'trace-parent': 'hub' });
    await ask('again none');
    const replaced = await ask('replaced', true);
    assert.notEqual(replaced, traceparent);
    await reload({ 'trace-sample': 0 });
    assert.equal(await ask('kept', true), traceparent);
    await collector.until(() => ids().includes('kept'), 'the last span');
    assert.deepEqual(ids(), ['all', 'replaced', 'kept']);
    assert.equal(collector.spans[1].spanId, replaced.slice(36, 52));
    assert.equal(elsewhere.posts.length, 0);
    await reload({ 'trace-sample': 1, 'trace-rate': 1 });
    const before = await counted(hub);
    let asked = 0, now = before;
    while (now.exported === before.exported) { // the span of this second may have been taken before the reload
      for (let at = 0; at < 20; at++) await ask(asked++);
      now = await until(hub, (one) => one.exported + one.rate === before.exported + before.rate + asked, 'each request counts');
    }
    assert.ok(now.rate - before.rate >= 10, `${now.rate} over the rate`);
  } finally {
    await hub.stop();
    await Promise.all([collector.close(), elsewhere.close()]);
    rmSync(directory, { recursive: true, force: true });
  }
});

// `patchbay replay` (PATCHBAY): a recording of a mixed load is played at a fresh hub, as fast as recorded, ten times as
// fast, and unpaced. Every request is answered, as its target answered it: with as many bytes, after as long, with the
// same error.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Hub, scenario } from './hub.mjs';
import { within } from './peer.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the client to test');

const start = (hub, args) => {
  const child = spawn(program, ['--hub', hub.uri('tcp'), ...args]);
  const run = { child, out: '', told: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => { run.out += text; });
  child.stderr.setEncoding('utf8').on('data', (text) => { run.told += text; });
  run.exit = new Promise((resolve) => child.on('close', resolve));
  return run;
};
const replay = async (hub, ...args) => {
  const run = start(hub, ['replay', ...args]);
  run.status = await within(run.exit, `replay ${args.join(' ')}`, 60_000);
  return run;
};

const SLOW_MS = 300;

// Requests by name, capability, method, tool and command; answers of many lengths, late ones, errors of a target and of the hub;
// ids of all kinds, two alike at a time; notifications and events; a source that is a target, too.
async function load(hub) {
  const answer = (target) => (message) => {
    const { method, params } = message;
    if (method === 'slow') {
      setTimeout(() => target.reply(message.id, 'late'.repeat(20)), SLOW_MS);
      return;
    }
    if (method === 'refuse') target.send({ jsonrpc: '2.0', id: message.id, error: { code: -4711, message: 'no', data: 'x'.repeat(64) } });
    else target.reply(message.id, 'y'.repeat(64 + (params?.bytes ?? 0)));
  };
  const targets = [];
  for (const [name, capabilities] of [['named', {}], ['skilled', { cutting: true, methods: ['saw/plank'], tools: ['lathe'], commands: ['plane'] }]]) {
    const target = await hub.agent(name, capabilities);
    const take = answer(target);
    (async () => {
      while (!target.closed) {
        const one = await target.next().catch(() => undefined); // nothing came for a while
        if (one && 'method' in one.json && 'id' in one.json) take(one.json);
      }
    })();
    targets.push(target);
  }
  const [one, two] = [await hub.agent('editor'), await hub.peer()];
  const asked = [];
  for (let at = 0; at < 20; at++) {
    asked.push(one.ask('work', { targetAgent: 'named', sourceAgent: 'editor', bytes: 100 * at }));
    asked.push(two.ask('work', { targetAgent: at % 2 ? '@cutting' : 'skilled', bytes: at }));
    two.notify('note', { targetAgent: 'named', at });
    if (at % 5 === 0) await sleep(40);
  }
  asked.push(one.ask('saw/plank', { text: 'é\u0001\u2028😀' }), one.ask('tool/integration', { tool: 'lathe' }), one.ask('command/execute', { command: 'plane' }));
  asked.push(two.ask('slow', { targetAgent: 'named' }), two.ask('refuse', { targetAgent: 'named' }), two.ask('work', { targetAgent: 'nobody' }));
  asked.push(two.ask('event', { event: 'done', data: 1 }));
  one.notify('event', { event: 'done', data: 2 });
  await Promise.all(asked);
  return asked.length;
}

async function record(hub, ...args) {
  const file = join(hub.directory, 'recording');
  const recorder = start(hub, ['record', file, ...args]);
  while (!recorder.told.includes('open at')) await sleep(5);
  const requests = await load(hub);
  const whole = () => readFileSync(file, 'utf8').split('\n').filter((line) => line.includes('"outcome":"')).length >= requests + 21; // notifications and an event
  while (!whole()) await sleep(10);
  recorder.child.kill('SIGINT');
  assert.equal(await within(recorder.exit, 'the recording to end'), 0);
  const entries = readFileSync(file, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter(({ outcome }) => outcome);
  return { file, requests, entries };
}

// Returns the parts in which both recordings must be alike.
const told = (entries) => entries.map(({ kind, method, target, bytes, answerBytes, outcome, code, event }) => JSON.stringify({ kind, method, target, bytes, answerBytes, outcome, code, event })).sort();

scenario('a recording of a mixed load, at 1, 10 and max', { shards: [1, 2], transports: ['tcp'] }, async (hub) => {
  const { file, requests, entries } = await record(hub);
  const errors = entries.filter(({ kind, outcome }) => kind === 'request' && outcome !== 'result').length;
  assert.equal(errors, 2);
  for (const speed of ['1', '10', 'max']) {
    const fresh = await Hub.start(['--shards', '2']);
    try {
      const again = join(fresh.directory, 'again');
      const recorder = start(fresh, ['record', again]);
      while (!recorder.told.includes('open at')) await sleep(5);
      const { status, out, told: said } = await replay(fresh, file, '--speed', speed, '--serve', '--json');
      assert.equal(status, 0, `${speed}: ${out} ${said}`);
      const figures = JSON.parse(out);
      assert.deepEqual([figures.requests, figures.answers, figures.errors], [requests, requests, errors], `${speed}: ${out}`);
      assert.ok(figures.p50Ms > 0 && figures.p50Ms <= figures.p99Ms && figures.recordedP50Ms <= figures.recordedP99Ms && figures.recordedP99Ms >= SLOW_MS, out);
      if (speed !== 'max') assert.ok(figures.p99Ms >= SLOW_MS / Number(speed), out); // the late one is as late
      const whole = () => readFileSync(again, 'utf8').split('\n').filter((line) => line.includes('"outcome":"')).length >= entries.length;
      while (!whole()) await sleep(10);
      recorder.child.kill('SIGINT');
      await within(recorder.exit, 'the second recording to end');
      const played = readFileSync(again, 'utf8').trim().split('\n').map((line) => JSON.parse(line)).filter(({ outcome }) => outcome);
      assert.deepEqual(told(played), told(entries), `at ${speed}`);
    } finally {
      await fresh.stop();
    }
  }
});

const entry = (more) => JSON.stringify({ time: 1, n: 1, kind: 'request', method: 'm', source: '#1', outcome: null, ...more });
const body = '{"jsonrpc":"2.0","id":1,"method":"m","params":{"targetAgent":"b"}}';
const request = entry({ bytes: body.length, body });
const HEAD = '{"patchbay-recording":1}';

scenario('files that are no recording, and arguments that mean nothing', { shards: [1], transports: ['tcp'] }, async (hub) => {
  const file = join(hub.directory, 'bad');
  for (const [text, line, fault] of [
    ['', 1, /no recording/], ['hello\n', 1, /no recording/], ['{}\n', 1, /no recording/], ['{"patchbay-recording":2}\n', 1, /no recording/],
    [`${HEAD}\n${request}\n[]\n`, 3, /no entry/], [`${HEAD}\n{}\n`, 2, /no entry/], [`${HEAD}\n${request.slice(0, -5)}\n`, 2, /no entry/],
    [`${HEAD}\n${request} x\n`, 2, /no entry/], [`${HEAD}\n${entry({ bytes: body.length, body, source: undefined })}\n`, 2, /no entry/],
    [`${HEAD}\n${entry({ bytes: 9, body })}\n`, 2, /isn't whole/], [`${HEAD}\n${entry({ bytes: 2, body: '{}' })}\n`, 2, /no request/],
    [`${HEAD}\n{"recorded":0,"missed":0}\n${request}\n`, 3, /has ended/],
    [`${HEAD}\n`, 2, /closing line/], [`${HEAD}\n${request}\n`, 3, /closing line/], // cut, as by the recorder's end
    ...[0, 2, 99].map((recorded) => [`${HEAD}\n${request}\n{"recorded":${recorded},"missed":0}\n`, 3, /number of entries/]),
    ...[{ outcome: 'foo' }, { outcome: 'delivered' }, { kind: 'notification' }, { kind: 'event', outcome: null }]
      .map((more) => [`${HEAD}\n${request}\n${entry({ outcome: 'result', ...more })}\n`, 3, /outcome/]),
    ...['"x"', '1180591620717411303424', '1.5', 'null'].map((code) => [`${HEAD}\n${entry({ outcome: 'error' }).replace(/}$/, `,"code":${code}}`)}\n`, 2, /code/]),
    ...['', 'a b', '#', '#x', '@', 'x'.repeat(256)].flatMap((name) => [{ target: name }, { source: name }])
      .map((more) => [`${HEAD}\n${entry({ outcome: 'result', ...more })}\n`, 2, /source or target/]),
    ...[{ answerBytes: 2 ** 40 }, { answerBytes: -1 }, { answerBytes: 'x' }, { targetUs: -1 }, { queueUs: 1e18 }, { hubUs: 1.5 }]
      .map((more) => [`${HEAD}\n${request}\n${entry({ outcome: 'result', ...more })}\n`, 3, /can't be|no such number/]),
    ...[{ kind: 'x' }, { kind: 7 }, { body: 7 }, { target: 7 }].map((more) => [`${HEAD}\n${entry({ outcome: 'result', ...more })}\n`, 2, /no entry/]),
  ]) {
    writeFileSync(file, text);
    const { status, out, told: said } = await replay(hub, file);
    assert.equal(status, 2, text);
    assert.equal(out, '');
    assert.ok(said.startsWith(`patchbay: ${file}:${line}: `) && fault.test(said) && said.split('\n').length === 2, said);
  }
  assert.equal((await replay(hub, join(hub.directory, 'none'))).status, 2);
  writeFileSync(file, `${HEAD}\n${request}\n{"recorded":1,"missed":0}\n`);
  for (const args of [[], [file, file], [file, '--speed', '0'], [file, '--speed', '-1'], [file, '--speed', 'x'], [file, '--speed', 'inf'], [file, '--speed', '0x10'], [file, '--speed', '1e1'], [file, '--other']])
    assert.equal((await replay(hub, ...args)).status, 2, args.join(' '));
  const refused = await replay(hub, file); // nobody is there: that is an answer
  assert.equal(refused.status, 0);
  assert.match(refused.out, /^1 requests, 1 answers, 1 of them errors, p50 [0-9.]+ ms, p99 [0-9.]+ ms, recorded p50 unknown, p99 unknown\n$/);
});

scenario('not all is answered: an interrupt, a hub that goes, a target whose name is taken', { shards: [1], transports: ['tcp'] }, async (hub) => {
  const file = join(hub.directory, 'recording');
  writeFileSync(file, `${HEAD}\n${request}\n${entry({ n: 2, bytes: body.length, body })}\n${JSON.stringify({ time: 1, n: 1, kind: 'request', method: 'm', source: '#1', target: 'b', outcome: 'result', targetUs: 1 })}\n{"recorded":3,"missed":0}\n`);
  const target = await hub.agent('b');
  const taken = await replay(hub, file, '--serve');
  assert.deepEqual([taken.status, taken.out], [1, '']);
  assert.match(taken.told, /^replay: .*-32053/);
  const stopped = start(hub, ['replay', file, '--json']);
  const { json } = await target.next();
  await target.next();
  target.reply(json.id, 1);
  await target.silent('the one answer');
  stopped.child.kill('SIGINT');
  assert.equal(await within(stopped.exit, 'replay to end'), 1);
  const left = start(hub, ['replay', file]);
  await target.next();
  await target.next();
  hub.process.kill('SIGKILL');
  assert.equal(await within(left.exit, 'replay to end'), 1);
  hub.stop = async () => hub.clean();
  const nobody = await replay(hub, file);
  assert.equal(nobody.status, 3);
});

scenario('the names of played targets are free when the command has ended', { shards: [2], transports: ['tcp'] }, async (hub) => {
  const file = join(hub.directory, 'recording');
  writeFileSync(file, `${HEAD}\n${request}\n${entry({ target: 'b', outcome: 'result' })}\n{"recorded":2,"missed":0}\n`);
  for (let run = 0; run < 25; run++) {
    const { status, told: said } = await replay(hub, file, '--serve', '--speed', 'max');
    assert.equal(status, 0, `run ${run}: ${said}`);
  }
});

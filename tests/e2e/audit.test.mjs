// The audit journal in a real file: its lines, and refusals. No line is lost, torn or forged when the file is rotated,
// the disk is full, or the hub is drained or killed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Collector, attributes } from './collector.mjs';
import { Hub } from './hub.mjs';
import { assertError, frame, requestText, within } from './peer.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-audit-'));
after(() => rmSync(directory, { recursive: true, force: true }));
let files = 0;

const ENTRY = { action: 'deploy', actor: 'user-123', timestamp: '2026-01-02T03:04:05Z' };
const APPROVAL = { checkpoint: 'code-review', artifact: { file: 'main.ts' }, approver: 'human', decision: 'approved' };

// Every line of a journal, parsed. A line that isn't one JSON object, or isn't ended, fails.
function lines(path) {
  const text = readFileSync(path, 'utf8');
  assert.ok(text === '' || text.endsWith('\n'), 'the last line is torn');
  return text.split('\n').slice(0, -1).map((line) => {
    const entry = JSON.parse(line);
    assert.match(entry.time, /^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.match(entry.source.connection, /^[0-9a-f]{32}$/);
    assert.ok(Array.isArray(entry.source.agents) && 'target' in entry, line);
    return entry;
  });
}

// A test with a hub of its own that keeps a journal, for each number of shards.
function journaled(name, run, { shards = [1, 2], options = [] } = {}) {
  for (const count of shards) {
    test(`${name} (--shards ${count})`, async () => {
      const path = join(directory, `${++files}.jsonl`);
      const hub = await Hub.start(['--audit', path, '--shards', String(count), ...options]);
      let stopped = false;
      const stop = async () => {
        stopped = true;
        await hub.stop();
        return lines(path);
      };
      try {
        await run(hub, path, stop);
      } finally {
        if (!stopped) await hub.stop();
      }
    });
  }
}

async function logged(peer, params = ENTRY) {
  assert.deepEqual((await peer.ask('audit/log', params)).result, { logged: true });
}

// Sends entries numbered from `from` on, without waiting for answers.
function pour(peer, from, count) {
  const frames = [];
  for (let n = from; n < from + count; n++) frames.push(frame(requestText(n, 'audit/log', { ...ENTRY, details: { n } })));
  return peer.write(Buffer.concat(frames));
}

journaled('an entry is on disk when it is answered', async (hub, path, stop) => {
  const peers = [await hub.agent('one'), await hub.agent('two'), await hub.peer()];
  for (const [index, peer] of peers.entries()) {
    await logged(peer, { ...ENTRY, action: `act-${index}` });
    const entry = lines(path).at(-1);
    assert.equal(entry.kind, 'audit');
    assert.deepEqual(entry.entry, { ...ENTRY, action: `act-${index}` });
    assert.deepEqual(entry.source.agents, [['one'], ['two'], []][index]);
    assert.equal(entry.target, null);
    assert.ok(Math.abs(Date.parse(entry.time) - Date.now()) < 60_000);
  }
  assert.equal(statSync(path).mode & 0o7777, 0o600);
  const { result } = await peers[0].ask('hub/stats');
  assert.equal(result.journal_entries, 3);
  assert.equal(result.journal_entries_failed, 0);
  assert.equal((await peers[2].ask('initialize', {})).result.capabilities.audit, true);
  assert.equal((await stop()).length, 3);
});

journaled('whoever offers audit/log is told, without the id', async (hub, path, stop) => {
  const keeper = await hub.agent('keeper', { methods: ['audit/log'] });
  const source = await hub.peer();
  const params = JSON.stringify(ENTRY);
  const bodies = [
    [`{"id":1,"jsonrpc":"2.0","method":"audit/log","params":${params}}`, `{"jsonrpc":"2.0","method":"audit/log","params":${params}}`],
    [`{"jsonrpc":"2.0", "id" : "x" ,"method":"audit/log","params":${params}}`, null],
    [`{"jsonrpc":"2.0","method":"audit/log","params":${params},"id":2}`, `{"jsonrpc":"2.0","method":"audit/log","params":${params}}`],
    [`{"jsonrpc":"2.0","method":"audit/log","params":${params}}`, `{"jsonrpc":"2.0","method":"audit/log","params":${params}}`],
  ];
  for (const [sent, told] of bodies) {
    source.send(sent);
    const heard = await keeper.next();
    if (told) assert.equal(heard.text, told);
    assert.deepEqual(heard.json, { jsonrpc: '2.0', method: 'audit/log', params: ENTRY });
  }
  for (const id of [1, 'x', 2]) assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id, result: { logged: true } });
  await source.silent('a notification');
  await keeper.silent('the entries');
  assert.equal((await stop()).length, 4);
});

journaled('with a target the target answers, and the journal has it too', async (hub, path, stop) => {
  (await hub.agent('target')).serve(() => 'from the target');
  const source = await hub.peer();
  assert.equal((await source.ask('audit/log', { ...ENTRY, targetAgent: 'target' })).result, 'from the target');
  assertError(await source.ask('audit/log', { ...ENTRY, targetAgent: 'nobody' }), -32010);
  assert.deepEqual((await stop()).map((entry) => [entry.kind, entry.target]), [['audit', 'target'], ['audit', 'nobody']]);
});

journaled('approvals and how they end', async (hub, path, stop) => {
  const human = await hub.agent('human');
  const source = await hub.agent('source');
  const asked = [];
  const ask = async (id, fields = {}, ...header) => {
    source.send(requestText(id, 'governance/approval', { ...APPROVAL, ...fields }), ...header);
    const one = (await human.next()).json;
    asked.push(one.id);
    return one.id;
  };
  human.reply(await ask(1), { decision: 'approved' });
  await source.next();
  human.send({ jsonrpc: '2.0', id: await ask(2), error: { code: 1, message: 'no' } });
  await source.next();
  await ask(3, {}, 'Custom-Timeout-Ms: 500');
  assertError((await source.next()).json, -32051);
  source.notify('governance/approval', APPROVAL);
  await human.find((one) => !('id' in one.json) && one.json.method === 'governance/approval', 'the notification');
  source.notify('governance/approval', { ...APPROVAL, approver: 'nobody' });
  assertError(await source.ask('governance/approval', APPROVAL, 'Governance-Level: manual'), -32011);
  const told = await stop();
  const outcomes = told.filter((entry) => entry.kind === 'outcome');
  assert.deepEqual(outcomes.map((entry) => entry.request), asked);
  assert.deepEqual(outcomes.map((entry) => [entry.outcome, entry.code]), [['result', undefined], ['error', undefined], ['failed', -32051]]);
  const approvals = told.filter((entry) => entry.kind === 'approval');
  assert.deepEqual(approvals.map((entry) => entry.request), [...asked, undefined, undefined, undefined]);
  assert.deepEqual(approvals.map((entry) => [entry.outcome, entry.code]).slice(3), [['forwarded', undefined], ['refused', -32601], ['refused', -32011]]);
  for (const entry of [...approvals.slice(0, 4), ...outcomes]) assert.equal(entry.target, 'human');
  for (const entry of told) assert.deepEqual(entry.source.agents, ['source']);
  assert.deepEqual(approvals[0].entry, APPROVAL);
});

journaled('refusals for governance', async (hub, path, stop) => {
  await hub.agent('free', { methods: ['m'] });
  const source = await hub.agent('source');
  assertError(await source.ask('m\n"}', { targetAgent: 'free' }, 'Governance-Level: supervised'), -32011);
  assertError(await source.ask('m', {}, 'Governance-Level: manual'), -32011);
  source.notify('m', {}, 'Governance-Level: manual');
  await source.silent('a refused notification');
  const told = await stop();
  assert.deepEqual(told.map(({ kind, method, code, target, required, supported }) => [kind, method, code, target, required, supported]), [
    ['refusal', 'm\n"}', -32011, 'free', 'supervised', 'autonomous'],
    ['refusal', 'm', -32011, 'free', 'manual', 'autonomous'],
    ['refusal', 'm', -32011, 'free', 'manual', 'autonomous'],
  ]);
});

journaled('what enters is judged as strictly as can be, and nothing else is routed', async (hub, path, stop) => {
  const keeper = await hub.agent('human', { methods: ['audit/log', 'governance/approval'] });
  const source = await hub.agent('source');
  const refused = [
    [`{"jsonrpc":"2.0","id":1,"method":"audit/log","params":{"action":"a","actor":"b","timestamp":"c","details":{"x":tru}}}`, -32700],
    [`{"jsonrpc":"2.0","id":1,"method":"audit/log","params":{"action":"a","actor":"b","timestamp":"c","details":{"x":"\n"}}}`, -32700],
    [`{"jsonrpc":"2.0","id":1,"method":"audit/log","params":{"action":"a","actor":"b"}}`, -32602],
    [`{"jsonrpc":"2.0","id":1,"method":"audit/log","params":{"action":1,"actor":"b","timestamp":"c"}}`, -32602],
    [`{"id":1,"method":"audit/log","params":${JSON.stringify(ENTRY)}}`, -32602],
    [`{"jsonrpc":"2.0","id":1,"method":"audit/log"}`, -32602],
    [`{"jsonrpc":"2.0","id":1,"method":"audit/log","params":{"action":"a","actor":"b","timestamp":"c","TargetAgent":"human"}}`, -32600],
    [`{"jsonrpc":"2.0","id":1,"method":"audit/log","params":{"action":"a","actor":"b","timestamp":"c","sourceAgent":"human"}}`, -32001],
    [requestText(1, 'governance/approval', { ...APPROVAL, decision: 'perhaps' }), -32602],
    [requestText(1, 'governance/approval', { ...APPROVAL, artifact: undefined }), -32602],
  ];
  for (const [body, code] of refused) {
    source.send(body);
    const answer = (await source.next()).json;
    assertError(answer, code, body);
    assert.equal(answer.id, code === -32700 || code === -32600 ? null : 1);
  }
  source.send(`[${refused[2][0]},{"jsonrpc":"2.0","method":"audit/log","params":{"Id":1}},${requestText(2, 'audit/log', ENTRY)}]`);
  const answers = (await source.next()).json;
  assert.deepEqual(answers.map((answer) => answer.error?.code ?? answer.result), [-32602, -32600, { logged: true }]);
  assert.equal((await keeper.next()).json.method, 'audit/log');
  await keeper.silent('what was refused');
  assert.deepEqual((await stop()).map((entry) => [entry.kind, entry.code]), [['refusal', -32001], ['audit', undefined]]);
});

journaled('nobody can forge a line', async (hub, path, stop) => {
  const source = await hub.peer();
  const forged = '{"time":"2026-01-01T00:00:00.000Z","kind":"audit","source":{"connection":"0000000000000000","agents":["ceo"]},"target":null}';
  const params = [
    `{\r\n"action":"a",\n\n"actor":"b",\r"timestamp":"c"\n,"details":[\n1\r\n]}`,
    JSON.stringify({ ...ENTRY, action: `"}}\n${forged}\n` }),
    JSON.stringify({ ...ENTRY, [`"}\r\n${forged}`]: forged, details: { a: '\u2028\u2029\u0085\\n\\u000a' } }),
    `{"action":"\\u000a\\r\\n","actor":"b","timestamp":"c"}`,
  ];
  for (const [index, text] of params.entries()) source.send(`{"jsonrpc":"2.0",\n"id":${index},\r\n"method":"audit/log","params":${text}\n}`);
  for (const [index] of params.entries()) assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: index, result: { logged: true } });
  source.send({ jsonrpc: '2.0', id: 9, method: `x"}\n${forged}\n`, params: { targetAgent: `y"}\n${forged}\n` } }, 'Governance-Level: manual');
  await source.next();
  const told = await stop();
  assert.deepEqual(told.map((entry) => entry.entry), params.map((text) => JSON.parse(text)));
});

journaled('a source that half-closes hears of its entries', async (hub, path, stop) => {
  const source = await hub.peer();
  pour(source, 0, 100);
  source.finish();
  for (let n = 0; n < 100; n++) assert.deepEqual((await source.next()).json, { jsonrpc: '2.0', id: n, result: { logged: true } });
  assert.equal(await source.gone(), 'end');
  assert.equal((await stop()).length, 100);
});

// The steps of logrotate, again and again under load.
journaled('a file that is renamed and opened anew loses and tears nothing', async (hub, path, stop) => {
  const sources = [await hub.peer(), await hub.peer(), await hub.peer()];
  let answered = 0, over = false;
  const loads = sources.map(async (source) => {
    for (let n = 0; !over; n += 100) {
      pour(source, n, 100);
      for (let step = 0; step < 100; step++, answered++) {
        const answer = (await source.next()).json;
        assert.deepEqual(answer, { jsonrpc: '2.0', id: n + step, result: { logged: true } });
      }
    }
  });
  const watcher = await hub.peer();
  const old = [];
  // More than are on the way at a time, so that some of them are in the file that is open now.
  const more = async () => {
    for (const enough = answered + 600; answered < enough;) await watcher.ask('hub/ping');
  };
  for (let turn = 1; turn <= 8; turn++) {
    await more();
    old.push(`${path}.${turn}`);
    renameSync(path, old.at(-1));
    hub.process.kill('SIGHUP');
    while ((await watcher.ask('hub/stats')).result.journal_reopens < turn);
  }
  await more();
  over = true;
  await Promise.all(loads);
  await stop();
  const all = [...old, path].flatMap(lines);
  assert.ok([...old, path].every((file) => lines(file).length > 0), 'each file got its part');
  assert.equal(all.length, answered);
  const seen = new Map();
  for (const { source, entry } of all) {
    const next = seen.get(source.connection) ?? 0;
    assert.equal(entry.details.n, next, 'in order, none twice');
    seen.set(source.connection, next + 1);
  }
});

const kinds = (path) => readFileSync(path, 'utf8').trim().split('\n').map((line) => JSON.parse(line).kind);
const isReady = async (hub) => (await fetch(new URL('/readyz', hub.uri('http')))).status;
const untilReady = (hub, status) => within((async () => {
  while (await isReady(hub) !== status);
})(), `/readyz to be ${status}`);
const approval = { checkpoint: 'c', artifact: {}, decision: 'approved', approver: 'human' };

// An agent that is told has no entry of its own, and an entry without an id has one, of its notification.
test('an audit/log with an id has one entry of a tap, and one span, that end with its line', async () => {
  const path = join(directory, 'observed');
  const collector = await Collector.open();
  const hub = await Hub.start(['--audit', path, '--shards', '2', '--otlp', collector.url, '--trace-sample', '1']);
  try {
    const sources = [await hub.agent('asker'), await hub.peer(), await hub.peer()], tap = await hub.peer(), keeper = await hub.agent('keeper', { methods: ['audit/log'] });
    await tap.ask('hub/tap', { body: 1000 });
    const trace = 'a'.repeat(32), entry = { ...ENTRY, _meta: { traceparent: `00-${trace}-${'b'.repeat(16)}-01` } };
    for (const source of sources) await logged(source, entry);
    sources[0].notify('audit/log', ENTRY);
    for (let told = 0; told < 4; told++) assert.equal((await keeper.next()).json.method, 'audit/log');
    while (readFileSync(path, 'utf8').split('\n').length < 5); // a hub that writes would make the file anew
    rmSync(path);
    execFileSync('mkdir', [path]);
    hub.process.kill('SIGHUP');
    while (!/can't be opened again/.test(hub.stderr)) await once(hub.process.stderr, 'data');
    assertError(await sources[0].ask('audit/log', ENTRY), -32003);
    const entries = [];
    while (entries.filter(({ outcome }) => outcome).length < 5) entries.push(...(await tap.find(({ json }) => json.method === 'hub/tapped', 'entries')).json.params.entries);
    assert.deepEqual(entries.filter(({ outcome }) => outcome).map(({ kind, outcome, code }) => [kind, outcome, code]).sort(),
      [['notification', 'delivered', undefined], ['request', 'refused', -32003], ...Array(3).fill(['request', 'result', undefined])]);
    for (const { n, method, source, trace: of, hubUs, ...rest } of entries.filter(({ outcome }) => outcome === 'result')) {
      assert.deepEqual([method, of, rest.target, rest.queueUs, rest.targetUs, rest.answerBytes], ['audit/log', trace, undefined, undefined, undefined, undefined]);
      assert.ok(hubUs > 0 && /^(asker|#[0-9]+)$/.test(source), source);
      const [begun, ...more] = entries.filter((one) => one.n === n && one.outcome === null);
      assert.equal(more.length, 0);
      assert.deepEqual(JSON.parse(begun.body).params, entry);
    }
    const spans = await collector.until((all) => all.spans.length >= 4, 'the spans');
    assert.deepEqual(spans.map((span) => [span.name, attributes(span)['error.type'], span.traceId === trace]).sort(),
      [...Array(3).fill(['audit/log', undefined, true]), ['audit/log', '-32003', false]]);
  } finally {
    await hub.stop();
    await collector.close();
  }
});

test('a file that can not be opened again: nothing is written until it can', async () => {
  const path = join(directory, 'again');
  const hub = await Hub.start(['--audit', path, '--http', '127.0.0.1:0']);
  const source = await hub.peer();
  await logged(source);
  renameSync(path, `${path}.old`);
  execFileSync('mkdir', [path]);
  const fault = /^patchbayd: the journal \S+ can't be opened again: Is a directory$/gm;
  for (const times of [1, 2]) { // each reload says so
    hub.process.kill('SIGHUP');
    await within((async () => { while (hub.stderr.match(fault)?.length !== times) await once(hub.process.stderr, 'data'); })(), `fault ${times}`);
  }
  await untilReady(hub, 503);
  assert.deepEqual(assertError(await source.ask('audit/log', ENTRY), -32003).data, { fault: 'Is a directory' });
  assert.deepEqual(assertError(await source.ask('governance/approval', approval), -32003).data, { fault: "the journal can't be written" });
  rmSync(path, { recursive: true });
  await untilReady(hub, 200);
  await logged(source);
  assert.equal(lines(`${path}.old`).length, 1);
  assert.deepEqual(kinds(path), ['lost', 'audit']);
  await hub.stop();
  assert.equal(hub.stderr.match(fault).length, 2, 'no line while nothing changes');
  assert.equal(hub.stderr.match(/^patchbayd: the journal \S+ can be written again$/gm)?.length, 1, hub.stderr);
});

test('a folder that is removed while the hub runs: it is not ready, and nothing is approved, until the folder is back', async () => {
  const folder = join(directory, 'removed'), path = join(folder, 'journal');
  execFileSync('mkdir', [folder]);
  const hub = await Hub.start(['--audit', path, '--http', '127.0.0.1:0', '--sandbox', 'off']); // whose walls would know the old folder alone
  const source = await hub.peer(), human = await hub.peer();
  await human.register('human');
  await logged(source);
  rmSync(folder, { recursive: true });
  assert.deepEqual(assertError(await source.ask('governance/approval', approval), -32003).data, { fault: "the journal can't be written" });
  assert.equal(await isReady(hub), 503);
  assertError(await source.ask('audit/log', ENTRY), -32003);
  await human.silent('an approval of which nothing tells');
  execFileSync('mkdir', [folder]);
  await untilReady(hub, 200);
  await logged(source);
  assert.deepEqual(kinds(path), ['lost', 'audit']);
  await hub.stop();
});

test('the first approval on a disk that has become full is refused', async () => {
  const path = join(directory, 'first');
  const hub = await Hub.start(['--audit', path, '--http', '127.0.0.1:0']);
  const source = await hub.peer(), human = await hub.peer();
  await human.register('human');
  await logged(source);
  bound(hub, statSync(path).size + 10);
  assert.deepEqual(assertError(await source.ask('governance/approval', approval), -32003).data, { fault: "the journal can't be written" });
  assert.equal(await isReady(hub), 503);
  await human.silent('an approval of which nothing tells');
  bound(hub, 'unlimited');
  await untilReady(hub, 200);
  await hub.stop();
});

// Bounds how large a file the hub may write, or lifts the bound.
function bound(hub, bytes) {
  execFileSync('prlimit', ['--pid', String(hub.process.pid), `--fsize=${bytes}:unlimited`]);
}

journaled('a file that may not grow fails the entries, and goes on when it may', async (hub, path, stop) => {
  const source = await hub.peer();
  await logged(source);
  bound(hub, statSync(path).size + 700);
  pour(source, 0, 50);
  let good = 0;
  for (let n = 0; n < 50; n++) {
    const answer = (await source.next()).json;
    assert.equal(answer.id, n);
    if (answer.error) assert.deepEqual(assertError(answer, -32003).data, { fault: 'File too large' });
    else good++;
  }
  assert.ok(good < 5);
  assert.equal(lines(path).length, 1 + good, 'what failed was taken back');
  bound(hub, 'unlimited');
  await logged(source, { ...ENTRY, action: 'again' });
  const { result } = await source.ask('hub/stats');
  assert.equal(result.journal_entries, 2 + good);
  assert.equal(result.journal_entries_failed, 50 - good);
  const told = await stop();
  assert.match(hub.stderr, /^patchbayd: the journal \S+ can't be written: File too large$/m);
  assert.equal(told.at(-1).entry.action, 'again');
  assert.equal(told.length, 2 + good);
});

const mounts = (() => {
  try {
    const place = join(directory, 'probe');
    execFileSync('mkdir', [place]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', place], { stdio: 'ignore' });
    execFileSync('umount', [place]);
    return true;
  } catch {
    return false;
  }
})();

test('a full disk', { skip: !mounts && 'only root can mount a small file system' }, async () => {
  const place = join(directory, 'small');
  execFileSync('mkdir', [place]);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', place]);
  try {
    const path = join(place, 'journal');
    const hub = await Hub.start(['--audit', path]);
    const source = await hub.peer();
    let good = 0;
    pour(source, 0, 1000);
    for (let n = 0; n < 1000; n++) {
      const answer = (await source.next()).json;
      if (answer.error) assert.deepEqual(assertError(answer, -32003).data, { fault: 'No space left on device' });
      else good++;
    }
    assert.ok(good < 1000);
    assert.equal(lines(path).length, good);
    execFileSync('mount', ['-o', 'remount,size=1m', place]);
    await logged(source);
    assert.equal(lines(path).length, good + 1);
    await hub.stop();
  } finally {
    execFileSync('umount', [place]);
  }
});

journaled('SIGTERM in the middle: what was answered is there, what is there is whole', async (hub, path) => {
  const sources = [await hub.peer(), await hub.peer()];
  let told = 0;
  let enough;
  const warm = new Promise((resolve) => (enough = resolve));
  const loads = sources.map(async (source) => {
    pour(source, 0, 5000);
    const good = [];
    for (;;) {
      const one = await source.next().catch(() => null);
      if (!one) return good;
      if (one.json.result) good.push(one.json.id);
      else assertError(one.json, -32052);
      if (++told === 500) enough();
    }
  });
  await within(warm, '500 answers');
  hub.process.kill('SIGTERM');
  for (const peer of hub.peers) peer.end.then(() => peer.drop());
  await hub.ended();
  hub.clean();
  const good = (await Promise.all(loads)).flat();
  const numbers = lines(path).map((entry) => entry.entry.details.n);
  assert.deepEqual(good.sort((a, b) => a - b), numbers.sort((a, b) => a - b));
  hub.stop = async () => {};
});

test('a hub that is killed keeps what it has answered, and the next one begins on a line of its own', async () => {
  const path = join(directory, 'killed.jsonl');
  const hub = await Hub.start(['--audit', path]);
  const source = await hub.peer();
  pour(source, 0, 20_000);
  const good = [];
  for (let step = 0; step < 1000; step++) good.push((await source.next()).json.id);
  hub.process.kill('SIGKILL');
  await hub.exit;
  hub.clean();
  for (const one of source.frames) good.push(one.json.id);
  const text = readFileSync(path, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n').slice(0, -1).map((line) => JSON.parse(line).entry.details.n);
  for (const id of good) assert.equal(whole[id], id);
  writeFileSync(path, `${text.slice(0, text.lastIndexOf('\n') + 1)}{"torn":`);
  const next = await Hub.start(['--audit', path]);
  await logged(await next.peer(), { ...ENTRY, action: 'next' });
  await next.stop();
  const after = readFileSync(path, 'utf8').split('\n');
  assert.equal(after.at(-3), '{"torn":');
  assert.equal(JSON.parse(after.at(-2)).entry.action, 'next');
});

// As when one takes over from another.
test('two hubs may write to one file', async () => {
  const path = join(directory, 'shared.jsonl');
  const hubs = [await Hub.start(['--audit', path]), await Hub.start(['--audit', path])];
  const sources = await Promise.all(hubs.map((hub) => hub.peer()));
  for (let turn = 0; turn < 20; turn++) {
    for (const source of sources) pour(source, turn * 100, 100);
    for (const source of sources) for (let n = 0; n < 100; n++) assert.ok((await source.next()).json.result.logged);
  }
  for (const hub of hubs) await hub.stop();
  const told = lines(path);
  for (const name of new Set(told.map((entry) => entry.source.connection)))
    assert.deepEqual(told.filter((entry) => entry.source.connection === name).map((entry) => entry.entry.details.n), [...Array(2000).keys()]);
  assert.equal(told.length, 4000);
});

test('a journal that can not be opened ends the hub with one line and status 2', async () => {
  for (const [path, why] of [['/nowhere/at/all', 'No such file or directory'], [directory, 'Is a directory'], ['/dev/null', 'it is no regular file']]) {
    const hub = await Hub.launch(['--listen', 'tcp://127.0.0.1:0', '--audit', path]);
    assert.deepEqual(await within(hub.exit, 'its end'), { code: 2, signal: null });
    assert.equal(hub.stderr, `--audit: ${path}: expected a regular file that can be written, or be made: ${why}\n`);
  }
});

test('without a journal audit/log goes to whoever offers it', async () => {
  const hub = await Hub.start();
  (await hub.agent('keeper', { methods: ['audit/log'] })).serve(() => 'kept');
  const source = await hub.peer();
  assert.equal((await source.ask('audit/log', {})).result, 'kept');
  assert.equal((await source.ask('initialize', {})).result.capabilities.audit, false);
  await hub.stop();
});

journaled('many entries are few groups', async (hub, path, stop) => {
  const COUNT = 20_000;
  const source = await hub.peer();
  pour(source, 0, COUNT);
  for (let n = 0; n < COUNT; n++) assert.ok((await source.next()).json.result.logged);
  const { result } = await source.ask('hub/stats');
  assert.equal(result.journal_entries, COUNT);
  assert.ok(result.journal_groups < COUNT / 10, `${result.journal_groups} groups`);
  assert.equal((await stop()).length, COUNT);
});

// `patchbay hcs start|serve`: both ends of a session by hand, over every transport.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { scenario } from './hub.mjs';
import { within } from './peer.mjs';

const program = process.env.PATCHBAY;
const EVERYWHERE = { shards: [1, 2], transports: ['tcp', 'unix-lines', 'ws'], options: ['--http', '127.0.0.1:0'] };
const directory = mkdtempSync(join(tmpdir(), 'patchbay-hcs-'));
const running = new Set();
after(() => {
  running.forEach((one) => one.kill('SIGKILL'));
  rmSync(directory, { recursive: true, force: true });
});

class Client {
  stdout = '';
  stderr = '';

  constructor(uri, ...args) {
    this.process = spawn(program, ['--hub', uri, 'hcs', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(this.process);
    for (const name of ['stdout', 'stderr']) {
      this.process[name].setEncoding('utf8').on('data', (text) => {
        this[name] += text;
        this.wake?.();
      });
    }
    this.exit = new Promise((resolve) => this.process.on('close', (code) => {
      running.delete(this.process);
      resolve(code);
    }));
  }

  async said(pattern, name = 'stderr') {
    await within((async () => {
      while (!pattern.test(this[name])) await new Promise((resolve) => { this.wake = resolve; });
    })(), `${pattern}`);
  }

  async ended(status) {
    assert.equal(await within(this.exit, 'its end'), status, this.stderr);
    return this.stdout.split('\n').filter((line) => line).map((line) => JSON.parse(line));
  }
}

function file(name, ...lines) {
  writeFileSync(join(directory, name), lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  return join(directory, name);
}

async function serve(hub, path, ...args) {
  const serving = new Client(hub.uri(), 'serve', 'maker', path, ...args);
  await serving.said(/maker is registered/);
  return serving;
}

scenario('hcs: what serve plays is what start prints', EVERYWHERE, async (hub) => {
  const path = file('frames', { type: 'init', protocol: { version: '0.2' } }, '', '  {"type":"chunk","lod":"macro","text":"one"}\r',
    { type: 'chunk', lod: 'micro', text: 'two' }, { type: 'chunk', lod: 'atomic', seq: 9, text: 'three' });
  const serving = await serve(hub, path);
  for (const args of [['--ack', '--request-id', 'r-1'], ['--target', 'maker', '--session', 'mine', '--request-id', 'r-1', '--user', 'u']]) {
    const frames = await new Client(hub.uri(), 'start', ...args).ended(0);
    assert.deepEqual(frames.map(({ session_id, request_id, ...rest }) => rest), [{ type: 'init', protocol: { version: '0.2' } },
      { seq: 0, type: 'chunk', lod: 'macro', text: 'one' }, { seq: 1, type: 'chunk', lod: 'micro', text: 'two' },
      { type: 'chunk', lod: 'atomic', seq: 9, text: 'three' }, { type: 'complete' }]);
    assert.ok(frames.every(({ session_id, request_id }) => request_id === 'r-1' && session_id === frames[0].session_id));
    if (args.includes('mine')) assert.equal(frames[0].session_id, 'mine');
  }
  const late = await new Client(hub.uri(), 'start', '--session', 'mine', '--after-seq', '0').ended(0);
  assert.deepEqual(late.filter(({ type }) => type === 'chunk').map(({ seq }) => seq), [1, 9]);
  serving.process.kill('SIGTERM');
  await serving.ended(0);
});

scenario('hcs: acks come to the producer, and start ends at an interrupt', EVERYWHERE, async (hub) => {
  const chunks = Array.from({ length: 1000 }, (_, seq) => ({ type: 'chunk', lod: 'macro', text: `${seq}` }));
  const serving = await serve(hub, file('long', ...chunks), '--interval', '20ms');
  const watching = new Client(hub.uri(), 'start', '--ack');
  await serving.said(/"type":"ack".*"seq":3/);
  const peer = await hub.peer();
  const sessions = async () => (await peer.ask('hub/stats')).result.sessions;
  await within((async () => { while (!(await sessions()).length); })(), 'the session to be told');
  const { seq, history_bytes, ...told } = (await sessions())[0];
  assert.deepEqual(told, { agents: ['maker'], state: 'reading', clients: 1, over: 0, stuck: 0 });
  assert.ok(seq >= 3 && history_bytes > 0);
  watching.process.kill('SIGINT');
  const frames = await watching.ended(0);
  assert.deepEqual(frames.map(({ seq }) => seq), frames.map((_, index) => index));
  await serving.said(/"action":"pause".*"user_busy"|"user_busy".*"pause"/);
  serving.process.kill('SIGINT');
  await serving.ended(0);
});

scenario('hcs: a session that there is nobody for, and a producer that goes', EVERYWHERE, async (hub) => {
  const [refused] = await new Client(hub.uri(), 'start').ended(1);
  assert.deepEqual([refused.type, refused.code, refused.refused], ['error', 'INVALID_REQUEST', 'start']);
  const serving = await serve(hub, file('two', { type: 'init' }, { type: 'chunk', text: 'x' }), '--interval', '1h');
  const watching = new Client(hub.uri(), 'start');
  await watching.said(/"type":"init"/, 'stdout');
  serving.process.kill('SIGKILL');
  const frames = await watching.ended(1);
  assert.deepEqual([frames.at(-1).type, frames.at(-1).code], ['error', 'STREAM_TIMEOUT']);
});

test('hcs: what is not understood', async () => {
  const bad = file('bad', '{"type":"chunk"}', '[1]');
  for (const args of [[], ['stop'], ['start', 'x'], ['start', '--after-seq', '3'], ['start', '--after-seq', '-1', '--session', 's'], ['serve', 'a'],
    ['serve', 'a', bad], ['serve', 'a', file('empty', '')], ['serve', 'a', '/nonexistent'], ['serve', 'a', bad, '--interval', '5']]) {
    await new Client('tcp://127.0.0.1:1', ...args).ended(2);
  }
  await new Client('tcp://127.0.0.1:1', 'start').ended(3);
});

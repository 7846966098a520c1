// An editor's client of the Agent Client Protocol, which starts `patchbay connect` as it would start an agent, and an agent
// that the hub keeps: one process for each editor.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as acp from '@agentclientprotocol/sdk';
import { Hub } from '../e2e/hub.mjs';
import { within } from '../e2e/peer.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'patchbay-acp-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const { initialize, session } = acp.methods.agent, { requestPermission } = acp.methods.client.session;
let hubs = 0;

async function until(what, holds) {
  for (const end = Date.now() + 20_000; ;) {
    const value = await holds();
    if (value) return value;
    assert.ok(Date.now() < end, `it never came that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// A hub that keeps the agent.
async function withAgent(run, more = '', options = []) {
  const config = join(directory, `hub-${++hubs}.ini`), journal = join(directory, `journal-${hubs}`);
  writeFileSync(config, `[child coder]\ncommand = ${process.execPath} ${join(here, 'acp_agent.mjs')}\nframing = lines\ninstances = each\ncancel = acp\nset JOURNAL = ${journal}\n${more}`);
  const hub = await Hub.start(['--config', config, '--shards', '2', ...options]), editors = [];
  hub.noted = (what) => (existsSync(journal) ? readFileSync(journal, 'utf8').trim().split('\n').map(JSON.parse) : []).filter((one) => one.what === what);
  hub.editor = async (options) => {
    const editor = await Editor.start(hub, options);
    editors.push(editor);
    return editor;
  };
  try {
    await run(hub);
  } finally {
    for (const editor of editors) await editor.stop();
    await hub.stop();
  }
}

class Editor {
  asked = [];

  static async start(hub, { permission = 'yes' } = {}) {
    const editor = new Editor();
    editor.process = spawn(process.env.PATCHBAY, ['--hub', hub.uri('unix'), 'connect', '--agent', 'coder', '--framing', 'lines'], { stdio: ['pipe', 'pipe', 'inherit'] });
    editor.exit = new Promise((resolve) => editor.process.on('close', (status, signal) => resolve(status ?? signal)));
    editor.connection = acp.client({ name: 'test-editor' })
      .onRequest(requestPermission, ({ params }) => {
        editor.asked.push(params.toolCall.title);
        return { outcome: { outcome: 'selected', optionId: permission } };
      })
      .connect(acp.ndJsonStream(Writable.toWeb(editor.process.stdin), Readable.toWeb(editor.process.stdout)));
    editor.agent = editor.connection.agent;
    const { protocolVersion, agentCapabilities } = await within(editor.agent.request(initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} }), 'initialize');
    assert.equal(protocolVersion, acp.PROTOCOL_VERSION);
    assert.deepEqual(agentCapabilities.loadSession, false);
    editor.session = await within(editor.agent.buildSession(directory).start(), 'session/new');
    return editor;
  }

  // The text of a turn, and how the turn ended.
  async turn(text) {
    const [{ stopReason }, said] = await within(Promise.all([this.session.prompt(text), this.session.readText()]), 'the turn');
    return [said, stopReason];
  }

  // Begins a turn that ends by a cancel alone.
  async wait(hub, options) {
    const before = hub.noted('waits').length;
    const turn = this.session.prompt('wait', options).catch((error) => error);
    await until('the agent waits', () => hub.noted('waits').length > before);
    return turn;
  }

  get agentPid() {
    return Number(this.session.sessionId.split('-')[0]);
  }

  async stop() {
    this.session.dispose();
    this.process.stdin.end();
    return within(this.exit, 'patchbay connect to end');
  }
}

const lives = (pid) => existsSync(`/proc/${pid}`);

test('prompts, and a permission request that comes back', () => withAgent(async (hub) => {
  const editor = await hub.editor();
  assert.deepEqual(await editor.turn('hello'), ['hello 0, hello 1, hello 2, ', 'end_turn']);
  assert.deepEqual(await editor.turn('permission'), ['permission 0, permission 1, permission 2, yes', 'end_turn']);
  assert.deepEqual(editor.asked, ['Write main.ts']);
  assert.equal(await editor.stop(), 0);
}));

test('each editor has an agent of its own', () => withAgent(async (hub) => {
  const editors = await Promise.all([hub.editor({ permission: 'yes' }), hub.editor({ permission: 'no' })]);
  assert.notEqual(editors[0].agentPid, editors[1].agentPid);
  const turns = await Promise.all(editors.map((editor) => editor.turn('permission')));
  assert.deepEqual(turns.map(([text]) => text.slice(-3).replace(/\W/g, '')), ['yes', 'no']);
  assert.equal(hub.noted('starts').length, 2);
}));

test('session/cancel ends the turn', () => withAgent(async (hub) => {
  const editor = await hub.editor(), turn = editor.wait(hub);
  await until('the agent waits', () => hub.noted('waits').length === 1);
  await editor.agent.notify(session.cancel, { sessionId: editor.session.sessionId });
  assert.deepEqual(await within(turn, 'the turn'), { stopReason: 'cancelled' });
  assert.equal(hub.noted('session/cancel').length, 1);
}));

test('$/cancel_request gives a prompt up, at the agent too', () => withAgent(async (hub) => {
  const editor = await hub.editor(), controller = new AbortController();
  const turn = editor.wait(hub, { cancellationSignal: controller.signal });
  await until('the agent waits', () => hub.noted('waits').length === 1);
  controller.abort();
  const error = await within(turn, 'the turn');
  assert.equal(error.code, -32800, error.stack);
  await until('the agent is told', () => hub.noted('$/cancel_request').length === 1);
  assert.deepEqual(await editor.turn('hello'), ['hello 0, hello 1, hello 2, ', 'end_turn'], 'the session goes on');
}));

test('what the hub gives up is said as $/cancel_request', () => withAgent(async (hub) => {
  const editor = await hub.editor();
  const turn = await within(editor.wait(hub), 'the turn');
  assert.equal(turn.code, -32051, turn.stack);
  await until('the agent is told', () => hub.noted('$/cancel_request').length === 1);
}, '', ['--request-timeout', '2s']));

test('an editor that is killed takes its agent with it, and no other', () => withAgent(async (hub) => {
  const [killed, other] = await Promise.all([hub.editor(), hub.editor()]);
  killed.wait(hub).catch(() => {});
  await until('the agent waits', () => hub.noted('waits').length === 1);
  killed.process.kill('SIGKILL');
  await until('its agent has ended', () => !lives(killed.agentPid));
  assert.ok(lives(other.agentPid));
  assert.deepEqual(await other.turn('permission'), ['permission 0, permission 1, permission 2, yes', 'end_turn']);
  const again = await hub.editor();
  assert.deepEqual((await again.turn('hello'))[1], 'end_turn');
}));

// The programs of tools/examples do what they say.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Hub } from '../e2e/hub.mjs';
import { within } from '../e2e/peer.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const examples = join(here, '../../tools/examples');

async function withHub(options, run) {
  const hub = await Hub.start(['--shards', '2', ...options]);
  const failures = [];
  await Promise.resolve(run(hub)).catch((error) => failures.push(error));
  await hub.stop().catch((error) => failures.push(error));
  if (failures.length) throw failures[0];
}

// A program until the test's end; resolves with its first line of output.
async function start(hub, command, ...words) {
  const program = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, PATCHBAY_HUB: hub.uri(), PYTHONDONTWRITEBYTECODE: '1' } });
  let said = '';
  program.end = within(new Promise((resolve) => program.on('close', (code) => resolve({ out: said, code }))), 'the program to end', 20000);
  program.end.catch(() => {}); // most are killed
  const line = await within(new Promise((resolve, reject) => {
    program.on('error', reject);
    program.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (said.includes('\n')) resolve(said.slice(0, said.indexOf('\n')));
    });
  }), `${words[0]} to say something`).catch((error) => { program.kill('SIGKILL'); throw error; });
  return { program, line };
}

// The program's exit status, once it has been interrupted.
async function interrupted(program) {
  const ended = new Promise((resolve) => program.on('close', resolve));
  program.kill('SIGINT');
  return within(ended, 'the program to end');
}

test('agent.py', () => withHub([], async (hub) => {
  const { program, line } = await start(hub, 'python3', join(examples, 'agent.py'));
  try {
    assert.deepEqual(JSON.parse(line), { agentId: 'counter', registered: true });
    const peer = await hub.peer();
    assert.deepEqual((await peer.ask('tests/count', { text: 'one two  drei é' })).result, { words: 4 });
    assert.equal((await peer.ask('other', { targetAgent: 'counter' })).error.code, -32601);
    const answer = peer.ask('tests/count', { text: 'one', workDoneToken: 7 });
    const progress = await peer.find((one) => one.json.method === '$/progress', 'its progress');
    assert.equal(progress.json.params.token, 7);
    assert.deepEqual((await answer).result, { words: 1 });
  } finally {
    program.kill('SIGKILL');
  }
}));

test('ask.py', () => withHub([], async (hub) => {
  const { program } = await start(hub, 'python3', join(examples, 'ask.py'));
  const { out, code } = await program.end;
  assert.deepEqual([out, code], ["{'percent': 50}\na cake\ntimed out (-32051)\n", 0]);
}));

test('agent.mjs', () => withHub([], async (hub) => {
  const { program, line } = await start(hub, process.execPath, join(examples, 'agent.mjs'));
  try {
    assert.deepEqual(JSON.parse(line), { agentId: 'reverser', registered: true });
    const peer = await hub.peer();
    const answer = peer.ask('tests/reverse', { text: 'añb', workDoneToken: 7 });
    const progress = await peer.find((one) => one.json.method === '$/progress', 'its progress');
    assert.equal(progress.json.params.token, 7);
    assert.deepEqual((await answer).result, { text: 'bña' });
    assert.equal(await interrupted(program), 0);
  } finally {
    program.kill('SIGKILL');
  }
}));

test('events.mjs', () => withHub([], async (hub) => {
  const peer = await hub.peer();
  const publishing = setInterval(() => peer.notify('event', { event: 'build-done', data: { n: 1 } }), 20); // until somebody listens
  const { program, line } = await start(hub, process.execPath, join(examples, 'events.mjs')).finally(() => clearInterval(publishing));
  try {
    assert.deepEqual(JSON.parse(line), { name: 'build-done', data: { n: 1 } });
    assert.equal(await interrupted(program), 0);
  } finally {
    program.kill('SIGKILL');
  }
}));

test('what uses a client has 25 lines at most', () => {
  for (const name of readdirSync(examples)) {
    const text = readFileSync(join(examples, name), 'utf8');
    if (/clients\/|import patchbay/.test(text)) assert.ok(text.split('\n').length - 1 <= 25, name);
  }
});

test('extension.py', () => withHub(['--extension', `greeter=python3 "${join(examples, 'extension.py')}"`], async (hub) => {
  const editor = await hub.agent('editor', { methods: ['editor/getMessage', 'editor/setMessage'] });
  const peer = await hub.peer();
  let set;
  const greeted = new Promise((resolve) => { set = resolve; });
  editor.serve((message) => {
    if (message.method === 'editor/setMessage') set(message.params.message);
    return { message: 'how are you?' };
  });
  await peer.ask('hub/ping', { targetAgent: 'greeter' });
  const waits = peer.ask('other', { targetAgent: 'greeter' }); // until it has started
  assert.equal((await waits).error.code, -32601);
  assert.equal((await peer.ask('command/execute', { command: 'greeter/greet' })).result, null);
  assert.equal(await within(greeted, 'its greeting'), 'Hello! how are you?');
}));

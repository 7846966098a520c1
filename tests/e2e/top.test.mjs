// `patchbay top`: the hub as it is, live in a terminal that is as it was afterwards, and one picture elsewhere.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { scenario } from './hub.mjs';
import { WAIT_MS, within } from './peer.mjs';

const program = process.env.PATCHBAY;
const here = dirname(fileURLToPath(import.meta.url));
const python = spawnSync('python3', ['--version']).status === 0;
const ENTER = '\x1b[?1049h', LEAVE = '\x1b[?1049l', HOME = '\x1b[H', CLEAR_REST = '\x1b[J';

// A program on a terminal: what it has written so far, and what the terminal shows by its last whole frame.
class Terminal {
  written = '';
  said = '';

  constructor(hub, { columns = 100, rows = 30, args = [] } = {}) {
    this.process = spawn('python3', [join(here, 'terminal.py'), String(columns), String(rows), program,
      '--hub', hub.uri(), 'top', ...args]);
    this.process.stdout.setEncoding('latin1').on('data', (text) => {
      this.written += text;
      this.wake?.();
    });
    this.process.stderr.setEncoding('utf8').on('data', (text) => { this.said += text; });
    this.exit = new Promise((resolve) => this.process.on('close', resolve));
  }

  // The lines of the last frame, without styles.
  get lines() {
    const frames = this.written.split(HOME).slice(1).filter((frame) => frame.includes(CLEAR_REST));
    return frames.length ? frames.at(-1).split(CLEAR_REST)[0].replaceAll(/\x1b\[[0-9;]*[mK]/g, '').split(/\r+\n/) : [];
  }

  async until(is, what) {
    await within((async () => {
      while (!is(this.lines)) await new Promise((resolve) => { this.wake = resolve; });
    })(), what).catch((error) => {
      throw new Error(`${error.message}; it shows:\n${this.lines.join('\n')}\n${this.said}`);
    });
    return this.lines;
  }

  press(keys) {
    this.process.stdin.write(keys);
  }

  // How the program ended, and that it left the screen and the terminal's modes as they were.
  async ended(status) {
    await within(this.exit, 'top to end');
    const end = JSON.parse(this.said.trim().split('\n').at(-1));
    assert.deepEqual(end, { status, same: true });
    assert.ok(this.written.startsWith(ENTER));
    const left = this.written.lastIndexOf(LEAVE);
    assert.ok(left > 0 && !this.written.slice(left).includes(HOME), 'nothing is drawn behind the end');
    assert.ok(this.written.slice(0, left).endsWith('\x1b[?7h\x1b[?25h'), 'cursor and wrapping are back');
    return this.written.slice(left + LEAVE.length);
  }
}

const ends = [
  ['q', 0, (shown) => shown.press('q')],
  ['Ctrl-C', 0, (shown) => shown.press('\x03')],
  ['SIGTERM', 0, (shown) => shown.process.kill('SIGUSR2')],
];

if (!python) console.error('python3 is missing: top was NOT tested on a terminal');
else {
  scenario('top shows the hub and ends as it is told', { transports: ['tcp'], shards: [2] }, async (hub) => {
    await hub.agent('beta');
    await hub.agent('alpha', {}, { governanceLevel: 'manual' });
    for (const [, status, end] of ends) {
      const shown = new Terminal(hub);
      const lines = await shown.until((all) => all.some((line) => line.startsWith('alpha')), 'the agents');
      assert.match(lines[0], /^WELL {2}tcp:\S+ {2}patchbay \d/);
      assert.equal(lines.length, 30);
      assert.ok(lines.every((line) => line.length <= 100));
      assert.match(lines.find((line) => line.startsWith('connections')), /connections 3 of \d+ {2}framed 3 {3}agents 2/);
      assert.match(lines.find((line) => line.startsWith('alpha')), /^alpha +manual +0 /);
      end(shown);
      assert.equal((await shown.ended(status)).replaceAll(/\r\n/g, ''), '');
    }
  });

  scenario('top sorts, changes what it shows, and follows the window', { transports: ['unix'] }, async (hub) => {
    const owing = await hub.agent('zulu'), asking = await hub.peer();
    await hub.agent('alpha');
    asking.send({ jsonrpc: '2.0', id: 1, method: 'm', params: { targetAgent: 'zulu' } });
    await owing.next();
    const shown = new Terminal(hub);
    const first = (lines) => lines[1 + lines.findIndex((line) => line.startsWith('AGENT'))] ?? '';
    await shown.until((lines) => /^zulu +autonomous +1 /.test(first(lines)), 'who owes most, first');
    shown.press('n');
    await shown.until((lines) => first(lines).startsWith('alpha'), 'the order by name');
    shown.press('2');
    await shown.until((lines) => lines.some((line) => /^zulu .* 1 *$/.test(line)) && lines.some((line) => line.startsWith('SLOWEST')), 'who owes for longest');
    shown.process.kill('SIGUSR1');
    await shown.until((lines) => lines.at(-1).length === 80, 'a narrower screen');
    assert.ok(shown.lines.every((line) => line.length <= 80));
    shown.press('q');
    await shown.ended(0);
  });

  scenario('top leaves the terminal as it was when the hub ends', { transports: ['tcp'] }, async (hub) => {
    const shown = new Terminal(hub);
    await shown.until((lines) => lines[0]?.startsWith('WELL'), 'the hub');
    hub.process.kill('SIGTERM');
    assert.match(await shown.ended(3), /patchbay: tcp:\S+: the hub closed the connection/);
  });
}

scenario('top prints one picture where there is no terminal', { transports: ['tcp'] }, async (hub) => {
  await hub.agent('alpha');
  const { status, stdout, stderr } = await new Promise((resolve) => {
    const child = spawn(program, ['--hub', hub.uri(), 'top'], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (text) => { said[name] += text; });
    child.on('close', (code) => resolve({ status: code, ...said }));
  });
  assert.equal(stderr, '');
  assert.equal(status, 0);
  assert.match(stdout, /^WELL {2}tcp/);
  assert.match(stdout, /\nalpha +autonomous +0 /);
  assert.doesNotMatch(stdout, /\x1b/);
  for (const heading of ['SHARD', 'AGENT', 'SLOWEST TARGETS', 'DEEPEST QUEUES', 'DROPPED AND REFUSED']) assert.ok(stdout.includes(`\n${heading}`), heading);
});

const broken = join(mkdtempSync(join(tmpdir(), 'patchbay-top-')), 'hub.ini');
after(() => rmSync(dirname(broken), { recursive: true, force: true }));
writeFileSync(broken, '[child broken]\ncommand = false\nrestart-delay = 1ms\nrestart-limit = 1\n');

scenario('top and agents tell of a program that stays down', { transports: ['tcp'], options: ['--config', broken] }, async (hub) => {
  const peer = await hub.peer();
  for (const end = Date.now() + WAIT_MS; (await peer.ask('hub/stats')).result.children_down !== 1;) assert.ok(Date.now() < end, 'it is down');
  const said = async (...args) => (await promisify(execFile)(program, ['--hub', hub.uri(), ...args])).stdout;
  const picture = await said('top');
  assert.match(picture, /^ATTENTION {2}tcp/);
  assert.match(picture, /\n {2}programs that stay down: 1 \(broken\)\n/);
  assert.match(picture, /\nbroken +autonomous +0 +\S+ +down\n/);
  assert.match(await said('agents'), /\nbroken +autonomous +0 +\S+Z +down +\{/);
});

scenario('top says what it does not understand', { transports: ['tcp'] }, async (hub) => {
  for (const [args, status] of [[['--sort', 'size'], 2], [['extra'], 2]]) {
    assert.equal(spawnSync(program, ['--hub', hub.uri(), 'top', ...args]).status, status);
  }
  assert.equal(spawnSync(program, ['--hub', 'tcp://127.0.0.1:1', 'top']).status, 3);
});

// A page of the documentation: its fenced blocks, its rules, and the player of its commands.
//
// A block of commands or of a program (sh, js, python) says in its info string what a test does with it:
//   ```sh run               played by bash; must end with status 0, or `status=N`
//   ```sh run background    started, and left running until the page's end; played on once it has said that it is ready
//   ```sh not-run           not played
// A block `text output` behind a played one is what that one prints, where `…` stands for anything. A block `file=NAME` of any
// language is written to that file before what follows is played, and needs no mark. A comment <!-- run: COMMAND --> is played
// and not shown; <!-- background: COMMAND --> likewise.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROGRAMS = { sh: ['bash', '-eu', '-o', 'pipefail'], js: ['node', '--input-type=module', '-'], python: ['python3', '-'] };
const READY = /^(listening |.* is registered)/m;
const STEP_MS = 20_000;
const CLIENTS = join(dirname(fileURLToPath(import.meta.url)), '../../tools/clients');

// The blocks and the comments that are played, in order: {line, language, words, text}. Throws where a block has no end.
export function blocksOf(page) {
  const blocks = [];
  let open = null;
  page.split('\n').forEach((line, index) => {
    const fence = /^```(.*)$/.exec(line);
    const comment = /^<!-- (run|background): (.*) -->$/.exec(line);
    if (open && fence && fence[1] === '') {
      blocks.push(open);
      open = null;
    } else if (open) open.text += `${line}\n`;
    else if (fence) {
      const [language, ...words] = fence[1].trim().split(/\s+/);
      open = { line: index + 1, language, words, text: '' };
    } else if (comment) {
      const words = comment[1] === 'run' ? ['run'] : ['run', 'background'];
      blocks.push({ line: index + 1, language: 'sh', words, text: `${comment[2]}\n` });
    }
  });
  if (open) throw new Error(`line ${open.line}: the block has no end`);
  return blocks;
}

const runs = (block) => block.words.includes('run');
const isOutput = (block) => block.language === 'text' && block.words.includes('output');

// The faults of a page, one text each: a program that says neither `run` nor `not-run`, commands outside a block.
export function faultsOf(page) {
  const blocks = blocksOf(page);
  const faults = [];
  blocks.forEach((block, at) => {
    const marks = block.words.filter((word) => word === 'run' || word === 'not-run');
    const written = block.words.some((word) => word.startsWith('file='));
    if (block.language in PROGRAMS && marks.length !== 1 && !written) faults.push(`line ${block.line}: ${block.language} is marked neither run nor not-run`);
    if (!(block.language in PROGRAMS) && marks.length > 0) faults.push(`line ${block.line}: ${block.language || 'this'} can't be run`);
    if (isOutput(block) && !(at > 0 && runs(blocks[at - 1]))) faults.push(`line ${block.line}: nothing before it was run`);
  });
  page.split('\n').forEach((line, index) => {
    if (/^\s+\$ /.test(line)) faults.push(`line ${index + 1}: a command outside a block`);
  });
  return faults;
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => { server.on('listening', resolve); });
  const { port } = server.address();
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

function pattern(output) {
  const quote = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${output.trimEnd().split('…').map(quote).join('[\\s\\S]*?')}$`);
}

// Plays a page in a folder of its own. The ports 7411 to 7429 that it names are free ones instead, also where the hub listens
// by default. Programs find the clients of tools/clients.
export class PagePlayer {
  ports = new Map();
  background = [];

  async play(page) {
    this.folder = mkdtempSync(join(tmpdir(), 'patchbay-page-'));
    try {
      await this.prepare();
      const blocks = blocksOf(page);
      for (const [at, block] of blocks.entries()) {
        const file = block.words.find((word) => word.startsWith('file='))?.slice('file='.length);
        if (file) await this.write(file, block.text);
        if (runs(block)) await this.step(block, blocks[at + 1]);
      }
      await this.end();
    } finally {
      for (const { process: one } of this.background) this.kill(one, 'SIGKILL');
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  async localize(text) {
    for (const [port] of text.matchAll(/\b74(?:1[1-9]|2\d)\b/g)) if (!this.ports.has(port)) this.ports.set(port, await freePort());
    return text.replace(/\b74(?:1[1-9]|2\d)\b/g, (port) => this.ports.get(port));
  }

  async write(file, text) {
    mkdirSync(dirname(join(this.folder, file)), { recursive: true });
    writeFileSync(join(this.folder, file), await this.localize(text));
  }

  async prepare() {
    const hub = await this.localize('tcp://127.0.0.1:7411');
    const http = await this.localize('127.0.0.1:7412');
    mkdirSync(join(this.folder, 'build/release/router'), { recursive: true });
    mkdirSync(join(this.folder, 'build/release/tools'));
    mkdirSync(join(this.folder, 'bin'));
    mkdirSync(join(this.folder, 'run'), { mode: 0o700 });
    symlinkSync(process.env.PATCHBAY, join(this.folder, 'build/release/tools/patchbay'));
    symlinkSync(process.env.PATCHBAY, join(this.folder, 'bin/patchbay'));
    mkdirSync(join(this.folder, 'node_modules/@patchbay'), { recursive: true });
    symlinkSync(join(CLIENTS, 'node'), join(this.folder, 'node_modules/@patchbay/client'));
    const shim = `#!/bin/sh
case " $* " in
*" --listen"* | *" --config"* | *" --check"* | *" --help"* | *" --version"*) exec '${process.env.PATCHBAYD}' "$@" ;;
*" --http"*) exec '${process.env.PATCHBAYD}' --listen ${hub} "$@" ;;
*) exec '${process.env.PATCHBAYD}' --listen ${hub} --http ${http} "$@" ;;
esac
`;
    for (const path of ['bin/patchbayd', 'build/release/router/patchbayd']) {
      writeFileSync(join(this.folder, path), shim);
      chmodSync(join(this.folder, path), 0o755);
    }
    this.environment = { ...process.env, PYTHONPATH: join(CLIENTS, 'python/src'), PATCHBAY_HUB: hub, XDG_RUNTIME_DIR: join(this.folder, 'run'), PATH: `${join(this.folder, 'bin')}:${process.env.PATH}` };
  }

  async step(block, next) {
    const [program, ...args] = PROGRAMS[block.language];
    const child = spawn(program, args, { cwd: this.folder, env: this.environment, detached: true });
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr']) child[stream].setEncoding('utf8').on('data', (text) => { said[stream] += text; });
    const exit = new Promise((resolve) => { child.on('close', (code, signal) => resolve({ code, signal })); });
    const what = `line ${block.line}: ${block.text.trim()}`;
    child.stdin.on('error', () => {}); // the program ended before it had read all of it: its status tells
    child.stdin.end(await this.localize(block.text));
    if (block.words.includes('background')) {
      this.background.push({ process: child, exit, what, said });
      const ready = new Promise((resolve) => { child.stderr.on('data', () => READY.test(said.stderr) && resolve('ready')); });
      const first = await this.within(Promise.race([ready, exit]), child, what, said);
      assert.equal(first, 'ready', `${what}\nended before it was ready: ${said.stderr}`);
      return;
    }
    const { code, signal } = await this.within(exit, child, what, said);
    const status = Number(block.words.find((word) => word.startsWith('status='))?.slice('status='.length) ?? 0);
    assert.deepEqual({ code, signal }, { code: status, signal: null }, `${what}\nsaid: ${said.stdout}${said.stderr}`);
    if (next && isOutput(next)) assert.match(said.stdout.trimEnd(), pattern(await this.localize(next.text)), `${what}: what it prints is\n${said.stdout}`);
  }

  kill(child, signal) {
    try {
      process.kill(-child.pid, signal);
    } catch (error) {
      if (error.code !== 'ESRCH') throw error; // it has ended
    }
  }

  async within(promise, child, what, said) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => {
        this.kill(child, 'SIGKILL');
        reject(new Error(`${what}\ntook too long; it said: ${said.stdout}${said.stderr}`));
      }, STEP_MS);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  }

  // The last that was started ends first. A hub ends with status 0, or its page fails.
  async end() {
    for (const { process: child, exit, what, said } of this.background.reverse()) {
      this.kill(child, 'SIGTERM');
      const { code, signal } = await this.within(exit, child, what, said);
      assert.ok(code === 0 || code === 143 || signal === 'SIGTERM', `${what}\nended with ${code ?? signal}: ${said.stderr}`);
      assert.doesNotMatch(said.stderr, /Sanitizer|runtime error|Assertion/, said.stderr);
    }
    this.background = [];
  }
}

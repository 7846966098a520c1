// Requests a second that an agent answers with a client's library, beside loops written by hand. All of them take
// turns, so that other work of the machine falls on each. Every second round goes the other way round.
//
// usage: beside.mjs PATCHBAYD PATCHBAY node|python [ROUNDS [SECONDS [DEPTH [BODY-BYTES]]]]
//
// DEPTH is how many requests wait for an answer at any time. A ratio of 1 or more: the library answers more. The least CPU
// time of a request is that of the round which other work of the machine disturbed least.
import { execFile, spawn } from 'node:child_process';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const PROGRAMS = {
  node: { library: 'node node_library.mjs', loop: 'node node_loop.mjs', 'loop that batches': 'node node_loop.mjs --batch' },
  python: { library: 'python3 python_library.py', loop: 'python3 python_loop.py', 'loop that batches': 'python3 python_loop.py --batch' },
};
const [patchbayd, patchbay, language, rounds = 7, seconds = 2, depth = 16, bodyBytes = 256] = process.argv.slice(2);
const sides = Object.entries(PROGRAMS[language]).map(([name, command]) => ({ name, command, runs: [] }));
const env = { ...process.env, PYTHONPATH: `${here}/../../tools/clients/python/src`, PYTHONDONTWRITEBYTECODE: '1' };

async function listening(hub) {
  let said = '';
  for await (const text of hub.stderr.setEncoding('utf8')) {
    const found = /^listening (tcp:\S+)$/m.exec(said += text);
    if (found) return found[1];
  }
  throw new Error(`patchbayd ended: ${said}`);
}

async function load(uri, command) {
  const words = ['--hub', uri, 'bench', '1', '1', depth, bodyBytes, seconds, '--warmup', '0.5', '--json', '--program', command].map(String);
  const { stdout } = await promisify(execFile)(resolve(patchbay), words, { cwd: here, env });
  const { messagesPerSecond, programCpuUs } = JSON.parse(stdout);
  return { rate: messagesPerSecond, cost: programCpuUs };
}

function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], least: sorted[0], most: sorted.at(-1) };
}

const hub = spawn(patchbayd, ['--listen', 'tcp://127.0.0.1:0', '--shards', '1'], { stdio: ['ignore', 'ignore', 'pipe'] });
try {
  const uri = await listening(hub);
  for (let round = 0; round < Number(rounds); round++) {
    for (const side of round % 2 ? [...sides].reverse() : sides) side.runs.push(await load(uri, side.command));
  }
} finally {
  hub.kill();
}
const [library] = sides;
for (const { name, runs } of sides) {
  const rate = spread(runs.map((run) => run.rate)), ratio = spread(library.runs.map((run, at) => run.rate / runs[at].rate));
  const cost = spread(runs.map((run) => run.cost));
  console.log(`${name.padEnd(18)} ${Math.round(rate.median)} requests/s, ${cost.median.toFixed(1)} us of CPU each (least ${cost.least.toFixed(1)}); `
    + `library beside it ${ratio.median.toFixed(2)} (${ratio.least.toFixed(2)} to ${ratio.most.toFixed(2)})`);
}

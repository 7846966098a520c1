// Requests a second that an agent in Node answers: with @patchbay/client, beside a loop written by hand. The two take
// turns, so that what else the machine does falls on both.
//
// usage: node bench/clients/node.mjs PATCHBAYD [ROUNDS [SECONDS [DEPTH [BODY-BYTES]]]]
//
// DEPTH is how many requests wait for an answer at any time. With 1 the agent can't put answers together, with more it may.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

const [program, rounds = 7, seconds = 2, depth = 64, bodyBytes = 200] = process.argv.slice(2);
const AGENTS = { library: 'node_library.mjs', loop: 'node_loop.mjs' };

async function line(stream, pattern) {
  let said = '';
  for await (const text of stream.setEncoding('utf8')) {
    const found = pattern.exec(said += text);
    if (found) return found[1];
  }
  throw new Error(`it ended: ${said}`);
}

// The processor's time that a process has had, in microseconds.
const cpuOf = (pid) => readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0] / 1000;

// Asks the agent for so long. Returns the answers a second, and the processor's time in microseconds that one took.
async function load(uri, { name: agentId, pid }) {
  const { hostname, port } = new URL(uri), text = 'x'.repeat(Number(bodyBytes));
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tests/echo', params: { targetAgent: agentId, text } });
  const request = `Content-Length: ${body.length}\r\n\r\n${body}`;
  const socket = net.connect(Number(port), hostname).setNoDelay(true);
  const answer = `{"jsonrpc":"2.0","id":1,"result":{"text":"${text}"}}`, answerBytes = `Content-Length: ${answer.length}\r\n\r\n${answer}`.length;
  let received = 0, answered = 0;
  socket.on('data', (chunk) => {
    received += chunk.length;
    const more = Math.floor(received / answerBytes) - answered;
    answered += more;
    socket.write(request.repeat(more));
  });
  socket.write(request.repeat(Number(depth)));
  await new Promise((resolve) => setTimeout(resolve, 300)); // until it is warm
  const from = answered, cpu = cpuOf(pid), begin = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  const rate = (answered - from) / (performance.now() - begin) * 1000, cost = (cpuOf(pid) - cpu) / (answered - from);
  socket.destroy();
  await once(socket, 'close');
  if (rate === 0) throw new Error(`${agentId} answers nothing`);
  return { rate, cost };
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

const hub = spawn(program, ['--listen', 'tcp://127.0.0.1:0', '--shards', '1'], { stdio: ['ignore', 'ignore', 'pipe'] });
const children = [hub];
try {
  const uri = await line(hub.stderr, /^listening (tcp:\S+)$/m);
  const agents = [];
  for (const [name, file] of Object.entries(AGENTS)) {
    const agent = spawn(process.execPath, [fileURLToPath(new URL(file, import.meta.url)), uri, name], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(agent);
    await line(agent.stdout, /^(ready)$/m);
    agents.push({ name, pid: agent.pid, runs: [] });
  }
  // Every second round the other way round.
  for (let round = 0; round < Number(rounds); round++) {
    for (const agent of round % 2 ? [...agents].reverse() : agents) agent.runs.push(await load(uri, agent));
  }
  for (const { name, runs } of agents) {
    console.log(`${name.padEnd(8)} ${Math.round(median(runs.map((run) => run.rate)))} requests/s, ${median(runs.map((run) => run.cost)).toFixed(1)} us of CPU each`);
  }
  const [library, loop] = agents, ratios = library.runs.map((run, at) => run.rate / loop.runs[at].rate);
  console.log(`ratio    ${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`);
} finally {
  for (const child of children) child.kill('SIGKILL');
}

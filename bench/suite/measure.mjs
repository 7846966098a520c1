// One measurement: a server started for it alone, the load, and its figures.
// Success: the figures that `patchbay bench --json` prints, or `bench_bystander` where the load is a flood, or `mcp/load.mjs`
// where clients of MCP call. Failure: with what went to standard error.
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { start } from './servers.mjs';

const MCP_LOAD = fileURLToPath(new URL('../mcp/load.mjs', import.meta.url));
const EXTRA_MS = 120000; // for 10,000 connections to open, and for the drain

function run(command, deadlineMs) {
  return new Promise((done) => {
    const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
    let out = '', error = '';
    child.stdout.on('data', (bytes) => (out += bytes));
    child.stderr.on('data', (bytes) => (error += bytes));
    child.once('close', (status) => (clearTimeout(timer), done({ status, out, error: error.trim() })));
  });
}

// `what`: {server, build, unix, framing, tls, web, sources, rights, joined, options, cpus, load}. `settings`: {build, seconds, warmup, serverCpu, loadCpu}.
export async function measure(what, settings) {
  const { sources, targets, depth, body, flags = [], flood, clients, rate } = what.load;
  const cpus = what.cpus === 'both' ? `${settings.serverCpu},${settings.loadCpu}` : String(settings.serverCpu);
  const server = await start(what.server, { build: what.build, loadBuild: settings.build, unix: what.unix, framing: what.framing, tls: what.tls, web: what.web, mcp: what.mcp, sources: what.sources, rights: what.rights, joined: what.joined, options: what.options, body, cpus, loadCpu: settings.loadCpu });
  try {
    const program = clients ? [process.execPath, MCP_LOAD, ...server.load, String(clients), String(settings.seconds), ...rate ? ['--rate', String(rate)] : []] : flood ? ['bench/bench_bystander', ...server.load.slice(0, 2), flood, String(settings.seconds)]
      : ['tools/patchbay', ...server.load, ...[sources, targets, depth, body, settings.seconds].map(String), ...flags];
    const command = ['taskset', '-c', String(settings.loadCpu), resolve(settings.build, program[0]), ...program.slice(1),
      '--warmup', String(settings.warmup), ...server.pids.flatMap((pid) => ['--hub-pid', String(pid)]), '--json'];
    const { status, out, error } = await run(command, (settings.seconds + settings.warmup) * 1000 + EXTRA_MS);
    if (status !== 0) throw new Error(error || `the load ended with status ${status}`);
    return JSON.parse(out);
  } finally {
    await server.stop();
  }
}

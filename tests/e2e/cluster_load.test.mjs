// The load generator, `patchbay bench`, with its sources at one hub and its targets at another.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { joined } from './cluster.mjs';

const program = process.env.PATCHBAY;
if (!program) throw new Error('PATCHBAY must name the patchbay to test');

function bench(...options) {
  const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 60000, killSignal: 'SIGKILL' });
  let out = '', error = '';
  child.stdout.on('data', (bytes) => (out += bytes));
  child.stderr.on('data', (bytes) => (error += bytes));
  return new Promise((resolve) => child.once('close', (status) => resolve({ status, out, error })));
}

const resident = (pid) => 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

// Memory of both together is more than that of either; the counters of one hub are not taken for those of both.
for (const [name, ...load] of [['requests', '4', '2', '16', '256', '0.2'], ['events', '1', '20', '8', '256', '0.2', '--events']])
  joined(`a load of ${name} from one hub to another`, { shards: [1] }, async (x, y) => {
    const pids = [x, y].map((hub) => hub.process.pid);
    const { status, out, error } = await bench('--hub', y.uri(), 'bench', ...load, '--warmup', '0.05', '--json', '--sources', x.uri(),
      ...pids.flatMap((pid) => ['--hub-pid', String(pid)]));
    assert.equal(status, 0, error);
    const report = JSON.parse(out);
    assert.ok(report.messages > 0 && report.cpuUs > 0 && report.kernelEntries === null, out);
    assert.deepEqual([report.wrong, report.lost, report.missing], [0, 0, 0]);
    assert.ok(report.residentBytes > 1.2 * Math.max(...pids.map(resident)), out);
  });

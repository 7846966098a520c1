// The machine that a figure was taken on.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';

import { peerProgram } from './peers.mjs';

function firstLine(command, ...parameters) {
  try {
    const text = execFileSync(command, parameters, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return text.split('\n')[0].trim();
  } catch (error) {
    return String(error.stdout ?? '').split('\n')[0].trim() || 'unknown'; // mosquitto -h ends with a status
  }
}

function system() {
  try {
    return /^PRETTY_NAME="?(.*?)"?$/m.exec(readFileSync('/etc/os-release', 'utf8'))[1];
  } catch {
    return 'unknown';
  }
}

function congestionControl() {
  try {
    return readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

function packageVersion(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;
  } catch {
    return 'unknown';
  }
}

export function describe(build, root) {
  const version = /\d+(\.\d+)+/;
  const versionOf = (...command) => version.exec(firstLine(...command))?.[0] ?? 'unknown';
  return {
    processors: `${cpus().length} x ${cpus()[0]?.model ?? 'unknown'} (${arch()})`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${system()}, Linux ${release()}, TCP by ${congestionControl()}`,
    compiler: firstLine('cc', '--version'),
    versions: {
      patchbay: `${versionOf(join(build, 'router/patchbayd'), '--version')} (${firstLine('git', '-C', root, 'describe', '--always', '--dirty')})`,
      'nats-server': versionOf(peerProgram('nats'), '--version'),
      'redis-server': versionOf(peerProgram('redis'), '--version'),
      mosquitto: versionOf(peerProgram('mosquitto'), '-h'),
      nginx: versionOf('sh', '-c', '"$0" -v 2>&1', peerProgram('nginx')),
      haproxy: versionOf(peerProgram('haproxy'), '-v'),
      ...Object.fromEntries(['mcp-proxy', 'supergateway'].map((name) => [name, packageVersion(join(root, 'bench/mcp/node_modules', name))])),
      node: process.versions.node,
    },
    date: new Date().toISOString().slice(0, 10),
  };
}

// Other work on the machine shows here: the suite by itself keeps two processors busy at most.
export const load = () => loadavg()[0];

// A process to be killed: node victim.mjs URI AGENT-ID MODE. The process registers and says `ready` on standard output.
// The MODE says what follows. `mid-frame` asks itself something that it never answers, and stops in the middle of a
// frame. `deaf` reads nothing. `flood` sends without end.
import { once } from 'node:events';
import net from 'node:net';
import { Peer, frame, requestText } from './peer.mjs';

const [uri, agentId, mode] = process.argv.slice(2);
const { protocol, hostname, port, pathname } = new URL(uri);
const socket = net.connect(protocol === 'unix:' ? { path: pathname } : { host: hostname, port: Number(port) });
await once(socket, 'connect');
const peer = new Peer(socket);
await peer.register(agentId);
if (mode === 'mid-frame') {
  await peer.send(requestText(1, 'm', { targetAgent: agentId }));
  await peer.next();
  const bytes = frame(requestText(2, 'm', { targetAgent: agentId, filler: 'x'.repeat(300_000) }));
  await peer.write(bytes.subarray(0, Math.floor(bytes.length / 2)));
} else if (mode === 'deaf') {
  peer.socket.pause();
} else {
  const bytes = Buffer.concat(Array.from({ length: 200 }, (_, n) => frame(requestText(n, 'm', { targetAgent: agentId }))));
  (async () => {
    for (;;) await peer.write(bytes);
  })();
}
process.stdout.write('ready\n');
setInterval(() => {}, 1000);

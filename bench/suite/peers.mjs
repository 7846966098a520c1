// The programs of the peers: the packaged ones, or what `--peer-path` puts in their place.
const programs = new Map([
  ['nats', 'nats-server'], ['redis', 'redis-server'], ['mosquitto', 'mosquitto'], ['nginx', 'nginx'], ['haproxy', 'haproxy'],
]);

// Valkey speaks as redis does, and is measured in its place.
const aliases = new Map([['valkey', 'redis']]);

export const peerNames = () => [...programs.keys(), ...aliases.keys()];

// The program of a peer, a name or a path.
export function peerProgram(peer) {
  if (!programs.has(peer)) throw new Error(`${peer} is no peer`);
  return programs.get(peer);
}

// Takes the program at this path for the peer. False: there is no such peer.
export function replacePeer(peer, path) {
  const name = aliases.get(peer) ?? peer;
  if (!programs.has(name) || !path) return false;
  programs.set(name, path);
  return true;
}

// Opens a connection to a hub from Node: TCP, Unix sockets, TLS, and WebSocket over TCP and TLS.
import { readFile } from 'node:fs/promises';
import net from 'node:net';
import tls from 'node:tls';
import { contentLength } from './frame.js';
import { lines } from './lines.js';
import { StreamTransport } from './stream_transport.js';
import { upgrade, webSocket } from './websocket.js';

const CODECS = { 'content-length': contentLength, lines, websocket: webSocket };
const PROBE_MS = 10_000;

// Returns PEM. `given` is the name of a file, or the content of one.
async function pem(given) {
  if (given === undefined || typeof given !== 'string' || given.includes('-----BEGIN ')) return given;
  return readFile(given);
}

async function open(address, { tlsCa, tlsCertificate, tlsKey = tlsCertificate }) {
  const { host, port, path, framing, secure } = address;
  if (!secure) return net.connect(path && framing !== 'websocket' ? { path } : { host, port });
  const [ca, cert, key] = await Promise.all([pem(tlsCa), pem(tlsCertificate), pem(tlsKey)]);
  const servername = net.isIP(host) ? '' : host; // an address is no name to be told
  return tls.connect({ host, port, servername, ca, cert, key, minVersion: 'TLSv1.2', rejectUnauthorized: true });
}

function ready(socket, event) {
  return new Promise((resolve, reject) => {
    const settle = (how, value) => {
      socket.off(event, happened).off('close', closed);
      how(value);
    };
    const happened = () => settle(resolve);
    const closed = () => settle(reject, new Error('the hub closed the connection'));
    socket.on(event, happened).on('close', closed);
  });
}

// A transport, or the system's error. The signal ends the attempt.
export async function dial(address, options, signal) {
  const socket = await open(address, options), isWebSocket = address.framing === 'websocket';
  let fault;
  socket.on('error', (error) => { fault ??= error; });
  const abort = () => socket.destroy(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  try {
    await ready(socket, address.secure ? 'secureConnect' : 'connect');
    if (address.host) socket.setNoDelay(true).setKeepAlive(true, PROBE_MS);
    if (isWebSocket) await upgrade(socket, address);
    return new StreamTransport(socket, CODECS[address.framing]);
  } catch (error) {
    socket.destroy();
    throw fault ?? error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

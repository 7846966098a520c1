// Where a hub is, and what is spoken there: the URIs that `patchbay --hub` takes.

const HOST = '(\\[[0-9A-Fa-f:.]+\\]|[0-9A-Za-z.-]+)';
const STREAM = new RegExp(`^(tcp|tls)(-lines)?://${HOST}:([0-9]{1,5})$`);
const WEBSOCKET = new RegExp(`^(wss?)://${HOST}(?::([0-9]{1,5}))?(/[^\\s#]*)?$`);
// The part behind `?` is about the socket's file, and matters to the listening side alone.
const UNIX = /^unix(-lines)?:\/\/(\/[^?]*[^?/])(?:\?(?:mode|group)=[^&]+(?:&(?:mode|group)=[^&]+)?)?$/;
const PATH_BYTES_MAX = 107; // of a Unix socket's name, on Linux
const FORMS = 'tcp://HOST:PORT, tls://HOST:PORT or unix:///PATH, perhaps with -lines behind the scheme, or ws://HOST:PORT or wss://HOST:PORT';

const bare = (host) => host.replace(/^\[|\]$/g, '');

function port(text) {
  const value = Number(text);
  if (value > 65535) throw new TypeError(`no port of a hub: ${text}`);
  return value;
}

// {framing: 'content-length' | 'lines' | 'websocket', secure, and host and port, or path}. Over WebSocket `path` is the
// request's, and `authority` names the host. A TypeError never repeats the URI, which may hold a secret.
export function parseUri(uri) {
  let found = STREAM.exec(uri);
  if (found) {
    const [, scheme, lines, host, number] = found;
    return { framing: lines ? 'lines' : 'content-length', secure: scheme === 'tls', host: bare(host), port: port(number) };
  }
  found = WEBSOCKET.exec(uri);
  if (found) {
    const [, scheme, host, number, path = '/'] = found, secure = scheme === 'wss';
    return {
      framing: 'websocket', secure, host: bare(host), port: number ? port(number) : secure ? 443 : 80,
      authority: number ? `${host}:${number}` : host, path: path === '/' ? '/ws' : path,
    };
  }
  found = UNIX.exec(uri);
  if (found && found[2].length <= PATH_BYTES_MAX) return { framing: found[1] ? 'lines' : 'content-length', secure: false, path: found[2] };
  throw new TypeError(`no address of a hub that this client can speak to: it must be ${FORMS}`);
}

// Servers of the tests' own. Whatever a test does, its server is closed after all tests of its file: a listener that
// stays would keep their process from its end.
import { after } from 'node:test';

const servers = new Set(), sockets = new Set();
after(() => {
  servers.forEach((server) => server.close());
  sockets.forEach((socket) => socket.destroy());
});

// Has a server listen, by default at a free port of this machine. Returns the server once it listens.
export async function listen(server, ...where) {
  servers.add(server);
  server.on('close', () => servers.delete(server));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise((resolve, reject) => {
    server.once('error', reject).listen(...(where.length ? where : [0, '127.0.0.1']), resolve);
  });
  return server;
}

# Opens listening sockets as a service manager does, and starts a hub with them: passed.py ADDRESS,... NAME:... COMMAND...
# It stays as the manager would: each time the hub ends it starts the next one, until it is told TERM, which it passes on. USR1 ends the
# hub of the moment, and so restarts it. An address is HOST:PORT, a path or @NAME; `datagram` stands for a socket that doesn't listen.
# LISTEN_FDS of the environment, if any, replaces the count. The bound addresses are printed, one a line.
import fcntl
import os
import signal
import socket
import sys


def bound(text):
    if text == 'datagram':
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(('127.0.0.1', 0))
        return one
    if text.startswith(('/', '@')):
        one = socket.socket(socket.AF_UNIX)
        one.bind(text.replace('@', '\0', 1))
    else:
        host, port = text.rsplit(':', 1)
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, int(port)))
    one.listen(4096)
    one.setblocking(False)
    return one


sockets = [bound(text) for text in sys.argv[1].split(',')]
# Above all that the hub takes.
descriptors = [fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, 100) for one in sockets]
for one in sockets:
    name = one.getsockname()
    print(name[1] if isinstance(name, tuple) else name.replace('\0', '@') if isinstance(name, str) else '@' + name[1:].decode(), flush=True)
hub, going = 0, True


def start():
    process = os.fork()
    if process:
        return process
    for index, descriptor in enumerate(descriptors):
        os.dup2(descriptor, 3 + index, inheritable=True)
    count = os.environ.get('LISTEN_FDS', str(len(descriptors)))
    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=count, LISTEN_FDNAMES=sys.argv[2])
    os.execv(sys.argv[3], sys.argv[3:])


def end(*_):
    global going
    going = False
    os.kill(hub, signal.SIGTERM)


signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGUSR1, lambda *_: os.kill(hub, signal.SIGTERM))
status = 0
while going and status == 0:
    hub = start()
    _, ended = os.waitpid(hub, 0)
    status = os.waitstatus_to_exitcode(ended)
sys.exit(status if status >= 0 else 128 - status)

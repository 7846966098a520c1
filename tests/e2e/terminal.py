# Runs a program on a terminal of its own: terminal.py COLUMNS ROWS PROGRAM [ARGUMENT...]
# What it writes goes to standard output, what comes from standard input are its keys. SIGUSR1 makes the window 20 columns
# narrower. At the end one line on standard error says how it ended, and whether the terminal's modes are as they were.
import fcntl
import json
import os
import select
import signal
import struct
import sys
import termios

columns, rows = int(sys.argv[1]), int(sys.argv[2])
master, slave = os.openpty()


def resize(number=None, frame=None):
    global columns
    if number is not None:
        columns -= 20
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


resize()
before = termios.tcgetattr(slave)
child = os.fork()
if child == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(slave, number)
    os.close(master)
    os.execv(sys.argv[3], sys.argv[3:])
signal.signal(signal.SIGUSR1, resize)
signal.signal(signal.SIGUSR2, lambda number, frame: os.kill(child, signal.SIGTERM))
watched = [master, 0]
status = None
while status is None:
    ready, _, _ = select.select(watched, [], [], 0.05)
    if 0 in ready:
        keys = os.read(0, 1024)
        if keys:
            os.write(master, keys)
        else:
            watched.remove(0)
    if master in ready:
        os.write(1, os.read(master, 65536))
    ended, code = os.waitpid(child, os.WNOHANG)
    if ended:
        status = code
while select.select([master], [], [], 0)[0]:
    os.write(1, os.read(master, 65536))
after = termios.tcgetattr(slave)
print(json.dumps({"status": os.waitstatus_to_exitcode(status), "same": before == after}), file=sys.stderr)

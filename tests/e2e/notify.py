# Listens as a service manager does (NOTIFY_SOCKET): binds the path, and prints each message as one line of JSON with when it came, in
# microseconds of CLOCK_MONOTONIC. With a process and a number of seconds on standard input it stops one thread of that process, which
# isn't the first, for so long.
import ctypes
import json
import os
import socket
import sys
import threading
import time

manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
print('"bound"', flush=True)


def hear():
    while True:
        message = manager.recv(4096).decode()
        print(json.dumps({'at': time.monotonic_ns() // 1000, 'text': message}), flush=True)


threading.Thread(target=hear, daemon=True).start()
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
for line in sys.stdin:
    process, seconds, name = line.split()
    for thread in sorted(map(int, os.listdir(f'/proc/{process}/task')))[1:]:
        if open(f'/proc/{process}/task/{thread}/comm').read().strip() != name:
            continue
        seized = libc.ptrace(PTRACE_SEIZE, thread, None, None) == 0 and libc.ptrace(PTRACE_INTERRUPT, thread, None, None) == 0
        if seized:
            os.waitpid(thread, 0x40000000)  # __WALL
            print('"stopped"', flush=True)
            time.sleep(float(seconds))
            libc.ptrace(PTRACE_DETACH, thread, None, None)
            print('"goes on"', flush=True)
        else:
            print('"refused"', flush=True)
        break

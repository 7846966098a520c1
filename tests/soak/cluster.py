#!/usr/bin/env python3
"""Three NATS servers as a cluster and three hubs, each pair in a network namespace of its own: what fails, with 1,000 requests in flight.

usage: tests/soak/cluster.py --build BUILD [FAULT...]

A program to run, of about two minutes: it needs root, ip and nats-server, and says so where one of them is missing. Half of the requests
of each fault have been taken by the target's hub, half have just been sent. Each must end once, within the times that
router/docs/cluster.md has, and a hub that comes back must neither end one again nor answer it. Then all is put right, and a request must be
answered again. Status 0: all of it held.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

REQUESTS = 1000
NET = "10.213.77"
ENDS_S = 4.6  # 4 s, a tick, and what a busy machine takes


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Peer:
    """A connection to a hub's Unix socket, which no namespace hides."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.bytes = b""

    def send(self, *bodies):
        texts = [json.dumps(body).encode() for body in bodies]
        self.socket.sendall(b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(text), text) for text in texts))

    def take(self, until):
        """The next body, or None at that time."""
        while True:
            head, mark, rest = self.bytes.partition(b"\r\n\r\n")
            if mark:
                count = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
                if len(rest) >= count:
                    self.bytes = rest[count:]
                    return json.loads(rest[:count])
            self.socket.settimeout(max(0.001, until - time.monotonic()))
            try:
                more = self.socket.recv(1 << 20)
            except TimeoutError:
                return None
            if not more:
                return None
            self.bytes += more

    def ask(self, method, **params):
        self.send({"jsonrpc": "2.0", "id": "asked", "method": method, "params": params})
        until = time.monotonic() + 10
        while (body := self.take(until)) is not None:
            if body.get("id") == "asked":
                return body
        raise SystemExit(f"{method} isn't answered in 10 s")


class Place:
    """A namespace with a server and a hub."""

    def __init__(self, cluster, index):
        self.cluster, self.index = cluster, index
        self.name, self.address = f"{cluster.name}-{index}", f"{NET}.{index + 1}"
        self.path = f"{cluster.folder}/hub{index}.sock"
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"pbt{index}", "netns", cluster.name, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "-n", cluster.name, "link", "set", f"pbt{index}", "master", "br0", "up")
        run("ip", "-n", self.name, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            run("ip", "-n", self.name, "link", "set", device, "up")
        self.config = f"{cluster.folder}/server{index}.conf"
        with open(self.config, "w", encoding="utf-8") as config:
            routes = ", ".join(f"nats://{NET}.{other + 1}:6222" for other in range(3) if other != index)
            config.write(f'listen: "0.0.0.0:4222"\nping_interval: "2s"\nping_max: 2\n'
                         f'cluster {{ name: "c", listen: "{self.address}:6222", routes: [{routes}] }}\n')
        self.server = self.hub = None

    def start(self, *words):
        log = open(f"{self.cluster.folder}/{self.index}.log", "ab")
        return subprocess.Popen(("ip", "netns", "exec", self.name, *words), stdout=log, stderr=log)

    def start_server(self):
        self.server = self.start("nats-server", "-c", self.config)

    def start_hub(self):
        servers = ",".join(["nats://127.0.0.1:4222"] + [f"nats://{NET}.{other + 1}:4222" for other in range(3) if other != self.index])
        self.hub = self.start(self.cluster.program, "--listen", f"unix://{self.path}", "--http", "off", "--insecure", "--nats", servers,
                              "--cluster", "soak", "--request-timeout", "60s", "--max-queue", "64M")
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                return Peer(self.path)
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"hub {self.index} doesn't listen")

    def part(self, apart):
        run("ip", "-n", self.cluster.name, "link", "set", f"pbt{self.index}", "down" if apart else "up")

    def end(self):
        for process in (self.hub, self.server):
            if process:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        subprocess.run(("ip", "netns", "del", self.name), check=False)


class Cluster:
    def __init__(self, program):
        self.program, self.name = program, f"pbtest{os.getpid()}"
        self.folder = tempfile.mkdtemp()
        run("ip", "netns", "add", self.name)
        run("ip", "-n", self.name, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", self.name, "link", "set", "br0", "up")
        self.places = [Place(self, index) for index in range(3)]

    def end(self):
        for place in self.places:
            place.end()
        run("ip", "netns", "del", self.name)
        shutil.rmtree(self.folder)


def stop(process):
    process.send_signal(signal.SIGSTOP)


def kill(process):
    process.kill()
    process.wait()


# What fails of the source's place and the target's, within which time all requests end, and how it is put right.
FAULTS = {
    "hub-killed": (lambda near, far: kill(far.hub), ENDS_S, lambda near, far: None),
    "hub-stopped": (lambda near, far: stop(far.hub), ENDS_S, lambda near, far: far.hub.send_signal(signal.SIGCONT)),
    "server-killed": (lambda near, far: kill(far.server), ENDS_S, lambda near, far: far.start_server()),
    "own-server-killed": (lambda near, far: kill(near.server), 1.5, lambda near, far: near.start_server()),
    "server-stopped": (lambda near, far: stop(far.server), ENDS_S, lambda near, far: far.server.send_signal(signal.SIGCONT)),
    "own-server-stopped": (lambda near, far: stop(near.server), ENDS_S, lambda near, far: near.server.send_signal(signal.SIGCONT)),
    "partition": (lambda near, far: far.part(True), ENDS_S, lambda near, far: far.part(False)),
}


def wait_for_answer(source, agent, seconds):
    """Until a request of the source's is answered by the agent."""
    until, number = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        number += 1
        source.send({"jsonrpc": "2.0", "id": f"probe-{number}", "method": "probe", "params": {"targetAgent": "b"}})
        again = time.monotonic() + 1
        while time.monotonic() < again:
            while (asked := agent.take(time.monotonic() + 0.005)) is not None:
                if asked.get("method") == "probe":
                    agent.send({"jsonrpc": "2.0", "id": asked["id"], "result": 1})
            body = source.take(time.monotonic() + 0.02)
            if body and body.get("id") == f"probe-{number}" and "result" in body:
                return
    raise SystemExit(f"no request is answered within {seconds} s")


def work(first):
    return [{"jsonrpc": "2.0", "id": number, "method": "work", "params": {"targetAgent": "b"}}
            for number in range(first, first + REQUESTS // 2)]


def try_fault(program, name):
    fault, limit_s, mend = FAULTS[name]
    cluster = Cluster(program)
    try:
        for place in cluster.places:
            place.start_server()
        near, far = cluster.places[:2]
        source, agent = [place.start_hub() for place in cluster.places][:2]
        agent.ask("agent/register", agentId="b", capabilities={})
        wait_for_answer(source, agent, 20)
        ends = {}
        source.send(*work(0))
        time.sleep(1)
        source.send(*work(REQUESTS // 2))
        time.sleep(0.05)
        began = time.monotonic()
        fault(near, far)
        while len(ends) < REQUESTS and (body := source.take(began + limit_s)) is not None:
            if isinstance(body.get("id"), int):
                ends.setdefault(body["id"], []).append((time.monotonic() - began, body.get("error", {}).get("code")))
        took = max((end[0][0] for end in ends.values()), default=0)
        mend(near, far)
        if name == "hub-killed":
            agent = far.start_hub()
            agent.ask("agent/register", agentId="b", capabilities={})
        wait_for_answer(source, agent, 20)
        while (body := source.take(time.monotonic() + 1)) is not None:
            if isinstance(body.get("id"), int):
                ends.setdefault(body["id"], []).append((time.monotonic() - began, body.get("error", {}).get("code")))
        codes = sorted({end[1] for each in ends.values() for end in each}, key=str)
        late = REQUESTS - sum(each[0][0] <= limit_s for each in ends.values())
        twice = sum(len(each) > 1 for each in ends.values())
        good = not late and not twice and codes == [-32050]
        print(f"{'good' if good else 'BAD '} {name}: the last of {len(ends)} ended after {took:.2f} s, {late} late, {twice} twice, codes {codes}", flush=True)
        return good
    finally:
        cluster.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("fault", nargs="*", choices=[[], *FAULTS], default=[])
    options = parser.parse_args()
    missing = [name for name in ("ip", "nats-server") if not shutil.which(name)]
    if os.geteuid() != 0 or missing:
        print(f"skipped: it needs {'root' if os.geteuid() else ' and '.join(missing)}")
        return 0
    program = os.path.join(options.build, "router", "patchbayd")
    return 0 if all([try_fault(program, name) for name in options.fault or FAULTS]) else 1


sys.exit(main())

#!/usr/bin/env python3
"""A target of `patchbay bench --program`, written by hand: a loop over a socket, as the protocol's page has it.

usage: python_loop.py AGENT-ID FILL [--batch]

With --batch what came in one read is answered in one write; without it each answer is written by itself.
"""

import json
import os
import socket
import sys


def dial(uri):
    scheme, _, rest = uri.partition("://")
    if scheme == "unix":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(rest)
        return connection
    host, _, port = rest.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def frame(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def answer(message, fill):
    params = message["params"]
    if message["method"] != "agent/request" or params["task"] != "bench":
        return frame(id=message["id"], error={"code": -32601, "message": "method not found"})
    return frame(id=message["id"], result=params["context"]["nonce"] + fill)


def read(stream):
    length = 0
    while True:
        line = stream.readline()
        if not line:
            sys.exit(0)
        if line == b"\r\n":
            return json.loads(stream.read(length))
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)


def serve_each(connection, fill):
    stream = connection.makefile("rb")
    while True:
        connection.sendall(answer(read(stream), fill))


def serve_batches(connection, fill):
    data = b""
    while True:
        more = connection.recv(256 * 1024)
        if not more:
            return
        data += more
        answers, at = [], 0
        while (body_at := data.find(b"\r\n\r\n", at) + 4) >= 4:
            end = body_at + int(data[at + len("Content-Length: ") : body_at - 4])
            if end > len(data):
                break
            answers.append(answer(json.loads(data[body_at:end]), fill))
            at = end
        data = data[at:]
        connection.sendall(b"".join(answers))


def main(agent_id, fill, *options):
    connection = dial(os.environ["PATCHBAY_HUB"])
    params = {"agentId": agent_id, "capabilities": {}, "governanceLevel": "autonomous"}
    connection.sendall(frame(id=1, method="agent/register", params=params))
    assert "result" in read(connection.makefile("rb", buffering=0))
    print("ready", flush=True)
    (serve_batches if "--batch" in options else serve_each)(connection, "y" * int(fill))


main(*[word for word in sys.argv[1:] if word != "--batch"], *[word for word in sys.argv[1:] if word == "--batch"])

#!/usr/bin/env python3
"""An agent of Python's standard library: it registers, and answers tests/count.

usage: agent.py [HOST:PORT]
"""
import json
import socket
import sys


def read(stream):
    """The next message, or None at the hub's end. The length counts bytes."""
    length = 0
    while True:
        line = stream.readline()
        if not line:
            return None
        if line == b'\r\n':
            return json.loads(stream.read(length))
        name, _, value = line.partition(b':')
        if name.lower() == b'content-length':
            length = int(value)


def write(stream, **message):
    body = json.dumps({'jsonrpc': '2.0', **message}).encode()
    stream.write(b'Content-Length: %d\r\n\r\n' % len(body) + body)
    stream.flush()


def main():
    host, _, port = (sys.argv[1] if len(sys.argv) > 1 else '127.0.0.1:7411').rpartition(':')
    with socket.create_connection((host, int(port))) as connection, connection.makefile('rwb') as stream:
        write(stream, id=1, method='agent/register',
              params={'agentId': 'counter', 'capabilities': {'methods': ['tests/count']}})
        while (message := read(stream)) is not None:
            if 'method' not in message:
                print(json.dumps(message.get('result') or message.get('error')), flush=True)
            elif 'id' not in message:
                continue
            elif message['method'] == 'tests/count':
                write(stream, id=message['id'], result={'words': len(message['params']['text'].split())})
            else:
                write(stream, id=message['id'], error={'code': -32601, 'message': 'method not found'})


if __name__ == '__main__':
    main()

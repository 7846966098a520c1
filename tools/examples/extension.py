#!/usr/bin/env python3
"""A Hermes extension of Python's standard library, which the hub starts:

    patchbayd --extension greeter='python3 tools/examples/extension.py'

Its command greeter/greet asks for the editor's message and puts a greeting into it. Standard output is for
messages alone; what is for people goes to standard error.
"""
import json
import sys

# Bytes, and not text: lines end in CR LF, and Content-Length counts bytes.
INPUT, OUTPUT = sys.stdin.buffer, sys.stdout.buffer
last_id = 0


def read():
    length = 0
    while True:
        line = INPUT.readline()
        if not line:
            sys.exit(0)  # the hub has gone
        if line == b'\r\n':
            return json.loads(INPUT.read(length))
        if line.lower().startswith(b'content-length:'):
            length = int(line.split(b':')[1])


def write(**message):
    body = json.dumps({'jsonrpc': '2.0', **message}).encode()
    OUTPUT.write(b'Content-Length: %d\r\n\r\n' % len(body) + body)
    OUTPUT.flush()


def ask(method, **params):
    """Asks, and goes on with whatever comes until the answer does."""
    global last_id
    last_id += 1
    own = last_id
    write(id=own, method=method, params=params)
    while True:
        message = read()
        if 'method' in message:
            handle(message)
        elif message.get('id') == own:
            return message.get('result')


def greet():
    message = ask('editor/getMessage', format='json')
    ask('editor/setMessage', message='Hello! ' + message['message'])
    print('greeted', file=sys.stderr, flush=True)


def handle(message):
    method = message['method']
    if method == 'initialize':
        write(id=message['id'], result={
            'name': 'Greeter', 'version': '1.0.0',
            'capabilities': {'commands': ['greeter/greet']},
            'toolbarButtons': [{'label': 'Greet', 'command': 'greeter/greet'}]})
    elif method == 'shutdown':
        write(id=message['id'], result=None)
    elif method == 'command/execute' and message['params']['command'] == 'greeter/greet':
        greet()
    elif method == 'window/closed':
        print('a window was closed', file=sys.stderr, flush=True)
    elif 'id' in message:
        write(id=message['id'], error={'code': -32601, 'message': 'method not found'})


while True:
    handle(read())

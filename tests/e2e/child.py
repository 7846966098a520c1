# A program that the hub keeps: as one is, or as one should not be. usage: child.py WHAT [ARGUMENT...]
import json
import os
import signal
import sys
import time

what, rest = sys.argv[1], sys.argv[2:]
lines = 'lines' in rest


def read():
    if lines:
        text = sys.stdin.buffer.readline()
        return json.loads(text) if text else None
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(length))
        if line.lower().startswith(b'content-length:'):
            length = int(line.split(b':')[1])


def write(**message):
    body = json.dumps({'jsonrpc': '2.0', **message}).encode()
    head = b'' if lines else b'Content-Length: %d\r\n\r\n' % len(body)
    sys.stdout.buffer.write(head + body + (b'\n' if lines else b''))
    sys.stdout.buffer.flush()


def say(text):
    sys.stderr.write(text + '\n')
    sys.stderr.flush()


def grandchild():
    former = signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the grandchild's, before anybody knows of it
    process = os.fork()
    if process == 0:
        while True:
            time.sleep(60)
    signal.signal(signal.SIGTERM, former)
    return process


def answer(message):
    method, params = message['method'], message.get('params') or {}
    if method == 'environment':
        return dict(os.environ)
    if method == 'where':
        return os.getcwd()
    if method == 'descriptors':
        return sorted(int(name) for name in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + name))
    if method == 'signals':
        return {line.split(':')[0]: line.split(':')[1].strip()
                for line in open('/proc/self/status') if line.startswith('Sig')}
    if method == 'fork':
        return grandchild()
    if method == 'process':
        return {'process': os.getpid(), 'group': os.getpgid(0)}
    if method == 'say':
        say(params['text'])
    if method == 'die':
        os.kill(os.getpid(), signal.SIGKILL)
    if method == 'exit':
        sys.exit(params.get('status', 0))
    if method == 'ask':  # somebody else
        write(id=1, method=params['method'], params=params.get('params', {}))
        return read()
    if method == 'tell':
        write(method=params['method'], params=params.get('params', {}))
    return {'method': method, 'params': params}


def serve():
    while True:
        message = read()
        if message is None:
            say('end of input')
            return
        if message.get('method') in ('initialize', 'shutdown') and 'id' in message:
            say(message['method'] + ' ' + json.dumps(message['params']))
            result = {'name': what, 'capabilities': {'commands': ['greet'], 'methods': ['polite'],
                                                     'events': [{'name': 'message/changed'}, 'build-*']},
                      'toolbarButtons': [{'label': 'x', 'command': 'press'}]}
            if message['method'] == 'shutdown':
                if 'stubborn' in rest:
                    continue
                result = None
            write(id=message['id'], result=result)
        elif message.get('method') == 'exit' and message.get('params', {}).get('ends'):
            return
        elif message.get('method') == 'hang':
            continue
        elif 'id' in message and 'method' in message:
            write(id=message['id'], result=answer(message))
        else:
            say('told ' + json.dumps(message))


if 'stubborn' in rest:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if what == 'serve':
    serve()
elif what == 'deaf':  # it never answers
    say('deaf')
    time.sleep(600)
elif what == 'early':  # it speaks before it is asked to
    write(id='early', method='hub/ping', params={})
    write(method='early', params={})
    message = read()
    early = read()
    write(id=message['id'], result={'capabilities': {'early': early['error']['code']}})
    serve()
elif what == 'offers':
    write(id=read()['id'], result={'capabilities': json.loads(rest[0])})
    serve()
elif what == 'floods':
    while True:
        sys.stderr.write('x' * 1000 + '\n')
elif what == 'garbage':
    sys.stdout.write('this is no frame \x1b[31m\r\n\r\n' * 3)
    sys.stdout.flush()
    serve()
elif what == 'once':
    sys.exit(int(rest[0]))
elif what == 'half':  # it closes its output and lives
    os.close(1)
    say('half')
    time.sleep(600)

"""Real hubs and raw peers for the tests of the client in Python, and a test case that wants nothing left behind.

PATCHBAYD names the hub's program. A test waits for events, never for time to pass.
"""

import asyncio
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import unittest

import patchbay

PATCHBAYD = os.environ["PATCHBAYD"]
SECONDS = 20.0  # that a wait may take before it has failed


async def within(awaitable, what="it", seconds=SECONDS):
    """Waits, but not for ever."""
    try:
        return await asyncio.wait_for(awaitable, seconds)
    except asyncio.TimeoutError:
        raise AssertionError(f"{what} did not happen within {seconds} s") from None


async def turns(predicate, seconds=SECONDS):
    """Lets the event loop turn until something holds in this process."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not predicate():
        assert asyncio.get_running_loop().time() < deadline, "it did not come so far"
        await asyncio.sleep(0)


class Hub:
    """A patchbayd on a TCP port, a Unix socket, and the same two in lines."""

    def __init__(self, *options, listen=None):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="patchbay-python-")
        self.listen = listen or [
            "tcp://127.0.0.1:0",
            f"unix://{self.folder}/hub.sock",
            "tcp-lines://127.0.0.1:0",
            f"unix-lines://{self.folder}/lines.sock",
        ]
        self.process = None
        self.uris = []
        self.said = ""

    async def start(self):
        """Starts it; again on the same ports, which the kernel may free a moment after a hub has died."""
        for _ in range(100):
            if await self._launch():
                self._reader = asyncio.ensure_future(self._read())
                return self
            await asyncio.sleep(0.05)
        raise AssertionError(f"the hub does not start: {self.said}")

    async def _launch(self):
        listens = [word for uri in (self.uris or self.listen) for word in ("--listen", uri)]
        self.process = await asyncio.create_subprocess_exec(
            PATCHBAYD, "--http", "off", "--shards", "2", *listens, *self.options, stderr=asyncio.subprocess.PIPE
        )
        uris = []
        while len(uris) < len(self.listen):
            line = (await within(self.process.stderr.readline(), "a line of the hub")).decode()
            self.said += line
            if not line:
                await self.process.wait()
                self.process._transport.close()
                return False
            if line.startswith("listening "):
                uris.append(line.split()[1])
        self.uris = uris
        return True

    async def _read(self):
        while line := await self.process.stderr.readline():
            self.said += line.decode()

    @property
    def uri(self):
        return self.uris[0]

    def uri_of(self, scheme):
        return next(uri for uri in self.uris if uri.startswith(f"{scheme}://"))

    def signal(self, number):
        self.process.send_signal(number)

    async def kill(self):
        """The hub dies at once."""
        self.process.kill()
        await self._ended()

    async def drain(self):
        """The hub ends as SIGTERM has it."""
        self.process.terminate()
        assert await self._ended() == 0, self.said

    async def _ended(self):
        status = await within(self.process.wait(), "the hub's end")
        await self._reader
        self.process._transport.close()
        return status

    async def restart(self):
        await self.kill()
        await self.start()

    async def stop(self):
        try:
            if self.process is not None and self.process.returncode is None:
                self.process.send_signal(signal.SIGCONT)
                await self.drain()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


class Peer:
    """A raw connection in Content-Length frames: of a test to a hub, or of a client to a FakeHub."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.last_id = 0

    @classmethod
    async def dial(cls, uri):
        host, _, port = uri.partition("://")[2].rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port), limit=1 << 26))

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def raw(self, data):
        self.writer.write(data)

    async def receive(self):
        """The next message, with its header fields under `fields`; None at the end."""
        try:
            block = await within(self.reader.readuntil(b"\r\n\r\n"), "a message")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        fields = dict(line.split(": ", 1) for line in block.decode().split("\r\n") if line)
        message = json.loads(await self.reader.readexactly(int(fields["Content-Length"])))
        return {**message, "fields": fields}

    async def find(self, method):
        """The next message with this method; others are passed over."""
        while (message := await self.receive()) is not None:
            if message.get("method") == method:
                return message
        raise AssertionError(f"the connection ended before {method}")

    async def ask(self, method, params=None):
        """Sends a request, and returns its answer; others are passed over."""
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params or {})
        while (message := await self.receive()) is not None:
            if "method" not in message and message.get("id") == self.last_id:
                return message
        raise AssertionError(f"the connection ended before the answer to {method}")

    async def close(self):
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (ConnectionError, OSError):
            pass


class FakeHub:
    """Listens, and has a function serve each connection."""

    def __init__(self, serve):
        self.serve = serve
        self.accepted = []  # the loop's time of each connection
        self._tasks = set()

    async def start(self):
        self.server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=1 << 26)
        self.uri = "tcp://127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
        return self

    async def _accept(self, reader, writer):
        self.accepted.append(asyncio.get_running_loop().time())
        task = asyncio.current_task()
        self._tasks.add(task)
        peer = Peer(reader, writer)
        try:
            await self.serve(peer)
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._tasks.discard(task)
            await peer.close()

    async def stop(self):
        self.server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


async def greet(peer):
    """Serves a client's first request. Returns it."""
    message = await peer.receive()
    assert message["method"] == "initialize", message
    peer.send(id=message["id"], result={"agentId": message["params"]["agentId"]})
    return message


class ClientTest(unittest.IsolatedAsyncioTestCase):
    """Ends what a test began, in turn, and fails it for whatever is left: tasks, threads, timers, descriptors, complaints."""

    def setUp(self):
        self.endings = []
        self.complaints = []
        self._hook, sys.unraisablehook = sys.unraisablehook, lambda event: self.complaints.append(repr(event))
        self.addCleanup(setattr, sys, "unraisablehook", self._hook)

    async def asyncSetUp(self):
        self.loop = asyncio.get_running_loop()
        self.loop.set_debug(False)  # which unittest sets, and which costs several times what is tested
        self.loop.set_exception_handler(lambda loop, context: self.complaints.append(str(context)))
        watcher = Hub()
        await watcher.start()  # whatever the first child process leaves in the loop for good
        await watcher.stop()
        self.before = self.left()

    async def asyncTearDown(self):
        failures = []
        for end in reversed(self.endings):
            try:
                await within(end(), "the end of what the test began")
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]
        for _ in range(100):
            gc.collect()
            await asyncio.sleep(0)
            if self.left() == self.before:
                break
        self.assertEqual(self.left(), self.before)
        self.assertEqual(self.complaints, [])

    def left(self):
        """What must be the same after a test as before: descriptors, threads, tasks, timers."""
        timers = [one for one in self.loop._scheduled if not one.cancelled()]
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        own = [task for task in tasks if "patchbay" in repr(task)]
        threads = [one.name for one in threading.enumerate() if "waitpid" not in one.name]  # a hub's end is waited for
        return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": threads, "timers": len(timers), "tasks": own}

    async def hub(self, *options, **more):
        hub = Hub(*options, **more)
        self.endings.append(hub.stop)
        return await hub.start()

    async def fake(self, serve):
        hub = FakeHub(serve)
        self.endings.append(hub.stop)
        return await hub.start()

    async def client(self, hub, token=None, **more):
        client = await within(patchbay.connect(hub if isinstance(hub, str) else hub.uri, token, **more), "a connection")
        self.endings.append(client.close)
        return client

    async def peer(self, hub):
        peer = await Peer.dial(hub if isinstance(hub, str) else hub.uri)
        self.endings.append(peer.close)
        return peer

    async def agent(self, hub, name, capabilities=None, **more):
        client = await self.client(hub, **more)
        await client.register(name, capabilities)
        return client

    async def assertHubError(self, code, awaitable, kind=patchbay.HubError):
        with self.assertRaises(kind) as caught:
            await within(awaitable, f"error {code}")
        self.assertEqual(caught.exception.code, code, caught.exception)
        return caught.exception


class States:
    """The states of a client, in order."""

    def __init__(self, client):
        self.seen = []
        self._new = []  # since `reach` returned last
        self._changed = asyncio.Event()
        client.on_state(self._tell)

    def _tell(self, state):
        self.seen.append(state)
        self._new.append(state)
        self._changed.set()

    async def reach(self, *states):
        """Waits until these are what came since the last time."""
        while self._new != list(states):
            assert len(self._new) < len(states), f"{self._new} and not {states}"
            self._changed.clear()
            await within(self._changed.wait(), f"{states} after {self.seen}")
        self._new.clear()

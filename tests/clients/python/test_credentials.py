"""Tokens and TLS: who is refused, what is told, and that no token shows."""

import asyncio
import hashlib
import io
import logging
import os
import pickle
import signal
import subprocess
import unittest
from unittest import mock

import patchbay
from harness import ClientTest, States, greet, within

TOKEN = "pb_" + "s3cret" * 10
OTHER = "pb_" + "0ther" * 12


def users(*tokens):
    lines = "".join(f"token = sha256:{hashlib.sha256(token.encode()).hexdigest()}\n" for token in tokens)
    return f"[user ci]\n{lines}register = *\noffer = method:*, @*\ncall = *, @*, method:*\npublish = *\nsubscribe = *\n"


class Credentials(ClientTest):
    async def asyncSetUp(self):
        await super().asyncSetUp()
        self.log = io.StringIO()
        handler = logging.StreamHandler(self.log)
        for name in ("patchbay", "asyncio"):
            logger = logging.getLogger(name)
            before = logger.level, logger.propagate
            logger.setLevel(logging.DEBUG)
            logger.propagate = False
            logger.addHandler(handler)
            self.addCleanup(logger.removeHandler, handler)
            self.addCleanup(logger.setLevel, before[0])
            self.addCleanup(setattr, logger, "propagate", before[1])

    async def asyncTearDown(self):
        await super().asyncTearDown()
        self.assertNotIn(TOKEN, self.log.getvalue())

    async def guarded(self, *tokens):
        """A hub with a users file in its folder."""
        hub = await self.hub()
        await hub.drain()
        self.write_users(hub, *tokens)
        hub.options = ("--users", f"{hub.folder}/users")
        return await hub.start()

    def write_users(self, hub, *tokens):
        with open(f"{hub.folder}/users", "w", encoding="utf-8") as file:
            file.write(users(*tokens))

    async def test_right_token(self):
        hub = await self.guarded(TOKEN)
        client = await self.client(hub, TOKEN)
        await client.register("ci-agent", {"methods": ["m"]})
        with mock.patch.dict(os.environ, {"PATCHBAY_TOKEN": TOKEN, "PATCHBAY_HUB": hub.uri}):
            other = await patchbay.connect()
            self.assertEqual(await other.call("hub/ping", 1), 1)
            await other.close()
        states = States(client)
        await hub.restart()
        await states.reach("lost", "connected")
        self.assertEqual(await client.call("hub/ping", 2), 2)
        for text in (repr(client), str(client), repr(vars(client)), repr(vars(client._session)), repr(client._settings), str(client._settings.token)):
            self.assertNotIn(TOKEN, text)
        with self.assertRaises(Exception) as caught:
            pickle.dumps(client._settings.token)
        self.assertNotIn(TOKEN, str(caught.exception))

    async def test_wrong_token(self):
        hub = await self.guarded(OTHER)
        error = await self.assertHubError(-32001, patchbay.connect(hub.uri, TOKEN))

        self.assertNotIn(TOKEN, repr(error) + str(error))

    async def test_no_token(self):
        hub = await self.guarded(OTHER)
        await self.assertHubError(-32054, patchbay.connect(hub.uri))

    async def test_token_that_is_taken_away(self):
        hub = await self.guarded(TOKEN)
        client = await self.client(hub, TOKEN)
        await client.register("ci-agent")
        states, events = States(client), client.events("e")
        ends = [asyncio.ensure_future(events.__anext__()), asyncio.ensure_future(client.wait_closed())]
        self.write_users(hub, OTHER)
        hub.signal(signal.SIGHUP)
        await states.reach("lost", "refused")
        for end in (*ends, client.call("hub/ping"), client.notify("m"), client.publish("e"), client.events("f").__anext__()):
            error = await self.assertHubError(-32001, end)
            self.assertNotIsInstance(error, patchbay.ConnectionLost)
        self.assertIsNone(client._session._connection)
        self.assertTrue(client._session._reopening.done())
        await within(client.close())

    async def test_calls_that_wait_when_the_token_is_refused(self):
        hub = await self.guarded(TOKEN)
        client = await self.client(hub, TOKEN)
        states = States(client)
        await hub.kill()
        await states.reach("lost")
        waits = [asyncio.ensure_future(client.call("hub/ping", timeout=60)) for _ in range(3)]
        self.write_users(hub, OTHER)
        await hub.start()
        for wait in waits:
            await self.assertHubError(-32001, wait)
        await states.reach("refused")

    async def test_hub_that_repeats_the_token(self):
        async def serve(peer):
            message = await peer.receive()
            token = message["params"]["token"]
            peer.send(id=message["id"], error={"code": -32001, "message": f"no: {token}", "data": {token: [token]}})
            await peer.receive()

        fake = await self.fake(serve)
        error = await self.assertHubError(-32001, patchbay.connect(fake.uri, TOKEN))
        self.assertEqual((error.message, error.data), ("no: ***", {"***": ["***"]}))
        trace = error.__traceback__
        while trace is not None:
            if "patchbay/src" in trace.tb_frame.f_code.co_filename or "clients/python/src" in trace.tb_frame.f_code.co_filename:
                self.assertNotIn(TOKEN, repr(trace.tb_frame.f_locals))
            trace = trace.tb_next
        self.assertEqual((error.__cause__, error.__context__), (None, None))

    async def test_token_in_the_wrong_place(self):
        with self.assertRaises(ValueError) as caught:
            await patchbay.connect(TOKEN)
        self.assertNotIn(TOKEN, str(caught.exception))
        with self.assertRaises(TypeError) as caught:
            await patchbay.connect("tcp://127.0.0.1:1", TOKEN.encode())
        self.assertNotIn(TOKEN, str(caught.exception))

    async def test_required_initialize(self):
        hub = await self.hub("--require-initialize", "--validate", "strict")
        client = await self.client(hub)
        self.assertEqual(await client.call("hub/ping", 1), 1)

    async def test_what_cannot_be_used_is_an_error_at_once(self):
        for uri in ("ws://127.0.0.1:1", "wss://127.0.0.1:1", "nonsense"):
            with self.assertRaises(ValueError):
                await patchbay.connect(uri)
        with self.assertRaises(ValueError):
            await patchbay.connect("tcp://127.0.0.1:1", governance_level="high")
        with self.assertRaises(ValueError):
            await patchbay.connect("tcp://127.0.0.1:1", concurrency=0)
        with self.assertRaises(ValueError):
            await patchbay.connect("tcp://127.0.0.1:1", max_frame=0)
        for words in ({"concurrency": 1.5}, {"concurrency": "4"}, {"max_frame": "64M"}):
            with self.assertRaises(TypeError):
                await patchbay.connect("tcp://127.0.0.1:1", **words)
        with self.assertRaises(OSError):
            await patchbay.connect("tls://127.0.0.1:1", tls_ca="/nothing")
        with mock.patch.dict(os.environ, {"PATCHBAY_HUB": "ws://127.0.0.1:1"}), self.assertRaises(ValueError):
            await patchbay.connect()

    async def test_initialize_tells_the_level(self):
        hub = await self.hub()
        loose, strict = await self.client(hub), await self.client(hub, governance_level="manual")
        other = await self.client(hub)
        async with loose.events("e") as first, strict.events("e") as second:
            self.assertEqual(await other.publish("e", 1, level="manual"), 1)
            self.assertEqual((await within(second.__anext__())).data, 1)
            self.assertEqual(len(first._queue._events), 0)


class Tls(ClientTest):
    async def certificates(self, hub):
        def openssl(*words):
            subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=hub.folder)

        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "hub.key", "-out", "hub.csr", "-subj", "/CN=hub")
        with open(f"{hub.folder}/names", "w", encoding="utf-8") as file:
            file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", "hub.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "hub.pem", "-days", "2", "-extfile", "names")
        return f"{hub.folder}/ca.pem"

    async def test_tls(self):
        hub = await self.hub()
        await hub.drain()
        authorities = await self.certificates(hub)
        hub.uris, hub.listen = [], ["tls://127.0.0.1:0", "tls-lines://127.0.0.1:0", "tcp://127.0.0.1:0"]
        hub.options = ("--tls-certificate", f"{hub.folder}/hub.pem", "--tls-key", f"{hub.folder}/hub.key")
        await hub.start()
        agent = await self.client(hub.uri_of("tls"), tls_ca=authorities)
        agent.method("m")(lambda params, request: params)
        await agent.register("agent", {"methods": ["m"]})
        with mock.patch.dict(os.environ, {"PATCHBAY_TLS_CA": authorities}):
            caller = await self.client(hub.uri_of("tls-lines").replace("127.0.0.1", "localhost"))
        big = "x" * 2_000_000
        self.assertEqual(await within(caller.call("m", [big])), [big])
        states = States(agent)
        await hub.restart()
        await states.reach("lost", "connected")
        self.assertEqual(await within(caller.call("m", [1], timeout=10)), [1])
        with self.assertRaises(OSError):  # the system's authorities don't know it
            await patchbay.connect(hub.uri_of("tls"))
        with self.assertRaises(OSError):  # the certificate is for another name
            await patchbay.connect(hub.uri_of("tls").replace("127.0.0.1", "127.0.0.2"), tls_ca=authorities)
        with self.assertRaises((OSError, patchbay.HubError)):  # no TLS there
            await patchbay.connect(hub.uri_of("tcp").replace("tcp", "tls"), tls_ca=authorities)
        await within(asyncio.gather(agent.close(), caller.close()))

    async def test_files_that_are_not_there(self):
        """The error names the file."""
        missing = "/nowhere/a.pem"
        for words in ({"tls_ca": missing}, {"tls_certificate": missing}, {"tls_certificate": __file__, "tls_key": missing}):
            with self.assertRaises(FileNotFoundError) as caught:
                await patchbay.connect("tls://127.0.0.1:1", **words)
            self.assertIn(missing, str(caught.exception))
        with self.assertRaises(FileNotFoundError) as caught:
            await patchbay.connect("unix:///nowhere/hub.sock")
        self.assertIn("/nowhere/hub.sock", str(caught.exception))
        for scheme in ("tls", "tcp"):
            with self.assertRaises(ValueError):
                await patchbay.connect(f"{scheme}://127.0.0.1:1", tls_key=__file__)


if __name__ == "__main__":
    unittest.main()

"""A hub, or a peer behind it, that sends what it should not: memory stays bounded, and a connection that can't go on ends."""

import asyncio
import json
import logging
import resource
import unittest

import patchbay
from harness import ClientTest, States, greet, turns, within

logging.getLogger("patchbay").setLevel(logging.CRITICAL)


class Hostile(ClientTest):
    async def sends(self, *chunks, **more):
        """A client of a hub that sends this once it has greeted, and then answers; its states."""
        first = True

        async def serve(peer):
            nonlocal first
            await greet(peer)
            if first:
                first = False
                await peer.find("go")
                for chunk in chunks:
                    peer.raw(chunk)
            while (message := await peer.receive()) is not None:
                if "method" in message and "id" in message:
                    peer.send(id=message["id"], result=message.get("params"))
                elif "method" not in message:
                    answers.append(message)

        answers = []
        fake = await self.fake(serve)
        client = await self.client(fake.uri, **more)
        states = States(client)
        call = asyncio.ensure_future(client.call("waits"))
        await client.notify("go")
        return client, states, call, answers

    async def test_what_ends_the_connection(self):
        for chunk, why in (
            (b"Content-Length: 9999999999\r\n\r\n", "over the limit"),
            (b"Content-Length: 0\r\n\r\n", "empty"),
            (b"Content-Length: -1\r\n\r\n", "digits"),
            (b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", "one number"),
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no field"),
            (b"x" * 100_000, "too long"),
            (b"Content-Length: 5\r\n\r\nhello", "not JSON"),
            (b"Content-Length: 2\r\n\r\n[]", "no message"),
            (b"Content-Length: 4\r\n\r\nnull", "no message"),
            (b"Content-Length: 2\r\n\r\n\xff\xfe", "not JSON"),
            (frame({"method": 5}), "a method"),
            (frame({"method": "m", "id": [1]}), "an id"),
            (frame({"method": "m", "id": True}), "an id"),
            (frame({"method": "m", "id": {"a": 1}}), "an id"),
        ):
            client, states, call, _ = await self.sends(chunk)
            error = await self.assertHubError(-32050, call, patchbay.ConnectionLost)
            self.assertIn(why, error.message)
            await states.reach("lost", "connected")
            self.assertEqual(await client.call("hub/ping", [1], timeout=10), [1])
            await client.close()

    async def test_what_is_passed_over(self):
        client, states, call, answers = await self.sends(
            frame({"id": 999, "result": 1}),
            frame({"id": None, "error": {"code": -32700, "message": "parse error"}}),
            frame({"id": "2", "result": 1}),
            frame({"id": [2], "result": 1}),
            frame({"id": 2.5, "result": 1}),
            frame({"id": True, "result": 1}),
            frame({"id": {}, "error": 5}),
            frame({"type": "chunk", "seq": 1}),
            frame({}),
            frame({"method": "event"}),
            frame({"method": "event", "params": [1]}),
            frame({"method": "event", "params": {"event": 5}}),
            frame({"method": "hub/dropped", "params": {"count": "many"}}),
            frame({"method": "hub/dropped", "params": {"count": -5, "unknown": 1}}),
            frame({"method": "hub/replaced", "params": {"agentId": [1]}}),
            frame({"method": "$/progress", "params": {"token": [1], "value": 1}}),
            frame({"method": "$/progress", "params": {"token": 77}}),
            frame({"method": "notifications/progress", "params": {"progressToken": {}}}),
            frame({"method": "$/cancelRequest", "params": {"id": [1]}}),
            frame({"method": "$/cancelRequest", "params": {"id": 5}}),
            frame({"method": "$/cancelRequest"}),
            frame({"method": "m", "params": 5}),
            frame({"method": "agent/request", "id": 1, "params": "none"}),
            b'Content-Length: 61\r\n\r\n{"jsonrpc":"2.0","id":2,"method":"m","params":{"a":[1,,2]}}  ',
            frame({"id": 2, "result": "right"}),
        )
        self.assertEqual(await within(call), "right")
        self.assertEqual(await within(client.call("hub/ping", [1])), [1])
        self.assertEqual(states.seen, [])
        self.assertEqual([(one["id"], one["error"]["code"]) for one in answers], [(1, -32601), (2, -32700)])

    async def test_answer_before_what_is_no_frame(self):
        client, states, call, _ = await self.sends(frame({"id": 2, "result": "right"}) + b"garbage\r\n\r\n")
        self.assertEqual(await within(call), "right")
        await states.reach("lost", "connected")

    async def test_errors_that_are_none(self):
        for error, code in (("text", -32603), ({"code": "x", "message": "y"}, -32603), ({"code": 5}, -32603), ({"code": True, "message": ""}, -32603), ({"code": 5, "message": "five", "data": None}, 5)):
            client, states, call, _ = await self.sends(frame({"id": 2, "error": error}))
            await self.assertHubError(code, call)
            await client.close()

    async def test_answer_that_cannot_be_read(self):
        text = b'{"jsonrpc":"2.0","id":2,"result":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
        client, states, call, _ = await self.sends(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
        await self.assertHubError(-32603, call)
        self.assertEqual(states.seen, [])

    async def test_answer_twice(self):
        client, states, call, _ = await self.sends(frame({"id": 2, "result": 1}), frame({"id": 2, "error": {"code": 1, "message": "m"}}), frame({"id": 2, "result": 2}))
        self.assertEqual(await within(call), 1)
        self.assertEqual(await within(client.call("hub/ping", 5)), 5)

    async def test_publish_that_is_answered_with_anything(self):
        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                peer.send(id=message["id"], result=message["params"].get("data"))

        client = await self.client((await self.fake(serve)).uri)
        for result in (None, 5, "x", [], {}, {"delivered": "many"}, {"delivered": None}, {"delivered": 1.5}, {"delivered": True}):
            await self.assertHubError(-32603, client.publish("e", result))
        self.assertEqual(await client.publish("e", {"delivered": 3}), 3)

    async def test_hub_that_takes_hardly_anything(self):
        for most, code in ((1, -32055), (0, None), (-1, None), (1.5, None), (True, None), ("x", None)):

            async def serve(peer):
                message = await peer.receive()
                peer.send(id=message["id"], result={"capabilities": {"maxFrame": most}})
                peer.send(id=7, method="m")
                while (message := await peer.receive()) is not None:
                    if "method" in message:
                        peer.send(id=message["id"], result=message["params"])
                    else:
                        answers.append(message["error"]["code"])

            answers = []
            client = await self.client((await self.fake(serve)).uri)
            if code is None:
                self.assertEqual(await client.call("hub/ping", 1), 1)
            else:
                await self.assertHubError(code, client.call("hub/ping", 1))
            await turns(lambda: answers == [-32601])
            await client.close()

    async def test_cancel_that_is_a_request(self):
        """No hub sends one; as by the hub itself it is carried out, and answered null."""
        began = asyncio.Event()
        client, states, call, answers = await self.sends(
            frame({"method": "wait", "id": 1}),
            frame({"method": "$/cancelRequest", "id": 2, "params": {"id": 1}}),
            frame({"method": "$/cancel_request", "id": 3, "params": {"requestId": 9}}),
            frame({"method": "notifications/cancelled", "id": 4}),
        )

        @client.method("wait")
        async def wait(params, request):
            began.set()
            await asyncio.Event().wait()

        await turns(lambda: len(answers) == 4)
        self.assertEqual({one["id"]: one.get("result", one.get("error")) for one in answers}, {1: {"code": -32800, "message": "cancelled"}, 2: None, 3: None, 4: None})
        call.cancel()

    async def test_equal_ids(self):
        client, states, call, answers = await self.sends(*[frame({"method": "m", "id": 1, "params": n}) for n in range(100)], concurrency=2)
        go = asyncio.Event()

        @client.method("m")
        async def m(params, request):
            await go.wait()
            return params

        await within(client.call("hub/ping"))
        go.set()
        await turns(lambda: len(answers) == 100)
        self.assertEqual([one["result"] for one in answers], list(range(100)))
        self.assertEqual(client._session.connection.owed, {})
        call.cancel()

    async def test_text_of_a_peer_that_is_not_json_deep_inside(self):
        """The hub steps over what lies deep: a peer can't end another one's connection, and is answered."""
        hub = await self.hub()
        agent, peer, caller = await self.agent(hub, "agent"), await self.peer(hub), await self.client(hub)
        states = States(agent)
        agent.method("m")(lambda params, request: "done")
        for inside in (b"[1,,2]", b"nope", b'"\\q"', b"[" * 50_000 + b"]" * 50_000, b"1" * 10_000, b"NaN"):
            text = b'{"jsonrpc":"2.0","method":"m","params":{"targetAgent":"agent","a":{"b":%b}},"id":1}' % inside
            peer.raw(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
            answer = await peer.receive()
            self.assertEqual((answer["id"], answer["error"]["code"]), (1, -32700), inside[:20])
        await peer.ask("agent/register", {"agentId": "raw"})
        call = asyncio.ensure_future(caller.request("raw", "x"))
        number = (await peer.find("agent/request"))["id"]
        text = b'{"jsonrpc":"2.0","id":%d,"result":{"a":{"b":[1,,2]}}}' % number
        peer.raw(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
        await self.assertHubError(-32603, call)
        self.assertEqual(states.seen, [])

    async def test_memory_is_bounded(self):
        """Requests that nobody answers, cancelled and not."""
        client, states, call, answers = await self.sends(concurrency=1)
        call.cancel()
        never = asyncio.Event()

        @client.method("m")
        async def m(params, request):
            await never.wait()

        connection = client._session.connection
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for n in range(0, 12_000, 2):
            connection.data_received(frame({"method": "m", "id": n, "params": "x" * 1000}) + frame({"method": "m", "id": n + 1}))
            connection.data_received(frame({"method": "$/cancelRequest", "params": {"id": n + 1}}))
            if n % 64 == 0:
                await asyncio.sleep(0)
        inbound = client._inbound
        self.assertLessEqual(inbound._waiting_bytes, 4 * 1024 * 1024)
        self.assertLess(len(connection.owed), 5_000)
        self.assertEqual(len(connection.owed), len(inbound._waiting) + 1)
        never.set()
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 100 * 1024)

    async def test_hub_that_asks_and_reads_nothing(self):
        async def serve(peer):
            if len(fake.accepted) > 1:
                await greet(peer)
                await peer.receive()
                return
            await greet(peer)
            await peer.find("go")
            peer.writer.transport.pause_reading()
            asks = frame({"method": "nothing", "id": 1}) * 1000
            while True:
                peer.raw(asks)
                await peer.writer.drain()

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        states = States(client)
        await client.notify("go")
        await states.reach("lost", "connected")

    async def test_handlers_wait_for_a_hub_that_does_not_read(self):
        async def serve(peer):
            if len(fake.accepted) > 1:
                return
            await greet(peer)
            await peer.find("go")
            peer.writer.transport.pause_reading()
            for n in range(100):
                peer.send(method="big", id=n)
            await read.wait()
            peer.writer.transport.resume_reading()
            for _ in range(100):
                assert "result" in await peer.receive()
            done.set()
            await peer.receive()

        read, done, running = asyncio.Event(), asyncio.Event(), 0

        fake = await self.fake(serve)
        client = await self.client(fake.uri, concurrency=4)

        @client.method("big")
        async def big(params, request):
            nonlocal running
            running += 1
            return "x" * 500_000

        await client.notify("go")
        await turns(lambda: not client._session.connection.is_writable)
        for _ in range(200):
            await asyncio.sleep(0)
        self.assertLess(running, 40)  # what the kernel takes, and some more
        read.set()
        await within(done.wait())
        self.assertEqual(running, 100)


def frame(message):
    text = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text)


if __name__ == "__main__":
    unittest.main()

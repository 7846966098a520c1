"""close: what is unregistered, waited for, cancelled, and what is left: nothing."""

import asyncio
import signal
import unittest
from unittest import mock

import patchbay
from harness import ClientTest, States, greet, turns, within
from patchbay import hub as hub_module


class Close(ClientTest):
    async def test_close_unregisters(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "one"), await self.client(hub)
        await agent.register("two")
        await within(agent.close())
        self.assertEqual((await caller.call("hub/agents"))["agents"], [])
        self.assertIn("closed", repr(agent))

    async def test_what_is_unregistered_when(self):
        seen = []

        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                seen.append((message["method"], message["params"].get("agentId")))
                peer.send(id=message["id"], result={})

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        await client.register("one")
        await client.register("two")
        await client.close()
        await client.close()
        self.assertEqual(seen[2:], [("agent/unregister", "one"), ("agent/unregister", "two")])

    async def test_calls_end(self):
        hub = await self.hub()
        peer, caller = await self.peer(hub), await self.client(hub)
        await peer.ask("agent/register", {"agentId": "raw"})
        call = asyncio.ensure_future(caller.request("raw", "x"))
        await peer.find("agent/request")
        await within(caller.close())
        await self.assertHubError(-32050, call, patchbay.ConnectionLost)
        for late in (caller.call("m"), caller.notify("m"), caller.publish("e"), caller.register("a")):
            await self.assertHubError(-32050, late, patchbay.ConnectionLost)

    async def test_handlers_are_given_time(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)
        other = await self.agent(hub, "other", {"methods": ["inner"]})
        other.method("inner")(lambda params, request: "inner")
        began, go = asyncio.Event(), asyncio.Event()

        @agent.method("m")
        async def m(params, request):
            began.set()
            await go.wait()
            return await agent.call("inner")  # calls of handlers still work

        call = asyncio.ensure_future(caller.call("m"))
        await within(began.wait())
        closing = asyncio.ensure_future(agent.close())
        while (await caller.call("hub/agents"))["agents"][0]["agentId"] == "agent":
            pass
        self.assertFalse(closing.done())
        go.set()
        self.assertEqual(await within(call), "inner")
        await within(closing)

    async def test_handlers_that_take_too_long(self):
        hub = await self.hub()
        agent, peer = await self.agent(hub, "agent", concurrency=1), await self.peer(hub)
        began = asyncio.Event()

        @agent.method("m")
        async def m(params, request):
            began.set()
            await asyncio.Event().wait()

        for n in range(3):
            peer.send(id=n, method="m", params={"targetAgent": "agent"})
        await within(began.wait())
        await turns(lambda: len(agent._inbound._waiting) == 2)
        before, began_at = hub_module.CLOSE_SECONDS, self.loop.time()
        hub_module.CLOSE_SECONDS = 0.2
        try:
            await within(agent.close())
        finally:
            hub_module.CLOSE_SECONDS = before
        self.assertGreaterEqual(self.loop.time() - began_at, 0.2)
        self.assertEqual(sorted([(one["id"], one["error"]["code"]) for one in [await peer.receive() for _ in range(3)]]), [(n, -32800) for n in range(3)])
        self.assertEqual(before, 5.0)

    async def test_handlers_that_ignore_the_end(self):
        hub = await self.hub()
        agent, peer = await self.agent(hub, "agent"), await self.peer(hub)
        began, go = asyncio.Event(), asyncio.Event()

        @agent.method("m")
        async def m(params, request):
            while not go.is_set():
                began.set()
                try:
                    await go.wait()
                except asyncio.CancelledError:
                    pass

        peer.send(id=1, method="m", params={"targetAgent": "agent"})
        await within(began.wait())
        with mock.patch.object(hub_module, "CLOSE_SECONDS", 0.1), mock.patch.object(hub_module, "CANCEL_SECONDS", 0.1):
            await within(agent.close())
        self.assertEqual((await peer.receive())["error"]["code"], -32800)
        go.set()

    async def test_close_by_a_handler(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)
        closed = asyncio.Event()

        @agent.method("m")
        async def m(params, request):
            await agent.close()
            closed.set()

        await self.assertHubError(-32050, caller.call("m"))
        await within(closed.wait())

    async def test_close_of_a_hub_that_stands_still(self):
        hub = await self.hub()
        agent = await self.agent(hub, "agent")
        hub.signal(signal.SIGSTOP)
        call = asyncio.ensure_future(agent.call("hub/ping"))
        await agent.notify("nobody", "x" * 100_000)
        before, hub_module.CLOSE_SECONDS = hub_module.CLOSE_SECONDS, 0.1
        try:
            await within(agent.close())
        finally:
            hub_module.CLOSE_SECONDS = before
        await self.assertHubError(-32050, call, patchbay.ConnectionLost)

    async def test_what_waits_for_the_socket_is_sent_first(self):
        hub = await self.hub("--max-queue", "64M")
        agent = await self.agent(hub, "agent", {"methods": ["m"]})
        caller = await self.client(hub.uri_of("unix"))
        got = self.loop.create_future()
        agent.method("m")(lambda params, request: got.set_result(len(params)))
        sending = asyncio.ensure_future(caller.notify("m", "x" * 8_000_000))
        await asyncio.sleep(0)
        self.assertFalse(caller._session.connection.is_writable)
        await within(caller.close())
        self.assertEqual(await within(got), 8_000_000)
        await asyncio.wait({sending})
        self.assertIsInstance(sending.exception(), (type(None), patchbay.ConnectionLost))

    async def test_close_while_there_is_no_connection(self):
        hub = await self.hub()
        agent = await self.agent(hub, "agent")
        states = States(agent)
        await hub.kill()
        await states.reach("lost")
        waits = [asyncio.ensure_future(agent.call("hub/ping")), asyncio.ensure_future(agent.call("hub/ping", timeout=60))]
        await asyncio.sleep(0)
        await within(agent.close(), "close", 1)
        for call in waits:
            await self.assertHubError(-32050, call, patchbay.ConnectionLost)
        self.assertEqual(states.seen, ["lost"])

    async def test_close_that_is_cancelled(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)
        began = asyncio.Event()

        @agent.method("m")
        async def m(params, request):
            began.set()
            await asyncio.Event().wait()

        call = asyncio.ensure_future(caller.call("m"))
        await within(began.wait())
        closing = asyncio.ensure_future(agent.close())
        await caller.call("hub/ping")
        closing.cancel()
        await asyncio.wait({closing})
        await self.assertHubError(-32050, call)
        await within(agent.close())

    async def test_context_and_wait_closed(self):
        hub = await self.hub()
        async with await patchbay.connect(hub.uri) as client:
            waits = asyncio.ensure_future(client.wait_closed())
            self.assertEqual(await client.call("hub/ping", 1), 1)
            self.assertFalse(waits.done())
        await within(waits)
        with self.assertRaises(RuntimeError):
            async with await patchbay.connect(hub.uri) as client:
                raise RuntimeError("mine")
        self.assertIn("closed", repr(client))

    async def test_async_callback_may_close(self):
        hub = await self.hub()
        client = await self.client(hub)

        async def end(state):
            await client.close()

        client.on_state(end)
        await hub.kill()
        await within(client.wait_closed())


if __name__ == "__main__":
    unittest.main()

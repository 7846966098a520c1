"""Connections that are lost: how calls end, what is made again, the pauses, the states."""

import asyncio
import signal
import socket
import unittest
from unittest import mock

import patchbay
from harness import ClientTest, States, greet, turns, within
from patchbay.pause import Pauses


class Reconnection(ClientTest):
    async def test_first_connection_that_fails_is_an_error(self):
        hub = await self.hub()
        uri = hub.uri
        await hub.kill()
        with self.assertRaises((OSError, patchbay.ConnectionLost)):  # the kernel may close the dead hub's socket later
            await patchbay.connect(uri)
        with self.assertRaises(OSError):
            await patchbay.connect(f"unix://{hub.folder}/nothing.sock")

        async def hang_up(peer):
            await peer.receive()

        fake = await self.fake(hang_up)
        await self.assertHubError(-32050, patchbay.connect(fake.uri), patchbay.ConnectionLost)
        self.assertEqual(len(fake.accepted), 1)

    async def test_port_that_dials_itself(self):
        """Where nobody listens, the kernel may give the port itself to the one who dials it."""
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            port = holder.getsockname()[1]
        dial = self.loop.create_connection

        def dial_from_there(protocol, host, to, **more):
            return dial(protocol, host, to, local_addr=("127.0.0.1", port), **more)

        with mock.patch.object(self.loop, "create_connection", dial_from_there), self.assertRaises(ConnectionRefusedError):
            await patchbay.connect(f"tcp://127.0.0.1:{port}")

    async def test_calls_in_flight_end(self):
        hub = await self.hub()
        socket = hub.uri_of("unix")  # the port of a hub that was killed may be another hub's at once
        peer, caller = await self.peer(hub), await self.client(socket)
        await peer.ask("agent/register", {"agentId": "raw"})
        calls = [asyncio.ensure_future(caller.request("raw", "x", timeout=60)) for _ in range(20)]
        for _ in calls:
            await peer.find("agent/request")
        asked = set(caller._calls._calls)
        await hub.kill()
        for call in calls:
            await self.assertHubError(-32050, call, patchbay.ConnectionLost)
        # A hub that is being killed may accept one more connection, so the call that opens it may still be there.
        self.assertEqual((len(asked), asked & set(caller._calls._calls)), (20, set()))

    async def test_all_is_made_again(self):
        hub = await self.hub("--validate", "strict")
        agent = await self.client(hub)
        await agent.register("one", {"methods": ["m"]}, "supervised")
        await agent.register("two")
        agent.method("m")(lambda params, request: "done")
        states = States(agent)
        async with agent.events("build-*") as events, agent.events("test") as others:
            for _ in range(3):
                await hub.restart()
                await states.reach("lost", "connected")
                caller = await self.client(hub)
                self.assertEqual(await caller.call("m", level="supervised"), "done")
                agents = (await caller.call("hub/agents"))["agents"]
                self.assertEqual([one["agentId"] for one in agents], ["one", "two"])
                self.assertEqual(await caller.publish("build-1", 1), 1)
                self.assertEqual(await within(events.__anext__()), patchbay.Event("build-1", 1))
                self.assertEqual(await caller.publish("test"), 1)
                self.assertEqual(await within(others.__anext__()), patchbay.Event("test", None))
                await caller.close()
            self.assertEqual(states.seen, ["lost", "connected"] * 3)

    async def test_drained_hub(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)
        states, began, go = States(agent), asyncio.Event(), asyncio.Event()

        @agent.method("m")
        async def m(params, request):
            began.set()
            await go.wait()
            return "in time"

        call = asyncio.ensure_future(caller.call("m"))
        await within(began.wait())
        hub.signal(signal.SIGTERM)
        go.set()
        self.assertEqual(await within(call), "in time")
        await states.reach("lost")
        await hub._ended()
        await hub.start()
        await states.reach("connected")

    async def test_calls_wait_for_a_connection(self):
        hub = await self.hub()
        caller = await self.client(hub)
        states = States(caller)
        await hub.kill()
        await states.reach("lost")
        await self.assertHubError(-32051, caller.call("hub/ping", timeout=0.05))
        given_up = asyncio.ensure_future(caller.call("hub/ping"))
        waits = [asyncio.ensure_future(caller.call("hub/ping", n, timeout=60)) for n in range(10)]
        notifies = asyncio.ensure_future(caller.notify("hub/ping"))
        events = caller.events("e")
        registers = asyncio.ensure_future(caller.register("later"))
        await asyncio.sleep(0)
        given_up.cancel()
        await hub.start()
        self.assertEqual(await within(asyncio.gather(*waits)), list(range(10)))
        await within(notifies)
        self.assertEqual((await within(registers))["agentId"], "later")
        other = await self.client(hub)
        async with events:
            self.assertEqual(await other.publish("e"), 1)

    async def test_nothing_is_sent_twice(self):
        seen, cut = [], asyncio.Event()

        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                seen.append(message["method"])
                if message["method"] == "cut":
                    return
                if "id" in message:
                    peer.send(id=message["id"], result=None)

        fake = await self.fake(serve)
        caller = await self.client(fake.uri)
        await self.assertHubError(-32050, caller.call("cut"), patchbay.ConnectionLost)
        await within(caller.call("next"))
        self.assertEqual(seen, ["cut", "next"])

    async def test_registrations_come_first(self):
        seen = []

        async def serve(peer):
            await greet(peer)
            methods = []
            seen.append(methods)
            while (message := await peer.receive()) is not None:
                methods.append(message["method"])
                if message["method"] == "cut":
                    return
                peer.send(id=message["id"], result={"agentId": "a", "events": []})

        fake = await self.fake(serve)
        caller = await self.client(fake.uri)
        await caller.register("a")
        async with caller.events("e"):
            waits = [asyncio.ensure_future(caller.call("cut"))]
            await self.assertHubError(-32050, waits[0], patchbay.ConnectionLost)
            await within(caller.call("after"))
            self.assertEqual(seen[1][:3], ["agent/register", "hub/subscribe", "after"])

    async def test_pauses(self):
        pauses = Pauses()
        for _ in range(3):
            self.assertEqual(pauses.next(), 0)
            full = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
            for most in full:
                pause = pauses.next()
                self.assertTrue(0.75 * most <= pause <= most, (pause, most))
            pauses.reset()
        seen = set()
        for _ in range(20):
            pauses.reset()
            pauses.next()
            seen.add(pauses.next())
        self.assertGreater(len(seen), 1)

    async def test_pauses_of_a_hub_that_hangs_up(self):
        answers = 1

        async def serve(peer):
            nonlocal answers
            if answers > 0:
                answers -= 1
                await greet(peer)
                await peer.receive()

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        await client.notify("cut")
        await turns(lambda: len(fake.accepted) == 6)
        times = fake.accepted
        gaps = [later - earlier for earlier, later in zip(times, times[1:])]
        self.assertLess(gaps[0], 0.075)  # at once
        for gap, most in zip(gaps[1:], [0.1, 0.2, 0.4, 0.8]):
            self.assertTrue(0.75 * most <= gap, (gap, most))

    async def test_pauses_begin_anew_once_the_hub_has_answered(self):
        async def serve(peer):
            if len(fake.accepted) not in (4, 5):
                await greet(peer)
                await peer.receive()

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        states = States(client)
        for _ in range(2):
            await client.notify("cut")
            await states.reach("lost", "connected")
        await client.notify("cut")  # 4 and 5 hang up, 6 answers
        await states.reach("lost", "connected")
        self.assertEqual(len(fake.accepted), 6)
        await client.notify("cut")
        await states.reach("lost", "connected")
        self.assertLess(fake.accepted[6] - fake.accepted[5], 0.075)

    async def test_name_that_is_held_is_asked_for_again(self):
        asked = []

        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                if message["method"] == "cut":
                    return
                if message["method"] != "agent/register":
                    peer.send(id=message["id"], result=None)
                    continue
                asked.append(self.loop.time())
                if len(asked) in (2, 3, 4):
                    peer.send(id=message["id"], error={"code": -32053, "message": "agentId taken"})
                else:
                    peer.send(id=message["id"], result={"agentId": "a", "registered": True})
                    if len(asked) == 5:
                        registered.set()

        registered = asyncio.Event()
        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        await client.register("a")
        states = States(client)
        await client.notify("cut")
        await states.reach("lost", "connected")
        self.assertEqual(len(asked), 2)
        self.assertEqual(await client.call("hub/ping"), None)  # calls don't wait for the name
        await within(registered.wait(), "the registration")
        for gap, most in zip([later - earlier for earlier, later in zip(asked[1:], asked[2:])], [0.1, 0.2, 0.4]):
            self.assertTrue(0.75 * most <= gap, (gap, most))
        self.assertEqual((len(fake.accepted), states.seen), (2, ["lost", "connected"]))

    async def test_name_that_is_held_from_the_beginning(self):
        hub = await self.hub()
        await self.agent(hub, "agent")
        other = await self.client(hub)
        await self.assertHubError(-32053, other.register("agent"))
        self.assertIsNone(other._registrations.first)

    async def test_source_is_an_agent_that_the_hub_has(self):
        """While the first name is another connection's, the second one is the source."""

        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                params = message["params"]
                if message["method"] == "cut":
                    return
                if params.get("agentId") == "first" and len(fake.accepted) == 2 and not is_free.is_set():
                    peer.send(id=message["id"], error={"code": -32053, "message": "agentId taken"})
                else:
                    peer.send(id=message["id"], result=params)

        is_free = asyncio.Event()
        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        for name in ("first", "second"):
            await client.register(name)
        self.assertEqual((await client.request("x", "t"))["sourceAgent"], "first")
        states = States(client)
        await client.notify("cut", {})
        await states.reach("lost", "connected")
        self.assertEqual((await client.request("x", "t"))["sourceAgent"], "second")
        is_free.set()
        await turns(lambda: client._registrations.first == "first")
        self.assertEqual((await client.request("x", "t"))["sourceAgent"], "first")

    async def test_name_that_is_given_back_while_it_is_asked_for_again(self):
        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None and message["method"] != "cut":
                if message["method"] == "agent/register":
                    registered.append(len(fake.accepted))
                    if len(fake.accepted) == 2:
                        ends.append(asyncio.ensure_future(client.unregister("a")))
                        await turns(lambda: client._session._waiters)
                peer.send(id=message["id"], result=None)

        registered, ends = [], []
        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        await client.register("a")
        for _ in range(2):
            states = States(client)
            await client.notify("cut")
            await states.reach("lost", "connected")
            await within(asyncio.gather(*ends))
        self.assertEqual((registered, client._registrations.names(), client._registrations.first), ([1, 2], [], None))

    async def test_replaced_right_behind_the_registration(self):
        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                if message["method"] == "agent/register":
                    registered.append(message["params"]["agentId"])
                    peer.send(id=message["id"], result={"agentId": "a", "registered": True})
                    peer.send(method="hub/replaced", params={"agentId": "a"})
                elif message["method"] == "cut":
                    return

        registered = []
        client = await self.client((await self.fake(serve)).uri)
        states = States(client)
        await client.register("a")
        await states.reach("replaced")
        self.assertIsNone(client._registrations.first)
        await client.notify("cut")
        await states.reach("lost", "connected")
        self.assertEqual(registered, ["a"])

    async def test_connection_that_is_lost_while_a_name_is_asked_for_again(self):
        """What was begun on a connection ends with it, also where that connection never carried a call."""

        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                if message["method"] == "cut":
                    return
                if message["method"] == "hub/subscribe" and len(fake.accepted) == 2:
                    await turns(lambda: client._registrations._retries)
                    return
                refused = message["method"] == "agent/register" and len(fake.accepted) == 2
                peer.send(id=message["id"], **({"error": {"code": -32053, "message": "agentId taken"}} if refused else {"result": None}))

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        await client.register("a")
        events = client.events("e")
        states = States(client)
        await client.notify("cut")
        await states.reach("lost", "connected")
        self.assertEqual((len(fake.accepted), client._registrations._retries, client._registrations.first), (3, [], "a"))
        await events.aclose()

    async def test_connection_that_is_lost_right_behind_the_greeting(self):
        """What is made again ends with it, and the client does not wait for answers that cannot come."""

        async def serve(peer):
            message = await peer.receive()
            text = b'{"jsonrpc":"2.0","id":%d,"result":null}' % message["id"]
            garbage = b"Content-Length: 1\r\n\r\nx" if len(fake.accepted) == 2 else b""
            peer.raw(b"Content-Length: %d\r\n\r\n%b%b" % (len(text), text, garbage))
            while (message := await peer.receive()) is not None and message["method"] != "cut":
                peer.send(id=message["id"], result=None)

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        await client.register("a")
        events, states = client.events("e"), States(client)
        await client.notify("cut")
        began = self.loop.time()
        await states.reach("lost", "connected")
        self.assertLess(self.loop.time() - began, 5)
        self.assertEqual((len(fake.accepted), client._calls._calls), (3, {}))
        await events.aclose()
        await client.call("hub/ping")
        self.assertEqual(client._calls._calls, {})

    async def test_capabilities_are_those_of_the_registration(self):
        hub = await self.hub()
        agent, capabilities = await self.client(hub), {"methods": ["m"]}
        await agent.register("a", capabilities)
        capabilities["methods"].append(object())
        states = States(agent)
        await hub.restart()
        await states.reach("lost", "connected")
        self.assertEqual((await agent.call("hub/agents"))["agents"][0]["capabilities"], {"methods": ["m"]})

    async def test_replaced(self):
        hub = await self.hub("--takeover")
        agent = await self.agent(hub, "agent")
        states = States(agent)
        await self.agent(hub, "agent", {"methods": ["m"]})
        await states.reach("replaced")
        self.assertIsNone(agent._registrations.first)
        self.assertEqual(await agent.call("hub/ping", 1), 1)
        await self.endings.pop()()  # of the new holder
        await hub.restart()
        await states.reach("lost", "connected")
        self.assertEqual((await agent.call("hub/agents"))["agents"], [])

    async def test_handlers_of_a_lost_connection(self):
        hub = await self.hub()
        agent, peer = await self.agent(hub, "agent", concurrency=2), await self.peer(hub)
        began, ended, late = asyncio.Event(), [], []

        @agent.method("wait")
        async def wait(params, request):
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append(params["n"])
                await request.progress("nobody hears this")
                raise

        for n in range(5):
            peer.send(id=n, method="wait", params={"targetAgent": "agent", "n": n})
        await within(began.wait())
        await turns(lambda: len(agent._inbound._running) == 2 and len(agent._inbound._waiting) == 3)
        states = States(agent)
        await hub.restart()
        await states.reach("lost", "connected")
        self.assertEqual(sorted(ended), [0, 1])
        self.assertEqual((len(agent._inbound._waiting), agent._inbound._waiting_bytes, len(agent._inbound._running)), (0, 0, 0))
        peer = await self.peer(hub)
        agent.method("id")(lambda params, request: request.id)
        self.assertIn("result", await peer.ask("id", {"targetAgent": "agent"}))

    async def test_hub_that_dies_while_it_is_greeted(self):
        async def serve(peer):
            if len(fake.accepted) == 2:
                await peer.receive()
                return
            await greet(peer)
            if len(fake.accepted) == 3:
                await peer.find("agent/register")
                return
            while (message := await peer.receive()) is not None:
                if message["method"] == "cut":
                    return
                peer.send(id=message["id"], result={})

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        await client.register("a")
        states = States(client)
        await client.notify("cut")
        await states.reach("lost", "connected")
        self.assertEqual((len(fake.accepted), states.seen), (4, ["lost", "connected"]))


if __name__ == "__main__":
    unittest.main()

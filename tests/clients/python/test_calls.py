"""Calls: what is sent, how they end, time, cancelling, backpressure (section by section of the page of the clients)."""

import asyncio
import signal
import unittest

import patchbay
from harness import ClientTest, within


class Calls(ClientTest):
    async def test_request_on_each_transport(self):
        hub = await self.hub("--validate", "strict")
        for scheme in ("tcp", "unix", "tcp-lines", "unix-lines"):
            agent = await self.agent(hub.uri_of(scheme), f"agent-{scheme}")
            caller = await self.agent(hub.uri_of(scheme), f"caller-{scheme}")

            @agent.task("echo")
            async def echo(params, request):
                return params

            result = await caller.request(f"agent-{scheme}", "echo", context={"añ": "\ud800\n"}, priority="high", timeout=5)
            expected = {"sourceAgent": f"caller-{scheme}", "targetAgent": f"agent-{scheme}", "task": "echo", "context": {"añ": "\ud800\n"}, "priority": "high"}
            self.assertEqual(result, expected)

    async def test_first_agent_is_the_source(self):
        hub = await self.hub("--validate", "strict")
        agent, caller = await self.agent(hub, "agent"), await self.agent(hub, "one")
        await caller.register("two", {}, "supervised")
        agent.task("who")(lambda params, request: params["sourceAgent"])
        self.assertEqual(await caller.request("agent", "who"), "one")
        await caller.unregister("one")
        self.assertEqual(await caller.request("agent", "who"), "two")

    async def test_request_to_a_capability(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", ["review"]), await self.client(hub)
        agent.method("agent/request")(lambda params, request: "any task")
        self.assertEqual(await caller.request("@review", "whatever"), "any task")

    async def test_call_with_and_without_params(self):
        hub = await self.hub("--validate", "strict")
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)
        agent.method("m")(lambda params, request: [params, request.method])
        for params in (None, {"a": 1}, [1, 2]):
            self.assertEqual(await caller.call("m", params), [params, "m"])

    async def test_errors_of_hub_and_target(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)

        @agent.method("m")
        async def fail(params, request):
            raise patchbay.HubError(-7, "seven", {"n": 7})

        error = await self.assertHubError(-7, caller.call("m"))
        self.assertEqual((error.message, error.data), ("seven", {"n": 7}))
        self.assertNotIsInstance(error, patchbay.ConnectionLost)
        await self.assertHubError(-32010, caller.request("nobody", "x"))
        await self.assertHubError(-32601, caller.call("nothing"))

    async def test_what_is_not_json_is_an_error_at_once(self):
        hub = await self.hub()
        caller = await self.client(hub)
        circle = []
        circle.append(circle)
        for value in (object(), float("nan"), {"a": {1, 2}}, circle):
            with self.assertRaises((TypeError, ValueError, RecursionError)):
                await caller.call("hub/ping", value)
        with self.assertRaises(TypeError):
            await caller.call("hub/ping", [1], on_progress=print)
        with self.assertRaises(TypeError):
            await caller.call("hub/ping", {}, on_progress=5)
        for method in (None, 5, b"hub/ping"):
            for say in (caller.call, caller.notify):
                with self.assertRaises(TypeError):
                    await within(say(method, []), "an error at once")
        for decorator in (caller.method, caller.task):
            with self.assertRaises(TypeError):
                decorator(lambda params, request: None)  # as where a handler is decorated without a name
            with self.assertRaises(TypeError):
                decorator("m")("no function")
        for pattern in (None, 5, b"e"):
            with self.assertRaises(TypeError):
                caller.events(pattern)
        self.assertEqual(await caller.call("hub/ping", {"still": "there"}), {"still": "there"})

    async def test_progress(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)

        @agent.method("m")
        async def work(params, request):
            await request.progress({"percent": 50})
            await request.progress(None)
            return sorted(params or {})

        seen = []
        self.assertEqual(await caller.call("m", {"a": 1}, on_progress=seen.append), ["a", "workDoneToken"])
        self.assertEqual(seen, [{"percent": 50}, None])
        given = {"workDoneToken": "mine"}
        self.assertEqual(await caller.call("m", given, on_progress=seen.append), ["workDoneToken"])
        self.assertEqual((len(seen), given), (4, {"workDoneToken": "mine"}))
        self.assertEqual(await caller.call("m"), [])  # without a token progress does nothing
        told = asyncio.Event()

        async def slowly(value):
            told.set()

        await caller.call("m", on_progress=slowly)
        await within(told.wait())

    async def test_progress_for_a_client_of_mcp(self):
        hub = await self.hub()
        agent, peer = await self.agent(hub, "agent", {"methods": ["tools/call"]}), await self.peer(hub)

        @agent.method("tools/call")
        async def work(params, request):
            await request.progress({"progress": 1, "total": 2})
            await request.progress(2)

        peer.send(id=1, method="tools/call", params={"_meta": {"progressToken": "p"}})
        told = await peer.find("notifications/progress")
        self.assertEqual(told["params"], {"progress": 1, "total": 2, "progressToken": "p"})
        self.assertEqual((await peer.find("notifications/progress"))["params"], {"progress": 2, "progressToken": "p"})

    async def test_callback_that_fails_is_reported(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)

        @agent.method("m")
        async def work(params, request):
            await request.progress(1)
            return "done"

        def fail(value):
            raise ValueError("mine")

        async def fail_later(value):
            raise ValueError("mine, later")

        self.assertEqual(await caller.call("m", on_progress=fail), "done")
        self.assertEqual(await caller.call("m", on_progress=fail_later), "done")
        await caller.close()
        self.assertEqual(["mine" in one for one in self.complaints], [True, True])
        self.complaints.clear()

    async def test_fields_of_level_and_time(self):
        hub = await self.hub()
        peer, caller = await self.peer(hub), await self.client(hub)
        await peer.ask("agent/register", {"agentId": "raw", "governanceLevel": "manual", "capabilities": {}})
        call = asyncio.ensure_future(caller.request("raw", "x", level="manual", timeout=5))
        message = await peer.find("agent/request")
        self.assertEqual(message["fields"]["Governance-Level"], "manual")
        self.assertTrue(4900 <= int(message["fields"]["Custom-Timeout-Ms"]) <= 5000, message)
        peer.send(id=message["id"], result=1)
        self.assertEqual(await call, 1)
        await self.assertHubError(-32011, self.level_refused(hub))

    async def level_refused(self, hub):
        await self.agent(hub, "loose")
        caller = await self.client(hub)
        return await caller.request("loose", "x", level="supervised")

    async def test_level_is_checked_at_once(self):
        hub = await self.hub()
        framed, lines = await self.client(hub), await self.client(hub.uri_of("tcp-lines"))
        for call in (framed.call("m", level="high"), framed.notify("m", level="a\r\nb: c"), lines.call("m", level="manual"), lines.publish("e", level="manual"), lines.request("a", "t", level="manual"), lines.notify("m", level="manual")):
            with self.assertRaises(ValueError):
                await call
        self.assertEqual(await lines.call("hub/ping", timeout=5), None)

    async def test_time_is_up(self):
        hub = await self.hub()
        peer, caller = await self.peer(hub), await self.client(hub.uri_of("tcp-lines"))  # so that the hub's own time is longer
        await peer.ask("agent/register", {"agentId": "raw"})
        call = asyncio.ensure_future(caller.request("raw", "x", timeout=0.05))
        message = await peer.find("agent/request")
        await self.assertHubError(-32051, call)
        cancel = await peer.find("$/cancelRequest")
        self.assertEqual(cancel["params"]["id"], message["id"])
        peer.send(id=message["id"], result="too late")
        self.assertEqual(await caller.call("hub/ping", "next"), "next")
        await self.assertHubError(-32051, caller.call("hub/ping", timeout=0))
        await self.assertHubError(-32051, caller.call("hub/ping", timeout=-1))
        for transport in ("tcp", "tcp-lines"):
            with self.assertRaises(ValueError):
                await (await self.client(hub.uri_of(transport))).call("hub/ping", timeout=float("nan"))
        self.assertEqual(await caller.call("hub/ping", 1, timeout=float("inf")), 1)
        self.assertEqual(await caller.call("hub/ping", 1, timeout=1e9), 1)

    async def test_cancelled_caller_cancels(self):
        hub = await self.hub()
        peer, caller = await self.peer(hub), await self.client(hub)
        await peer.ask("agent/register", {"agentId": "raw"})
        call = asyncio.ensure_future(caller.request("raw", "x"))
        message = await peer.find("agent/request")
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        self.assertEqual((await peer.find("$/cancelRequest"))["params"]["id"], message["id"])
        self.assertEqual(caller._calls._calls, {})

    async def test_call_to_a_hub_that_stands_still(self):
        hub = await self.hub()
        caller = await self.client(hub)
        hub.signal(signal.SIGSTOP)
        await self.assertHubError(-32051, caller.call("hub/ping", timeout=0.1))
        hub.signal(signal.SIGCONT)
        self.assertEqual(await within(caller.call("hub/ping", "awake")), "awake")

    async def test_notify_waits_for_the_socket(self):
        hub = await self.hub()
        caller = await self.client(hub.uri_of("unix"))
        hub.signal(signal.SIGSTOP)
        sent, block = 0, {"x": "x" * 100_000}
        while True:
            task = asyncio.ensure_future(caller.notify("nobody", block))
            for _ in range(4):
                await asyncio.sleep(0)
            if not task.done():
                break
            await task
            sent += 1
        connection = caller._session.connection
        waits = connection._transport.get_write_buffer_size() + connection._out_bytes
        self.assertTrue(700_000 < waits < 1_300_000, waits)
        self.assertGreater(sent, 5)
        hub.signal(signal.SIGCONT)
        await within(task, "the socket to take it")
        waits = connection._transport.get_write_buffer_size() + connection._out_bytes
        self.assertLess(waits, 1024 * 1024)

    async def test_notify_that_waits_when_the_connection_is_lost(self):
        hub = await self.hub()
        caller = await self.client(hub.uri_of("unix"))
        hub.signal(signal.SIGSTOP)
        task = asyncio.ensure_future(caller.notify("nobody", "x" * 8_000_000))
        await asyncio.sleep(0)
        self.assertFalse(task.done())
        await hub.kill()
        await self.assertHubError(-32050, task, patchbay.ConnectionLost)

    async def test_what_is_sent_in_a_turn_is_one_write(self):
        hub = await self.hub()
        caller = await self.client(hub)
        transport, writes = caller._session.connection._transport, []
        caller._session.connection._transport = Recorder(transport, writes)
        calls = [asyncio.ensure_future(caller.call("hub/ping", n)) for n in range(100)]
        self.assertEqual(await asyncio.gather(*calls), list(range(100)))
        self.assertEqual(len(writes), 1)
        caller._session.connection._transport = transport

    async def test_publish_tells_how_many(self):
        hub = await self.hub("--validate", "strict")
        one, two = await self.client(hub), await self.client(hub.uri_of("tcp-lines"))
        self.assertEqual(await one.publish("e"), 0)
        async with two.events("e") as events:
            self.assertEqual(await one.publish("e", {"a": 1}), 1)
            self.assertEqual(await within(events.__anext__()), patchbay.Event("e", {"a": 1}))

    async def test_notify_runs_no_answer(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)
        got = self.loop.create_future()
        agent.method("m")(lambda params, request: got.set_result((params, request.id)))
        await caller.notify("m", {"a": 1})
        self.assertEqual(await within(got), ({"a": 1}, None))

    async def test_order(self):
        hub = await self.hub()
        agent, caller = await self.agent(hub, "agent", {"methods": ["m"]}), await self.client(hub)
        seen = []
        agent.method("m")(lambda params, request: seen.append(params))
        for n in range(500):
            await caller.notify("m", n)
        await caller.call("m", 500)
        self.assertEqual(seen, list(range(501)))


class Recorder:
    """A transport whose writes are noted."""

    def __init__(self, transport, writes):
        self._transport, self._writes = transport, writes

    def write(self, data):
        self._writes.append(data)
        self._transport.write(data)

    def __getattr__(self, name):
        return getattr(self._transport, name)


if __name__ == "__main__":
    unittest.main()

"""Handlers: their answers, their tasks, how many run and wait, and how they are cancelled."""

import asyncio
import contextvars
import unittest
from unittest import mock

import patchbay
from harness import ClientTest, States, turns, within

MEBIBYTE = 1024 * 1024


class Handlers(ClientTest):
    async def served(self, *options, **more):
        """A hub, a client that is an agent, and a raw peer that asks it."""
        hub = await self.hub(*options)
        agent = await self.agent(hub, "agent", **more)
        return hub, agent, await self.peer(hub)

    async def test_what_is_answered(self):
        hub, agent, peer = await self.served("--validate", "strict")

        @agent.method("hub-error")
        async def hub_error(params, request):
            raise patchbay.HubError(-5, "five", [5])

        @agent.method("error")
        async def error(params, request):
            raise KeyError("a secret place")

        @agent.method("silent")
        async def silent(params, request):
            raise ValueError

        @agent.method("lost")
        async def lost(params, request):
            raise patchbay.ConnectionLost()

        @agent.method("data")
        async def data(params, request):
            raise patchbay.HubError(-5, "five", object())

        class Unspeakable(Exception):
            def __str__(self):
                raise RuntimeError("no text")

        @agent.method("unspeakable")
        async def unspeakable(params, request):
            raise Unspeakable

        @agent.method("no-code")
        async def no_code(params, request):
            raise patchbay.HubError("5", "five")

        @agent.method("no-message")
        async def no_message(params, request):
            raise patchbay.HubError(5, b"five")

        agent.method("nothing")(lambda params, request: None)
        agent.method("object")(lambda params, request: object())
        agent.method("nan")(lambda params, request: float("nan"))
        agent.method("deep")(lambda params, request: nested())
        answers = {name: await peer.ask(name, {"targetAgent": "agent"}) for name in ("hub-error", "error", "silent", "lost", "data", "unspeakable", "no-code", "no-message", "nothing", "object", "nan", "deep", "none")}
        self.assertEqual(answers["hub-error"]["error"], {"code": -5, "message": "five", "data": [5]})
        self.assertEqual(answers["error"]["error"], {"code": -32603, "message": "'a secret place'"})
        self.assertEqual(answers["silent"]["error"], {"code": -32603, "message": "ValueError"})
        self.assertEqual(answers["lost"]["error"]["code"], -32050)
        self.assertEqual(answers["nothing"]["result"], None)
        self.assertEqual(answers["none"]["error"], {"code": -32601, "message": "method not found", "data": {"method": "none"}})
        self.assertEqual(answers["unspeakable"]["error"], {"code": -32603, "message": "Unspeakable"})
        for name in ("data", "no-code", "no-message", "object", "nan", "deep"):
            self.assertEqual(answers[name]["error"]["code"], -32603, answers[name])
            self.assertNotIn("Traceback", str(answers[name]))

    async def test_tasks_of_agent_request(self):
        hub, agent, peer = await self.served()
        agent.task("one")(lambda params, request: ["one", params])
        params = {"targetAgent": "agent", "task": "one", "sourceAgent": "x"}
        self.assertEqual((await peer.ask("agent/request", params))["result"], ["one", params])
        missing = await peer.ask("agent/request", {"targetAgent": "agent", "task": "two"})
        self.assertEqual(missing["error"], {"code": -32601, "message": "method not found", "data": {"method": "agent/request", "task": "two"}})
        long = await peer.ask("agent/request", {"targetAgent": "agent", "task": "x" * 257})
        self.assertEqual(long["error"]["data"], {"method": "agent/request"})
        self.assertEqual((await peer.ask("agent/request", {"targetAgent": "agent", "task": [1]}))["error"]["code"], -32601)
        agent.method("agent/request")(lambda params, request: "other")
        self.assertEqual((await peer.ask("agent/request", {"targetAgent": "agent", "task": "two"}))["result"], "other")
        self.assertEqual((await peer.ask("one", {"targetAgent": "agent"}))["error"]["code"], -32601)

    async def test_what_a_request_tells(self):
        hub, agent, peer = await self.served()
        agent.method("m")(lambda params, request: [request.method, type(request.id).__name__, request.level, request.fields])
        await agent.register("agent", {}, "manual")
        body = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"targetAgent":"agent"}}'
        peer.raw(b"Content-Length: %d\r\nX-Trace:  a b\r\nGovernance-Level: manual\r\n\r\n%b" % (len(body), body))
        self.assertEqual((await peer.receive())["result"], ["m", "int", "manual", {"x-trace": "a b", "governance-level": "manual"}])

    async def test_each_has_a_task_of_its_own(self):
        hub, agent, peer = await self.served()
        variable = contextvars.ContextVar("variable", default=0)
        running, go = {}, asyncio.Event()

        @agent.method("wait")
        async def wait(params, request):
            running[params["n"]] = asyncio.current_task()
            await go.wait()
            return params["n"]

        @agent.method("context")
        async def context(params, request):
            before = variable.get()
            variable.set(before + 1)
            return before

        @agent.method("timeout")
        async def timeout(params, request):
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 0.01)
            except asyncio.TimeoutError:
                return "timed out"

        for n in range(10):
            peer.send(id=n, method="wait", params={"targetAgent": "agent", "n": n})
        peer.last_id = 10
        self.assertEqual((await peer.ask("timeout", {"targetAgent": "agent"}))["result"], "timed out")
        self.assertEqual(len(set(running.values())), 10)
        for n in range(20, 40):
            peer.send(id=n, method="context", params={"targetAgent": "agent"})
        self.assertEqual([(await peer.receive())["result"] for _ in range(20)], [0] * 20)
        go.set()
        self.assertEqual([(await peer.receive())["result"] for _ in range(10)], list(range(10)))

    async def test_more_than_the_hub_takes(self):
        """It ends its call, or is answered with -32055, and the connection goes on."""
        hub, agent, peer = await self.served("--max-frame", "64K")
        states = States(agent)

        @agent.method("large")
        async def large(params, request):
            return "x" * 70_000

        @agent.method("fails")
        async def fails(params, request):
            raise ValueError("x" * 70_000)

        @agent.method("data")
        async def data(params, request):
            raise patchbay.HubError(5, "five", ["x" * 70_000])

        @agent.method("tells")
        async def tells(params, request):
            await request.progress("x" * 70_000)

        for name in ("large", "fails", "data", "tells"):
            answer = await peer.ask(name, {"targetAgent": "agent", "workDoneToken": 1})
            self.assertEqual(answer["error"], {"code": -32055, "message": "frame too large", "data": {"limit": 65536}}, name)
        await self.assertHubError(-32055, agent.call("hub/ping", ["x" * 70_000]))
        await self.assertHubError(-32055, agent.notify("m", ["x" * 70_000]))
        await self.assertHubError(-32055, agent.register("other", {"x": "x" * 70_000}))
        await self.assertHubError(-32055, agent.events("x" * 70_000).__anext__())
        text = "x" * (65536 - len('{"jsonrpc":"2.0","id":10,"method":"hub/ping","params":[""]}'))
        agent._calls._last_id = 9
        self.assertEqual(await agent.call("hub/ping", [text]), [text])
        await self.assertHubError(-32055, agent.call("hub/ping", [text + "x"]))
        self.assertEqual(states.seen, [])

    async def test_progress_behind_the_answer(self):
        hub, agent, peer = await self.served()
        late = []

        @agent.method("m")
        async def m(params, request):
            await request.progress(1)
            late.append(request)

        self.assertIn("result", await peer.ask("m", {"targetAgent": "agent", "workDoneToken": 1}))
        with mock.patch.object(type(agent._session.connection), "send", side_effect=AssertionError):
            await late[0].progress(2)

    async def test_notification_tells_no_progress(self):
        hub, agent, peer = await self.served()

        @agent.method("m")
        async def m(params, request):
            await request.progress(request.id)

        sent, send = [], type(agent._session.connection).send
        with mock.patch.object(type(agent._session.connection), "send", lambda own, *words: (sent.append(words), send(own, *words))):
            peer.send(method="m", params={"targetAgent": "agent", "workDoneToken": 1})
            peer.send(id=2, method="m", params={"targetAgent": "agent", "workDoneToken": 2})
            self.assertEqual((await peer.find("$/progress"))["params"]["token"], 2)
        self.assertEqual(len(sent), 1)

    async def test_cancel_in_both_forms(self):
        hub, agent, peer = await self.served()
        began, cleaned = asyncio.Event(), asyncio.Event()

        @agent.method("wait")
        async def wait(params, request):
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                cleaned.set()

        @agent.method("stubborn")
        async def stubborn(params, request):
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "a result that nobody wants"

        forms = [("$/cancelRequest", "id"), ("notifications/cancelled", "requestId")]
        for number, (form, key) in enumerate(forms):
            for method in ("wait", "stubborn"):
                began.clear()
                peer.send(id=number, method=method, params={"targetAgent": "agent"})
                await within(began.wait(), "its beginning")
                peer.send(method=form, params={key: number})
                self.assertEqual((await peer.receive())["error"]["code"], -32800, form)
        self.assertTrue(cleaned.is_set())
        job = agent._session.connection.owed
        self.assertEqual(job, {})

    async def test_acp_form_of_cancel(self):
        """The hub may pass it; whether it does, the client knows it."""
        hub, agent, peer = await self.served()
        began = asyncio.Event()

        @agent.method("wait")
        async def wait(params, request):
            began.set()
            await asyncio.Event().wait()

        peer.send(id=1, method="wait", params={"targetAgent": "agent"})
        await within(began.wait())
        connection = agent._session.connection
        (number,) = connection.owed
        body = b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}' % number
        connection.data_received(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.assertEqual((await peer.receive())["error"]["code"], -32800)

    async def test_concurrency(self):
        hub, agent, peer = await self.served()
        running, most, go = 0, 0, asyncio.Event()

        @agent.method("wait")
        async def wait(params, request):
            nonlocal running, most
            running, most = running + 1, max(most, running + 1)
            await go.wait()
            running -= 1

        for n in range(200):
            peer.send(id=n, method="wait", params={"targetAgent": "agent"})
        peer.send(method="$/cancelRequest", params={"id": 150})  # which waits in the client
        cancelled = await peer.receive()
        self.assertEqual((cancelled["id"], cancelled["error"]["code"]), (150, -32800))
        await turns(lambda: running == 64)
        self.assertEqual(len(agent._inbound._waiting), 199 - 64)
        go.set()
        answers = [await peer.receive() for _ in range(199)]
        self.assertEqual([one["result"] for one in answers], [None] * 199)
        self.assertEqual((running, most), (0, 64))
        self.assertEqual((len(agent._inbound._waiting), agent._inbound._waiting_bytes, agent._inbound._tasks), (0, 0, set()))

    async def test_concurrency_of_one(self):
        hub, agent, peer = await self.served(concurrency=1)
        seen, tasks = [], []

        @agent.method("m")
        async def m(params, request):
            seen.append(params["n"])
            tasks.append(asyncio.current_task())
            if params["n"] % 2:
                await asyncio.sleep(0)
            self.assertEqual(seen[-1], params["n"])

        for n in range(50):
            peer.send(id=n, method="m", params={"targetAgent": "agent", "n": n})
        self.assertEqual([(await peer.receive())["id"] for _ in range(50)], list(range(50)))
        self.assertEqual(seen, list(range(50)))
        self.assertGreaterEqual(len(set(tasks)), 25)

    async def test_past_four_mebibytes(self):
        hub, agent, peer = await self.served("--max-queue", "64M", concurrency=2)
        go, began = asyncio.Event(), asyncio.Event()
        texts = []

        @agent.method("wait")
        async def wait(params, request):
            if params["n"] == 1:
                began.set()
            await go.wait()
            texts.append(len(params["text"]))

        for n in range(2):
            peer.send(id=n, method="wait", params={"targetAgent": "agent", "n": n, "text": ""})
        await within(began.wait())
        for n in range(2, 7):
            peer.send(id=n, method="wait", params={"targetAgent": "agent", "n": n, "text": "x" * (MEBIBYTE - 1000)})
        refused = await peer.receive()
        self.assertEqual((refused["id"], refused["error"]["code"]), (6, -32052))
        self.assertTrue(3.9 * MEBIBYTE < agent._inbound._waiting_bytes <= 4 * MEBIBYTE)
        peer.send(method="$/cancelRequest", params={"id": 3})
        self.assertEqual((await peer.receive())["error"]["code"], -32800)
        peer.send(id=7, method="wait", params={"targetAgent": "agent", "n": 7, "text": "y" * (MEBIBYTE - 1000)})
        peer.send(method="wait", params={"targetAgent": "agent", "n": 8, "text": "z" * MEBIBYTE})  # dropped
        self.assertEqual((await peer.ask("none", {"targetAgent": "agent"}))["error"]["code"], -32601)  # it reads on
        self.assertEqual(agent.dropped, 1)
        go.set()
        answers = [await peer.receive() for _ in range(6)]
        self.assertEqual(sorted(one["id"] for one in answers), [0, 1, 2, 4, 5, 7])
        self.assertEqual(texts, [0, 0] + [MEBIBYTE - 1000] * 4)
        self.assertEqual(agent._inbound._waiting_bytes, 0)

    async def test_many_that_do_not_wait(self):
        hub, agent, peer = await self.served()
        agent.method("m")(lambda params, request: params["n"])
        for n in range(5000):
            peer.send(id=n, method="m", params={"targetAgent": "agent", "n": n})
        self.assertEqual([(await peer.receive())["result"] for _ in range(5000)], list(range(5000)))

    @unittest.skipUnless(hasattr(asyncio, "eager_task_factory"), "Python 3.12 has eager tasks")
    async def test_eager_tasks(self):
        self.loop.set_task_factory(asyncio.eager_task_factory)
        hub, agent, peer = await self.served()
        seen = []

        @agent.method("m")
        async def m(params, request):
            seen.append(params["n"])
            if params["n"] % 3 == 0:
                await asyncio.sleep(0)

        for n in range(300):
            peer.send(id=n, method="m", params={"targetAgent": "agent", "n": n})
        self.assertEqual({(await peer.receive())["id"] for _ in range(300)}, set(range(300)))
        self.assertEqual(seen, list(range(300)))
        states = States(agent)
        await hub.restart()
        await states.reach("lost", "connected")
        self.assertEqual(await within(agent.call("hub/ping", 1, timeout=5)), 1)
        await within(agent.close())

    async def test_handler_may_call(self):
        hub, agent, peer = await self.served()
        other = await self.agent(hub, "other", {"methods": ["inner"]})
        other.method("inner")(lambda params, request: "inner")

        @agent.method("outer")
        async def outer(params, request):
            return await agent.call("inner")

        for n in range(100):
            peer.send(id=n, method="outer", params={"targetAgent": "agent"})
        self.assertEqual({(await peer.receive())["result"] for _ in range(100)}, {"inner"})

    async def test_cancel_reaches_what_a_handler_calls(self):
        hub, agent, peer = await self.served()
        raw = await self.peer(hub)
        await raw.ask("agent/register", {"agentId": "raw"})

        @agent.method("outer")
        async def outer(params, request):
            return await agent.request("raw", "inner")

        peer.send(id=1, method="outer", params={"targetAgent": "agent"})
        inner = await raw.find("agent/request")
        peer.send(method="$/cancelRequest", params={"id": 1})
        self.assertEqual((await raw.find("$/cancelRequest"))["params"]["id"], inner["id"])
        self.assertEqual((await peer.receive())["error"]["code"], -32800)


def nested():
    value = []
    for _ in range(100_000):
        value = [value]
    return value


if __name__ == "__main__":
    unittest.main()

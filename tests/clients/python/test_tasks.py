"""The task of a handler: the one that rests between messages is as good as a new one."""

import asyncio
import contextvars
import os
import subprocess
import sys
import unittest

import patchbay
from harness import ClientTest, turns, within


def frame(body):
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Tasks(ClientTest):
    async def served(self, **more):
        """A client that is an agent, with a task that rests, and a raw peer that asks it one thing after the other."""
        hub = await self.hub()
        agent = await self.agent(hub, "agent", **more)
        peer = await self.peer(hub)
        agent.method("nothing")(lambda params, request: None)
        await peer.ask("nothing", {"targetAgent": "agent"})
        self.assertIsNotNone(agent._inbound._rest)
        return agent, peer

    async def ask(self, peer, method, **params):
        return (await peer.ask(method, {"targetAgent": "agent", **params})).get("result")

    async def test_next_one_begins_in_the_turn_in_which_it_comes(self):
        agent, peer = await self.served()
        seen = []

        @agent.method("m")
        async def m(params, request):
            seen.append(asyncio.current_task())

        body = b'{"jsonrpc":"2.0","method":"m"}'
        done = asyncio.Event()

        def read():
            agent._session.connection.data_received(frame(body) * 3)
            self.assertEqual(len(seen), 3)
            done.set()

        self.loop.call_soon(read)
        await within(done.wait())
        self.assertIsInstance(seen[0], asyncio.Task)

    async def test_read_within_a_task(self):
        """Another transport may hand over bytes within a task: no two tasks can be current."""
        agent, peer = await self.served()
        seen = []
        agent.method("m")(lambda params, request: seen.append(asyncio.current_task()))
        agent._session.connection.data_received(frame(b'{"jsonrpc":"2.0","method":"m"}'))
        self.assertEqual(seen, [])
        await turns(lambda: seen)
        self.assertIsNot(seen[0], asyncio.current_task())

    async def test_what_a_handler_can_do_with_its_task(self):
        agent, peer = await self.served()
        began = []

        @agent.method("limited")
        async def limited(params, request):
            try:
                await asyncio.wait_for(asyncio.Event().wait(), 0.01)
            except asyncio.TimeoutError:
                return "timed out"

        @agent.method("both")
        async def both(params, request):
            return await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0.01, 2))

        @agent.method("wait")
        async def wait(params, request):
            began.append(asyncio.current_task())
            try:
                await asyncio.Event().wait()
            finally:
                began.append(self.loop.time())

        for _ in range(3):
            self.assertEqual(await self.ask(peer, "limited"), "timed out")
            self.assertEqual(await self.ask(peer, "both"), [1, 2])
        if hasattr(asyncio, "timeout"):

            @agent.method("timeout")
            async def timeout(params, request):
                try:
                    async with asyncio.timeout(0.01):
                        await asyncio.Event().wait()
                except TimeoutError:
                    return asyncio.current_task().cancelling()

            for _ in range(3):
                self.assertEqual(await self.ask(peer, "timeout"), 0)
        for number in (100, 101):
            peer.send(id=number, method="wait", params={"targetAgent": "agent"})
            await turns(lambda: len(began) % 2 == 1)
            peer.send(method="$/cancelRequest", params={"id": number})
            self.assertEqual((await peer.receive())["error"]["code"], -32800)
        self.assertIsNot(began[0], began[2])  # one that was cancelled does not rest

    async def test_marks_on_a_task(self):
        """A handler that leaves one gets, and leaves, nobody else a task that bears it."""
        agent, peer = await self.served()
        variable, ended = contextvars.ContextVar("variable", default=0), asyncio.Event()

        @agent.method("variable")
        async def context(params, request):
            before = variable.get()
            variable.set(before + 1)
            return before

        @agent.method("callback")
        async def callback(params, request):
            asyncio.current_task().add_done_callback(lambda task: ended.set())

        @agent.method("cancel")
        async def cancel(params, request):
            asyncio.current_task().cancel()

        @agent.method("caught")
        async def caught(params, request):
            asyncio.current_task().cancel()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "caught"

        @agent.method("wait")
        async def wait(params, request):
            await asyncio.sleep(0)
            task = asyncio.current_task()
            return getattr(task, "cancelling", lambda: 0)()

        for _ in range(3):
            self.assertEqual(await self.ask(peer, "variable"), 0)
            await self.ask(peer, "callback")
            await within(ended.wait(), "the end of the task")
            ended.clear()
            await self.ask(peer, "cancel")
            self.assertEqual(await self.ask(peer, "wait"), 0)
            self.assertEqual(await self.ask(peer, "caught"), "caught")
            self.assertEqual(await self.ask(peer, "wait"), 0)

    async def test_task_that_rests_is_cancelled(self):
        """As a program may do with all tasks that it finds."""
        agent, peer = await self.served()
        for task in asyncio.all_tasks():
            if "Inbound" in repr(task):
                task.cancel()
        agent.method("m")(lambda params, request: "done")
        agent._session.connection.data_received(b"")
        self.assertEqual(await self.ask(peer, "m"), "done")
        self.assertEqual(await self.ask(peer, "m"), "done")

    async def test_task_that_rests_takes_no_place(self):
        agent, peer = await self.served(concurrency=1)
        go, running = asyncio.Event(), []

        @agent.method("wait")
        async def wait(params, request):
            running.append(params["n"])
            await go.wait()
            return params["n"]

        for n in range(3):
            peer.send(id=n, method="wait", params={"targetAgent": "agent", "n": n})
        await turns(lambda: len(agent._inbound._waiting) == 2)
        self.assertEqual(running, [0])
        go.set()
        self.assertEqual([(await peer.receive())["result"] for _ in range(3)], [0, 1, 2])
        self.assertEqual(await self.ask(peer, "wait", n=5), 5)

    async def test_close_by_a_handler_of_the_task_that_rests(self):
        agent, peer = await self.served()

        @agent.method("close")
        async def close(params, request):
            await agent.close()

        peer.send(id=50, method="close", params={"targetAgent": "agent"})
        await within(agent.wait_closed())

    async def test_program_that_closes_nothing(self):
        """It ends, and says nothing: neither of a task that was left, nor of a callback."""
        hub = await self.hub()
        text = """
import asyncio, patchbay

async def main():
    agent, caller = await patchbay.connect(), await patchbay.connect()
    agent.method("m")(lambda params, request: params)
    await agent.register("agent", {"methods": ["m"]})
    for n in range(3):
        assert await caller.call("m", [n]) == [n]

"""
        environment = {**os.environ, "PATCHBAY_HUB": hub.uri}
        for end in ("asyncio.run(main())", "loop = asyncio.new_event_loop(); loop.run_until_complete(main()); loop.close()"):
            program = await asyncio.create_subprocess_exec(
                sys.executable, "-c", text + end, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            said, _ = await within(program.communicate(), "the program's end")
            self.assertEqual((program.returncode, said), (0, b""))

    async def test_frameworks_for_tests(self):
        """What they raise is no Exception."""

        class Failed(BaseException):
            pass

        agent, peer = await self.served()

        @agent.method("m")
        async def m(params, request):
            raise Failed("2 of 3")

        for _ in range(2):
            error = (await peer.ask("m", {"targetAgent": "agent"}))["error"]
            self.assertEqual((error["code"], error["message"]), (-32603, "2 of 3"))


if __name__ == "__main__":
    unittest.main()

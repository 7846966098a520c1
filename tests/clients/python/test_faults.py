"""A hub that is killed 100 times under load: each call ends once, and nothing is left."""

import asyncio
import os
import random
import unittest
from unittest import mock

import patchbay
from harness import ClientTest, States, turns, within
from patchbay import connection

KILLS = int(os.environ.get("PATCHBAY_KILLS", "100"))
CALLERS = 8


class Faults(ClientTest):
    async def test_connection_that_stands_when_nobody_waits_any_more(self):
        async def dial():
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return None, late  # it came in the turn of the cancel

        began, late = asyncio.Event(), mock.Mock()
        task = asyncio.ensure_future(connection._within(dial()))
        await within(began.wait())
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await within(task)
        late.fail.assert_called_once()

    async def test_killed_under_load(self):
        hub = await self.hub()
        agent = await self.agent(hub, "agent", {"methods": ["quick", "slow"]})
        clients = [await self.agent(hub if n % 2 else hub.uri_of("tcp-lines"), f"caller-{n}") for n in range(CALLERS)]
        chance, states = random.Random(1), States(agent)
        begun, ended, lost, is_over = 0, 0, 0, False

        @agent.method("quick")
        async def quick(params, request):
            return params

        @agent.method("slow")
        async def slow(params, request):
            await request.progress(1)
            await asyncio.sleep(params["n"] % 7 / 1000)  # as work does that takes time
            return params

        async def load(client):
            nonlocal begun, ended, lost
            while not is_over:
                begun += 1
                n = begun
                try:
                    timeout = chance.choice([None, 30, 0.005])
                    params = {"n": n}
                    task = asyncio.ensure_future(client.call(chance.choice(["quick", "slow"]), params, timeout=timeout, on_progress=lambda value: None))
                    if chance.random() < 0.05:
                        await asyncio.sleep(0)
                        task.cancel()
                    result = await task
                    self.assertEqual(result["n"], n)
                    if client._session.connection is None:
                        await client.call("hub/ping")
                except patchbay.ConnectionLost:
                    lost += 1
                except patchbay.HubError as error:
                    # Of the agent, not of this call's connection; its time; the agent is not back yet.
                    self.assertIn(error.code, (-32050, -32051, -32601, -32800), error)
                except asyncio.CancelledError:
                    pass
                ended += 1

        async def iterate(client):
            async for _ in client.events("news-*"):
                pass

        streams = [asyncio.ensure_future(iterate(client)) for client in clients]
        loads = [asyncio.ensure_future(load(client)) for client in clients for _ in range(8)]
        for _ in range(KILLS):
            goal = ended + 100
            await turns(lambda: ended >= goal)
            await hub.restart()
            await states.reach("lost", "connected")
        is_over = True
        done, _ = await within(asyncio.wait(loads), "the end of all calls")
        for task in done:
            task.result()
        self.assertEqual((begun, ended > 0), (ended, True))
        self.assertGreater(lost, KILLS)
        for client in clients:
            self.assertEqual(await within(client.call("hub/ping", 1)), 1)
            self.assertEqual(client._calls._calls, {})
        inbound = agent._inbound
        await turns(lambda: not inbound._tasks)
        self.assertEqual((len(inbound._waiting), inbound._running, inbound._waiting_bytes), (0, set(), 0))
        await asyncio.gather(*(client.close() for client in clients))
        await within(asyncio.wait(streams))


if __name__ == "__main__":
    unittest.main()

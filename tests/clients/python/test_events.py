"""Events: patterns, what is missed, and when an iterator is unsubscribed."""

import asyncio
import gc
import unittest

import patchbay
from harness import ClientTest, States, greet, turns, within


class Events(ClientTest):
    async def test_late_answer_to_a_subscription_that_has_ended(self):
        async def serve(peer):
            await greet(peer)
            asked = []
            while (message := await peer.receive()) is not None:
                asked.append(message["id"])
                if len(asked) == 3:  # a subscription, its end, and the same one again
                    peer.send(id=asked[0], error={"code": -32052, "message": "overloaded"})
                    for number in asked[1:]:
                        peer.send(id=number, result=None)

        client = await self.client((await self.fake(serve)).uri)
        await client.events("e").aclose()
        async with client.events("e") as events:
            self.assertTrue(events._queue.is_confirmed)

    async def test_patterns(self):
        hub = await self.hub("--validate", "strict")
        one, other = await self.client(hub), await self.client(hub)
        async with one.events("build-*") as builds, one.events("build-1") as first, one.events("*") as all_of_them, one.events("build-1") as again:
            self.assertEqual(await other.publish("build-1", {"n": 1}), 1)
            self.assertEqual(await other.publish("build-2"), 1)
            self.assertEqual(await other.publish("test", [1]), 1)
            self.assertEqual([await within(builds.__anext__()) for _ in range(2)], [patchbay.Event("build-1", {"n": 1}), patchbay.Event("build-2", None)])
            self.assertEqual(await within(first.__anext__()), patchbay.Event("build-1", {"n": 1}))
            self.assertEqual(await within(again.__anext__()), patchbay.Event("build-1", {"n": 1}))
            self.assertEqual([(await within(all_of_them.__anext__())).name for _ in range(3)], ["build-1", "build-2", "test"])
            self.assertEqual([one._queue._events for one in (builds, first, all_of_them, again)], [type(builds._queue._events)()] * 4)

    async def test_break_unsubscribes(self):
        hub = await self.hub()
        one, other = await self.client(hub), await self.client(hub)
        keep = one.events("e")
        async with keep:
            async for event in publishing(other, one.events("e")):
                self.assertEqual(event.name, "e")
                break
            gc.collect()
            self.assertEqual(await within(one.call("hub/ping", 1)), 1)
            self.assertEqual(await other.publish("e"), 1)  # another iterator has the pattern
        self.assertEqual(await within(one.call("hub/ping", 1)), 1)
        self.assertEqual(await other.publish("e"), 0)
        for event in [one.events("f")]:
            pass
        del event
        gc.collect()
        self.assertEqual(await within(one.call("hub/ping", 1)), 1)
        self.assertEqual(await other.publish("f"), 0)
        self.assertEqual(one._subscriptions._patterns, {})

    async def test_async_for(self):
        hub = await self.hub()
        one, other = await self.client(hub), await self.client(hub)
        seen, ready = [], asyncio.Event()

        async def consume():
            stream = one.events("n-*")
            async with stream:
                ready.set()
                async for event in stream:
                    seen.append((event.name, event.data, event.missed))
                    if event.data == 9:
                        return

        task = asyncio.ensure_future(consume())
        await within(ready.wait())
        for n in range(10):
            await other.publish(f"n-{n}", n)
        await within(task)
        self.assertEqual(seen, [(f"n-{n}", n, 0) for n in range(10)])

    async def test_cancelled_consumer_is_unsubscribed(self):
        hub = await self.hub()
        one, other = await self.client(hub), await self.client(hub)
        ready = asyncio.Event()

        async def consume():
            async with one.events("e") as stream:
                ready.set()
                async for _ in stream:
                    pass

        task = asyncio.ensure_future(consume())
        await within(ready.wait())
        task.cancel()
        await asyncio.wait({task})
        await one.call("hub/ping")
        self.assertEqual(await other.publish("e"), 0)

    async def test_a_thousand_are_kept(self):
        hub = await self.hub()
        one, other = await self.client(hub), await self.client(hub)
        async with one.events("e") as stream:
            for n in range(1500):
                await other.notify("event", {"event": "e", "data": n})
            await other.publish("e", 1500)
            await one.call("hub/ping")
            await turns(lambda: len(stream._queue._events) == 1000 and stream._queue._events[-1][1] == 1500)
            self.assertEqual(await within(stream.__anext__()), patchbay.Event("e", 501, 501))
            rest = [await within(stream.__anext__()) for _ in range(999)]
            self.assertEqual([one.data for one in rest], list(range(502, 1501)))
            self.assertEqual({one.missed for one in rest}, {0})

    async def test_what_the_hub_dropped_is_missed(self):
        async def serve(peer):
            await greet(peer)
            message = await peer.find("hub/subscribe")
            peer.send(id=message["id"], result={"events": ["e"]})
            peer.send(method="hub/dropped", params={"count": 3})
            peer.send(method="hub/dropped", params={"count": 0, "unknown": True})
            peer.send(method="event", params={"event": "e", "data": 1})
            peer.send(method="event", params={"event": "e", "data": 2})
            peer.send(method="hub/dropped", params={"count": 2, "unknown": True})
            peer.send(method="event", params={"event": "e", "data": 3})
            await peer.receive()

        fake = await self.fake(serve)
        client = await self.client(fake.uri)
        dropped = []
        client.method("hub/dropped")(lambda params, request: dropped.append(params))
        stream = client.events("e")
        # The next event that is taken tells the number of missed ones, which all came before the first was taken.
        await turns(lambda: len(stream._queue._events) == 3)
        self.assertEqual([(one.data, one.missed) for one in [await within(stream.__anext__()) for _ in range(3)]], [(1, 7), (2, 0), (3, 0)])
        await turns(lambda: len(dropped) == 3)  # its handler runs as well

    async def test_overloaded_hub(self):
        """It refuses a new subscription; one that stood is asked for again, with pauses."""
        asked = []

        async def serve(peer):
            await greet(peer)
            while (message := await peer.receive()) is not None:
                if message["method"] == "cut":
                    return
                if message["method"] != "hub/subscribe":
                    peer.send(id=message["id"], result=None)
                    continue
                (pattern,) = message["params"]["events"]
                asked.append((pattern, self.loop.time()))
                if pattern == "new" or len(asked) in (3, 4, 5):
                    peer.send(id=message["id"], error={"code": -32052, "message": "overloaded"})
                else:
                    peer.send(id=message["id"], result={"events": [pattern]})
                    peer.send(method="event", params={"event": pattern, "data": len(asked)})

        client = await self.client((await self.fake(serve)).uri)
        await self.assertHubError(-32052, client.events("new").__anext__())
        stream = client.events("old")
        self.assertEqual((await within(stream.__anext__())).data, 2)
        states = States(client)
        await client.notify("cut")
        await states.reach("lost", "connected")
        self.assertEqual((await within(stream.__anext__())).data, 6)
        self.assertEqual([pattern for pattern, _ in asked], ["new"] + 5 * ["old"])
        for (_, earlier), (_, later), most in zip(asked[2:], asked[3:], (0.1, 0.2, 0.4)):
            self.assertLessEqual(0.75 * most, later - earlier)
        # One that is given up meanwhile is not asked for again.
        del asked[2:]
        await client.notify("cut")
        await states.reach("lost", "connected")
        await turns(lambda: client._session._later)
        await stream.aclose()
        self.assertEqual(client._session._later, {})

    async def test_hub_that_drops(self):
        hub = await self.hub("--max-queue", "64K")
        one, other = await self.client(hub), await self.client(hub)
        async with one.events("e") as stream:
            connection = one._session.connection
            connection._transport.pause_reading()  # as a machine that stands still does
            sent = 0
            while sent < 200:
                self.assertIn(await other.publish("e", "x" * 60_000), (0, 1))
                sent += 1
            connection._transport.resume_reading()
            await other.publish("e", "last")
            seen = missed = 0
            while seen + missed < 201:
                event = await within(stream.__anext__())
                seen, missed = seen + 1, missed + event.missed
                if event.data != "last" and seen + missed == 200:
                    await other.publish("e", "more")
            self.assertGreater(missed, 0)

    async def test_refused_pattern(self):
        hub = await self.hub()
        one, other = await self.client(hub), await self.client(hub)
        stream = one.events("a*b")
        await self.assertHubError(-32602, stream.__anext__())
        with self.assertRaises(patchbay.HubError):
            async with one.events(""):
                pass
        async with one.events("a*") as good:
            await other.publish("ab", 1)
            self.assertEqual((await within(good.__anext__())).data, 1)

    async def test_end_of_the_client_ends_iterators(self):
        hub = await self.hub()
        one, other = await self.client(hub), await self.client(hub)
        async with one.events("e") as stream:
            await other.publish("e", 1)
            await one.call("hub/ping")
            await one.close()
            self.assertEqual([event.data async for event in stream], [1])
        self.assertEqual([event async for event in one.events("e")], [])

    async def test_subscribed_while_the_connection_is_lost(self):
        hub = await self.hub()
        one = await self.client(hub)
        states = States(one)
        async with one.events("a"):
            await hub.kill()
            await states.reach("lost")
            gone, stays = one.events("b"), one.events("c")
            await gone.aclose()
            await hub.start()
            await states.reach("connected")
            other = await self.client(hub)
            self.assertEqual([await other.publish(name) for name in "abc"], [1, 0, 1])
            await stays.aclose()
            await one.call("hub/ping")
            self.assertEqual([await other.publish(name) for name in "abc"], [1, 0, 0])

    async def test_events_of_capabilities_go_to_the_handler(self):
        hub = await self.hub()
        one, other = await self.client(hub), await self.client(hub)
        got = self.loop.create_future()
        one.method("event")(lambda params, request: got.set_result(params))
        await one.register("one", {"events": ["e"]})
        await other.publish("e", 5)
        self.assertEqual(await within(got), {"event": "e", "data": 5})


async def publishing(client, stream):
    """Publishes until the stream has an event."""
    task = asyncio.ensure_future(stream.__anext__())
    while not task.done():
        await client.publish("e")
    yield await task
    async for event in stream:
        yield event


if __name__ == "__main__":
    unittest.main()

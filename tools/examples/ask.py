#!/usr/bin/env python3
"""Asks an agent, hears its progress, and gives up what takes too long: both sides of a request in one program."""
import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients/python/src"))
import patchbay


async def main():
    async with await patchbay.connect() as agent, await patchbay.connect() as hub:
        @agent.task("bake")
        async def bake(params, request):
            await request.progress({"percent": 50})
            await asyncio.sleep(params["context"]["seconds"])
            return "a cake"

        await agent.register("baker")
        print(await hub.request("baker", "bake", context={"seconds": 0.1}, on_progress=print))
        try:
            await hub.request("baker", "bake", context={"seconds": 60}, timeout=0.5)
        except patchbay.HubError as error:
            print(error)
asyncio.run(main())

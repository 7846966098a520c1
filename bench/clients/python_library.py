#!/usr/bin/env python3
"""A target of `patchbay bench --program`, written with the client.

usage: python_library.py AGENT-ID FILL
"""

import asyncio
import sys

import patchbay


async def main(agent_id, fill):
    hub = await patchbay.connect()

    @hub.task("bench")
    async def answer(params, request):
        return params["context"]["nonce"] + fill

    await hub.register(agent_id)
    print("ready", flush=True)
    await hub.wait_closed()


asyncio.run(main(sys.argv[1], "y" * int(sys.argv[2])))

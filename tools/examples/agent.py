#!/usr/bin/env python3
"""An agent in Python: it registers, answers tests/count, and tells its progress. PATCHBAY_HUB names another hub than
tcp://127.0.0.1:7411. A program outside this folder needs no path (pip install tools/clients/python)."""
import asyncio
import contextlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients/python/src"))
import patchbay


async def main():
    async with await patchbay.connect() as hub:
        @hub.method("tests/count")
        async def count(params, request):
            await request.progress({"kind": "begin", "title": "counting"})
            return {"words": len(params["text"].split())}

        print(json.dumps(await hub.register("counter", {"methods": ["tests/count"]})), flush=True)
        await hub.wait_closed()

with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())

"""An agent with the client in Python, for the test of both clients: it answers, and calls back whoever asks it to.

usage: interop.py, with PATCHBAY_HUB; ends when its standard input does
"""

import asyncio
import sys

import patchbay


async def main():
    hub = await patchbay.connect()

    @hub.method("py/echo")
    async def echo(params, request):
        await request.progress({"percentage": 50, "text": params["text"]})
        return {"text": params["text"], "number": params["number"]}

    @hub.method("py/slow")
    async def slow(params, request):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await hub.publish("py-cancelled", {"n": params["n"]})
            raise

    @hub.task("fail")
    async def fail(params, request):
        if params["context"].get("own"):
            raise patchbay.HubError(-31000, "no", {"why": "ü"})
        raise ValueError("the text")

    @hub.method("py/call")
    async def call(params, request):
        progress = []
        try:
            result = await hub.call("js/echo", params["params"], timeout=params.get("timeout"), on_progress=progress.append)
            return {"result": result, "progress": progress}
        except patchbay.HubError as error:
            return {"code": error.code, "message": str(error)}

    @hub.method("py/ask")
    async def ask(params, request):
        return await hub.request("js", params["task"], context=params["context"], priority="high", level="supervised", timeout=5)

    @hub.method("py/collect")
    async def collect(params, request):
        seen = []
        async for event in hub.events("js-*"):
            if event.data == "begun":
                await hub.publish("py-ready")
                continue
            seen.append([event.name, event.data, event.missed])
            if event.data == "last":
                return seen

    await hub.register("py", capabilities={"methods": ["py/echo"]}, governance_level="manual")
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await hub.close()


asyncio.run(main())

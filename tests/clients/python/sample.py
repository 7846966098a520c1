"""Uses every function of the client with its types: read by mypy, and run by nobody."""

import asyncio
from typing import Any, Dict, List, Optional

import patchbay


async def main() -> None:
    hub: patchbay.Hub = await patchbay.connect(
        "tls://hub.example:7411",
        "token",
        tls_ca="ca.pem",
        tls_certificate="own.pem",
        tls_key="own.key",
        governance_level="supervised",
        concurrency=16,
        max_frame=1 << 24,
    )
    registered: Dict[str, Any] = await hub.register("test-agent", capabilities={"methods": ["tests/run"]}, governance_level="supervised", version="1.0")
    await hub.register("other-agent", ["review"])

    @hub.method("tests/run")
    async def run(params: Dict[str, Any], request: patchbay.Request) -> Dict[str, int]:
        await request.progress({"percent": 50})
        seen: List[Any] = [request.method, request.id, request.level, request.fields.get("x-trace")]
        return {"passed": len(seen)}

    @hub.task("generate-tests")
    def generate(params: Any, request: patchbay.Request) -> List[str]:
        raise patchbay.HubError(-32602, "invalid params", {"field": "context"})

    @hub.on_state
    def told(state: str) -> None:
        print(state)

    async def advanced(value: Any) -> None:
        print(value)

    result: Any = await hub.request(
        "test-agent", "generate-tests", context={"file": "main.ts"}, priority="high", level="manual", timeout=5, on_progress=advanced
    )
    result = await hub.call("tests/run", {"file": "main.ts"}, level="supervised", timeout=5.5, on_progress=print)
    await hub.notify("tests/started", {"n": 1}, level="autonomous")
    count: int = await hub.publish("build-done", {"ok": True}, level="autonomous", timeout=1)
    events: patchbay.Events = hub.events("build-*")
    async with events:
        async for event in events:
            name: str = event.name
            missed: int = event.missed
            print(name, event.data, missed)
            break
    await events.aclose()
    try:
        await hub.call("nothing")
    except patchbay.ConnectionLost as lost:
        print(lost.code, lost.message, lost.data)
    except patchbay.HubError as error:
        code: int = error.code
        message: str = error.message
        print(code, message, error.data)
    async with hub as same:
        await same.unregister("other-agent")
        await same.wait_closed()
    await hub.close()
    dropped: int = hub.dropped
    version: str = patchbay.__version__
    nothing: Optional[patchbay.Event] = None
    print(registered, run, generate, told, result, count, dropped, version, nothing)


if __name__ == "__main__":
    asyncio.run(main())

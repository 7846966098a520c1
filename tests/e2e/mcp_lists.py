#!/usr/bin/env python3
"""An MCP server for the tests, over lines, that has lists: of tools, one a page, and resources.

usage: mcp_lists.py NAME TOOL,… [--legacy | --modern | --mute] [--late] [--never METHOD]

It speaks both eras in one process, or the one that is named. With --mute it answers nothing, with --never no request of that method, with --late server/discover after 300 ms. Tools answer with NAME:TOOL; the tool `slow` never does, the
tool `changed` says that the list is another one, `listed` how often it was asked for each list, and which calls of `slow` have come and been cancelled, and `grow` adds the tool
`late`, which it tells where its argument `tell` says so. Clients mirror arguments of `mirrored` in fields of the head.
`told` logs a message first, and `process` tells its process.
`failed` says so in its result, and `refused` is an error. It has the resources `u:same` and `u:NAME`, and knows only the latter, and the prompt `p-NAME`.
"""
import json
import os
import sys
import time

name, tools = sys.argv[1], sys.argv[2].split(",")
never = sys.argv[sys.argv.index("--never") + 1] if "--never" in sys.argv else None
asked = {}
slow, cancelled = [], []  # ids of calls of `slow`, and of requests that were cancelled
MIRRORED = {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "count": {"type": "integer", "x-mcp-header": "X-Count"},
    "deep": {"type": "object", "properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
    "bad": {"type": "string", "x-mcp-header": "no token"}, "other": {"type": "string"}}}


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    method, params, id_ = message.get("method"), message.get("params") or {}, message.get("id")

    def result(value):
        say({"jsonrpc": "2.0", "id": id_, "result": value})

    def error(code):
        say({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": "refused"}})

    if method == "notifications/cancelled":
        cancelled.append(params["requestId"])
    if id_ is None or method is None or "--mute" in sys.argv or method == never:
        continue
    if method.endswith("/list"):
        asked[method] = asked.get(method, 0) + ("cursor" not in params)
    if method == "initialize" and "--modern" not in sys.argv:
        result({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {"subscribe": name == "two"}},
                "serverInfo": {"name": name, "version": "1"}})
    elif method == "server/discover" and "--legacy" not in sys.argv:
        time.sleep(0.3 if "--late" in sys.argv else 0)
        result({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
    elif method == "tools/list":
        page = int(params.get("cursor") or 0)
        following = {"nextCursor": str(page + 1)} if page + 1 < len(tools) else {}
        schema = MIRRORED if tools[page] == "mirrored" else {"type": "object"}
        result({"tools": [{"name": tools[page], "n": 1.0, "inputSchema": schema}], **following})
    elif method == "tools/call" and params["name"] == "slow":
        slow.append(id_)
    elif method == "tools/call":
        arguments = params.get("arguments") or {}
        if params["name"] == "grow":
            tools.append("late")
        if params["name"] == "changed" or arguments.get("tell"):
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        if params["name"] == "failed":
            result({"content": [], "isError": True})
            continue
        if params["name"] == "refused":
            error(-32602)
            continue
        if params["name"] == "told":
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
        if params["name"] == "process":
            result({"process": os.getpid()})
            continue
        if params["name"] == "listed":
            result({"asked": asked, "slow": slow, "cancelled": cancelled})
            continue
        result({"content": [{"type": "text", "text": f"{name}:{params['name']}"}]})
    elif method == "resources/list":
        result({"resources": [{"uri": "u:same", "name": name}, {"uri": f"u:{name}", "name": "own"}]})
    elif method == "resources/read" and params["uri"] == f"u:{name}":
        result({"contents": [{"uri": params["uri"], "text": name}]})
    elif method == "prompts/list" and "p" in tools:
        result({"prompts": [{"name": f"p-{name}"}, {"name": "p-both"}]})
    elif method == "prompts/get" and "p" in tools:
        result({"description": f"{name}:{params['name']}", "messages": []})
    elif method == "completion/complete" and "p" in tools:
        ref = params["ref"]
        result({"completion": {"values": [name, ref.get("name") or ref.get("uri")]}})
    elif method == "logging/setLevel":
        result({})
    else:
        error(-32601)

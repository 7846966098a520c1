#!/usr/bin/env python3
"""An MCP server for the tests, over lines, that has lists: of tools, one a page, and resources.

usage: mcp_lists.py NAME TOOL,… [--legacy | --modern]

It speaks both eras in one process, or the one that is named. Tools answer with NAME:TOOL; the tool `slow` never does, the
tool `changed` says that the list is another one. It has the resources `u:same` and `u:NAME`, and knows only the latter.
"""
import json
import sys

name, tools = sys.argv[1], sys.argv[2].split(",")


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

    if id_ is None or method is None:
        continue
    if method == "initialize" and "--modern" not in sys.argv:
        result({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {"subscribe": name == "two"}},
                "serverInfo": {"name": name, "version": "1"}})
    elif method == "server/discover" and "--legacy" not in sys.argv:
        result({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
    elif method == "tools/list":
        page = int(params.get("cursor") or 0)
        following = {"nextCursor": str(page + 1)} if page + 1 < len(tools) else {}
        result({"tools": [{"name": tools[page], "n": 1.0, "inputSchema": {"type": "object"}}], **following})
    elif method == "tools/call" and params["name"] == "slow":
        continue
    elif method == "tools/call":
        if params["name"] == "changed":
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        result({"content": [{"type": "text", "text": f"{name}:{params['name']}"}]})
    elif method == "resources/list":
        result({"resources": [{"uri": "u:same", "name": name}, {"uri": f"u:{name}", "name": "own"}]})
    elif method == "resources/read" and params["uri"] == f"u:{name}":
        result({"contents": [{"uri": params["uri"], "text": name}]})
    elif method == "logging/setLevel":
        result({})
    else:
        error(-32601)

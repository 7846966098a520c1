#!/usr/bin/env python3
"""An MCP server for the tests, over lines: it tells what it has seen, and says what it is told to.

  seen       all that came, but for this: {"messages":[...]}
  say        writes params.message, whatever it is, and answers {}
  together   answers the requests params.ids and itself by one array, behind params.messages
  wait       is never answered
  finish     answers the request params.id with params.result, then itself with {}
  die        ends at once

  hear       tells the subscription params.id, in the form params.form makes of it, of params.method
  where      its process and the era that it speaks

It answers initialize with the protocol version VERSION of its environment, else 2025-11-25. With --modern it knows no sessions: initialize is refused, with --raw by an end. With --both it speaks the era of what comes first. Otherwise
it refuses server/discover; with --shut FILE it makes FILE.asked instead of an answer as long as FILE isn't there; --gate FILE has it answer initialize when that is there; with --brittle it ends at that, or at anything that no session was opened for.
"""
import json
import os
import sys
import time

messages = []
era = None


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(message, result):
    say({"jsonrpc": "2.0", "id": message["id"], "result": result})


for line in sys.stdin:
    message = json.loads(line)
    if isinstance(message, list):
        messages.append(message)
        continue
    method, params = message.get("method"), message.get("params", {})
    if method == "seen":
        answer(message, {"messages": messages})
        continue
    messages.append(message)
    modern = "--modern" in sys.argv or ("--both" in sys.argv and method != "initialize")
    era = era or ("modern" if modern else "legacy")
    if method == "die" or ("--brittle" in sys.argv and len(messages) == 1 and method != "initialize"):
        sys.exit(3)
    if method == "subscriptions/listen" and params.get("ack"):
        say({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
             "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": message["id"]}, "notifications": {}}})
        sys.exit(3)
    if "id" not in message or method in (None, "wait", "subscriptions/listen"):
        continue
    if method == "server/discover" and "--shut" in sys.argv and not os.path.exists(sys.argv[sys.argv.index("--shut") + 1]):
        open(sys.argv[sys.argv.index("--shut") + 1] + ".asked", "w").close()
        continue
    if method == "initialize" and "--raw" in sys.argv:
        sys.exit(1)
    while method == "initialize" and "--gate" in sys.argv and not os.path.exists(sys.argv[sys.argv.index("--gate") + 1]):
        time.sleep(0.005)
    if method == "initialize" and era == "modern":
        say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no sessions here"}})
    elif method == "initialize":
        answer(message, {"protocolVersion": os.environ.get("VERSION", "2025-11-25"), "capabilities": {"tools": {}},
                         "serverInfo": {"name": "tested", "version": "1"}})
    elif method == "say":
        say(params["message"])
        answer(message, {})
    elif method == "server/discover" and era == "legacy":
        say({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no session was opened"}})
    elif method == "where":
        answer(message, {"process": os.getpid(), "era": era})
    elif method == "hear":
        which = params["id"] if params.get("form") != "string" else str(params["id"])
        meta = {"io.modelcontextprotocol/subscriptionId": which}
        if params["method"] == "end":
            say({"jsonrpc": "2.0", "id": params["id"], "result": {"_meta": meta, "x": 1}})
        elif params["method"] == "notifications/cancelled":
            say({"jsonrpc": "2.0", "method": params["method"], "params": {"requestId": which}})
        else:
            say({"jsonrpc": "2.0", "method": params["method"], "params": {"_meta": meta, "x": 1}})
        answer(message, {})
    elif method == "together":
        say(params.get("messages", []) + [{"jsonrpc": "2.0", "id": id, "result": {"together": True}} for id in params["ids"] + [message["id"]]])
    elif method == "finish":
        say({"jsonrpc": "2.0", "id": params["id"], "result": params["result"]})
        answer(message, {})
    else:
        answer(message, {"method": method, "params": params})

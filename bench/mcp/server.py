# A server of MCP on its standard streams with one tool, which answers with the text that it was given.
import json
import sys

VERSION = "2025-11-25"
TOOL = {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
RESULTS = {
    "initialize": lambda params: {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}},
    "tools/list": lambda params: {"tools": [TOOL]},
    "tools/call": lambda params: {"content": [{"type": "text", "text": params["arguments"]["text"]}]},
    "ping": lambda params: {},
}

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in RESULTS:
        answer["result"] = RESULTS[message["method"]](message.get("params", {}))
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()

"""A server of tools, of which `plan` asks the user before it answers: MCP 2025-11-25, `elicitation/create`."""

import json
import sys


def write(**message):
    sys.stdout.write(json.dumps(dict(jsonrpc="2.0", **message)) + "\n")
    sys.stdout.flush()


SCHEMA = dict(
    type="object",
    properties=dict(
        place=dict(type="string", description="Where to"),
        nights=dict(type="integer", default=2),
        quiet=dict(type="boolean"),
    ),
    required=["place"],
)


def main() -> None:
    called = None
    for line in sys.stdin:
        said = json.loads(line)
        method = said.get("method")
        if method == "initialize":
            write(
                id=said["id"],
                result=dict(
                    protocolVersion=said["params"]["protocolVersion"],
                    capabilities=dict(tools={}),
                    serverInfo=dict(name="asker", version="1"),
                ),
            )
        elif method == "tools/call" and said["params"]["name"] == "note":
            text = f"noted {said['params']['arguments']['text']}"
            write(id=said["id"], result=dict(content=[dict(type="text", text=text)]))
        elif method == "tools/list":
            anything = dict(type="object")
            plan = dict(name="plan", description="Plans", inputSchema=anything)
            note = dict(name="note", description="Notes a text", inputSchema=anything)
            write(id=said["id"], result=dict(tools=[plan, note]))
        elif method == "tools/call":
            called = said["id"]
            write(id="ask", method="elicitation/create", params=dict(message="Which trip?", requestedSchema=SCHEMA))
        elif said.get("id") == "ask":
            text = json.dumps(said.get("result"), sort_keys=True)
            write(id=called, result=dict(content=[dict(type="text", text=text)]))
        elif "id" in said and method:
            write(id=said["id"], error=dict(code=-32601, message="no"))


if __name__ == "__main__":
    main()

"""Two more wire formats of `MockApi`, so that other agents run without an account: Gemini's and OpenAI's Responses.

Each converts a request into messages of the Messages API, and the script's reply into its own stream. Wire formats:
Gemini API `streamGenerateContent?alt=sse`, OpenAI Responses API with `stream`.
"""

import itertools
import json
import uuid
from collections.abc import Iterator

from .scripted_model import Reply

Json = dict[str, object]

_ids = itertools.count(1)


class Gemini:
    """`POST /v1beta/models/{model}:streamGenerateContent?alt=sse`; `:generateContent` is the agent's housekeeping."""

    def serves(self, path: str) -> bool:
        return path.endswith((":streamGenerateContent", ":generateContent"))

    def messages(self, body: Json) -> list[Json]:
        return [
            {
                "role": "assistant" if content.get("role") == "model" else "user",
                "content": [self._block(part) for part in content["parts"]],
            }
            for content in body["contents"]
        ]

    def _block(self, part: Json) -> Json:
        if "functionCall" in part:
            return {"type": "tool_use", "name": part["functionCall"]["name"]}
        if "functionResponse" in part:
            return {"type": "tool_result", "content": json.dumps(part["functionResponse"])}
        return {"type": "text", "text": part.get("text", "")}

    def events(self, _model: str, reply: Reply) -> Iterator[Json]:
        parts = [{"text": reply.thinking, "thought": True}] if reply.thinking else []
        parts += [{"text": reply.text}] if reply.text else []
        parts += [
            {"functionCall": {"id": f"call_{next(_ids)}", "name": name, "args": args}} for name, args in reply.calls
        ]
        content = {"role": "model", "parts": parts}
        yield {
            "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
        }


class Responses:
    """`POST …/responses`, streamed."""

    def serves(self, path: str) -> bool:
        return path.endswith("/responses")

    def messages(self, body: Json) -> list[Json]:
        """Calls that are sent together form one message, as the script counts them."""
        grouped = itertools.groupby(map(self._message, body["input"]), key=lambda message: message["role"])
        return [
            {"role": role, "content": [b for message in several for b in message["content"]]}
            for role, several in grouped
        ]

    def _message(self, item: Json) -> Json:
        kind = item.get("type", "message")
        if kind.endswith("_call"):
            return {"role": "assistant", "content": [{"type": "tool_use", "name": item.get("name")}]}
        if kind.endswith("_call_output"):
            return {"role": "user", "content": [{"type": "tool_result", "content": json.dumps(item["output"])}]}
        texts = item.get("content") or []
        blocks = [{"type": "text", "text": part.get("text", "")} for part in texts if isinstance(part, dict)]
        return {"role": "assistant" if item.get("role") != "user" else "user", "content": blocks}

    def events(self, model: str, reply: Reply) -> Iterator[Json]:
        response = {"id": f"resp_{uuid.uuid4().hex}", "object": "response", "model": model, "output": []}
        yield {"type": "response.created", "response": response}
        items = []
        if reply.text:
            text = {"type": "output_text", "text": reply.text, "annotations": []}
            items.append({"type": "message", "role": "assistant", "id": f"msg_{next(_ids)}", "content": [text]})
        for name, args in reply.calls:
            call = {"id": f"fc_{next(_ids)}", "call_id": f"call_{next(_ids)}", "name": name}
            if isinstance(args.get("patch"), str):  # a freeform tool: text, not JSON
                items.append({"type": "custom_tool_call", **call, "input": args["patch"]})
            else:
                items.append({"type": "function_call", **call, "arguments": json.dumps(args)})
        for index, item in enumerate(items):
            begun = {**item, "content": []} if "content" in item else item
            yield {"type": "response.output_item.added", "output_index": index, "item": begun}
            if "content" in item:
                where = {"item_id": item["id"], "output_index": index, "content_index": 0}
                yield {"type": "response.output_text.delta", **where, "delta": reply.text}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        yield {"type": "response.completed", "response": {**response, "output": items, "usage": usage}}


OTHERS = (Gemini(), Responses())

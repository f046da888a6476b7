"""An agent that speaks the Agent Client Protocol and does what a prompt says, line by line; for what real ones do not do.

A prompt's lines: `SAY text`, `THINK text`, `UPDATE {update}`, `REQUEST method {params}` (says what was answered), `SEND method {params}`
(waits for nothing), `TAKE_BACK` (of the last one), `RAW line`, `BIG bytes`, `WAIT` (to be cancelled), `STOP reason`, `FAIL code message`,
`TWICE`, `EXIT code`, `HANG`. How it begins is the JSON of ACP_AGENT. What it reads is kept in the file ACP_LOG.
"""

import json
import os
import queue
import sys
import threading
import time

SETUP = json.loads(os.environ.get("ACP_AGENT", "{}"))
LOCK = threading.Lock()


def write(message):
    with LOCK:
        sys.stdout.write((message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})) + "\n")
        sys.stdout.flush()


class Agent:
    def __init__(self):
        self.session = None
        self.cancelled = threading.Event()
        self.answers = {}
        self.last = 0

    def request(self, method, params):
        self.last += 1
        answered = self.answers[self.last] = queue.Queue()
        write({"id": self.last, "method": method, "params": {"sessionId": self.session, **params}})
        return answered

    def update(self, update):
        write({"method": "session/update", "params": {"sessionId": self.session, "update": update}})

    def chunk(self, text, kind="agent_message_chunk"):
        self.update({"sessionUpdate": kind, "content": {"type": "text", "text": text}})

    def prompt(self, id_, params):
        self.cancelled.clear()
        text = "\n".join(block.get("text", json.dumps(block)) for block in params["prompt"])
        outcome = {"result": {"stopReason": "end_turn"}}
        for line in text.split("\n"):
            word, _, rest = line.partition(" ")
            if word == "SAY":
                self.chunk(rest + "\n")
            elif word == "THINK":
                self.chunk(rest + "\n", "agent_thought_chunk")
            elif word == "UPDATE":
                self.update(json.loads(rest))
            elif word in ("REQUEST", "SEND"):
                method, _, given = rest.partition(" ")
                answered = self.request(method, json.loads(given or "{}"))
                if word == "REQUEST":
                    self.chunk("ANSWER " + json.dumps(answered.get()) + "\n")
            elif word == "TAKE_BACK":
                write({"method": "$/cancel_request", "params": {"requestId": self.last}})
            elif word == "RAW":
                write(rest)
            elif word == "BIG":
                self.chunk(("x" * 99 + "\n") * (int(rest) // 100))
            elif word == "WAIT":
                self.cancelled.wait()
                outcome = {"result": {"stopReason": "cancelled"}}
            elif word == "STOP":
                outcome = {"result": {"stopReason": rest}}
            elif word == "FAIL":
                code, _, message = rest.partition(" ")
                outcome = {"error": {"code": int(code), "message": message}}
            elif word == "TWICE":
                write({"id": id_, **outcome})
            elif word == "EXIT":
                print("the last words", file=sys.stderr)
                sys.stderr.flush()
                os._exit(int(rest))
            elif word == "HANG":
                time.sleep(600)
            if self.cancelled.is_set():
                outcome = {"result": {"stopReason": "cancelled"}}
        write({"id": id_, **outcome})

    def begin(self, session):
        self.session = session
        return {key: SETUP[key] for key in ("modes", "models", "configOptions") if key in SETUP}

    def answer(self, method, params):
        if method == "initialize":
            return {
                "protocolVersion": SETUP.get("version", 1),
                "agentCapabilities": SETUP.get("capabilities", {}),
                "agentInfo": {"name": "scripted", "version": "7"},
                "authMethods": SETUP.get("authMethods", []),
            }
        if method == "authenticate":
            SETUP.pop("auth", None)
            return {}
        if method in ("session/new", "session/load", "session/resume") and SETUP.get("auth"):
            raise PermissionError("Authentication required")
        if method == "session/new":
            return {"sessionId": "one", **self.begin("one")}
        if method in ("session/load", "session/resume"):
            self.begin(params["sessionId"])
            for update in SETUP.get("history", []) if method == "session/load" else []:
                self.update(update)
            return {}
        if method == "session/fork":
            return {"sessionId": "copy", **self.begin("copy")}
        if method == "session/list":
            return {"sessions": SETUP.get("sessions", [])}
        if method == "session/set_config_option":
            for option in SETUP["configOptions"]:
                if option["id"] == params["configId"]:
                    option["currentValue"] = params["value"]
            return {"configOptions": SETUP["configOptions"]}
        return {}

    def run(self):
        if "noise" in SETUP:
            write(SETUP["noise"])
        for line in sys.stdin:
            with open(os.environ["ACP_LOG"], "a") as log:
                log.write(line)
            message = json.loads(line)
            method, id_ = message.get("method"), message.get("id")
            if method is None:
                waiting = self.answers.pop(id_, None)
                if waiting:
                    waiting.put(message.get("result", message.get("error")))
            elif method in SETUP.get("silent", []):
                continue
            elif method == "session/cancel":
                if not SETUP.get("deaf"):
                    self.cancelled.set()
            elif method == "session/prompt":
                threading.Thread(target=self.prompt, args=(id_, message["params"]), daemon=True).start()
            elif id_ is not None:
                try:
                    write({"id": id_, "result": self.answer(method, message.get("params") or {})})
                except PermissionError as error:
                    write({"id": id_, "error": {"code": -32000, "message": str(error)}})


if __name__ == "__main__":
    Agent().run()

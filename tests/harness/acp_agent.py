"""An agent that speaks the Agent Client Protocol and follows a prompt line by line, for behaviour that real agents
lack.

A prompt's lines: `SAY text`, `THINK text`, `UPDATE {update}`, `REQUEST method {params}` (says the answer), `SEND method
{params}` (waits for nothing), `TAKE_BACK` (cancels the last one), `RAW line`, `BIG bytes shape` (see `big`), `CALLS
count`, `WAIT` (to be cancelled), `END` (of the turn, and continues), `WRITE path text` (by itself; JSON null deletes
the file), `STOP reason`, `FAIL code message`, `TWICE`, `EXIT code`, `HANG`. Within an update and within parameters the
text "BIG bytes shape" is replaced by such a text. The JSON in ACP_AGENT configures its start, and `turns` in it expands
other prompts; it lists no sessions while there is a file `hold`. It logs its input to the file ACP_LOG. With arguments
it is a program that signs in.
"""

import json
import os
import queue
import sys
import threading
import time

SETUP = json.loads(os.environ.get("ACP_AGENT", "{}"))
SIGNED_IN = os.environ.get("ACP_LOG", "") + ".signed-in"
LOCK = threading.Lock()


def write(message):
    with LOCK:
        sys.stdout.write((message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})) + "\n")
        sys.stdout.flush()


def big(length, shape=""):
    """A text of about this many bytes."""
    if shape == "one line":
        return "ä" * (length // 2)
    if shape == "words":
        return "some **words** of `an` answer, one after the other; " * (length // 52)
    return ("x" * 99 + "\n") * (length // 100)


def inflated(value):
    """A value with its "BIG …" texts expanded."""
    if isinstance(value, dict):
        return {key: inflated(one) for key, one in value.items()}
    if isinstance(value, list):
        return [inflated(one) for one in value]
    if isinstance(value, str) and value.startswith("BIG "):
        length, _, shape = value[4:].partition(" ")
        return big(int(length), shape)
    return value


def write_file(path, text):
    if text is None:
        os.unlink(path)
    else:
        with open(path, "w") as file:
            file.write(text)


class Agent:
    def __init__(self):
        self.session = None
        self.cancelled = threading.Event()
        self.answers = {}
        self.last = self.last_call = 0

    def request(self, method, params):
        self.last += 1
        answered = self.answers[self.last] = queue.Queue()
        write({"id": self.last, "method": method, "params": {"sessionId": self.session, **params}})
        return answered

    def update(self, update):
        write({"method": "session/update", "params": {"sessionId": self.session, "update": update}})

    def chunk(self, text, kind="agent_message_chunk"):
        self.update({"sessionUpdate": kind, "content": {"type": "text", "text": text}})

    def calls(self, count):
        for number in range(count):
            self.last_call += 1
            call = {"toolCallId": f"many-{self.last_call}", "title": f"Call {number}", "kind": "search"}
            self.update({"sessionUpdate": "tool_call", **call, "status": "pending"})
            content = [{"type": "content", "content": {"type": "text", "text": f"result {number}"}}]
            done = {"toolCallId": call["toolCallId"], "status": "completed", "content": content}
            self.update({"sessionUpdate": "tool_call_update", **done})

    def prompt(self, id_, params):
        text = "\n".join(block.get("text", json.dumps(block)) for block in params["prompt"])
        text = SETUP.get("turns", {}).get(text, text)
        outcome, is_over = {"result": {"stopReason": "end_turn"}}, False
        for line in text.split("\n"):
            word, _, rest = line.partition(" ")
            if word == "SAY":
                self.chunk(rest + "\n")
            elif word == "THINK":
                self.chunk(rest + "\n", "agent_thought_chunk")
            elif word == "UPDATE":
                self.update(inflated(json.loads(rest)))
            elif word in ("REQUEST", "SEND"):
                method, _, given = rest.partition(" ")
                answered = self.request(method, inflated(json.loads(given or "{}")))
                if word == "REQUEST":
                    self.chunk("ANSWER " + json.dumps(answered.get()) + "\n")
            elif word == "TAKE_BACK":
                write({"method": "$/cancel_request", "params": {"requestId": self.last}})
            elif word == "RAW":
                write(rest)
            elif word == "BIG":
                length, _, shape = rest.partition(" ")
                self.chunk(
                    big(int(length), shape), "agent_thought_chunk" if shape == "thoughts" else "agent_message_chunk"
                )
            elif word == "CALLS":
                self.calls(int(rest))
            elif word == "WAIT":
                self.cancelled.wait()
                outcome = {"result": {"stopReason": "cancelled"}}
            elif word == "WRITE":
                path, _, written = rest.partition(" ")
                write_file(path, json.loads(written))
            elif word == "END":
                write({"id": id_, **outcome})
                is_over = True
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
        if not is_over:
            write({"id": id_, **outcome})

    def begin(self, session):
        self.session = session
        return {key: SETUP[key] for key in ("modes", "models", "configOptions") if key in SETUP}

    def answer(self, method, params):
        if method == "initialize":
            return {
                "protocolVersion": SETUP.get("version", 1),
                "agentCapabilities": SETUP.get("capabilities", {}),
                "agentInfo": {"name": SETUP.get("name", "scripted"), "version": "7"},
                "authMethods": SETUP.get("authMethods", []),
            }
        if method == "authenticate":
            SETUP.pop("auth", None)
            return {}
        is_in = not SETUP.get("auth") or os.path.exists(SIGNED_IN)
        if method in ("session/new", "session/load", "session/resume") and not is_in:
            raise PermissionError("Authentication required")
        if method == "session/set_mode" and params["modeId"] in SETUP.get("refuses", []):
            raise PermissionError(f"{params['modeId']}: no")
        if method == "session/set_mode" and "setsMode" in SETUP:
            self.update({"sessionUpdate": "current_mode_update", "currentModeId": SETUP["setsMode"]})
        if method == "session/new":
            session = SETUP.get("session", "one")
            return {"sessionId": session, **self.begin(session)}
        if method in ("session/load", "session/resume"):
            self.begin(params["sessionId"])
            for update in SETUP.get("history", []) if method == "session/load" else []:
                self.update(update)
            return {}
        if method == "session/fork":
            return {"sessionId": "copy", **self.begin("copy")}
        if method == "session/list":
            while os.path.exists(SETUP.get("hold", "")):
                time.sleep(0.01)
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
                self.cancelled.clear()  # here: the next line may cancel it before its thread runs
                threading.Thread(target=self.prompt, args=(id_, message["params"]), daemon=True).start()
            elif id_ is not None:
                try:
                    write({"id": id_, "result": self.answer(method, message.get("params") or {})})
                except PermissionError as error:
                    write({"id": id_, "error": {"code": -32000, "message": str(error)}})


def sign_in():
    """The program that a user runs in a terminal to sign in."""
    name = input("Your name: ")
    with open(SIGNED_IN, "w") as file:
        json.dump([name, *sys.argv[1:], os.environ.get("LOGIN")], file)


if __name__ == "__main__":
    sign_in() if sys.argv[1:] else Agent().run()

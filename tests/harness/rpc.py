"""MessagePack-RPC to a Neovim over its socket, with a deadline for every request.

Owns one connection. A prompt that blocks Neovim (hit-enter, for instance) fails a request soon instead of hanging the
run.
"""

import socket
import time
from pathlib import Path

import msgpack

from . import LONGEST, PATIENCE, left

_ASK_AFTER = 1.0
"""Seconds without an answer after which a call that Neovim serves in any state asks whether it waits for a key."""
_KEYS_TAKE = 10.0
"""Seconds that it may wait for one: a key just typed may be on its way."""


class NvimError(Exception):
    """An error from Neovim."""


class RpcTimeout(AssertionError):
    """Neovim did not answer in time: it is busy, or waits in a prompt."""


class Rpc:
    """A synchronous MessagePack-RPC connection."""

    def __init__(self, path: Path, timeout: float = PATIENCE) -> None:
        began = time.monotonic()
        while True:
            self._socket = socket.socket(socket.AF_UNIX)
            try:
                self._socket.connect(str(path))
                break
            except OSError as error:
                self._socket.close()
                if left(began, timeout) < 0:
                    raise RpcTimeout(f"no Neovim listens at {path}: {error}") from error
                time.sleep(0.002)
        self._unpacker = msgpack.Unpacker(
            raw=False, strict_map_key=False, unicode_errors="surrogateescape", max_buffer_size=0, ext_hook=_handle
        )
        self._next = 0

    def request(self, method: str, *args: object, timeout: float = PATIENCE) -> object:
        """Calls an API function and returns its result.

        Raises NvimError for an error from Neovim, RpcTimeout without an answer.
        """
        self._next += 1
        request_id = self._next
        self._send([0, request_id, method, args])
        began = time.monotonic()
        probe_id, probe_at, blocked_since = None, began + _ASK_AFTER, None
        while True:
            for _, answered, error, result in self._replies():
                if answered == request_id:
                    if error is not None:
                        raise NvimError(error[1] if isinstance(error, list) else error)
                    return result
                if answered == probe_id:
                    blocked_since = (blocked_since or time.monotonic()) if result["blocking"] else None
                    if blocked_since and left(blocked_since, _KEYS_TAKE) < 0:
                        raise RpcTimeout(f"Neovim waits for a key and does not answer {method}")
                    probe_id, probe_at = None, time.monotonic() + _ASK_AFTER
            now = time.monotonic()
            if (patience := left(began, timeout)) <= 0:
                raise RpcTimeout(f"Neovim did not answer {method} within {timeout} s")
            if probe_id is None and now >= probe_at:
                self._next += 1
                probe_id = self._next
                self._send([0, probe_id, "nvim_get_mode", []])
            self._receive(max(0.001, patience if probe_id else min(patience, probe_at - now)), method)

    def notify(self, method: str, *args: object) -> None:
        """Calls an API function without waiting."""
        self._socket.settimeout(LONGEST)  # not the rest of the last request's timeout
        self._socket.sendall(msgpack.packb([2, method, args]))

    def close(self) -> None:
        self._socket.close()

    def _send(self, message: object) -> None:
        self._socket.settimeout(LONGEST)
        try:
            self._socket.sendall(msgpack.packb(message, unicode_errors="surrogateescape"))
        except TimeoutError as error:
            raise RpcTimeout("Neovim does not read from its socket") from error
        except OSError as error:
            raise NvimError(f"Neovim has gone: {error}") from error

    def _receive(self, timeout: float, method: str) -> None:
        self._socket.settimeout(timeout)
        try:
            data = self._socket.recv(1 << 20)
        except TimeoutError:
            return
        except OSError:
            data = b""
        if not data:
            raise NvimError(f"Neovim closed the connection during {method}")
        self._unpacker.feed(data)

    def _replies(self) -> list[list[object]]:
        return [message for message in self._unpacker if message[0] == 1]


def _handle(_code: int, data: bytes) -> object:
    return msgpack.unpackb(data)

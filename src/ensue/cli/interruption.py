"""Ctrl-C is heeded also where Python lets it get lost: in callbacks, such as those of compilers and collectors."""

from __future__ import annotations

import signal
import threading
from typing import Any

_pressed = threading.Event()


def heed() -> None:
    """Notes Ctrl-C, unless it is ignored, as by a shell for its background jobs."""
    _pressed.clear()
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, _note)


def _note(*_: Any) -> None:
    _pressed.set()
    raise KeyboardInterrupt


def stop_if_asked() -> None:
    """Stops if Ctrl-C was pressed and nothing has stopped: between two stages of a command, or two looks at a file."""
    if _pressed.is_set():
        raise KeyboardInterrupt

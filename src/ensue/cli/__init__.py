"""The command line. Its commands are in `app`; here is what holds at every moment, also while they are imported.

Exit codes: 0 for success, 1 if the query or the data is wrong (the error has a caret), 2 if the command is misused, 130
after Ctrl-C. Whoever reads the output may close it at any time, such as `head`: that is success.
"""

import os
import signal
import sys

from ensue.cli.interruption import heed, stop_if_asked

#: What a shell says of a command that Ctrl-C has ended.
INTERRUPTED = 130


def main() -> None:
    """The entry point: whatever happens, there is one clear message at most, no traceback, and the right exit code."""
    try:
        try:
            _open_what_is_closed()
            heed()
            from ensue.cli.app import run  # this takes half a second, in which Ctrl-C may come

            code = run()
            stop_if_asked()
        finally:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process is ending already
        _say("interrupted")
        code = INTERRUPTED
    except BrokenPipeError:
        _forget_output()
        code = 0
    except OSError as e:  # a full disk: commands say by themselves what concerns their files
        _say(f"error: cannot write the output: {e.strerror or e}")
        _forget_output()
        code = 1
    if code:
        sys.exit(code)


def _open_what_is_closed() -> None:
    """Whoever starts the command may have closed what it reads and writes (`<&-`): there is nothing, and nobody."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # nobody listens
        _forget_output()


def _forget_output() -> None:
    """What is still buffered goes nowhere, so that the end of the process does not fail at it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())

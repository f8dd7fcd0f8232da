"""Ctrl-C while a verb is still starting: one line, exit code 130, wherever the main thread happens to be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from assay_cli.__main__ import main
from assay_cli.signals import leaving, raising

KILL = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"

PLACES = {
    "in a statement": KILL,
    # Python marks an interrupt that leaves the evaluation of a text, and kills the process for it at its very end.
    "in generated code": f"exec({KILL!r})",
    # What a finaliser raises is printed as a traceback and forgotten.
    "in a finaliser": f"type('Gone', (), {{'__del__': lambda self: exec({KILL!r})}})()",
}


@pytest.mark.parametrize("place", list(PLACES))
def test_an_interrupt_ends_a_verb_that_has_started_nothing(place: str) -> None:
    script = (
        "import sys\nfrom assay_cli.__main__ import main\nimport assay_cli.verbs.eval as verb\n"
        f"verb.parse_eval = lambda argv: exec({PLACES[place]!r})\n"
        "status = main(['eval', 'kitchenbench'])\nprint('went on', status)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_an_interrupt_before_the_first_line_of_a_verb_waits_for_it() -> None:
    def pending() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.kill(os.getpid(), signal.SIGINT)

    done = subprocess.run(
        [sys.executable, "-m", "assay_cli", "list", "backends"],
        preexec_fn=pending,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_what_has_something_to_take_down_gets_an_exception() -> None:
    taken_down = []

    def interrupted(signum: signal.Signals) -> None:
        with leaving(), raising():
            try:
                os.kill(os.getpid(), signum)
            finally:
                taken_down.append(signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with pytest.raises(KeyboardInterrupt):
            interrupted(signum)
    assert taken_down == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    main(["list", "backends"])
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before

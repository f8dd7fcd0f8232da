"""Logs show where a stranger's code failed, whatever its errors are like, and stay of a size."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from assay_core.errors import PolicyError
from assay_core.tracebacks import MOST_CHARACTERS, MOST_LINE, place_of, stack_of_thread, strangers_traceback


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


OURS: dict[str, Any] = {"__name__": "assay_policies.made_up", "PolicyError": PolicyError}
"""Code that counts as ours."""

exec(
    """
def raised(job):
    try:
        job()
    except BaseException as error:
        return error

def sort(job):
    try:
        job()
    except BaseException as error:
        raise PolicyError("told") from error

def refuse():
    raise PolicyError("14 values are not finite")

def look():
    None.actions
""",
    OURS,
)
raised, sort = OURS["raised"], OURS["sort"]


def explode() -> None:
    raise RuntimeError("my model exploded")


def again(depth: int = 0) -> None:
    again(depth + 1)


def nested() -> None:
    try:
        explode()
    except RuntimeError as error:
        raise ValueError("could not act") from error


@pytest.mark.parametrize("job", [explode, lambda: sort(explode)])
def test_it_begins_with_the_strangers_own_frames(job: Any) -> None:
    text = strangers_traceback(raised(job))
    assert text.startswith("Traceback (most recent call last):\n")
    assert text.splitlines()[-3].endswith("in explode")
    assert text.endswith("RuntimeError: my model exploded")
    assert "made_up" not in text
    assert "told" not in text


def test_what_it_was_raised_from_is_shown_too() -> None:
    text = strangers_traceback(raised(nested))
    assert "my model exploded" in text
    assert "direct cause" in text
    assert text.endswith("ValueError: could not act")


def test_an_error_of_ours_without_a_stranger_needs_no_traceback() -> None:
    assert strangers_traceback(raised(OURS["refuse"])) == ""


def test_what_python_says_of_a_strangers_answer_is_shown_with_our_frames() -> None:
    assert "AttributeError: 'NoneType'" in strangers_traceback(raised(OURS["look"]))


@pytest.mark.parametrize(
    "job", [again, lambda: (_ for _ in ()).throw(Hostile()), lambda: (_ for _ in ()).throw(ValueError("x" * 10**6))]
)
def test_any_error_has_a_traceback_of_a_size(job: Any) -> None:
    text = strangers_traceback(raised(job))
    assert "Traceback" in text
    assert len(text) < MOST_CHARACTERS + 100
    assert max(map(len, text.splitlines())) < MOST_LINE + 10


def test_a_long_one_keeps_both_ends() -> None:
    text = strangers_traceback(raised(lambda: (_ for _ in ()).throw(ValueError("\n".join(map(str, range(10**5)))))))
    assert text.startswith("Traceback")
    assert text.endswith("99999")
    assert "characters left out" in text


def test_equal_places_are_equal_whatever_was_said() -> None:
    def at(text: str) -> Any:
        def fail() -> None:
            raise ValueError(text)

        return raised(fail)

    assert place_of(at("a")) == place_of(at("b"))
    assert place_of(at("a")) != place_of(raised(explode))


def test_a_thread_that_hangs_shows_where() -> None:
    go, there = threading.Event(), threading.Event()

    def stuck_in_my_model() -> None:
        there.set()
        go.wait(20.0)

    thread = threading.Thread(target=stuck_in_my_model)
    thread.start()
    try:
        assert there.wait(20.0)
        place, text = stack_of_thread(thread.ident)
        assert "in stuck_in_my_model" in text.splitlines()[0]
        assert place
    finally:
        go.set()
        thread.join(20.0)
    assert stack_of_thread(thread.ident) == ((), "")

from __future__ import annotations

import fcntl
import threading

import pytest
from assay_tools import environment, setup, stamps
from assay_tools.errors import SetupError
from checkouts import write

STEPS = ("_tool_chain", "_packages", "_build", "compute")


@pytest.fixture
def steps(layout, monkeypatch):
    """Replace the steps of setup with ones that only leave their stamps; return the list of those that ran."""
    ran: list[str] = []

    def tool_chain(*_, **__):
        ran.append("_tool_chain")
        return "/usr/bin/python3"

    def make_packages(*_, **__):
        ran.append("_packages")
        write(layout.python, "#!/bin/sh\n", executable=True)
        stamps.write_stamp(layout.venv_ready, {"a": 1})
        return True

    def make_build(*_, **__):
        ran.append("_build")
        stamps.write_stamp(layout.build_ready, {"a": 1})
        return stamps.build_fingerprint(layout)

    def compute(*_, **__):
        ran.append("compute")
        return {"set": {}, "prepend": {}}

    monkeypatch.setattr(setup, "_tool_chain", tool_chain)
    monkeypatch.setattr(setup, "_packages", make_packages)
    monkeypatch.setattr(setup, "_build", make_build)
    monkeypatch.setattr(environment, "compute", compute)
    return ran


def test_a_second_setup_does_nothing(layout, steps, capsys):
    assert setup.main(layout, [], {}) == 0
    assert tuple(steps) == STEPS
    assert setup.main(layout, [], {}) == 0
    assert tuple(steps) == STEPS
    assert "complete and current" in capsys.readouterr().err


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_setup_promises_nothing_and_the_next_one_completes(layout, steps, monkeypatch, step):
    where = environment if step == "compute" else setup
    real = getattr(where, step)

    def interrupted(*arguments, **words):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, step, interrupted)
    with pytest.raises(KeyboardInterrupt):
        setup.make(layout, {})
    assert stamps.checked(layout, "wheels")[0] == {}
    monkeypatch.setattr(where, step, real)
    setup.make(layout, {})
    assert stamps.checked(layout, "wheels")[1] == ""


def test_waiting_for_another_setup_has_an_end(layout, steps, monkeypatch):
    monkeypatch.setattr(setup, "LOCK_S", 0.0)
    layout.state.mkdir()
    with layout.lock.open("w+") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        holder.write("4711\n")
        holder.flush()
        with pytest.raises(SetupError, match=r"expected the setup that runs \(process 4711\) to end"):
            setup.make(layout, {})


def test_setups_of_one_checkout_wait_for_each_other(layout, steps, capfd):
    layout.state.mkdir()
    with layout.lock.open("w+") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        holder.write("4711\n")
        holder.flush()
        waiting = threading.Thread(target=setup.make, args=(layout, {}))
        waiting.start()
        said = ""
        while "waiting for it" not in said:
            said += capfd.readouterr().err
            assert waiting.is_alive(), said
        assert "another setup (process 4711) runs in this checkout" in said
        assert steps == []
    waiting.join(20)
    assert tuple(steps) == STEPS


def test_the_one_that_waited_does_not_do_it_again(layout, steps):
    setup.make(layout, {})
    setup.make(layout, {})
    assert tuple(steps) == STEPS


def test_clean_does_it_again(layout, steps):
    setup.main(layout, [], {})
    write(layout.build / "old")
    setup.main(layout, ["--clean"], {})
    assert tuple(steps) == STEPS * 2
    assert not layout.build.exists()


def test_an_unknown_argument_is_refused(layout, steps):
    with pytest.raises(SetupError, match="got --fast"):
        setup.main(layout, ["--fast"], {})
    assert steps == []


def test_a_checkout_that_cannot_be_written_is_named(layout, steps):
    write(layout.state)  # a file where the folder belongs: root ignores permissions
    with pytest.raises(SetupError, match=r"\.assay: expected a folder that setup can write"):
        setup.make(layout, {})

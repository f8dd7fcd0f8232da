"""A session is resumed only when it can be, and what forbids it is named."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay_benchmarks import catalog, specs
from assay_benchmarks.pins import check_scenes
from assay_benchmarks.specs import load_task
from assay_bridge.client_types import new_runner_id
from assay_bridge.planning import EvalOptions, make_plan
from assay_bridge.preflight import create_session
from assay_bridge.sessions import check_resumable, describe_session, find_session, list_sessions
from assay_core import journal_events as events
from assay_core.distributions import Uniform
from assay_core.errors import ConfigError, DataError
from assay_core.instances import Validation
from assay_core.journal import JournalWriter, SessionInUse
from assay_core.plan import Plan
from assay_core.seal import write_seal
from assay_core.trial import State


def realized(plan: Plan, index: int) -> events.Entry:
    entry = plan.entries[index]
    task = catalog.resolve_task(entry.task)
    scene = next(scene for scene in task.scenes if scene.id == entry.scene_id)
    data = catalog.realize_trial(task, scene, epoch=entry.epoch, seed=entry.seed, control_hz=10.0)
    return events.trial_started(entry, 0, data)


def session(directory: Path, *, trials: int = 0, open_trial: bool = False) -> Plan:
    """Make a session with finished trials, as a death would leave it."""
    plan = make_plan(EvalOptions(tasks=("pour_pasta/full-box",)))
    digest = create_session(directory, plan)
    writer = JournalWriter.create(directory)
    rows = [events.plan(plan, digest)]
    for i in range(trials):
        trial = f"{i:06d}-0"
        rows.append(realized(plan, i))
        rows.append(events.trial_advanced(trial, State.JUDGE, {"steps": 1}))
        content = events.VerdictContent(str(uuid.uuid4()), "checker", "success")
        rows.append(events.verdict(trial, State.JUDGE, content))
        rows.append(events.trial_ended(trial, State.DONE, status="completed"))
    if open_trial:
        rows.append(realized(plan, trials))
    writer.append_all(rows).result(5)
    writer.close()
    return plan


def test_a_dead_session_goes_on_with_the_next_trial(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=2, open_trial=True)
    found = check_resumable(tmp_path / "s")
    assert [(entry.index, attempt) for entry, attempt in found.pending] == [(2, 1), (3, 0), (4, 0)]
    assert [(entry.index, success) for entry, success in found.finished] == [(0, True), (1, True)]
    assert found.has_journal


def test_a_session_that_died_before_its_journal_starts_from_the_beginning(tmp_path: Path) -> None:
    plan = make_plan(EvalOptions(tasks=("pour_pasta/full-box",)))
    create_session(tmp_path / "s", plan)
    found = check_resumable(tmp_path / "s")
    assert (len(found.pending), found.has_journal) == (5, False)
    JournalWriter.create(tmp_path / "s").close()
    found = check_resumable(tmp_path / "s")
    assert (len(found.pending), found.has_journal) == (5, False)
    JournalWriter.create(tmp_path / "s").close()  # an empty journal must not be in the way


def test_a_damaged_journal_is_never_taken_for_an_empty_one(tmp_path: Path) -> None:
    session(tmp_path / "whole", trials=2, open_trial=True)
    whole = (tmp_path / "whole" / "journal.sqlite").read_bytes()
    (tmp_path / "empty").mkdir()
    JournalWriter.create(tmp_path / "empty").close()
    for name, damage in (
        ("cut", lambda path: path.write_bytes(whole[:5000])),
        ("log", lambda path: path.with_name("journal.sqlite-wal").write_bytes(b"junk" * 100)),
        ("stale", lambda path: shutil.copyfile(tmp_path / "empty" / "journal.sqlite", path)),
    ):
        directory = tmp_path / name
        shutil.copytree(tmp_path / "whole", directory)
        (directory / "trials" / "000000-0").mkdir(parents=True)
        damage(directory / "journal.sqlite")
        before = {path: path.read_bytes() for path in directory.glob("journal.sqlite*")}
        with pytest.raises(DataError, match=r"journal.sqlite"):
            check_resumable(directory)
        assert {path: path.read_bytes() for path in before} == before, f"{name}: it must be left as it is"


@pytest.mark.parametrize("left", ["trials/000000-0", "logs/actions", "journal.sqlite-wal"])
def test_a_session_whose_journal_is_gone_is_not_begun_anew(tmp_path: Path, left: str) -> None:
    session(tmp_path / "s", trials=2)
    (tmp_path / "s" / "journal.sqlite").unlink()
    (tmp_path / "s" / left).mkdir(parents=True)
    with pytest.raises(DataError, match=rf"got none, beside {left.split('/')[0]}. fix: restore the newest copy"):
        check_resumable(tmp_path / "s")
    shown = list_sessions(tmp_path)[0]
    assert shown["status"] == "damaged"
    assert "got none, beside" in shown["problem"]


def test_an_older_copy_of_the_journal_is_not_taken_up(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=1)
    (tmp_path / "s" / "trials" / "000000-0").mkdir(parents=True)
    assert check_resumable(tmp_path / "s").has_journal
    (tmp_path / "s" / "trials" / "000003-0").mkdir()
    with pytest.raises(DataError, match=r"journal.sqlite.* without trial 000003-0. fix: restore the newest copy"):
        check_resumable(tmp_path / "s")
    assert list_sessions(tmp_path)[0]["status"] == "damaged"


def test_the_first_events_are_in_the_main_file_before_they_are_acknowledged(tmp_path: Path) -> None:
    plan = make_plan(EvalOptions(tasks=("pour_pasta/full-box",)))
    digest = create_session(tmp_path / "s", plan)
    writer = JournalWriter.create(tmp_path / "s")
    writer.append_all([events.plan(plan, digest)]).result(5)
    (tmp_path / "copy").mkdir()
    for name in ("journal.sqlite", "plan.yaml"):  # the log is lost
        shutil.copyfile(tmp_path / "s" / name, tmp_path / "copy" / name)
    writer.close()
    assert check_resumable(tmp_path / "copy").has_journal


def test_a_sealed_session_is_refused(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=5)
    write_seal(tmp_path / "s")
    with pytest.raises(ConfigError, match=r"expected an unsealed session, got a sealed one"):
        check_resumable(tmp_path / "s")


def test_a_foreign_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a file plan.yaml, got none"):
        check_resumable(tmp_path)


def test_a_foreign_or_damaged_journal_is_refused(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=1)
    path = tmp_path / "s" / "journal.sqlite"
    data = path.read_bytes()
    path.write_bytes(b"not a journal" * 100)
    with pytest.raises(DataError, match=r"journal.sqlite: expected a journal"):
        check_resumable(tmp_path / "s")
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"journal.sqlite"):
        check_resumable(tmp_path / "s")


def test_another_plan_than_the_journal_s_is_refused(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=1)
    path = tmp_path / "s" / "plan.yaml"
    path.write_text(path.read_text().replace('operator: "auto"', 'operator: "none"'))
    with pytest.raises(DataError, match=r"expected the plan that the journal was opened with"):
        check_resumable(tmp_path / "s")


def test_a_broken_plan_names_file_and_line(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=1)
    path = tmp_path / "s" / "plan.yaml"
    path.write_text(path.read_text().replace("seed: 0\n", "seed: -4\n", 1))
    with pytest.raises(DataError, match=r"plan.yaml:5: seed"):
        check_resumable(tmp_path / "s")


def test_a_session_in_use_is_refused_even_after_it_was_moved(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=1)
    holder = (
        "import sys; from assay_core.session_lock import SessionLock; from pathlib import Path;"
        "lock = SessionLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path / "s")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        (tmp_path / "s").rename(tmp_path / "moved")
        with pytest.raises(SessionInUse, match=rf"process {process.pid}"):
            check_resumable(tmp_path / "moved", deadline_s=0.1)
        assert describe_session(tmp_path / "moved")["status"] == "running"
        process.stdin.close()
    check_resumable(tmp_path / "moved")


def test_looking_at_a_session_changes_no_byte_of_it(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=1)
    before = contents(tmp_path)
    assert list_sessions(tmp_path)[0]["status"] == "incomplete"
    assert contents(tmp_path) == before
    (tmp_path / "s" / "journal.lock").unlink()
    assert list_sessions(tmp_path)[0]["status"] == "incomplete"
    assert not (tmp_path / "s" / "journal.lock").exists()


def contents(root: Path) -> dict[str, tuple[bytes, int]]:
    """Return bytes and time of every file, without what SQLite keeps beside a database that it has open."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm")))
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_session_on_a_read_only_disk_can_be_looked_at_and_is_not_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(tmp_path / "s", trials=1)
    real_open, real_access = os.open, os.access

    def refuse(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and str(path).startswith(str(tmp_path)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return real_open(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(
        os, "access", lambda path, mode, **named: not mode & os.W_OK and real_access(path, mode, **named)
    )
    shown = list_sessions(tmp_path)[0]
    assert (shown["status"], shown["trials"]) == ("incomplete", 1), shown.get("problem")
    with pytest.raises(DataError, match=r"expected to write to .*/s, got read-only. fix: "):
        check_resumable(tmp_path / "s")


def test_a_session_is_waited_for_only_where_its_runner_is_not_known_to_live(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    for runner, words in ((new_runner_id(), 0), ("elsewhere-1-abc", 1)):
        plan = session(tmp_path / runner, trials=1)
        writer = JournalWriter.resume(tmp_path / runner)
        writer.append_all([events.session_opened(plan.session_id, runner, "hash", resumed=True)]).result(5)
        with pytest.raises(SessionInUse, match="one is running"):
            check_resumable(tmp_path / runner, tell=told.append, deadline_s=0.05)
        assert len(told) == words
        writer.close()
    assert "waiting up to 0.05 s for the writer of its journal" in told[0]


def test_a_task_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(tmp_path / "s", trials=1)
    monkeypatch.setattr(catalog, "task_version", lambda _task: "99")
    with pytest.raises(ConfigError, match=r"expected version 2 of the plan, got version 99"):
        check_resumable(tmp_path / "s")


def changed(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let pour_pasta/full-box say something else, as if its file had been edited."""
    spec = specs.load_task("pour_pasta")
    first = next(one for one in spec.instances if one.instance_id == "pour_pasta/full-box")
    others = tuple(one for one in spec.instances if one is not first)
    edited = replace(spec, instances=(replace(first, **changes), *others))
    monkeypatch.setattr(specs, "load_task", lambda key: edited if key == "pour_pasta" else load_task(key))


@pytest.mark.parametrize("journal", [True, False])
def test_a_distribution_that_was_edited_is_never_mixed_with_the_planned_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, journal: bool
) -> None:
    session(tmp_path / "s", trials=1)
    if not journal:
        for path in tmp_path.glob("s/journal.*"):
            path.unlink()
    setup = dict(catalog.find_instance("pour_pasta/full-box").setup)
    name, old = next((name, one) for name, one in setup.items() if isinstance(one, Uniform))
    changed(monkeypatch, setup={**setup, name: Uniform(old.low, old.high + 1e-9)})
    with pytest.raises(ConfigError, match=r"instance 'pour_pasta/full-box': expected the content .* start a new"):
        check_resumable(tmp_path / "s")


def test_ratings_that_come_later_and_a_plan_without_contents_are_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = session(tmp_path / "s", trials=1)
    setup = catalog.find_instance("pour_pasta/full-box").setup
    changed(monkeypatch, validation=Validation((5, 5, 5), (5, 5, 5)), setup=dict(reversed(setup.items())))
    assert len(check_resumable(tmp_path / "s").pending) == 4
    changed(monkeypatch, goal="pour all of the pasta")
    lines = plan.to_yaml().splitlines(keepends=True)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "plan.yaml").write_text("".join(lines[: lines.index("contents:\n")]))
    assert len(check_resumable(tmp_path / "old").pending) == 5


def test_an_instance_that_is_gone_is_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(tmp_path / "s", trials=1)
    task = catalog.resolve_task("kitchenbench/pour_pasta")
    scenes = tuple(scene for scene in task.scenes if scene.metadata["instance_id"] != "pour_pasta/full-box")
    monkeypatch.setattr(catalog, "resolve_task", lambda _name: replace(task, scenes=scenes))
    with pytest.raises(ConfigError, match=r"'kitchenbench/pour_pasta': unknown instance 'pour_pasta/full-box'"):
        check_resumable(tmp_path / "s")


def test_a_scene_of_another_package_is_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(EvalOptions(tasks=("cubepick-reach",)))
    check_scenes(plan, catalog.resolve_task)
    task = catalog.resolve_task("cubepick-reach")
    scenes = (replace(task.scenes[0], instruction="reach elsewhere"), *task.scenes[1:])
    with pytest.raises(ConfigError, match=r"instance 'scene-0': expected the content that the plan was made from"):
        check_scenes(plan, lambda _name: replace(task, scenes=scenes))
    with pytest.raises(ConfigError, match=r"instance 'scene-0': expected max_steps \d+ of the plan, got 7"):
        check_scenes(plan, lambda _name: replace(task, max_steps=7))


def test_sessions_are_found_by_name_with_near_matches(tmp_path: Path) -> None:
    session(tmp_path / "20260301-stack", trials=1)
    assert find_session("20260301-stack", tmp_path) == tmp_path / "20260301-stack"
    assert find_session(str(tmp_path / "20260301-stack")) == tmp_path / "20260301-stack"
    with pytest.raises(ConfigError, match=r"session '20260301-stak'.*did you mean 20260301-stack"):
        find_session("20260301-stak", tmp_path)


def test_a_file_is_not_called_a_missing_directory(tmp_path: Path) -> None:
    session(tmp_path / "s", trials=1)
    with pytest.raises(ConfigError, match=r"got a file. fix: name its session: \./assay resume .*/s$"):
        find_session(str(tmp_path / "s" / "plan.yaml"))
    (tmp_path / "README.md").write_text("")
    with pytest.raises(ConfigError, match=r"README.md': expected a session directory, .* got a file"):
        find_session(str(tmp_path / "README.md"), tmp_path)


def test_sessions_are_listed_with_what_is_wrong(tmp_path: Path) -> None:
    session(tmp_path / "a", trials=2)
    session(tmp_path / "b", trials=1)
    (tmp_path / "b" / "journal.sqlite").write_bytes(b"x" * 200)
    (tmp_path / "not-a-session").mkdir()
    first, second = list_sessions(tmp_path)
    assert (first["status"], first["trials"], first["planned"], first["sealed"]) == ("incomplete", 2, 5, False)
    assert second["status"] == "damaged"
    assert "journal.sqlite" in second["problem"]
    json.dumps([first, second])

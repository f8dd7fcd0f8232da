"""The command line: exit codes, one-line errors, and nothing imported before it is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from assay_bridge.planning import EvalOptions, make_plan
from assay_cli.__main__ import VERBS, main
from assay_cli.eval_options import CONTROL_HZ, MAX_NOISE, parse_eval
from assay_core.errors import ConfigError
from assay_core.testing import example_session
from assay_sim.mock_params import MockWorldParams


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in ([], ["--help"], ["-h"]):
        code, out, _ = run(capsys, *argv)
        assert code == 0
        assert all(f"  {verb}" in out for verb in VERBS)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "launch"])
def test_every_verb_explains_itself(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, verb, "--help")
    assert code == 0
    assert out.startswith(f"usage: ./assay {verb}")


def test_help_and_mistakes_need_neither_ros_nor_the_framework() -> None:
    script = (
        "import sys\n"
        "from assay_cli.__main__ import main\n"
        "main(['--help']); main(['evl']); main(['eval', '--help']); main(['eval', 'x', '--polcy', 'y'])\n"
        "heavy = {'rclpy', 'inspect_robots', 'numpy', 'assay_benchmarks', 'rich', 'cv2'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


MISTAKES = {
    "verb": (["evl"], r"unknown verb 'evl'"),
    "option": (["eval", "kitchenbench", "--polcy", "x"], "unknown ./assay eval option '--polcy'"),
    "no task": (["eval"], "the following arguments are required: TASK"),
    "task": (["eval", "kitchenbnch"], "did you mean kitchenbench"),
    "policy": (["eval", "kitchenbench", "--policy", "scriptd"], "did you mean scripted"),
    "backend": (["eval", "kitchenbench", "--backend", "mok"], "did you mean mock"),
    "operator": (["eval", "kitchenbench", "--operator", "atuo"], "did you mean auto"),
    "instance": (["eval", "pour_pasta/full-bx"], "did you mean pour_pasta/full-box"),
    "epochs": (
        ["eval", "kitchenbench", "--epochs", "-1"],
        "--epochs: expected a whole number from 1 to 20000, got '-1'",
    ),
    "epochs text": (["eval", "kitchenbench", "--epochs", "five"], "got 'five'"),
    "seed": (["eval", "kitchenbench", "--seed", "-7"], "--seed: expected a whole number from 0"),
    "seed text": (["eval", "kitchenbench", "--seed", "0x10"], "got '0x10'"),
    "cameras": (["eval", "kitchenbench", "--cameras", "4"], "--cameras: expected a whole number from 0 to 3"),
    "camera size": (["eval", "kitchenbench", "--camera-size", "big"], "expected WIDTHxHEIGHT"),
    "noise": (["eval", "kitchenbench", "--noise", "-2"], "--noise: expected a number from 0 to 100, got '-2'"),
    "setting": (["eval", "kitchenbench", "--set", "noise=2"], "--set: expected KEY:=VALUE"),
    "own option": (["eval", "kitchenbench", "--set", "policy:=x"], "expected the option --policy"),
    "noise beyond the world's": (["eval", "kitchenbench", "--noise", "200"], "expected a number from 0 to 100"),
    "graders": (
        ["eval", "kitchenbench", "graders:=[anna"],
        "graders: expected a list of ids, e.g. [anna, ben], got '[anna'. fix: correct it, or use --grader ID",
    ),
    "operators": (["eval", "kitchenbench", "operators:=anna"], "operators: expected a list of ids"),
    "numbers for ids": (["eval", "kitchenbench", "--set", "operators:=[1]"], "operators: expected a list of ids"),
    "repeats": (["eval", "kitchenbench", "max_repeats:=-1"], "--max-repeats: expected a whole number from 0 to 100"),
    "repeats twice": (["eval", "x", "max_repeats:=1", "--max-repeats", "2"], "expected --max-repeats or max_repeats"),
    "nobody": (["eval", "stack/plates", "--operator", "none"], "fix: add --operator-id ID"),
    "after an option": (["eval", "--seed", "1", "kitchenbnch"], "did you mean kitchenbench"),
    "bench option": (["bench", "step", "--stepz", "2"], "unknown ./assay bench step option '--stepz'"),
    "bench number": (["bench", "startup", "--trials", "many"], "--trials: expected a whole number from 0"),
    "bench argument": (["bench", "suite", "--json", "more"], "./assay bench suite: expected no further argument"),
    "twice": (["eval", "kitchenbench", "a:=1", "--set", "a:=2"], "expected each argument once"),
    "kind": (["list", "sesions"], "did you mean sessions"),
    "listed more": (["list", "tasks", "foo"], "./assay list tasks: expected no further argument, got 'foo'"),
    "no directory": (
        ["list", "sessions", "nowhere"],
        "directory 'nowhere': expected a directory of sessions, got no such",
    ),
    "no bench": (["bench"], "./assay bench: the following arguments are required: NAME. fix:"),
    "slow": (
        ["eval", "stack", "control_hz:=0.5"],
        "control_hz: expected a number from 1 to 200, got '0.5'. fix: change",
    ),
    "bench": (["bench", "stpe"], "did you mean step"),
    "no session": (["eval", "kitchenbench", "--session", ""], "--session: expected a directory, got ''. fix: name one"),
    "no policy": (["eval", "kitchenbench", "--policy", ""], "unknown policy ''"),
    "no cameras": (["eval", "kitchenbench", "--cameras", ""], "--cameras: expected a whole number from 0 to 3, got ''"),
    "no camera size": (["eval", "kitchenbench", "--camera-size", ""], "expected WIDTHxHEIGHT"),
    "resume nothing": (["resume", ""], "session '': expected a session directory"),
    "resume": (["resume", "no-such-session"], "expected a session directory"),
    "show": (["show", "pour_pasta/full-bx"], "did you mean pour_pasta/full-box"),
    "realize": (["realize", "pour_pasta/full-box", "--seed", "-1"], "--seed: expected a whole number"),
    "realize a task": (["realize", "stack"], "'stack': expected one of stack/bowls, stack/cups, "),
    "realize a whole task": (["realize", "kitchenbench/stack"], "got a task. fix: name one of its instances"),
    "a task's other instance": (["show", "stack/knives"], "expected one of stack/bowls, stack/cups, "),
    "two seeds": (["realize", "stack/cups", "--seed", "1", "--eval-seed", "1"], "expected --seed or --eval-seed"),
    "an epoch alone": (["realize", "stack/cups", "--epoch", "1"], "--epoch: expected --eval-seed with it"),
    "trial of nothing": (["realize", "stack/cusp", "--eval-seed", "1"], "did you mean stack/cups"),
    "realize instance": (["realize", "nothing"], "unknown instance 'nothing'"),
    "too much": (["realize", "pour_pasta/full-box", "extra"], "expected no further argument, got 'extra'"),
}


@pytest.mark.parametrize("name", list(MISTAKES))
def test_mistakes_get_one_line_and_exit_code_2(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    argv, message = MISTAKES[name]
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert len(err.strip().splitlines()) == 1
    assert message in err
    assert list(tmp_path.iterdir()) == [], "something was created for a request that was refused"


def test_an_existing_session_directory_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "eval", "pour_pasta/full-box", "--session", str(tmp_path))
    assert code == 2
    assert "expected a directory that does not exist yet" in err


def test_realize_prints_the_documented_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "realize", "pour_pasta/full-box", "--seed", "3")
    assert (code, err) == (0, "")
    assert list(json.loads(out)) == ["instance_id", "seed", "instruction", "values", "setup_lines"]
    assert run(capsys, "realize", "pour_pasta/full-box", "--seed", "3")[1] == out


def test_realize_derives_the_seed_as_a_plan_does(capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan(EvalOptions(tasks=("stack/cups",), seed=7))
    for entry in plan.entries:
        asked = run(capsys, "realize", "stack/cups", "--eval-seed", "7", "--epoch", str(entry.epoch))[1]
        assert json.loads(asked)["seed"] == entry.seed
    assert (
        run(capsys, "realize", "stack/cups", "--eval-seed", "7")[1]
        == run(capsys, "realize", "stack/cups", "--seed", str(plan.entries[0].seed))[1]
    )


def test_a_checklist_is_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "realize", "pour_pasta/full-box", "--seed", "3", "--checklist")
    assert code == 0
    assert "[ ] fill: 317 g" in out
    assert "[ ] pour angle: 73°" in out
    assert "317.12" not in out


def test_a_policy_that_does_not_fit_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "list", "policies")[1].splitlines()
    rows = {line.split()[0]: line for line in lines if line}
    assert "yes" in rows["scripted"]
    assert "oracle" in rows["scripted"]
    assert rows["inspect:kitchen_noop"].split()[1] == "no"
    assert "14-D" in rows["inspect:kitchen_noop"]


def test_a_short_name_is_enough_where_one_task_is_meant() -> None:
    whole = make_plan(EvalOptions(tasks=("kitchenbench/stack",)))
    assert make_plan(EvalOptions(tasks=("stack",))).entries == whole.entries


def test_lists_are_json_when_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind in ("tasks", "policies", "backends", "sessions"):
        code, out, _ = run(capsys, "list", kind, "--json")
        assert code == 0
        json.loads(out)
    assert "inspect:kitchen_noop" in json.loads(run(capsys, "list", "policies", "--json")[1])


def test_a_copied_launch_file_is_a_back_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Path(__file__).parents[3]
    for name in ("launch", "config"):
        shutil.copytree(workspace / name, tmp_path / name)
    shutil.copy(tmp_path / "launch/mock.launch.yaml", tmp_path / "launch/foo.launch.yaml")
    monkeypatch.setattr("assay_bringup.launch.locate.share_directory", lambda _environ: tmp_path)
    assert json.loads(run(capsys, "list", "backends", "--json")[1]) == ["foo", "mock"]
    assert [line.split()[0] for line in run(capsys, "list", "backends")[1].splitlines()[1:]] == ["foo", "mock"]
    code, out, err = run(capsys, "launch", "eval", "backend:=foo", "task:=stack", "--print")
    assert (code, err) == (0, "")
    assert json.loads(out)["arguments"]["backend"] == "foo"
    code, _, err = run(capsys, "eval", "stack/cups", "--backend", "fop")
    assert code == 2
    assert "unknown back end 'fop': expected one of foo, mock, got 'fop'. fix: did you mean foo?" in err
    code, _, err = run(capsys, "launch", "eval", "backend:=fop")
    assert code == 2
    assert "did you mean foo?" in err


def test_names_of_sessions_are_whole_and_reasons_stand_below(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assay_cli.console.FILE_WIDTH", 40)
    names = ["20260301-120000-" + "kitchenbench-" * 4 + end for end in ("whole", "damaged", "torn")]
    for name in names:
        example_session(tmp_path / "sessions" / name, [["success"]])
    (tmp_path / "sessions" / names[1] / "plan.yaml").write_text("schema_version: [")
    (tmp_path / "sessions" / names[2] / "journal.sqlite").write_bytes(b"junk" * 100)
    code, out, _ = run(capsys, "list", "sessions")
    assert code == 0
    rows, _, reasons = out.partition("trials: ")
    assert [len(line.split()) for line in rows.splitlines()[1:]].count(2) == 1, "a reason is no column"
    for name in names:
        assert rows.count(name) == 1, "a folded name cannot be copied"
    assert f"sessions/{names[1]}/plan.yaml:2: expected YAML" in reasons
    assert f"sessions/{names[2]}/journal.sqlite: expected a journal" in reasons


def test_list_and_show_are_for_people_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    assert "kitchenbench/pour_pasta" in run(capsys, "list", "tasks")[1]
    assert "pour the dry pasta" in run(capsys, "show", "pour_pasta/full-box")[1]


@pytest.mark.parametrize("name", ["stack", "kitchenbench/stack"])
def test_show_lists_the_instances_of_a_task(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, out, _ = run(capsys, "show", name)
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("stack/")]
    assert len(rows) == 5
    assert ["stack/cups", "no", "(opus-draft)", "stack", "the", "cups"] in rows
    data = json.loads(run(capsys, "show", name, "--json")[1])
    assert data["task"] == "kitchenbench/stack"
    assert data["instances"][0]["instance_id"] == "stack/cups"


def test_show_lists_the_scenes_of_a_task_without_instances(capsys: pytest.CaptureFixture[str]) -> None:
    assert "scene-0" in run(capsys, "show", "cubepick-reach")[1]


def test_show_names_the_file_that_an_author_edits(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(json.loads(run(capsys, "show", "pour_pasta/full-box", "--json")[1])["file"])
    assert path.is_file()
    assert path == path.resolve(), "a link under build/ is not what is edited"


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    program = f"{sys.executable} -m assay_cli list policies | true"
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_defect_is_reported_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_argv: list[str]) -> int:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("assay_cli.verbs.show.main", broken)
    code, _, err = run(capsys, "show", "x")
    assert code == 1
    assert err.startswith("error: internal: ZeroDivisionError: oops. fix: report it with ")
    path = Path(err.rsplit(" ", 1)[1].strip())
    assert "ZeroDivisionError" in path.read_text()
    path.unlink()


@pytest.mark.parametrize("code", [0, 130, None, "words"])
def test_a_plug_in_cannot_choose_the_exit_code(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: object
) -> None:
    def rude(_argv: list[str]) -> int:
        sys.exit(code)

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("assay_cli.verbs.show.main", rude)
    got, _, err = run(capsys, "show", "x")
    assert got == 1, "0 would say that it is done, 130 that the user interrupted it"
    assert err.startswith(f"error: a plug-in ended the command: expected it to return, got SystemExit: {code}. fix: ")


def test_options_become_a_request() -> None:
    words = (
        "kitchenbench control_hz:=20 --policy random --epochs 2 --seed 9 --cameras 1 --camera-size 320x240 "
        "--noise 1.5 --session x --json --set label:=blue"
    )
    options, ran = parse_eval(words.split())
    assert options.tasks == ("kitchenbench",)
    assert (options.policy, options.epochs, options.seed, options.cameras) == ("random", 2, 9, 1)
    assert (options.camera_width, options.camera_height, options.control_hz) == (320, 240, 20.0)
    assert options.launch == {"noise": "1.5", "label": "blue"}
    assert (ran.session, ran.json, ran.attach) == (Path("x"), True, False)
    assert options.clips
    assert not parse_eval(["kitchenbench", "--no-clip"])[0].clips


def test_words_and_options_come_in_any_order() -> None:
    words = "--seed 9 kitchenbench --json stack/plates --policy noop label:=blue"
    options, ran = parse_eval(words.split())
    assert options.tasks == ("kitchenbench", "stack/plates")
    assert (options.seed, options.policy, options.launch, ran.json) == (9, "noop", {"label": "blue"}, True)


def test_who_may_answer_and_judge_reaches_the_plan() -> None:
    words = "x graders:=[ben] --grader anna --operator-id anna --set operators:=[cy] max_repeats:=5 --operator none"
    options, _ = parse_eval(words.split())
    assert (options.graders, options.operators, options.max_repeats) == (("anna", "ben"), ("anna", "cy"), 5)
    assert options.launch == {}


def test_noise_has_the_range_of_the_world() -> None:
    noise = next(field for field in fields(MockWorldParams) if field.name == "noise")
    assert noise.metadata["high"] == MAX_NOISE


def test_the_control_rate_has_the_range_of_the_world() -> None:
    rate = next(field for field in fields(MockWorldParams) if field.name == "control_hz")
    assert (rate.metadata["low"], rate.metadata["high"]) == CONTROL_HZ
    assert parse_eval(["stack", "--attach", "control_hz:=500"])[0].control_hz == 500.0, "another world may serve it"


def test_a_malformed_rate_is_named() -> None:
    with pytest.raises(ConfigError, match=r"control_hz: expected a number from 1 to 200, got 'fast'"):
        parse_eval(["kitchenbench", "control_hz:=fast"])


def test_the_documentation_mentions_every_verb_and_option() -> None:
    root = next(path for path in Path(__file__).resolve().parents if (path / "docs" / "cli.md").is_file())
    text = (root / "docs" / "cli.md").read_text()
    missing = [verb for verb in VERBS if verb not in text]
    done = subprocess.run(
        [sys.executable, "-m", "assay_cli", "eval", "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    words = (root / "tools" / "assay_tools" / "help.txt").read_text().splitlines()
    verbs = [line.split()[0] for line in words if line.startswith("  ") and "./assay" in line]
    assert set(VERBS) < set(verbs)
    missing += [verb for verb in verbs if f"./assay {verb}" not in text]
    options = {word.rstrip(",]") for word in done.stdout.replace("[", " ").split() if word.startswith("--")}
    missing += [option for option in sorted(options - {"--help"}) if option not in text]
    assert missing == []


def test_a_reader_that_left_does_not_change_the_exit_code(tmp_path: Path) -> None:
    """As after a closed terminal: what could not be written must not fail again while Python shuts down."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    for words, code in ((["eval", "nope"], 2), (["list", "backends"], 0)):
        done = subprocess.run(
            [sys.executable, "-m", "assay_cli", *words],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, words
    os.close(write_end)

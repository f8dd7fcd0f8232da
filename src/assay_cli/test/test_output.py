"""What is written where the encoding of a terminal or a pipe lacks characters."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from assay_cli.__main__ import main


def test_a_terminal_without_utf8_gets_escapes_and_json_stays_json() -> None:
    script = (
        "import sys\n"
        "from types import SimpleNamespace\n"
        "from assay_cli import __main__ as program, host\n"
        "from assay_cli.console import own_output, page, say\n"
        "def work(argv):\n"
        "    summary = {'trials': 0, 'invalid': 0, 'status': 'done', 'policies': ['\\u00e9']}\n"
        "    with own_output():\n"
        "        say('P\\u0302 1.00'); page('P\\u0302')\n"
        "        derived = SimpleNamespace(summary=summary, policy_errors=(0, ''))\n"
        "        host._report(derived, (0, 0), as_json=True, logs=None)\n"
        "    return 0\n"
        "program._dispatch = work\n"
        "sys.exit(program.main(['eval']))\n"
    )
    for how in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        plain = {key: value for key, value in os.environ.items() if key != "PYTHONIOENCODING"}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, env={**plain, **how}, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr.decode()) == (0, "")
        said, laid_out, json_text = done.stdout.decode("ascii").splitlines()
        assert (said, laid_out.strip()) == (r"P\u0302 1.00", r"P\u0302")
        assert json.loads(json_text)["policies"] == ["\u00e9"]


@pytest.mark.parametrize("option", ["--session", "--grader", "--operator-id", "--set"])
def test_words_that_are_not_utf8_are_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "kitchenbench", option, os.fsdecode(b"a:=\xff")]) == 2
    assert r"error: ./assay eval: expected words in UTF-8, got 'a:=\udcff'" in capsys.readouterr().err


def test_a_session_with_a_name_that_no_file_has_is_not_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["resume", "x" * 300]) == 2
    assert "got no such directory" in capsys.readouterr().err

from __future__ import annotations

import pytest
from assay_tools import testing
from assay_tools.errors import SetupError
from assay_tools.results import Totals, of_file
from checkouts import write

JUNIT = """<?xml version="1.0"?>
<testsuites><testsuite>
<testcase classname="test_a" name="good"/>
<testcase classname="test_a" name="bad"><failure message="no"/></testcase>
<testcase classname="test_a" name="setup"><error message="no"/></testcase>
<testcase classname="test_a" name="later"><skipped/></testcase>
</testsuite></testsuites>
"""


def test_results_are_summed_over_files(tmp_path):
    path = write(tmp_path / "a.xml", JUNIT)
    totals = Totals()
    totals.add(of_file(path, "assay_a"))
    totals.add(of_file(path, "assay_b"))
    assert totals.closing_line() == "2 passed, 4 failed, 2 skipped"
    assert "assay_a: test_a::bad" in totals.failures


def test_results_that_were_cut_off_count_as_a_failure(tmp_path):
    totals = of_file(write(tmp_path / "a.xml", JUNIT[:60]), "assay_a")
    assert (totals.failed, totals.passed) == (1, 0)


def test_arguments_of_the_test_verb(layout):
    assert testing.parse(layout, []) == ("all", [])
    assert testing.parse(layout, ["--no-lint"]) == ("tests", [])
    assert testing.parse(layout, ["--packages", "assay_a"]) == ("packages", ["assay_a"])
    assert testing.parse(layout, ["tests/graph", "-x"]) == ("pytest", ["tests/graph", "-x"])
    with pytest.raises(SetupError, match="expected some of assay_a, assay_msgs, got assay_b"):
        testing.parse(layout, ["--packages", "assay_b"])
    with pytest.raises(SetupError, match="got no name"):
        testing.parse(layout, ["--packages"])


@pytest.fixture
def runners(layout, monkeypatch):
    """Replace colcon and pytest by programs that write results; a test may change what they do."""
    write(layout.src / "assay_a/test/test_a.py")
    behaviour = {"code": 0, "xml": JUNIT.replace("<failure", "<x").replace("<error", "<x"), "write": True}

    def run(command, **_):
        if "test" in command:
            if behaviour["write"]:
                write(layout.build / "assay_a/pytest.xml", behaviour["xml"])
            return behaviour["code"]
        write(layout.state / "test-results.xml", behaviour["xml"])
        return 0

    monkeypatch.setattr(testing, "run_shown", run)
    monkeypatch.setattr(testing.lint, "check", lambda layout, environ: Totals(passed=1))
    return behaviour


def test_everything_is_summed_in_one_closing_line(layout, runners, capsys):
    assert testing.main(layout, [], {}) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "7 passed, 0 failed, 2 skipped"


def test_a_failed_test_fails_the_run_and_is_named(layout, runners, capsys):
    runners.update(xml=JUNIT, code=1)
    assert testing.main(layout, ["--packages", "assay_a"], {}) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "failed: assay_a: test_a::bad" in lines
    assert lines[-1] == "1 passed, 2 failed, 1 skipped"


def test_a_runner_that_died_fails_the_run_even_with_old_results(layout, runners, capsys):
    write(layout.build / "assay_a/pytest.xml", runners["xml"])
    runners.update(write=False)
    assert testing.main(layout, ["--packages", "assay_a"], {}) == 1
    assert "its tests left no results" in capsys.readouterr().out


def test_an_exit_code_without_failed_tests_fails_the_run(layout, runners, capsys):
    runners.update(code=3)
    assert testing.main(layout, ["--packages", "assay_a"], {}) == 1
    assert "colcon test: exit code 3" in capsys.readouterr().out


def test_a_path_that_leads_to_nothing_is_a_mistake_of_usage(layout, monkeypatch):
    monkeypatch.setattr(testing, "run_shown", lambda *_, **__: 4)
    write(layout.root / "test_a.py", "")
    monkeypatch.chdir(layout.root)
    with pytest.raises(SetupError, match=r"got no such file: nofile.py. fix: correct the path") as refused:
        testing.main(layout, ["-k", "fast", "nofile.py::test_a", "test_a.py"], {})
    assert refused.value.code == 2
    assert testing.main(layout, ["test_a.py"], {}) == 1, "a conftest.py that cannot be imported is a failure"


def test_nothing_tested_is_not_a_success(layout, runners, capsys):
    runners.update(xml="<testsuites/>")
    assert testing.main(layout, ["--packages", "assay_a"], {}) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"

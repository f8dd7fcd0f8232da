"""The documentation names what there is."""

from __future__ import annotations

from pathlib import Path

from assay_ros.params import markdown_table
from assay_sim.contact_sheet import TILE_PX, contact_sheet
from assay_sim.faults import KINDS, parse_faults
from assay_sim.mock_params import MockWorldParams

TEXT = (Path(__file__).parents[3] / "docs" / "mock-world.md").read_text()


def test_the_parameter_table_is_the_generated_one():
    assert markdown_table(MockWorldParams) in TEXT


def test_every_fault_is_documented_and_the_example_can_be_read():
    for kind in KINDS:
        assert f"| `{kind}` |" in TEXT
    at_start = TEXT.split("faults:='")[1].split("'")[0]
    assert [fault.kind for fault in parse_faults(at_start)] == ["drop"]
    at_run_time = TEXT.split("string_value: '")[1].split("'")[0]
    assert [fault.kind for fault in parse_faults(at_run_time)] == ["drop", "die"]


def test_the_contact_sheet_shows_scenes_and_every_asset():
    sheet = contact_sheet()
    assert sheet.shape == (4 * 216 + 3 * TILE_PX, 9 * TILE_PX, 3)
    assert sheet.std() > 20

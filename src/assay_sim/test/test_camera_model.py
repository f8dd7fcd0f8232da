"""Cameras project the bench into the picture that camera_info describes."""

from __future__ import annotations

import numpy as np
import pytest

from assay_core.errors import ConfigError
from assay_core.rig import CAMERAS, Camera, cameras
from assay_sim.camera_model import BENCH_DEPTH_M, BENCH_WIDTH_M, camera_model

ORIGIN = np.zeros((1, 3))


def test_top_view_has_right_to_the_right_and_away_upwards():
    model = camera_model(Camera("top", 640, 360))
    pixels, _ = model.project(np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0]]))
    assert pixels[1][0] > pixels[0][0] + 20
    assert pixels[2][1] < pixels[0][1] - 20
    # One scale for both axes: 10 cm are as many pixels across as along.
    assert pixels[1][0] - pixels[0][0] == pytest.approx(pixels[0][1] - pixels[2][1])


@pytest.mark.parametrize("size", [(640, 360), (640, 480), (224, 224), (360, 640), (1280, 720)])
@pytest.mark.parametrize("name", CAMERAS)
def test_the_middle_of_the_bench_is_seen_in_every_size(name, size):
    model = camera_model(Camera(name, *size))
    pixels, depth = model.project(np.array([[x, y, 0.0] for x in (-0.25, 0.25) for y in (-0.1, 0.1)]))
    assert (depth > 0).all()
    assert (pixels > 0).all()
    assert (pixels < size).all()


@pytest.mark.parametrize("size", [(640, 360), (640, 480), (224, 224)])
def test_the_top_view_shows_the_whole_bench(size):
    model = camera_model(Camera("top", *size))
    w, d = BENCH_WIDTH_M / 2, BENCH_DEPTH_M / 2
    pixels, _ = model.project(np.array([[x, y, 0.0] for x in (-w, w) for y in (-d, d)]))
    assert (pixels > 0).all()
    assert (pixels < size).all()


@pytest.mark.parametrize("camera", cameras(3))
def test_intrinsics_and_pose_are_the_projection(camera):
    model = camera_model(camera)
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (20, 3))
    flat = np.column_stack([points, np.ones(20)]) @ model.projection().T
    pixels, depth = model.project(points)
    assert flat[:, :2] / flat[:, 2:] == pytest.approx(pixels)
    local = (points - model.eye) @ model.rotation.T
    through_k = local @ model.intrinsics().T
    assert through_k[:, :2] / through_k[:, 2:] == pytest.approx(pixels)
    assert depth == pytest.approx(local[:, 2])
    assert model.rotation @ model.rotation.T == pytest.approx(np.eye(3))
    assert np.linalg.det(model.rotation) == pytest.approx(1.0)


def test_side_views_mirror_each_other():
    left, right = camera_model(Camera("left", 640, 360)), camera_model(Camera("right", 640, 360))
    points = np.random.default_rng(1).uniform(-0.3, 0.3, (10, 3))
    first, _ = left.project(points)
    second, _ = right.project(points * np.array([-1.0, 1.0, 1.0]))
    assert first[:, 0] == pytest.approx(639 - second[:, 0])
    assert first[:, 1] == pytest.approx(second[:, 1])


def test_a_scaled_camera_sees_the_same():
    model = camera_model(Camera("left", 640, 360))
    pixels, _ = model.project(ORIGIN)
    fine, _ = model.scaled(2).project(ORIGIN)
    assert (fine + 0.5) / 2 == pytest.approx(pixels + 0.5)


def test_a_camera_without_a_place_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"unknown camera 'front'.*left, right, top"):
        camera_model(Camera("front", 640, 360))

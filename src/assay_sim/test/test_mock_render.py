"""Pictures show every object where its sampled position says, in its size, and the arms where their joints say."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from assay_benchmarks import catalog
from assay_benchmarks.assets import ASSETS
from assay_benchmarks.blueprint import SceneObject, blueprint_for
from assay_benchmarks.specs import instance_by_id
from assay_core.rig import Camera, cameras
from assay_sim.assets_food import PIECES
from assay_sim.kinematics import arm_poses
from assay_sim.mock_dynamics import START_POSITION
from assay_sim.mock_render import MockRenderer
from assay_sim.raster import outline_of
from assay_sim.scene import place_objects

RIG = cameras(3)
TOP, LEFT, RIGHT = range(3)
ASIDE = START_POSITION.copy()
ASIDE[[0, 7]] = [2.2, -2.2]
"""Arms turned away from the bench, so that they hide nothing."""


@pytest.fixture(scope="module")
def renderer():
    return MockRenderer(RIG)


def blueprint(instance_id, seed=0):
    return blueprint_for(instance_by_id(instance_id)[1], seed)


def pictures(renderer, scene, position=ASIDE, step=0):
    renderer.set_scene(scene)
    renderer.pose(position, step)
    outs = [np.zeros((view.model.height, view.model.width, 3), np.uint8) for view in renderer.views]
    for k, out in enumerate(outs):
        renderer.draw(k, out)
    return outs


def single(asset, x_cm=5.0, y_cm=2.0, yaw_deg=0.0, size_cm=None):
    """Return a scene with one object."""
    item = SceneObject("thing", asset, None, x_cm, y_cm, yaw_deg, None, size_cm, None)
    return replace(blueprint("stack/cups"), objects=(item,))


def differences(first, second, threshold=24):
    return np.abs(first.astype(int) - second.astype(int)).max(axis=2) > threshold


def inside(outline_px, shape):
    """Return the mask of a polygon in a picture."""
    mask = np.zeros(shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.rint(outline_px).astype(np.int32)], 1)
    return mask.astype(bool)


def base_mask(renderer, camera, item):
    """Return where the ground area of an object lies in a picture."""
    outline = outline_of(item)
    pixels, _ = renderer.views[camera].model.project(np.column_stack([outline, np.full(len(outline), item.z)]))
    return inside(pixels, (360, 640))


@pytest.mark.parametrize("instance_id", catalog.instance_ids())
def test_every_object_is_found_where_its_sampled_position_says(renderer, instance_id):
    scene = blueprint(instance_id, 11)
    items = place_objects(scene)
    shown = pictures(renderer, scene)
    for item in items:
        without = replace(scene, objects=tuple(o for o in scene.objects if item.name not in (o.name, o.parent)))
        missing = pictures(renderer, without)
        middle = np.array([[item.x, item.y, item.z + item.size[2] / 2]])
        model = renderer.views[TOP].model
        u, v = model.project(middle)[0][0]
        if not (8 <= u < 632 and 8 <= v < 352):
            continue  # Sampled beyond the bench, a known property of some instances.
        changed = differences(shown[TOP], missing[TOP])
        area = base_mask(renderer, TOP, item)
        # Thin or see-through things cover part of their rectangle; all must cover some of it.
        assert changed[area].mean() > 0.10, f"{item.name} is not at its place in the top view"
        assert any(
            seen_from_the_side(renderer, camera, item, differences(shown[camera], missing[camera], 12))
            for camera in (LEFT, RIGHT)
        ), f"{item.name} is in neither side view"


def seen_from_the_side(renderer, camera, item, changed):
    """Return whether pixels around an object's projected middle change with it."""
    model = renderer.views[camera].model
    (u, v) = model.project(np.array([[item.x, item.y, item.z + item.size[2] / 2]]))[0][0]
    reach = max(4, round(model.focal * max(item.size) / 4))
    rows = slice(max(0, int(v) - reach), max(0, int(v) + reach + 1))
    columns = slice(max(0, int(u) - reach), max(0, int(u) + reach + 1))
    return bool(changed[rows, columns].any())


@pytest.mark.parametrize("asset", sorted(ASSETS))
@pytest.mark.parametrize("camera", range(3))
def test_every_asset_has_its_true_size_in_every_view(renderer, asset, camera):
    scene = single(asset, yaw_deg=20.0)
    (item,) = place_objects(scene)
    empty, shown = pictures(renderer, None)[camera], pictures(renderer, scene)[camera]
    outline = outline_of(item)
    ends = np.vstack([np.column_stack([outline, np.full(len(outline), z)]) for z in (0.0, item.size[2])])
    pixels, _ = renderer.views[camera].model.project(ends)
    # A shadow darkens alike everywhere; an object changes pixels against a bench that has the shadow only.
    hull = inside(cv2.convexHull(pixels.astype(np.float32))[:, 0], (360, 640))
    grown = cv2.dilate(hull.astype(np.uint8), np.ones((7, 7))).astype(bool)
    ratio = shown.astype(float).sum(axis=2) / np.maximum(empty.astype(float).sum(axis=2), 1.0)
    brighter = (ratio > 1.12) & ~grown
    assert brighter.mean() < 1e-4, "the object sticks out of its size"
    darker = (ratio < 0.5) & ~grown
    assert darker.mean() < 1e-4, "something darker than a shadow lies outside of the object"
    found = differences(shown, empty) & hull
    rows, columns = np.nonzero(found)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    slack = 4.0 + 0.10 * (high - low).max()
    assert abs(columns.min() - low[0]) < slack
    assert abs(columns.max() - high[0]) < slack
    # Wires are thin, and a heap is no box: they do not fill the far upper edge of their box.
    above = 0.5 * (high[1] - low[1]) if asset in ("dish_rack", *PIECES) else 0.0
    assert abs(rows.min() - low[1]) < slack + above
    assert abs(rows.max() - high[1]) < slack


@pytest.mark.parametrize("asset", sorted(ASSETS))
def test_every_asset_is_textured(renderer, asset):
    scene = single(asset)
    shown = pictures(renderer, scene)[TOP]
    area = base_mask(renderer, TOP, place_objects(scene)[0])
    assert len(np.unique(shown[area].reshape(-1, 3), axis=0)) > 12, "flat colour"
    assert shown[area].std(axis=0).max() > 3.0


def test_no_two_assets_look_alike(renderer):
    views = {}
    for asset in ASSETS:
        shown = pictures(renderer, single(asset, x_cm=0.0, y_cm=0.0))
        views[asset] = np.concatenate([picture[120:260, 220:420].ravel() for picture in shown]).astype(int)
    names = sorted(views)
    for k, first in enumerate(names):
        for second in names[k + 1 :]:
            distance = (np.abs(views[first] - views[second]) > 20).sum()
            assert distance > 150, f"{first} and {second} look alike"


def test_moving_an_object_moves_its_pixels_by_as_much(renderer):
    empty = pictures(renderer, None)[TOP]
    model = renderer.views[TOP].model
    for x_cm, y_cm in ((-10.0, 0.0), (10.0, 5.0), (0.0, -12.0)):
        shown = pictures(renderer, single("plate", x_cm, y_cm))[TOP]
        # Brighter than the bench: the shadow does not count.
        rows, columns = np.nonzero(shown.astype(int).sum(axis=2) - empty.astype(int).sum(axis=2) > 60)
        middle = (columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2
        (expected,), _ = model.project(np.array([[x_cm / 100, y_cm / 100, 0.03]]))
        assert middle == pytest.approx(tuple(expected), abs=2.0)


def test_size_turns_into_pixels(renderer):
    empty = pictures(renderer, None)[TOP]
    widths = []
    for size_cm in (20.0, 40.0):
        shown = pictures(renderer, single("cloth", 0.0, 0.0, size_cm=size_cm))[TOP]
        columns = np.nonzero(differences(shown, empty)[150:200].any(axis=0))[0]
        widths.append(np.ptp(columns))
    assert widths[1] / widths[0] == pytest.approx(2.0, rel=0.08)


@pytest.mark.parametrize("camera", range(3))
def test_grippers_are_seen_where_the_joints_say(renderer, camera):
    model = renderer.views[camera].model
    empty = pictures(renderer, None, ASIDE)[camera]
    for turn in (-0.4, 0.0, 0.4):
        position = START_POSITION.copy()
        position[[0, 7]] = turn
        shown = pictures(renderer, None, position)[camera]
        changed = differences(shown, empty)
        mounts, _ = model.project(arm_poses(position).points[:, 6])
        for u, v in mounts:
            if 10 <= u < 630 and 10 <= v < 350:
                assert changed[int(v) - 8 : int(v) + 9, int(u) - 8 : int(u) + 9].any()


def test_the_gripper_opens_in_the_picture(renderer):
    closed = START_POSITION.copy()
    closed[[6, 13]] = 0.0
    orange = np.array([224, 92, 38])

    def spread(position):
        shown = pictures(renderer, None, position)[LEFT]
        _, columns = np.nonzero(np.abs(shown.astype(int) - orange).max(axis=2) < 10)
        near = columns[columns > 330]
        return np.ptp(near)

    assert spread(START_POSITION) > spread(closed) + 10


def test_drawing_step_by_step_equals_drawing_afresh(renderer):
    scene = blueprint("pour_pasta/full-box", 3)
    rng = np.random.default_rng(0)
    poses = [START_POSITION + np.clip(rng.normal(0, 0.3, 14), -0.8, 0.8) for _ in range(12)]
    fresh = [pictures(renderer, scene, pose) for pose in poses]
    renderer.set_scene(scene)
    outs = [np.zeros((360, 640, 3), np.uint8) for _ in RIG]
    for pose, expected in zip(poses, fresh, strict=True):
        renderer.pose(pose)
        for k, out in enumerate(outs):
            renderer.draw(k, out)
            assert np.array_equal(out, expected[k]), "pixels of an earlier step were left behind"


def test_two_worlds_draw_the_same_picture():
    scene = blueprint("sort_cutlery/balanced-pile", 5)
    first, second = (pictures(MockRenderer(RIG, noise_sigma=4.0, seed=9), scene, START_POSITION, 17) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_noise_has_the_strength_asked_for_and_changes_with_the_step():
    clean = pictures(MockRenderer(RIG[:1]), None)[0].astype(int)
    noisy = MockRenderer(RIG[:1], noise_sigma=5.0, seed=2)
    first, second = (pictures(noisy, None, step=step)[0].astype(int) for step in (1, 2))
    assert (first - clean).std() == pytest.approx(5.0, rel=0.1)
    assert abs((first - clean).mean()) < 0.2
    assert (first != second).mean() > 0.5
    other = pictures(MockRenderer(RIG[:1], noise_sigma=5.0, seed=3), None, step=1)[0]
    assert (first != other).mean() > 0.5


def test_noise_does_not_build_up_over_steps():
    noisy = MockRenderer(RIG[:1], noise_sigma=5.0)
    out = np.zeros((360, 640, 3), np.uint8)
    noisy.set_scene(None)
    for step in range(40):
        noisy.pose(ASIDE, step)
        noisy.draw(0, out)
    assert np.array_equal(out, pictures(noisy, None, step=39)[0])


@pytest.mark.parametrize("size", [(640, 480), (224, 224), (16, 16), (320, 200)])
def test_any_size_of_picture_is_served(size):
    small = MockRenderer([Camera(name, *size) for name in ("top", "left", "right")])
    for picture in pictures(small, blueprint("stack/plates", 1), START_POSITION):
        assert picture.shape == (size[1], size[0], 3)
        assert picture.std() > 5


def test_no_cameras_are_no_work():
    none = MockRenderer([])
    none.set_scene(blueprint("stack/plates"))
    none.pose(START_POSITION)

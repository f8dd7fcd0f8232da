"""Rules of this workspace that no general linter knows; docs and reviews refer to them by the names in `RULES`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

__all__ = ["ALLOWED", "RULES"]

MODULE_LINES = 600
NODE_LINES = 250

_NODE_PACKAGES = ("assay_sim", "assay_policies", "assay_bench", "assay_operator", "assay_bridge")
_INNER = {"assay_core", "assay_benchmarks", "assay_ros", "assay_msgs"}
ALLOWED: dict[str, set[str]] = {
    "assay_msgs": set(),
    "assay_core": set(),
    "assay_benchmarks": {"assay_core"},
    "assay_ros": {"assay_core", "assay_msgs"},
    "assay_bringup": {"assay_core", "assay_ros", "assay_msgs"},
    **dict.fromkeys(_NODE_PACKAGES, _INNER),
    # The session runner starts and watches the graph through the launch runner.
    "assay_bridge": _INNER | {"assay_bringup"},
}
"""Which packages a package may import; one that is not listed (the composition root) may import all."""

_WITHOUT_ROS = ("assay_core", "assay_benchmarks")
_ROS = re.compile(r"^(rclpy|launch|launch_ros|cv_bridge|ament_index_python|rosidl_\w+|\w+_msgs|\w+_interfaces)(\.|$)")


def _package_of(root: Path, path: Path) -> str:
    parts = path.relative_to(root).parts
    return parts[1] if len(parts) > 2 and parts[0] == "src" else ""


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and module of every import, also those inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module


def _parsed(paths: Sequence[Path]) -> Iterator[tuple[Path, ast.Module, str]]:
    for path in paths:
        text = path.read_text(encoding="utf-8")
        try:
            yield path, ast.parse(text), text
        except SyntaxError:
            continue  # ruff names it


def inward_imports(root: Path, paths: Sequence[Path]) -> list[str]:
    """Dependencies point inward: core <- benchmarks <- everything; node packages never import each other."""
    findings = []
    for path, tree, _ in _parsed(paths):
        package = _package_of(root, path)
        allowed = ALLOWED.get(package)
        if not package or allowed is None:
            continue
        for line, module in _imports(tree):
            top = module.partition(".")[0]
            if top.startswith("assay_") and top != package and top not in allowed:
                findings.append(f"{path.relative_to(root)}:{line}: {package} must not import {top}")
    return findings


def no_ros_in_core(root: Path, paths: Sequence[Path]) -> list[str]:
    """What decides is plain Python: assay_core and assay_benchmarks, tests included, import nothing of ROS."""
    findings = []
    for path, tree, _ in _parsed(paths):
        package = _package_of(root, path)
        if package not in _WITHOUT_ROS:
            continue
        for line, module in _imports(tree):
            if _ROS.match(module):
                findings.append(f"{path.relative_to(root)}:{line}: {package} is free of ROS, but imports {module}")
    return findings


def declared_dependencies(root: Path, paths: Sequence[Path]) -> list[str]:
    """Every package of the workspace or of ROS that is imported stands in package.xml, so that a robot PC has it."""
    findings = []
    declared: dict[str, set[str]] = {}
    for path, tree, _ in _parsed(paths):
        package = _package_of(root, path)
        description = root / "src" / package / "package.xml"
        if not package or not description.is_file():
            continue
        if package not in declared:
            text = description.read_text(encoding="utf-8")
            declared[package] = set(re.findall(r"<(?:\w+_)?depend[^>]*>\s*([\w-]+)\s*</", text)) | {package}
        for line, module in _imports(tree):
            top = module.partition(".")[0]
            if (top.startswith("assay_") or _ROS.match(module)) and top not in declared[package]:
                findings.append(f"{path.relative_to(root)}:{line}: {top} is missing in src/{package}/package.xml")
    return findings


def module_size(root: Path, paths: Sequence[Path]) -> list[str]:
    """A module holds at most 600 lines, a module that defines a node at most 250."""
    findings = []
    for path, tree, text in _parsed(paths):
        lines = text.count("\n")
        limit = MODULE_LINES
        if _package_of(root, path) and "/test/" not in str(path) and _defines_node(tree):
            limit = NODE_LINES
        if lines > limit:
            findings.append(f"{path.relative_to(root)}: {lines} lines, expected at most {limit}: split it")
    return findings


def _defines_node(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).split(".")[-1] in ("Node", "LifecycleNode") for base in node.bases)
        for node in tree.body
    )


_QOS_POSITION = {"create_publisher": 2, "create_subscription": 3, "create_lifecycle_publisher": 2}


def named_qos(root: Path, paths: Sequence[Path]) -> list[str]:
    """QoS is named by meaning (assay_ros.qos): a bare depth says nothing about what happens to a late message."""
    findings = []
    for path, tree, _ in _parsed(paths):
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            position = _QOS_POSITION.get(node.func.attr)
            if position is None:
                continue
            given = [word.value for word in node.keywords if word.arg in ("qos_profile", "qos")]
            given += node.args[position : position + 1]
            if any(isinstance(value, ast.Constant) and isinstance(value.value, int) for value in given):
                findings.append(
                    f"{path.relative_to(root)}:{node.lineno}: a bare depth as QoS; use a name of assay_ros.qos"
                )
    return findings


RULES: dict[str, Callable[[Path, Sequence[Path]], list[str]]] = {
    "imports point inward": inward_imports,
    "no ROS in core and benchmarks": no_ros_in_core,
    "package.xml declares what is imported": declared_dependencies,
    "module size": module_size,
    "QoS by name": named_qos,
}

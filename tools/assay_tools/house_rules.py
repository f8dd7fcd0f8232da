"""Rules of this workspace that no general linter knows; docs and reviews refer to them by the names in `RULES`."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay_tools.descriptions import depends

__all__ = ["ALLOWED", "RULES", "Module", "Rule", "read"]

MODULE_LINES = 600
NODE_LINES = 250

_NODE_PACKAGES = ("assay_sim", "assay_policies", "assay_bench", "assay_operator", "assay_bridge")
_INNER = {"assay_core", "assay_benchmarks", "assay_ros", "assay_msgs"}
ALLOWED: dict[str, set[str]] = {
    "assay_msgs": set(),
    "assay_core": set(),
    "assay_benchmarks": {"assay_core"},
    "assay_ros": {"assay_core", "assay_msgs"},
    "assay_bringup": {"assay_core", "assay_ros", "assay_msgs"},  # it starts the node packages, by name
    **dict.fromkeys(_NODE_PACKAGES, _INNER),
}
"""Which packages a package may import; one that is not listed (the composition root) may import all."""

_WITHOUT_ROS = ("assay_core", "assay_benchmarks")
_ROS = re.compile(r"^(rclpy|launch|launch_ros|cv_bridge|ament_index_python|rosidl_\w+|\w+_msgs|\w+_interfaces)(\.|$)")


@dataclass(frozen=True)
class Module:
    """One Python file, read once for all rules."""

    root: Path
    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """Path from the root, for messages."""
        return str(self.path.relative_to(self.root))

    @property
    def package(self) -> str:
        """The package below ``src`` that holds it, empty for other files."""
        parts = self.path.relative_to(self.root).parts
        return parts[1] if len(parts) > 2 and parts[0] == "src" else ""

    @property
    def is_test(self) -> bool:
        """Whether it holds tests or helps them."""
        return bool({"test", "tests"} & set(self.path.relative_to(self.root).parts[:-1]))

    def imports(self) -> Iterator[tuple[int, str]]:
        """Yield line and module of every import, also of those inside functions."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.lineno, node.module


Rule = Callable[[Sequence[Module]], list[str]]


def read(root: Path, paths: Sequence[Path]) -> list[Module]:
    """Return the modules of these files; one that does not parse is left out, since ruff names it."""
    modules = []
    for path in paths:
        text = path.read_text(encoding="utf-8")
        with contextlib.suppress(SyntaxError):
            modules.append(Module(root, path, text, ast.parse(text)))
    return modules


def inward_imports(modules: Sequence[Module]) -> list[str]:
    """Dependencies point inward: core <- benchmarks <- everything; node packages never import each other."""
    findings = []
    for module in modules:
        allowed = ALLOWED.get(module.package)
        if allowed is None:
            continue
        for line, imported in module.imports():
            top = imported.partition(".")[0]
            if top.startswith("assay_") and top != module.package and top not in allowed:
                findings.append(f"{module.name}:{line}: {module.package} must not import {top}")
    return findings


def no_ros_in_core(modules: Sequence[Module]) -> list[str]:
    """What decides is plain Python: assay_core and assay_benchmarks, tests included, import nothing of ROS."""
    return [
        f"{module.name}:{line}: {module.package} is free of ROS, but imports {imported}"
        for module in modules
        if module.package in _WITHOUT_ROS
        for line, imported in module.imports()
        if _ROS.match(imported)
    ]


def declared_dependencies(modules: Sequence[Module]) -> list[str]:
    """Every package of the workspace or of ROS that is imported stands in package.xml, so that a robot PC has it."""
    findings = []
    declared: dict[str, set[str]] = {}
    for module in modules:
        package = module.package
        description = module.root / "src" / package / "package.xml"
        if not package or not description.is_file():
            continue
        if package not in declared:
            declared[package] = {package, *depends(description.read_text(encoding="utf-8"))}
        missing: dict[str, int] = {}
        for line, imported in module.imports():
            top = imported.partition(".")[0]
            if (top.startswith("assay_") or _ROS.match(imported)) and top not in declared[package]:
                missing.setdefault(top, line)
        findings += [
            f"{module.name}:{line}: {top} is missing in src/{package}/package.xml" for top, line in missing.items()
        ]
    return findings


def module_size(modules: Sequence[Module]) -> list[str]:
    """A module holds at most 600 lines, a module that defines a node at most 250."""
    findings = []
    for module in modules:
        lines = module.text.count("\n")
        limit = NODE_LINES if module.package and not module.is_test and _defines_node(module.tree) else MODULE_LINES
        if lines > limit:
            findings.append(f"{module.name}: {lines} lines, expected at most {limit}: split it")
    return findings


def _defines_node(tree: ast.Module) -> bool:
    bases = (base for node in tree.body if isinstance(node, ast.ClassDef) for base in node.bases)
    return any(ast.unparse(base).rpartition(".")[2] in ("Node", "LifecycleNode") for base in bases)


def named_modules(modules: Sequence[Module]) -> list[str]:
    """Every module of a package is named in its README (as code), so that a stranger finds the file to change."""
    findings = []
    named: dict[str, set[str]] = {}
    for module in modules:
        package = module.package
        readme = module.root / "src" / package / "README.md"
        inside = module.path.parts[len(module.root.parts) :][:3] == ("src", package, package)
        if not inside or module.path.stem.startswith("__") or not readme.is_file():
            continue
        if package not in named:
            spans = re.findall(r"`([^`\n]+)`", readme.read_text(encoding="utf-8"))
            named[package] = {word for span in spans for word in re.findall(r"\w+", span)}
        if module.path.stem not in named[package]:
            findings.append(f"{module.name}: not named in src/{package}/README.md")
    return findings


_QOS_POSITION = {"create_publisher": 2, "create_subscription": 3, "create_lifecycle_publisher": 2}


def named_qos(modules: Sequence[Module]) -> list[str]:
    """QoS is named by meaning (assay_ros.qos): a bare depth says nothing about what happens to a late message."""
    findings = []
    for module in modules:
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            position = _QOS_POSITION.get(node.func.attr)
            if position is None:
                continue
            given = [word.value for word in node.keywords if word.arg in ("qos_profile", "qos")]
            given += node.args[position : position + 1]
            if any(isinstance(value, ast.Constant) and isinstance(value.value, int) for value in given):
                findings.append(f"{module.name}:{node.lineno}: a bare depth as QoS; use a name of assay_ros.qos")
    return findings


_COMMANDS = ("run", "call", "check_call", "check_output")


def bounded_waits(modules: Sequence[Module]) -> list[str]:
    """Every wait has a deadline: a command that hangs, a thread that does not end must not hold up its caller."""
    findings = []
    for module in modules:
        if module.is_test:
            continue
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            named = {word.arg for word in node.keywords}
            called = ast.unparse(node.func)
            command = called in {f"subprocess.{name}" for name in _COMMANDS}
            waits = node.func.attr in ("wait", "join", "communicate") and not node.args and not named
            if waits or (command and "timeout" not in named):
                findings.append(f"{module.name}:{node.lineno}: {called}() without a deadline; say how long it may take")
    return findings


RULES: dict[str, Rule] = {
    "imports point inward": inward_imports,
    "no ROS in core and benchmarks": no_ros_in_core,
    "package.xml declares what is imported": declared_dependencies,
    "module size": module_size,
    "README names every module": named_modules,
    "QoS by name": named_qos,
    "waits have a deadline": bounded_waits,
}

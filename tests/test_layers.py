"""The house has one direction: a module imports only from layers below its own."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
# lower layers first; a module may import its own layer and those before it
LAYERS = [
    ("errors", "version"),
    ("machine", "program", "laws", "typeset"),
    ("symbolic",),
    ("system", "integrate", "kernels"),
    ("runs", "derivatives", "experiments"),
    ("model", "ladder", "sweeps", "claims", "equations", "proof"),
    ("plot", "report", "analysis"),
    ("explorer",),
    ("systems",),
    ("cli", "__main__"),
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("flowsys."):
            found.add(node.module.split(".")[1])
        if isinstance(node, ast.ImportFrom) and node.module == "flowsys":
            found |= {alias.name for alias in node.names if alias.name in LEVEL}
    return found


def test_modules_import_only_from_lower_layers():
    wrong = []
    for path in sorted((ROOT / "flowsys").rglob("*.py")):
        parts = path.relative_to(ROOT / "flowsys").with_suffix("").parts
        if parts == ("__init__",):
            continue
        assert parts[0] in LEVEL, f"{path} has no layer: name it in tests/test_layers.py"
        wrong += [f"{path} imports {m}" for m in imports(path) if LEVEL[m] > LEVEL[parts[0]]]
    assert not wrong, wrong


def test_a_system_does_not_import_another():
    wrong = []
    for path in sorted((ROOT / "flowsys" / "systems").rglob("*.py")):
        own = path.relative_to(ROOT / "flowsys" / "systems").parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("flowsys.systems."):
                continue
            if own != "__init__.py" and node.module.split(".")[2] != own:
                wrong.append(f"{path} imports {node.module}")
    assert not wrong, wrong


def test_only_the_command_line_prints():
    for path in sorted((ROOT / "flowsys").rglob("*.py")):
        if "cli" in path.parts:
            continue
        calls = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
        assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"], path

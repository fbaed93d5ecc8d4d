"""Pages that are made when the site is built: the notebooks as they stand, and every public name with its help text."""

import inspect
import json
from pathlib import Path

from mkdocs.structure.files import File

import flowsys as fs

EXAMPLES = Path(__file__).parents[1] / "examples"


def on_files(files, config):
    """Add the generated pages to those in the folder."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=notebook(path)))
    files.append(File.generated(config, "api.md", content=names()))
    return files


def notebook(path: Path) -> str:
    """A notebook as Markdown: its words, and its code in blocks."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    told = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in cells]
    return "\n\n".join(f"```python\n{text}\n```" if is_code else text for text, is_code in told) + "\n"


def names() -> str:
    """Every public name: how it is called, and its help text."""
    parts = ["# Every name\n\n`import flowsys as fs`; `dir(fs)` shows exactly these."]
    for name in (name for name in sorted(fs.__all__, key=str.lower) if name != "__version__"):
        value = getattr(fs, name)
        call = f"fs.{name}{_signature(value)}" if callable(value) else f"fs.{name}"
        parts.append(f"## {name}\n\n```py\n{call}\n```\n\n```text\n{inspect.getdoc(value)}\n```")
    return "\n\n".join(parts) + "\n"


def _signature(value) -> str:
    try:
        found = inspect.signature(value)
    except ValueError:
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    return "(\n    " + ",\n    ".join(map(str, plain)) + ",\n)" if plain else "()"

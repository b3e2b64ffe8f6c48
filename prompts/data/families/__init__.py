"""The families of worked examples; every file of this folder registers some."""
import importlib
import pathlib

from example import FAMILIES


def load():
    """All families, by name: functions (rng) -> Example."""
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.stem != "__init__":
            importlib.import_module(f"families.{path.stem}")
    return dict(sorted(FAMILIES.items()))

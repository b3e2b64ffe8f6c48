"""The families of worked examples: every .py of this folder registers some, every .cpp is one.

A .cpp holds one function and its rewrites:

    // args: {x: {type: f32, shape: [n], fill: uniform(0, 1)}, n: {size: n}}
    // sizes: {check: [1, 2, 7, 16, 21], timed: [20011]}
    float total(const float* x, int n) {
        …
    }
    // rewrite: eight lanes [accumulators]
    float total(const float* x, int n) {
        …
"""
import importlib
import pathlib
import re

from example import FAMILIES, Example, ExampleError, family
from harness import mapping

HERE = pathlib.Path(__file__).parent


def read(path):
    """Registers the family of a .cpp, which draws one of its rewrites."""
    head, *parts = re.split(r"^// rewrite: (.*)\n", path.read_text(), flags=re.M)
    found = re.match(r"// args: (.*)\n// sizes: (.*)\n", head)
    if not found or not parts:
        raise ExampleError(f"{path}: wants `// args: …`, `// sizes: …`, a function, `// rewrite: …`")
    args, sizes = mapping(found[1]), mapping(found[2])
    rewrites = []
    for title, code in zip(parts[::2], parts[1::2]):
        tags = re.search(r" \[([\w, -]+)\]$", title)
        if not tags:
            raise ExampleError(f"{path}: `// rewrite: {title}` names no [technique]")
        rewrites.append((tags[1].split(", "), code))

    @family(path.stem)
    def draw(rng):
        techniques, rewrite = rng.choice(rewrites)
        return Example(family=path.stem, techniques=techniques, reference=head[found.end():],
                       rewrite=rewrite, args=args, sizes=sizes)
    return draw


def load():
    """All families, by name: functions (rng) -> Example."""
    if not FAMILIES:
        for path in sorted(HERE.glob("*.py")):
            if path.stem != "__init__":
                importlib.import_module(f"families.{path.stem}")
        for path in sorted(HERE.glob("*.cpp")):
            read(path)
    return dict(sorted(FAMILIES.items()))

"""Reductions of a matrix's rows (written as an example of a family; see ../example.py)."""
from example import Example, family
from text import block, loop, name, rest, shift, text, unrolled


@family("row_maxima")
def row_maxima(rng):
    of = rng.choice(["a[i * n + j]", "a[i * n + j] - y[i]", "y[j] - a[i * n + j]",
                     "a[i * n + j] * y[j]"])
    less, start, best = rng.choice([(">", "-1e30f", "m"), ("<", "1e30f", "low")])
    pointers = ["const float* a"] + (["const float* y"] if "y[" in of else [])
    signature = f"void {name(rng)}({', '.join(pointers)}, float* c, int n)"

    def take(into, e):
        return [f"float t{into[-1]} = {e};", f"{into} = t{into[-1]} {less} {into} ? t{into[-1]} : {into};"]

    reference = block(signature, loop(
        "i", "n", f"float {best} = {start};",
        loop("j", "n", block(f"if ({of} {less} {best})", f"{best} = {of};")), f"c[i] = {best};"))
    by = rng.choice([4, 8])
    if rng.random() < 0.5:
        tags = ["accumulators", "unrolling", "branch-free"]
        bests = [f"{best}{q}" for q in range(4)]
        body = [[f"float {b} = {start};" for b in bests], "int j = 0;",
                unrolled("j", "n", 4, [take(b, shift(of, "j", q)) for q, b in enumerate(bests)]),
                rest("j", "n", take(bests[0], of)),
                [f"{bests[0]} = {b} {less} {bests[0]} ? {b} : {bests[0]};" for b in bests[1:]],
                f"c[i] = {bests[0]};"]
    else:
        tags = ["accumulators", "branch-free"]
        body = [f"float lane[{by}];", loop("q", str(by), f"lane[q] = {start};"), "int j = 0;",
                unrolled("j", "n", by, loop(
                    "q", str(by), f"float t = {of.replace('+ j]', '+ j + q]').replace('[j]', '[j + q]')};",
                    f"lane[q] = t {less} lane[q] ? t : lane[q];")),
                rest("j", "n", f"float t = {of};", f"lane[0] = t {less} lane[0] ? t : lane[0];"),
                loop("q", str(by), f"lane[0] = lane[q] {less} lane[0] ? lane[q] : lane[0];", begin="1"),
                "c[i] = lane[0];"]
    rewrite = block(signature, loop("i", "n", body))
    args = {"a": "{type: f32, shape: [n, n], fill: uniform(-1, 1)}"}
    if len(pointers) == 2:
        args["y"] = "{type: f32, shape: [n], fill: uniform(-1, 1)}"
    return Example(family="row_maxima", techniques=tags, reference=text(reference),
                   rewrite=text(rewrite), args={**args, "c": "{type: f32, shape: [n], out: true}",
                                                "n": "{size: n}"},
                   sizes={"check": "[1, 3, 17, 64]", "timed": "[160]"})

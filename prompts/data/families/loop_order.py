"""Nests whose innermost loop strides through memory, in another order."""
from example import family
from template import Expression, draw

CONSTANTS = "0.5f 0.25f 2.0f 1.5f 0.75f 0.1f".split()
CHECK = [(1, 1), (3, 5), (17, 31), (8, 64)]
CHECK_3D = [(1, 1, 1), (2, 3, 5), (3, 7, 17), (4, 2, 33)]


@family("axis_reduction")
def axis_reduction(rng):
    """A three-dimensional array, reduced over one of its outer axes."""
    axis = rng.choice(["planes", "rows"])
    keep = "rows" if axis == "planes" else "planes"
    var, keep_var = ("i", "j") if axis == "planes" else ("j", "i")
    e = Expression(rng, ["A", "A * A", "fabsf(A)", "A * W", "A - V", "A * V * W", "A * B", "A * W + B", "fabsf(A - V)", "S * A * A"],
                   {"A": ("a[({i} * rows + {j}) * cols + {k}]", "a", "planes, rows, cols"),
                    "B": ("b[({i} * rows + {j}) * cols + {k}]", "b", "planes, rows, cols"),
                    "W": (f"w[{{{var}}}]", "w", axis), "V": ("v[{k}]", "v", "cols"), "S": ("alpha", "alpha", "")}, "ijk")
    op = rng.choice(["+", "+", "+", ">", "<"])
    out = f"out[{keep_var} * cols + k]"
    at = lambda value: e.at(*[value if v == var else v for v in "ijk"])
    start = "0.0f" if op == "+" else at("0").replace("(0 * rows + j) * cols", "j * cols").replace("(i * rows + 0) *", "i * rows *")
    first = "0" if op == "+" else "1"
    slow = "s += E(i, j, k);" if op == "+" else f"float t = E(i, j, k);\nif (t {op} s) {{\ns = t;\n}}"
    fast = f"{out} += E(i, j, k);" if op == "+" else f"float t = E(i, j, k);\n{out} = t {op} {out} ? t : {out};"
    return draw(rng, "axis_reduction", ["interchange"] + ["branch-free"] * (op != "+"), f"""
        void NAME({e.parameters}, float* out, int planes, int rows, int cols) {{
        for (int {keep_var} = 0; {keep_var} < {keep}; {keep_var}++) {{
        for (int k = 0; k < cols; k++) {{
        float s = {start};
        for (int {var} = {first}; {var} < {axis}; {var}++) {{
        {slow}
        }}
        {out} = s;
        }}
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int planes, int rows, int cols) {{
        for (int {keep_var} = 0; {keep_var} < {keep}; {keep_var}++) {{
        for (int k = 0; k < cols; k++) {{
        {out} = {start};
        }}
        for (int {var} = {first}; {var} < {axis}; {var}++) {{
        for (int k = 0; k < cols; k++) {{
        {fast}
        }}
        }}
        }}
        }}""", {**e.shapes, "out": f"{keep}, cols"}, CHECK_3D, rng.choice([[(16, 40, 48), (30, 20, 64)], [(32, 32, 32), (20, 50, 40)]]),
                {"E": e.at}, restricted=0.7)


@family("map_order")
def map_order(rng):
    """An element by element map that walks down columns."""
    e = Expression(rng, ["A * X + Y", "A * X * Y", "A - X", "fabsf(A - Y)", "A + B * X", "(A - B) * Y", "S * A + B", "A * (X + C)", "A > X ? A : X",
                         "A / (X + 1.0f)", "A * B - X * Y", "sqrtf(A + X)", "A < Y ? A : Y", "X / (A + C)", "A > C ? A * X : B"],
                   {"A": ("a[{i} * cols + {j}]", "a", "rows, cols"), "B": ("b[{i} * cols + {j}]", "b", "rows, cols"),
                    "X": ("x[{i}]", "x", "rows"), "Y": ("y[{j}]", "y", "cols"), "S": ("alpha", "alpha", "")})
    inplace = rng.random() < 0.3 and "a" in e.shapes
    row = rng.random() < 0.4
    target = "a" if inplace else "out"
    place = f"{target}[i * cols + j] = E(i, j);"
    fast, before = place, ""
    if row and not inplace:
        before, fast = "float* to = out + i * cols;", "to[j] = E(i, j);"
    parameters = e.parameters.replace("const float* a", "float* a") if inplace else e.parameters + ", float* out"
    shapes = dict(e.shapes) if inplace else {**e.shapes, "out": "rows, cols"}
    return draw(rng, "map_order", ["interchange"] + ["row-pointers"] * bool(before), f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        for (int i = 0; i < rows; i++) {{
        {place}
        }}
        }}
        }}""", f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        {before}
        for (int j = 0; j < cols; j++) {{
        {fast}
        }}
        }}
        }}""", shapes, CHECK, rng.choice([[(200, 160), (150, 250)], [(128, 128), (300, 100)]]), {"E": e.at},
                inout=("a",) if inplace else ())


@family("map_order_3d")
def map_order_3d(rng):
    """The same in three dimensions, in any wrong order."""
    e = Expression(rng, ["A * X", "A + Y * Z", "A * X * Z", "(A - Y) * X", "A * S + B", "A - B * Z", "fabsf(A - X)", "A * Y + Z", "A > S ? A : S * A",
                         "A * B + X"],
                   {"A": ("a[({i} * rows + {j}) * cols + {k}]", "a", "planes, rows, cols"),
                    "B": ("b[({i} * rows + {j}) * cols + {k}]", "b", "planes, rows, cols"),
                    "X": ("x[{i}]", "x", "planes"), "Y": ("y[{j}]", "y", "rows"), "Z": ("z[{k}]", "z", "cols"), "S": ("alpha", "alpha", "")}, "ijk")
    loops = {"i": "for (int i = 0; i < planes; i++) {", "j": "for (int j = 0; j < rows; j++) {", "k": "for (int k = 0; k < cols; k++) {"}
    order = rng.choice(["kji", "kij", "ikj", "jki"])
    place = "out[(i * rows + j) * cols + k] = E(i, j, k);"
    nest = lambda o: "\n".join(loops[v] for v in o) + f"\n{place}\n}}\n}}\n}}"
    signature = f"void NAME({e.parameters}, float* out, int planes, int rows, int cols) {{"
    return draw(rng, "map_order_3d", ["interchange"], f"{signature}\n{nest(order)}\n}}", f"{signature}\n{nest('ijk')}\n}}",
                {**e.shapes, "out": "planes, rows, cols"}, CHECK_3D, rng.choice([[(16, 40, 48), (30, 20, 64)], [(32, 32, 32), (20, 50, 40)]]),
                {"E": e.at})


@family("triangle_columns")
def triangle_columns(rng):
    """Columns of one half of a square matrix."""
    e = Expression(rng, ["A", "A * A", "fabsf(A)", "A * X", "A * X * X", "A - X", "fabsf(A - X)", "A * B", "S * A * A", "A * (B + C)"],
                   {"A": ("a[{i} * n + {j}]", "a", "n, n"), "B": ("b[{i} * n + {j}]", "b", "n, n"), "X": ("x[{i}]", "x", "n"), "S": ("alpha", "alpha", "")})
    lower = rng.random() < 0.5
    strict = rng.random() < 0.4
    op = rng.choice(["+", "+", "+", ">", "<"])
    start = "0.0f" if op == "+" else ("-1e9f" if op == ">" else "1e9f")
    slow_head = f"for (int i = {'j + 1' if strict else 'j'}; i < n; i++) {{" if lower else f"for (int i = 0; i {'<' if strict else '<='} j; i++) {{"
    fast_head = f"for (int j = 0; j {'<' if strict else '<='} i; j++) {{" if lower else f"for (int j = {'i + 1' if strict else 'i'}; j < n; j++) {{"
    slow = "s += E(i, j);" if op == "+" else f"float t = E(i, j);\nif (t {op} s) {{\ns = t;\n}}"
    fast = "out[j] += E(i, j);" if op == "+" else f"float t = E(i, j);\nout[j] = t {op} out[j] ? t : out[j];"
    return draw(rng, "triangle_columns", ["interchange"] + ["branch-free"] * (op != "+"), f"""
        void NAME({e.parameters}, float* out, int n) {{
        for (int j = 0; j < n; j++) {{
        float s = {start};
        {slow_head}
        {slow}
        }}
        out[j] = s;
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int n) {{
        for (int j = 0; j < n; j++) {{
        out[j] = {start};
        }}
        for (int i = 0; i < n; i++) {{
        {fast_head}
        {fast}
        }}
        }}
        }}""", {**e.shapes, "out": "n"}, [1, 3, 17, 64], [rng.randrange(150, 260), 192], {"E": e.at}, restricted=0.7)


@family("chosen_rows")
def chosen_rows(rng):
    """Columns over those rows that a test of the row's own chooses: the test goes out of the inner loop."""
    test, arrays = rng.choice([("mask[i]", ["const int* mask"]), ("mask[i] == k", ["const int* mask", "int k"]), ("x[i] > alpha", ["const float* x", "float alpha"]),
                               ("x[i] > y[i]", ["const float* x", "const float* y"]), ("mask[i] != 0", ["const int* mask"]), ("i % 3 == 0", []),
                               ("mask[i] > 0", ["const int* mask"]), ("x[i] < 0.5f", ["const float* x"])])
    form = rng.choice(["A", "A * A", "A * W", "fabsf(A)", "A - W", "A * Z", "A * A * W", "C * A"]).replace("C", rng.choice(CONSTANTS))
    at = form.replace("A", "a[i * cols + j]").replace("W", "w[i]").replace("Z", "z[j]")
    parameters = ["const float* a"] + arrays + (["const float* w"] if "W" in form else []) + (["const float* z"] if "Z" in form else [])
    shapes = {"a": "rows, cols", "mask": "rows", "x": "rows", "y": "rows", "w": "rows", "z": "cols", "out": "cols"}
    op = rng.choice(["+", "+", "+", ">"])
    slow = f"s += {at};" if op == "+" else f"float t = {at};\ns = t > s ? t : s;"
    fast = f"out[j] += {at};" if op == "+" else f"float t = {at};\nout[j] = t > out[j] ? t : out[j];"
    start = "0.0f" if op == "+" else "-1.0f"
    signature = f"void NAME({', '.join(parameters)}, float* out, int rows, int cols) {{"
    skip = rng.random() < 0.5 and "==" not in test and " " not in test
    gate = f"if (!{test}) {{\ncontinue;\n}}\nfor (int j = 0; j < cols; j++) {{\n{fast}\n}}" if skip else \
        f"if ({test}) {{\nfor (int j = 0; j < cols; j++) {{\n{fast}\n}}\n}}"
    mask = rng.choice(["mask", "flags", "keep", "used", "group"])
    swap = lambda t: t.replace("mask", mask)
    return draw(rng, "chosen_rows", ["interchange", "hoisting"], swap(f"""
        {signature}
        for (int j = 0; j < cols; j++) {{
        float s = {start};
        for (int i = 0; i < rows; i++) {{
        if ({test}) {{
        {slow}
        }}
        }}
        out[j] = s;
        }}
        }}"""), swap(f"""
        {signature}
        for (int j = 0; j < cols; j++) {{
        out[j] = {start};
        }}
        for (int i = 0; i < rows; i++) {{
        {gate}
        }}
        }}"""), {swap(k): v for k, v in shapes.items()}, CHECK, rng.choice([[(200, 160), (150, 250)], [(128, 128), (300, 100)]]),
                fills={mask: "uniform(0, 2)", "k": "uniform(0, 2)"}, fixed=[mask, "k"], restricted=0.6)


@family("cross_reduction")
def cross_reduction(rng):
    """Each of one series against all of another: the loop over results goes inside."""
    form = rng.choice(["fabsf(x[i] - y[j])", "fmaxf(x[i], y[j])", "(x[i] - y[j]) * (x[i] - y[j]) * w[j]", "w[j] * fabsf(x[i] - y[j])",
                       "1.0f / (1.0f + x[i] + y[j])", "w[j] / (C + fabsf(x[i] - y[j]))", "w[j] / (x[i] * x[i] + y[j] + C)",
                       "x[i] * y[j] / (x[i] + y[j] + C)", "(x[i] > y[j] ? w[j] : 0.0f)", "fabsf(x[i] * w[j] - y[j])", "alpha * y[j] / (x[i] + C)"]) \
        .replace("C", rng.choice(CONSTANTS)).replace("fmaxf(x[i], y[j])", "(x[i] > y[j] ? x[i] : y[j])")
    op = rng.choice(["+", "+", "+", ">", "<"])
    names = [n for n in "xyw" if f"{n}[" in form]
    parameters = ", ".join([f"const float* {n}" for n in names] + (["float alpha"] if "alpha" in form else []) + ["float* out"])
    start = "0.0f" if op == "+" else form.replace("[j]", "[0]")
    first = "0" if op == "+" else "1"
    slow = f"s += {form};" if op == "+" else f"float t = {form};\nif (t {op} s) {{\ns = t;\n}}"
    fast = f"out[i] += {form};" if op == "+" else f"float t = {form};\nout[i] = t {op} out[i] ? t : out[i];"
    return draw(rng, "cross_reduction", ["interchange"], f"""
        void NAME({parameters}, int n, int m) {{
        for (int i = 0; i < n; i++) {{
        float s = {start};
        for (int j = {first}; j < m; j++) {{
        {slow}
        }}
        out[i] = s;
        }}
        }}""", f"""
        void NAME({parameters}, int n, int m) {{
        for (int i = 0; i < n; i++) {{
        out[i] = {start};
        }}
        for (int j = {first}; j < m; j++) {{
        for (int i = 0; i < n; i++) {{
        {fast}
        }}
        }}
        }}""", {n: "n" if n == "x" else "m" for n in names} | {"out": "n"}, CHECK, rng.choice([[(200, 150), (128, 128)], [(300, 60), (96, 200)]]),
                restricted=0.8)


@family("vertical_window")
def vertical_window(rng):
    """A window that slides down the columns: whole rows at a time."""
    k = rng.choice(["3", "4", "5", "k", "k"])
    e = Expression(rng, ["A", "A * A", "A * W", "fabsf(A - W)", "A * V", "fabsf(A - V)", "S * A", "A * W * V"],
                   {"A": ("a[({i}) * cols + {j}]", "a", f"rows + {k}, cols"), "W": ("w[{q}]", "w", k), "V": ("v[{j}]", "v", "cols"),
                    "S": ("alpha", "alpha", "")}, "ijq")
    op = rng.choice(["+", "+", ">", "<"])
    size = ", int k" if k == "k" else ""
    start = "0.0f" if op == "+" else "E(i, j, 0)"
    first = "0" if op == "+" else "1"
    slow = "s += E(i + q, j, q);" if op == "+" else f"float t = E(i + q, j, q);\nif (t {op} s) {{\ns = t;\n}}"
    fast = "to[j] += E(i + q, j, q);" if op == "+" else f"float t = E(i + q, j, q);\nto[j] = t {op} to[j] ? t : to[j];"
    check = [(1, 1, 1), (3, 5, 2), (9, 33, 4)] if size else [(1, 1), (3, 5), (9, 33)]
    timed = [(60, 70, 6), (32, 128, 8)] if size else [(120, 90), (64, 128)]
    signature = f"void NAME({e.parameters}, float* out, int rows, int cols{size}) {{"
    return draw(rng, "vertical_window", ["interchange", "row-pointers"], f"""
        {signature}
        for (int j = 0; j < cols; j++) {{
        for (int i = 0; i < rows; i++) {{
        float s = {start};
        for (int q = {first}; q < {k}; q++) {{
        {slow}
        }}
        out[i * cols + j] = s;
        }}
        }}
        }}""", f"""
        {signature}
        for (int i = 0; i < rows; i++) {{
        float* to = out + i * cols;
        for (int j = 0; j < cols; j++) {{
        to[j] = {start};
        }}
        for (int q = {first}; q < {k}; q++) {{
        for (int j = 0; j < cols; j++) {{
        {fast}
        }}
        }}
        }}
        }}""", {**e.shapes, "out": "rows, cols"}, check, timed, {"E": e.at}, restricted=0.8, fixed=["k", "q", "to"] if not size else ["q", "to"])

"""Results that follow from others: running sums and extremes, factored sums, halves of symmetric ones."""
from example import family
from template import Expression, draw

CHECK = [1, 3, 17, 64]
VECTOR = {"X": ("x[{i}]", "x", "n"), "Y": ("y[{i}]", "y", "n"), "S": ("alpha", "alpha", "")}
SERIES = ["X", "X * X", "X * Y", "fabsf(X - Y)", "fabsf(X - S)", "X - S", "S * X", "X + C * Y", "X * X + Y", "(X - Y) * (X - Y)", "Y - X",
          "X * X * C"]


@family("moving_total")
def moving_total(rng):
    """Totals over a window that moves by one."""
    kind = rng.choice(["float", "float", "int"])
    if kind == "int":
        form = rng.choice(["x[{i}]", "x[{i}] * x[{i}]", "abs(x[{i}])", "x[{i}] > 0", "x[{i}] & 7", "x[{i}] * 3 - 1"])
        form = form.replace("abs(x[{i}])", "(x[{i}] < 0 ? -x[{i}] : x[{i}])")
    else:
        form = rng.choice(["x[{i}]", "x[{i}] * x[{i}]", "fabsf(x[{i}])", "0.5f * x[{i}]", "fabsf(x[{i}] - alpha)", "x[{i}] * x[{i}] * x[{i}]",
                           "x[{i}] * (w[{i}] + 1.0f)", "x[{i}] + w[{i}]"])
    at = lambda i: form.format(i=i)
    last = rng.choice(["s", "s", "s * C", "s / k"] if kind == "float" else ["s", "s", "s + 1", "s * 2"]).replace("C", "0.25f")
    k = rng.choice(["k", "k", "16", "24", "40"]) if kind == "float" else "k"
    size = ", int k" if k == "k" else ""
    last = last.replace("/ k", f"/ {k}")
    extra = (f", const {kind}* w" if "w[" in form else "") + (", float alpha" if "alpha" in form else "")
    shapes = {"x": f"n + {k}", "out": "n", **({"w": f"n + {k}"} if "w[" in form else {})}
    first, wide = ("int", "int") if kind == "int" else ("float", "double")
    check = [(1, 1), (3, 2), (17, 5), (64, 9)] if size else CHECK
    timed = rng.choice([[(1500, 60), (1000, 100)], [(2000, 90), (1024, 128)]]) if size else [rng.randrange(1000, 3000), 2048]
    signature = f"void NAME(const {kind}* x{extra}, {kind}* out, int n{size}) {{"
    return draw(rng, "moving_total", ["algorithm"], f"""
        {signature}
        for (int i = 0; i < n; i++) {{
        {first} s = 0;
        for (int j = 0; j < {k}; j++) {{
        s += {at("i + j")};
        }}
        out[i] = {last};
        }}
        }}""", f"""
        {signature}
        {wide} s = 0;
        for (int j = 0; j < {k}; j++) {{
        s += {at("j")};
        }}
        for (int i = 0; i < n; i++) {{
        out[i] = {last};
        s += {at(f"i + {k}")};
        s -= {at("i")};
        }}
        }}""", shapes, check, timed, fills={"x": "uniform(-9, 9)"} if kind == "int" else {}, double=0.3 if kind == "float" else 0,
                fixed=["k"], restricted=0.2)


@family("running_result")
def running_result(rng):
    """What each prefix or suffix gives, computed from its neighbour's."""
    e = Expression(rng, SERIES, VECTOR, "i")
    op = rng.choice(["sum", "sum", "mean", ">", "<"])
    back = rng.random() < 0.4
    begin, end = ("i", "n") if back else ("0", "i + 1")
    head = f"for (int j = {begin}; j < {end}; j++) {{" if back or rng.random() < 0.5 else "for (int j = 0; j <= i; j++) {"
    outer = "for (int i = n - 1; i >= 0; i--) {" if back else "for (int i = 0; i < n; i++) {"
    signature = f"void NAME({e.parameters}, float* out, int n) {{"
    if op in "<>":
        first = "n - 1" if back else "0"
        slow = f"float m = E(i);\n{head}\nfloat t = E(j);\nif (t {op} m) {{\nm = t;\n}}\n}}\nout[i] = m;"
        fast = f"float m = E({first});\n{outer}\nfloat t = E(i);\nm = t {op} m ? t : m;\nout[i] = m;\n}}"
        scale = ""
    else:
        count = "(n - i)" if back else "(i + 1)"
        scale = f" / {count}" if op == "mean" else rng.choice(["", "", " * 0.5f", " + 1.0f"])
        slow = f"float s = 0.0f;\n{head}\ns += E(j);\n}}\nout[i] = s{scale};"
        fast = f"float s = 0.0f;\n{outer}\ns += E(i);\nout[i] = s{scale};\n}}"
    return draw(rng, "running_result", ["algorithm"], f"""
        {signature}
        for (int i = 0; i < n; i++) {{
        {slow}
        }}
        }}""", f"""
        {signature}
        {fast}
        }}""", {**e.shapes, "out": "n"}, CHECK, [rng.randrange(200, 400), 256], {"E": e.at}, restricted=0.2)


@family("repeated_reduction")
def repeated_reduction(rng):
    """A reduction that is the same for every element, computed once."""
    inner = Expression(rng, ["X", "X * X", "fabsf(X)", "X * X * Y", "fabsf(X - Y)", "X + Y", "S * X * X"], VECTOR, "i")
    op = rng.choice(["+", "+", ">", "<"])
    outer = rng.choice(["X / (S + 1.0f)", "X - S", "X * S", "(X - S) * (X - S)", "Y + S * X", "fabsf(X - S)", "X + Y * S", "S - X * C"])
    outer = outer.replace("C", rng.choice(["0.5f", "2.0f"]))
    mean = op == "+" and rng.random() < 0.5
    final = lambda i: outer.replace("X", f"x[{i}]").replace("Y", f"y[{i}]").replace("S", "s / n" if mean and "* S" not in outer else "s")
    if mean:
        final = lambda i: outer.replace("X", f"x[{i}]").replace("Y", f"y[{i}]").replace("S", "s")
    begin = "0.0f" if op == "+" else inner.at("0")
    loop = ("for (int j = 0; j < n; j++) {\n" + ("s += E(j);" if op == "+" else f"s = E(j) {op} s ? E(j) : s;") + "\n}" +
            ("\ns = s / n;" if mean else ""))
    used = {n for n in "xy" if f"{n}[" in inner.at("i") + final("i")}
    parameters = ", ".join([f"const float* {n}" for n in sorted(used)] + ["float* out"] + (["float alpha"] if "alpha" in inner.parameters else []))
    return draw(rng, "repeated_reduction", ["hoisting", "algorithm"], f"""
        void NAME({parameters}, int n) {{
        for (int i = 0; i < n; i++) {{
        float s = {begin};
        {loop}
        out[i] = {final("i")};
        }}
        }}""", f"""
        void NAME({parameters}, int n) {{
        float s = {begin};
        {loop}
        for (int i = 0; i < n; i++) {{
        out[i] = {final("i")};
        }}
        }}""", {**{n: "n" for n in used}, "out": "n"}, CHECK, [rng.randrange(150, 350), 256], {"E": inner.at}, restricted=0.3)


@family("factored_sums")
def factored_sums(rng):
    """Sums over pairs as products and sums of single sums."""
    # The summand of (i, j), what is summed over j alone, and how the result of i follows.
    summand, singles, result = rng.choice([
        ("x[i] * y[j]", ["y[j]"], "x[i] * u"), ("x[i] + y[j]", ["y[j]"], "n * x[i] + u"), ("(x[i] + y[j]) * w[j] * w[j]", ["w[j] * w[j]", "y[j] * w[j] * w[j]"], "x[i] * u + v"),
        ("x[i] * y[j] * (w[j] + 1.0f)", ["y[j] * (w[j] + 1.0f)"], "x[i] * u"), ("x[i] * (y[j] + w[j])", ["y[j] + w[j]"], "x[i] * u"),
        ("(x[i] + y[j]) * (x[i] + y[j])", ["y[j]", "y[j] * y[j]"], "n * x[i] * x[i] + 2.0f * x[i] * u + v"),
        ("x[i] * x[i] * y[j] + w[j]", ["y[j]", "w[j]"], "x[i] * x[i] * u + v"), ("y[j] * (alpha + x[i])", ["y[j]"], "u * (alpha + x[i])"),
        ("alpha * x[i] + y[j] * y[j]", ["y[j] * y[j]"], "n * alpha * x[i] + u"), ("x[i] * y[j] + w[i] * y[j]", ["y[j]"], "(x[i] + w[i]) * u"),
        ("x[i] * fabsf(y[j] - w[j])", ["fabsf(y[j] - w[j])"], "x[i] * u"), ("(x[i] + w[i]) * y[j] * y[j]", ["y[j] * y[j]"], "(x[i] + w[i]) * u")])
    last = rng.choice(["{}", "{}", "0.5f * ({})", "alpha + {}", "sqrtf({})"])
    total = rng.random() < 0.4
    if total:
        last = "{}"
    names = [n for n in "xyw" if f"{n}[" in summand]
    extra = ["float alpha"] if "alpha" in summand + last else []
    accumulate = "\n".join(f"{name} += {single};" for name, single in zip("uv", singles))
    zeros = "\n".join(f"float {name} = 0.0f;" for name, _ in zip("uv", singles))
    out = "" if total else "float* out"
    parameters = ", ".join([f"const float* {n}" for n in names] + [p for p in [out] if p] + extra)
    plain = lambda v: last.format(v).replace("(s)", "(s)") if v != "s" else last.replace("({})", "s" if "sqrt" not in last else "(s)").format("s")
    shapes = {n: "n" for n in names}
    if total:
        return draw(rng, "factored_sums", ["algorithm"], f"""
            float NAME({parameters}, int n) {{
            float s = 0.0f;
            for (int i = 0; i < n; i++) {{
            for (int j = 0; j < n; j++) {{
            s += {summand};
            }}
            }}
            return s;
            }}""", f"""
            float NAME({parameters}, int n) {{
            {zeros}
            for (int j = 0; j < n; j++) {{
            {accumulate}
            }}
            float s = 0.0f;
            for (int i = 0; i < n; i++) {{
            s += {result};
            }}
            return s;
            }}""", shapes, CHECK, [rng.randrange(150, 350), 256], restricted=0, fixed=["u", "v"])
    return draw(rng, "factored_sums", ["algorithm"], f"""
        void NAME({parameters}, int n) {{
        for (int i = 0; i < n; i++) {{
        float s = 0.0f;
        for (int j = 0; j < n; j++) {{
        s += {summand};
        }}
        out[i] = {plain("s")};
        }}
        }}""", f"""
        void NAME({parameters}, int n) {{
        {zeros}
        for (int j = 0; j < n; j++) {{
        {accumulate}
        }}
        for (int i = 0; i < n; i++) {{
        out[i] = {plain(result)};
        }}
        }}""", {**shapes, "out": "n"}, CHECK, [rng.randrange(150, 350), 256], restricted=0.4, fixed=["u", "v"])


@family("symmetric_pairs")
def symmetric_pairs(rng):
    """A symmetric function of all pairs needs half of them."""
    g = rng.choice(["sqrtf(fabsf(x[i] - x[j]))", "expf(-fabsf(x[i] - x[j]))", "fabsf(x[i] - x[j])", "fmaxf(x[i], x[j])", "logf(1.0f + x[i] * x[j])",
                    "1.0f / (1.0f + x[i] + x[j])", "w[i] * w[j] * fabsf(x[i] - x[j])", "w[i] * w[j] / (alpha + fabsf(x[i] - x[j]))",
                    "sqrtf(x[i] * x[i] + x[j] * x[j])", "(x[i] - x[j]) * (x[i] - x[j]) * w[i] * w[j]", "cosf(x[i] - x[j])", "expf(alpha * x[i] * x[j])"])
    diagonal = g.replace("[j]", "[i]")
    zero = any(p in g for p in ("sqrtf(fabsf(", "(x[i] - x[j]) * (x[i]")) or g == "fabsf(x[i] - x[j])" or g.startswith("w[i] * w[j] * f")
    parameters = "const float* x" + (", const float* w" if "w[" in g else "") + (", float alpha" if "alpha" in g else "")
    shapes = {"x": "n", **({"w": "n"} if "w[" in g else {})}
    scale = rng.choice(["", "", " / n", " * 0.5f", " / (n * n)"]).replace("(n * n)", "((float)n * n)")
    # By rows of results, or one result.
    matrix = rng.random() < 0.4 and any(f in g for f in ("expf", "logf", "cosf"))
    sizes = [rng.randrange(80, 140), 96]
    if matrix:
        return draw(rng, "symmetric_pairs", ["algorithm"], f"""
            void NAME({parameters}, float* out, int n) {{
            for (int i = 0; i < n; i++) {{
            for (int j = 0; j < n; j++) {{
            out[i * n + j] = {g};
            }}
            }}
            }}""", f"""
            void NAME({parameters}, float* out, int n) {{
            for (int i = 0; i < n; i++) {{
            for (int j = 0; j <= i; j++) {{
            float t = {g};
            out[i * n + j] = t;
            out[j * n + i] = t;
            }}
            }}
            }}""", {**shapes, "out": "n, n"}, CHECK, [rng.randrange(40, 80), 64], restricted=0.2)
    return draw(rng, "symmetric_pairs", ["algorithm"], f"""
        float NAME({parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        for (int j = 0; j < n; j++) {{
        s += {g};
        }}
        }}
        return s{scale};
        }}""", f"""
        float NAME({parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        {"" if zero else f"s += 0.5f * {diagonal};"}
        for (int j = i + 1; j < n; j++) {{
        s += {g};
        }}
        }}
        return 2.0f * s{scale};
        }}""", shapes, CHECK, sizes, restricted=0)


@family("sums_to_the_end")
def sums_to_the_end(rng):
    """Sums of what lies below in a column, from the neighbour's."""
    e = Expression(rng, ["A * A * X", "fabsf(A - S)", "A * X", "A + B", "fabsf(A - B)", "A * Y", "(A - X) * Y", "S * A + B"],
                   {"A": ("a[{i} * cols + {j}]", "a", "rows, cols"), "B": ("b[{i} * cols + {j}]", "b", "rows, cols"),
                    "X": ("x[{i}]", "x", "rows"), "Y": ("y[{j}]", "y", "cols"), "S": ("alpha", "alpha", "")})
    scale = rng.choice(["", "", " * 0.5f"])
    return draw(rng, "sums_to_the_end", ["algorithm", "interchange"], f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        for (int j = 0; j < cols; j++) {{
        float s = 0.0f;
        for (int k = i; k < rows; k++) {{
        s += E(k, j);
        }}
        out[i * cols + j] = s{scale};
        }}
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        out[(rows - 1) * cols + j] = E(rows - 1, j){scale};
        }}
        for (int i = rows - 2; i >= 0; i--) {{
        for (int j = 0; j < cols; j++) {{
        out[i * cols + j] = out[(i + 1) * cols + j] + E(i, j){scale};
        }}
        }}
        }}""".replace("E(rows - 1, j)", e.at("(rows - 1)", "j").replace("x[(rows - 1)]", "x[rows - 1]")), {**e.shapes, "out": "rows, cols"}, [(1, 1), (3, 5), (9, 17)], [(50, 40), (40, 64)], {"E": e.at}, restricted=0.2)


@family("power_series")
def power_series(rng):
    """Terms computed from scratch follow from the ones before."""
    terms = rng.choice(["terms", "8", "10", "12"])
    kind, update = rng.choice([("power / factorial", "t *= z / (k + 1);"), ("power", "t *= z;"), ("power * (k + 1)", None), ("power / (k + 1)", None),
                               ("power * c[k]", None), ("power * c[k] * (k + 1)", None)])
    z = rng.choice(["x[i]", "x[i]", "0.5f * x[i]", "x[i] * alpha", "x[i] - 0.5f", "0.9f * x[i]"])
    coefficients = ", const float* c" if "c[" in kind else ""
    alpha = ", float alpha" if "alpha" in z else ""
    size = ", int terms" if terms == "terms" else ""
    signature = f"void NAME(const float* x{coefficients}, float* out{alpha}, int n{size}) {{"
    if kind == "power / factorial":
        inner = "float t = 1.0f;\nfor (int q = 1; q <= k; q++) {\nt *= z / q;\n}\ns += t;"
        fast = "s += t;\nt *= z / (k + 1);"
    else:
        value = kind.replace("power", "t")
        inner = f"float t = 1.0f;\nfor (int q = 0; q < k; q++) {{\nt *= z;\n}}\ns += {value};"
        fast = f"s += {value};\nt *= z;"
    if kind != "power / factorial" and rng.random() < 0.4:
        inner = f"s += {kind.replace('power', 'powf(z, (float)k)')};"
        z = z.replace(" - 0.5f", " + 0.1f")
    shapes = {"x": "n", "out": "n", **({"c": terms} if coefficients else {})}
    check = [(1, 1), (3, 2), (17, 5), (64, 9)] if size else CHECK
    timed = [(600, 12), (512, 16)] if size else [rng.randrange(600, 1200), 1024]
    names = rng.choice([("terms", "degree"), ("terms", "order"), ("terms", "terms"), ("terms", "m")])
    swap = lambda t: t.replace("terms", names[1])
    return draw(rng, "power_series", ["strength-reduction", "algorithm"], swap(f"""
        {signature}
        for (int i = 0; i < n; i++) {{
        float z = {z};
        float s = 0.0f;
        for (int k = 0; k < {terms}; k++) {{
        {inner}
        }}
        out[i] = s;
        }}
        }}"""), swap(f"""
        {signature}
        for (int i = 0; i < n; i++) {{
        float z = {z};
        float s = 0.0f;
        float t = 1.0f;
        for (int k = 0; k < {terms}; k++) {{
        {fast}
        }}
        out[i] = s;
        }}
        }}"""), {k: swap(v) for k, v in shapes.items()}, check, timed, restricted=0.3, fixed=["z", "q", "c", "x"])

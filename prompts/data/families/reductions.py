"""Sums and extremes that wait for themselves, taken apart into several side by side."""
from example import family
from template import Expression, accumulators, draw

CHECK = [1, 3, 17, 64, 101]
VECTOR = {"X": ("x[{i}]", "x", "n"), "Y": ("y[{i}]", "y", "n"), "W": ("w[{i}]", "w", "n"), "S": ("alpha", "alpha", "")}
MATRIX = {"A": ("a[{i} * cols + {j}]", "a", "rows, cols"), "B": ("b[{i} * cols + {j}]", "b", "rows, cols"),
          "X": ("x[{j}]", "x", "cols"), "Y": ("y[{i}]", "y", "rows"), "S": ("alpha", "alpha", "")}
SHAPES_2D = [(1, 1), (3, 5), (7, 31), (5, 64), (2, 101)]
TIMED_2D = [[(100, 200), (60, 333)], [(128, 128), (40, 500)], [(30, 1000), (200, 75)]]


def timed(rng, low=10000, high=30000):
    return [rng.randrange(low, high), 2 ** 14]


@family("total_of")
def total_of(rng):
    e = Expression(rng, ["fabsf(X)", "X * X", "(X - S) * (X - S)", "X * X * W", "fabsf(X - Y)", "W * fabsf(X - S)", "X * (Y + C)",
                         "X * Y * W", "(X - Y) * W", "X * X + Y * Y", "S * X + Y * C", "(X + Y) * (X - S)", "C * X - Y * Y",
                         "(X > Y ? X : Y)", "X * X * X"], VECTOR, "i")
    width = rng.choice([2, 4, 16, 16, 32, 32])
    code, result = accumulators(e.at, width)
    last = rng.choice(["R", "R", "R", "sqrtf(R)", "(R) / n", "C * (R)"]).replace("C", "0.5f")
    if "[" in result:
        last = last.replace("(R)", "R") if last[0] != "s" else last
    return draw(rng, "total_of", ["accumulators"], f"""
        float NAME({e.parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        s += E(i);
        }}
        return {last.replace("(R)", "R").replace("R", "s").replace("sqrtfs", "sqrtf(s)")};
        }}""", f"""
        float NAME({e.parameters}, int n) {{
        {code}
        return {last.replace("R", result)};
        }}""", e.shapes, CHECK, timed(rng), {"E": e.at}, restricted=0)


@family("row_totals")
def row_totals(rng):
    e = Expression(rng, ["fabsf(A)", "A * A", "A * X * X", "fabsf(A - X)", "(A - Y) * (A - Y)", "A * (B + X)", "A * B * X",
                         "(A - B) * (A - B)", "A * X + B", "C * A - B * Y", "A * A + B * B", "fabsf(A - S)", "A * fabsf(B - X)"],
                   MATRIX)
    width = rng.choice([4, 32, 32, 64])
    at = lambda j: e.at("i", j)
    pointer = ""
    if rng.random() < 0.5 and "a" in e.shapes:
        pointer = "const float* row = a + i * cols;\n"
        at = lambda j: e.at("i", j).replace("a[i * cols + ", "row[")
    code, result = accumulators(at, width, "cols", "j")
    last = rng.choice(["R", "R", "sqrtf(R)", "(R) * alpha", "1.0f / (1.0f + R)", "(R) / cols"])
    extra = ", float alpha" if "alpha" in last and "alpha" not in e.parameters else ""
    signature = f"void NAME({e.parameters}, float* out{extra}, int rows, int cols) {{"
    tags = ["accumulators"] + (["row-pointers"] if pointer else [])
    slow = last.replace("(R) ", "s ").replace("R", "s")
    fast = last.replace("(R) ", "R ") if "[" in result else last
    return draw(rng, "row_totals", tags, f"""
        {signature}
        for (int i = 0; i < rows; i++) {{
        float s = 0.0f;
        for (int j = 0; j < cols; j++) {{
        s += E(i, j);
        }}
        out[i] = {slow};
        }}
        }}""", f"""
        {signature}
        for (int i = 0; i < rows; i++) {{
        {pointer}{code}
        out[i] = {fast.replace("R", result)};
        }}
        }}""", {**e.shapes, "out": "rows"}, SHAPES_2D, rng.choice(TIMED_2D), {"E": e.at}, restricted=0.3)


@family("row_extremes")
def row_extremes(rng):
    e = Expression(rng, ["fabsf(A)", "A * X", "A - B", "fabsf(A - X)", "A + X", "A * B", "A + C * B", "A - X", "fabsf(A - B)",
                         "A * Y + X"], MATRIX)
    op = rng.choice("<>")
    width = rng.choice([4, 32, 32, 64])
    pointer, at = "", lambda j: e.at("i", j)
    if rng.random() < 0.6:
        pointer = "const float* row = a + i * cols;\n"
        at = lambda j: e.at("i", j).replace("a[i * cols + ", "row[")
    code, result = accumulators(at, width, "cols", "j", op, at("0"))
    k = rng.choice(["", "", " * 0.5f", " + alpha", " - alpha"])
    extra = ", float alpha" if "alpha" in k and "alpha" not in e.parameters else ""
    slow = rng.choice([f"float t = E(i, j);\nif (t {op} m) {{\nm = t;\n}}", f"m = E(i, j) {op} m ? E(i, j) : m;",
                       f"m = f{'max' if op == '>' else 'min'}f(m, E(i, j));"])
    signature = f"void NAME({e.parameters}, float* out{extra}, int rows, int cols) {{"
    return draw(rng, "row_extremes", ["accumulators", "branch-free"] + (["row-pointers"] if pointer else []), f"""
        {signature}
        for (int i = 0; i < rows; i++) {{
        float m = E(i, 0);
        for (int j = 1; j < cols; j++) {{
        {slow}
        }}
        out[i] = m{k};
        }}
        }}""", f"""
        {signature}
        for (int i = 0; i < rows; i++) {{
        {pointer}{code}
        out[i] = {result}{k};
        }}
        }}""", {**e.shapes, "out": "rows"}, SHAPES_2D, rng.choice(TIMED_2D), {"E": e.at}, restricted=0.3)


@family("widest_of")
def widest_of(rng):
    """The largest or smallest of an expression over a series."""
    e = Expression(rng, ["fabsf(X - Y)", "X * Y", "fabsf(X - S)", "X + Y", "X * W - Y", "X - C * Y", "X * X", "fabsf(X) + fabsf(Y)",
                         "S * X + Y", "(X - Y) * W"], VECTOR, "i")
    op = rng.choice("<>")
    width = rng.choice([4, 32, 32, 64])
    code, result = accumulators(e.at, width, op=op, start=e.at("0"))
    last = rng.choice(["R", "R", "R * 0.5f", "sqrtf(fabsf(R))", "1.0f / (1.0f + fabsf(R))"])
    slow = rng.choice([f"float t = E(i);\nif (t {op} m) {{\nm = t;\n}}", f"if (E(i) {op} m) {{\nm = E(i);\n}}",
                       f"m = f{'max' if op == '>' else 'min'}f(m, E(i));"])
    return draw(rng, "widest_of", ["accumulators", "branch-free"], f"""
        float NAME({e.parameters}, int n) {{
        float m = E(0);
        for (int i = 1; i < n; i++) {{
        {slow}
        }}
        return {last.replace("R", "m")};
        }}""", f"""
        float NAME({e.parameters}, int n) {{
        {code}
        return {last.replace("R", result)};
        }}""", e.shapes, CHECK, timed(rng), {"E": e.at}, restricted=0,
                fills={name: "uniform(-1, 1)" for name in e.shapes})


@family("ratio_of_sums")
def ratio_of_sums(rng):
    """Two sums in one pass: weighted means and the like."""
    top, low = rng.choice([("X * W", "W"), ("fabsf(X - Y)", "fabsf(X) + fabsf(Y)"), ("X * X", "X"), ("X * Y", "Y * Y"),
                           ("X", "X * X"), ("X * W * W", "W * W"), ("X * Y * W", "X * W"), ("X * X + Y", "X + Y * Y"),
                           ("(X - S) * W", "W"), ("X * X * W", "X * W"), ("X * Y", "X + Y"), ("W * fabsf(X - S)", "W")])
    joined = Expression(rng, [f"{top} , {low}"], VECTOR, "i")
    e = lambda i: joined.at(i).split(" , ")[0]
    f = lambda i: joined.at(i).split(" , ")[1]
    end = rng.choice(["U / (V + 1.0f)", "U / V", "U - C * V", "C * U + V", "sqrtf(U) / (1.0f + V)"]).replace("C", rng.choice(["0.5f", "2.0f"]))
    signature = f"float NAME({joined.parameters}, int n) {{"
    reference = f"""
        {signature}
        float u = 0.0f;
        float v = 0.0f;
        for (int i = 0; i < n; i++) {{
        u += E(i);
        v += F(i);
        }}
        return {end.replace("U", "u").replace("V", "v")};
        }}"""
    if rng.random() < 0.3:
        reference = reference.replace("u += E(i);\n", "u += E(i);\n}\nfor (int i = 0; i < n; i++) {\n")
    width = rng.choice([32, 64])
    rewrite = f"""
        {signature}
        float u[{width}] = {{0}};
        float v[{width}] = {{0}};
        int i = 0;
        for (; i + {width} <= n; i += {width}) {{
        for (int k = 0; k < {width}; k++) {{
        u[k] += E(i + k);
        v[k] += F(i + k);
        }}
        }}
        for (; i < n; i++) {{
        u[0] += E(i);
        v[0] += F(i);
        }}
        for (int k = 1; k < {width}; k++) {{
        u[0] += u[k];
        v[0] += v[k];
        }}
        return {end.replace("U", "u[0]").replace("V", "v[0]")};
        }}"""
    return draw(rng, "ratio_of_sums", ["accumulators"], reference, rewrite, joined.shapes, CHECK, timed(rng),
                {"E": e, "F": f}, restricted=0, fixed=["u", "v"])


@family("neighbour_sums")
def neighbour_sums(rng):
    """Sums and extremes over neighbours in a series."""
    gap = rng.choice([1, 1, 2, 3])
    x, y = (lambda i: f"x[{i}]"), (lambda i: f"x[{i} + {gap}]")
    form = rng.choice(["fabsf(Y - X)", "(Y - X) * (Y - X)", "X * Y", "C * (X + Y)", "(X + Y) * (Y - X)", "(Y > X ? Y - X : 0.0f)",
                       "fabsf(X * X - Y)", "(Y - X) * W", "fabsf(Y - X) * alpha", "X * (Y - C)"])
    form = form.replace("C", rng.choice(["0.5f", "0.25f", "1.5f"]))
    op = rng.choice(["+", "+", "+", ">", "<"])

    def at(i):
        plus = f"x[{i} + {gap}]".replace(f"+ 1 + {gap}", f"+ {1 + gap}").replace(f"+ 2 + {gap}", f"+ {2 + gap}") \
            .replace(f"+ 3 + {gap}", f"+ {3 + gap}")
        return form.replace("Y", plus).replace("X", x(i)).replace("W", f"w[{i}]")
    start = "0.0f" if op == "+" else ("-1e30f" if op == ">" else "1e30f")
    code, result = accumulators(at, rng.choice([2, 4, 16, 32, 32]) if op == "+" else 32, "n", op=op, start=start)
    parameters = "const float* x" + (", const float* w" if "W" in form else "") + (", float alpha" if "alpha" in form else "")
    slow = "s += E(i);" if op == "+" else f"float t = E(i);\nif (t {op} s) {{\ns = t;\n}}"
    return draw(rng, "neighbour_sums", ["accumulators"] + (["branch-free"] if op != "+" else []), f"""
        float NAME({parameters}, int n) {{
        float s = {start};
        for (int i = 0; i < n; i++) {{
        {slow}
        }}
        return s;
        }}""", f"""
        float NAME({parameters}, int n) {{
        {code}
        return {result};
        }}""", {"x": f"n + {gap}", **({"w": "n"} if "W" in form else {})}, CHECK, timed(rng), {"E": at}, restricted=0)


@family("conditional_total")
def conditional_total(rng):
    test = Expression(rng, [f"{t} , {v}" for t, v in [
        ("X > S", "X"), ("X > S", "X * X"), ("X < Y", "Y - X"), ("X > Y", "W"), ("fabsf(X - Y) < C", "X * W"), ("X < S", "S - X"),
        ("W > C", "X * Y"), ("X + Y > S", "X * Y"), ("X > Y", "X - Y"), ("X * Y > C", "X + Y"), ("X < S", "W * X"), ("X > C", "Y")]],
        VECTOR, "i")
    cond = lambda i: test.at(i).split(" , ")[0]
    value = lambda i: test.at(i).split(" , ")[1]
    at = lambda i: f"{cond(i)} ? {value(i)} : 0.0f"
    code, result = accumulators(at, rng.choice([2, 4, 32, 32, 64]))
    return draw(rng, "conditional_total", ["accumulators", "branch-free"], f"""
        float NAME({test.parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        if (E(i)) {{
        s += F(i);
        }}
        }}
        return s;
        }}""", f"""
        float NAME({test.parameters}, int n) {{
        {code}
        return {result};
        }}""", test.shapes, CHECK, timed(rng), {"E": cond, "F": value}, restricted=0)


@family("interleaved_total")
def interleaved_total(rng):
    """Sums over records of two, three or four numbers."""
    parts = rng.choice([2, 2, 3, 4])
    forms = {2: ["X * X + Y * Y", "fabsf(X) + fabsf(Y)", "X * Y", "X - Y", "X * X + 0.5f * Y", "(X > Y ? X : Y)", "(X - Y) * (X - Y)"],
             3: ["X * X + Y * Y + Z * Z", "X * Y + Z", "X * (Y - Z)", "X * X - Y * Z", "X + Y * Z", "(X + Y) * Z"],
             4: ["X * V - Y * Z", "X * Y + Z * V", "V * (X + Y + Z)", "(X - Z) * (Y - V)"]}[parts]
    form = rng.choice(forms)
    weighted = rng.random() < 0.3
    def at(i):
        index = f"{parts} * {i}" if " " not in i else f"{parts} * ({i})"
        result = form
        for letter, q in zip("XYZV", range(parts)):
            result = result.replace(letter, f"a[{index} + {q}]")
        return f"w[{i}] * ({result})" if weighted else result
    code, result = accumulators(at, rng.choice([4, 32, 32, 64]))
    last = rng.choice(["R", "R", "0.5f * (R)", "(R) / n"])
    parameters = "const float* a" + (", const float* w" if weighted else "")
    return draw(rng, "interleaved_total", ["accumulators"], f"""
        float NAME({parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        s += E(i);
        }}
        return {last.replace("(R)", "R").replace("R", "s")};
        }}""", f"""
        float NAME({parameters}, int n) {{
        {code}
        return {last.replace("R", result)};
        }}""", {"a": f"{parts} * n", **({"w": "n"} if weighted else {})}, CHECK, timed(rng, 8000, 16000)[:1] + [8192], {"E": at}, restricted=0)


@family("gathered_total")
def gathered_total(rng):
    """Sums of table entries at given places."""
    cells = rng.choice([16, 32, 64, 100, 256])
    form = rng.choice(["T * X", "T", "fabsf(T - X)", "T * T * X", "X - T", "T * (X + alpha)", "(T > X ? T : X)", "(T - X) * (T - X)"])
    at = lambda i: form.replace("T", f"table[index[{i}]]").replace("X", f"x[{i}]")
    code, result = accumulators(at, rng.choice([4, 4, 16, 32]))
    parameters = ["const float* table", "const int* index"] + (["const float* x"] if "X" in form else []) + \
        (["float alpha"] if "alpha" in form else [])
    rename = rng.choice(["table index", "lut idx", "values ids", "book code", "palette pick", "prices item"]).split()
    shapes = {rename[0]: str(cells), rename[1]: "n", **({"x": "n"} if "X" in form else {})}
    swap = lambda t: t.replace("table", rename[0]).replace("index", rename[1])
    parameters = swap(", ".join(parameters))
    return draw(rng, "gathered_total", ["accumulators"], f"""
        float NAME({parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        s += {swap(at("i"))};
        }}
        return s;
        }}""", f"""
        float NAME({parameters}, int n) {{
        {swap(code)}
        return {result};
        }}""", shapes, CHECK, timed(rng), fills={rename[1]: f"uniform(0, {cells - 1})"}, fixed=rename, restricted=0)


@family("table_total")
def table_total(rng):
    """One number of a whole matrix."""
    e = Expression(rng, ["fabsf(A - B)", "A * B", "A * X * Y", "(A - B) * (A - B)", "A * A * X", "(A - X) * Y", "fabsf(A - X)",
                         "Y * A * A", "A * (X + Y)", "S * A + B * B", "fabsf(A) * Y"], MATRIX)
    lanes = rng.choice([16, 32])
    style = rng.choice(["lanes", "lanes", "lanes", "scalars"])
    signature = f"float NAME({e.parameters}, int rows, int cols) {{"
    order = rng.random() < 0.3
    loops = ["for (int i = 0; i < rows; i++) {", "for (int j = 0; j < cols; j++) {"]
    reference = f"""
        {signature}
        float s = 0.0f;
        {loops[order]}
        {loops[not order]}
        s += E(i, j);
        }}
        }}
        return s;
        }}"""
    if style == "lanes":
        rewrite = f"""
        {signature}
        float s[{lanes}] = {{0}};
        for (int i = 0; i < rows; i++) {{
        int j = 0;
        for (; j + {lanes} <= cols; j += {lanes}) {{
        for (int k = 0; k < {lanes}; k++) {{
        s[k] += E(i, j + k);
        }}
        }}
        for (; j < cols; j++) {{
        s[0] += E(i, j);
        }}
        }}
        for (int k = 1; k < {lanes}; k++) {{
        s[0] += s[k];
        }}
        return s[0];
        }}"""
    else:
        code, result = accumulators(lambda j: e.at("i", j), 4, "cols", "j")
        rewrite = f"""
        {signature}
        float s = 0.0f;
        for (int i = 0; i < rows; i++) {{
        {code}
        s += {result};
        }}
        return s;
        }}"""
    return draw(rng, "table_total", ["accumulators"] + ["interchange"] * order, reference, rewrite, e.shapes, SHAPES_2D,
                rng.choice(TIMED_2D), {"E": e.at}, restricted=0)


@family("four_rows")
def four_rows(rng):
    """Four rows side by side: four sums that do not wait for each other, in the order they had."""
    e = Expression(rng, ["A * X * X", "fabsf(A - X)", "A * (X + C)", "(A - X) * (A - X)", "A * A", "A * X + B", "A * B", "fabsf(A)", "A * X * Y", "S * A + X",
                         "A * A * X", "A * B * X"], MATRIX)
    width = rng.choice([2, 4, 4])
    start = rng.choice(["0.0f", "0.0f", "1.0f"])
    rows = ["i"] + [f"(i + {q})" for q in range(1, width)]
    sums = [f"s{q}" for q in range(width)]
    at = lambda row, j: e.at(row, j).replace("y[(i", "y[i").replace(")]", "]") if "y[(" in e.at(row, j) else e.at(row, j)
    body = "\n".join(f"{s} += {at(row, 'j')};" for s, row in zip(sums, rows))
    last = rng.choice(["{}", "{}", "0.5f * {}", "sqrtf({})"])
    stores = "\n".join(f"out[i{f' + {q}' if q else ''}] = {last.format(s)};" for q, s in enumerate(sums))
    declare = "\n".join(f"float {s} = {start};" for s in sums)
    return draw(rng, "four_rows", ["blocking", "accumulators"], f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        float s = {start};
        for (int j = 0; j < cols; j++) {{
        s += E(i, j);
        }}
        out[i] = {last.format("s")};
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        int i = 0;
        for (; i + {width} <= rows; i += {width}) {{
        {declare}
        for (int j = 0; j < cols; j++) {{
        {body}
        }}
        {stores}
        }}
        for (; i < rows; i++) {{
        float s = {start};
        for (int j = 0; j < cols; j++) {{
        s += E(i, j);
        }}
        out[i] = {last.format("s")};
        }}
        }}""", {**e.shapes, "out": "rows"}, SHAPES_2D, rng.choice(TIMED_2D), {"E": e.at}, restricted=0.3)


# Of intrinsics: the summand, and how a vector of eight is made of those at i.
BY_NAME = [("fabsf(X - Y)", "_mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_sub_ps(X, Y))"), ("X * X", "_mm256_mul_ps(X, X)"),
           ("X + Y", "_mm256_add_ps(X, Y)"), ("X - Y", "_mm256_sub_ps(X, Y)"), ("alpha * X", "_mm256_mul_ps(_mm256_set1_ps(alpha), X)"),
           ("sqrtf(X)", "_mm256_sqrt_ps(X)"), ("X / (Y + 1.0f)", "_mm256_div_ps(X, _mm256_add_ps(Y, _mm256_set1_ps(1.0f)))"),
           ("fabsf(X)", "_mm256_andnot_ps(_mm256_set1_ps(-0.0f), X)"), ("X - alpha", "_mm256_sub_ps(X, _mm256_set1_ps(alpha))"),
           ("sqrtf(X + Y)", "_mm256_sqrt_ps(_mm256_add_ps(X, Y))"), ("X", "X")]


@family("named_vectors")
def named_vectors(rng):
    """Reductions by vector instructions."""
    op = rng.choice(["+", "+", ">", "<"])
    e, v = rng.choice(BY_NAME[:-1] if op == "+" else BY_NAME[:5] + BY_NAME[7:9])
    name = {"+": "add", ">": "max", "<": "min"}[op]
    at = lambda i: e.replace("X", f"x[{i}]").replace("Y", f"y[{i}]")
    vector = lambda i: v.replace("X", f"_mm256_loadu_ps(x + {i})").replace("Y", f"_mm256_loadu_ps(y + {i})")
    names = [n for n in "xy" if f"{n}[" in at("i")]
    parameters = ", ".join([f"const float* {n}" for n in names] + (["float alpha"] if "alpha" in e else []))
    start = "0.0f" if op == "+" else ("-1e9f" if op == ">" else "1e9f")
    step = (lambda u: f"s += {u};") if op == "+" else (lambda u: f"s = {u} {op} s ? {u} : s;")
    ways = rng.choice([1, 2, 2])
    declare = "\n".join(f"__m256 v{q} = _mm256_set1_ps({start});" for q in range(ways))
    body = "\n".join(f"v{q} = _mm256_{name}_ps(v{q}, {vector(f'i + {8 * q}' if q else 'i')});" for q in range(ways))
    join = f"v0 = _mm256_{name}_ps(v0, v1);" if ways == 2 else ""
    return draw(rng, "named_vectors", ["intrinsics"] + ["accumulators"], f"""
        float NAME({parameters}, int n) {{
        float s = {start};
        for (int i = 0; i < n; i++) {{
        {step(at("i"))}
        }}
        return s;
        }}""", f"""
        float NAME({parameters}, int n) {{
        {declare}
        int i = 0;
        for (; i + {8 * ways} <= n; i += {8 * ways}) {{
        {body}
        }}
        {join}
        float t[8];
        _mm256_storeu_ps(t, v0);
        float s = {start};
        for (int k = 0; k < 8; k++) {{
        {step("t[k]")}
        }}
        for (; i < n; i++) {{
        {step(at("i"))}
        }}
        return s;
        }}""", {n: "n" for n in names}, CHECK, timed(rng), double=0, restricted=0)

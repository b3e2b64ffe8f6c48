"""What does not change computed once; functions of an index that follow from the one before."""
from example import family
from template import Expression, draw

CHECK = [1, 3, 17, 64]
CHECK_2D = [(1, 1), (3, 5), (17, 31), (8, 64)]
TIMED_2D = [[(60, 100), (40, 170)], [(64, 64), (30, 200)], [(100, 50), (25, 240)]]
CONSTANTS = "0.5f 0.25f 2.0f 1.5f 0.75f 0.1f 1.25f 0.3f".split()


def constant(rng):
    return rng.choice(CONSTANTS)


def slow_function(rng, argument):
    """A function of positive numbers that the compiler neither hoists nor turns into vector code."""
    return rng.choice(["expf(-U)", "sqrtf(U + C)", "logf(U + 1.0f)", "sinf(U)", "powf(U, C)", "expf(C * U)", "cosf(C * U)",
                       "1.0f / (1.0f + expf(-U))", "logf(1.0f + U * U)", "tanhf(U)", "expf(-U * U)"]) \
        .replace("C", constant(rng)).replace("U", argument)


@family("row_factor")
def row_factor(rng):
    """A function of the row's number, computed for every element; hoisted."""
    argument = rng.choice(["x[i]", "x[i]", "x[i] * alpha", "alpha * i", "x[i] + y[i]", "x[i] / y[i]"]).replace("/ y[i]", "/ (y[i] + 1.0f)")
    g = slow_function(rng, argument)
    form = rng.choice(["a[i * cols + j] * G", "G * a[i * cols + j] + b[i * cols + j]", "(a[i * cols + j] - z[j]) * G", "a[i * cols + j] + G",
                       "G * z[j]", "a[i * cols + j] * z[j] * G", "fabsf(a[i * cols + j] - G)", "G - a[i * cols + j] * z[j]"])
    both = form + argument
    arrays = {"a": "rows, cols", "b": "rows, cols", "x": "rows", "y": "rows", "z": "cols"}
    shapes = {n: s for n, s in arrays.items() if f"{n}[" in both}
    parameters = ", ".join([f"const float* {n}" for n in shapes] + (["float alpha"] if "alpha" in both else []) + ["float* out"])
    place = "out[i * cols + j] = "
    down = rng.random() < 0.3
    order = ["for (int i = 0; i < rows; i++) {", "for (int j = 0; j < cols; j++) {"]
    return draw(rng, "row_factor", ["hoisting"] + ["interchange"] * down, f"""
        void NAME({parameters}, int rows, int cols) {{
        {order[down]}
        {order[not down]}
        {place}{form.replace("G", g)};
        }}
        }}
        }}""", f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        float t = {g};
        for (int j = 0; j < cols; j++) {{
        {place}{form.replace("G", "t")};
        }}
        }}
        }}""", {**shapes, "out": "rows, cols"}, CHECK_2D, rng.choice(TIMED_2D))


@family("column_factor")
def column_factor(rng):
    """A function of the column's number, kept in the first row of the result until that is needed."""
    g = slow_function(rng, rng.choice(["x[j]", "x[j]", "x[j] * alpha", "alpha * j", "x[j] + y[j]"]))
    form = rng.choice(["A * G", "A + G", "G - A", "A * G + C", "(A - C) * G", "G * (A + Y)", "Y * A - G", "A * A * G", "fabsf(A - G)"]) \
        .replace("C", constant(rng))
    element = lambda index, row, factor: form.replace("A", f"a[{index}]").replace("Y", f"w[{row}]").replace("G", factor)
    both = form.replace("Y", "w[") + g
    arrays = {"a": "rows, cols", "w": "rows", "x": "cols", "y": "cols"}
    shapes = {n: s for n, s in arrays.items() if f"{n}[" in both or n == "a"}
    parameters = ", ".join([f"const float* {n}" for n in shapes] + (["float alpha"] if "alpha" in g else []) + ["float* out"])
    return draw(rng, "column_factor", ["hoisting"], f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        for (int j = 0; j < cols; j++) {{
        out[i * cols + j] = {element("i * cols + j", "i", g)};
        }}
        }}
        }}""", f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        out[j] = {g};
        }}
        for (int i = 1; i < rows; i++) {{
        for (int j = 0; j < cols; j++) {{
        out[i * cols + j] = {element("i * cols + j", "i", "out[j]")};
        }}
        }}
        for (int j = 0; j < cols; j++) {{
        out[j] = {element("j", "0", "out[j]")};
        }}
        }}""", {**shapes, "out": "rows, cols"}, CHECK_2D, rng.choice(TIMED_2D))


@family("scalar_factor")
def scalar_factor(rng):
    """A function of the arguments alone, computed for every element."""
    g = "sqrtf"
    while any(f in g for f in ("sqrtf", "tanhf", "sinf", "cosf")):  # the compiler hoists these itself
        g = slow_function(rng, rng.choice(["alpha", "alpha * alpha", "alpha + beta", "alpha * beta"]))
    form = rng.choice(["x[i] * G", "x[i] + G * y[i]", "(x[i] - G) * y[i]", "fabsf(x[i] - G)", "G * x[i] * x[i]", "x[i] * y[i] - G",
                       "G * (x[i] + y[i])", "x[i] / (1.0f + G)"])
    shapes = {n: "n" for n in "xy" if f"{n}[" in form}
    parameters = ", ".join([f"const float* {n}" for n in shapes] + ["float* out"] + [f"float {s}" for s in ("alpha", "beta") if s in g])
    end = "G" if "/" not in form else "(1.0f + G)"
    fast = form if end == "G" else "x[i] * G"
    declared = g if end == "G" else f"1.0f / (1.0f + {g})"
    beta = rng.choice(["beta", "q", "bias", "rate"])
    return draw(rng, "scalar_factor", ["hoisting"], f"""
        void NAME({parameters}, int n) {{
        for (int i = 0; i < n; i++) {{
        out[i] = {form.replace("G", g)};
        }}
        }}""".replace("beta", beta), f"""
        void NAME({parameters}, int n) {{
        float t = {declared};
        for (int i = 0; i < n; i++) {{
        out[i] = {fast.replace("G", "t")};
        }}
        }}""".replace("beta", beta), {**shapes, "out": "n"}, CHECK, [rng.randrange(2000, 9000), 4096])


@family("powers")
def powers(rng):
    """Powers with fixed exponents become products and roots."""
    x = rng.choice(["x[i]", "x[i]", "(x[i] + alpha)", "(x[i] + y[i])", "fabsf(x[i] - y[i])", "(1.0f + x[i])"])
    exponent, fast, helper = rng.choice([
        ("3.0f", "t * t * t", ""), ("4.0f", "u * u", "float u = t * t;"), ("1.5f", "t * sqrtf(t)", ""),
        ("5.0f", "u * u * t", "float u = t * t;"), ("6.0f", "u * u * u", "float u = t * t;"),
        ("2.5f", "t * t * sqrtf(t)", ""), ("0.25f", "sqrtf(sqrtf(t))", ""), ("8.0f", "u * u", "float u = t * t;\nu = u * u;"),
        ("3.5f", "t * t * t * sqrtf(t)", "")])
    form = rng.choice(["P", "C * P", "P * y[i]", "y[i] - P", "P + C", "y[i] + C * P", "alpha * P"]).replace("C", constant(rng))
    both = form + x
    shapes = {n: "n" for n in "xy" if f"{n}[" in both}
    parameters = ", ".join([f"const float* {n}" for n in shapes] + (["float alpha"] if "alpha" in both else []))
    bare = x[1:-1] if x[0] == "(" else x
    total = rng.random() < 0.35
    if total:
        return draw(rng, "powers", ["strength-reduction"], f"""
            float NAME({parameters}, int n) {{
            float s = 0.0f;
            for (int i = 0; i < n; i++) {{
            s += {form.replace("P", f"powf({bare}, {exponent})")};
            }}
            return s;
            }}""", f"""
            float NAME({parameters}, int n) {{
            float s = 0.0f;
            for (int i = 0; i < n; i++) {{
            float t = {bare};
            {helper}
            s += {form.replace("P", fast)};
            }}
            return s;
            }}""", shapes, CHECK, [rng.randrange(2000, 9000), 4096], restricted=0, fixed=["u"])
    return draw(rng, "powers", ["strength-reduction"], f"""
        void NAME({parameters}, float* out, int n) {{
        for (int i = 0; i < n; i++) {{
        out[i] = {form.replace("P", f"powf({bare}, {exponent})")};
        }}
        }}""", f"""
        void NAME({parameters}, float* out, int n) {{
        for (int i = 0; i < n; i++) {{
        float t = {bare};
        {helper}
        out[i] = {form.replace("P", fast)};
        }}
        }}""", {**shapes, "out": "n"}, CHECK, [rng.randrange(2000, 9000), 4096], fixed=["u"])


@family("geometric_weights")
def geometric_weights(rng):
    """powf(q, i) follows from the one before it."""
    form = rng.choice(["x[i] * P", "x[i] * x[i] * P", "(x[i] - y[i]) * P", "x[i] * y[i] * P", "P * fabsf(x[i] - C)", "(C + x[i]) * P",
                       "P + x[i]", "x[i] * (1.0f - P)"]).replace("C", constant(rng))
    q = rng.choice(["alpha", "alpha", "0.9f", "0.99f", "0.97f"])
    offset = rng.choice(["", "", " + 1"])
    power = rng.choice([f"powf({q}, i{offset})", f"powf({q}, (float)i)" if not offset else f"powf({q}, (float)(i + 1))"])
    start = q if offset else rng.choice(["1.0f", "1.0f"])
    y = ", const float* y" if "y[" in form else ""
    tail = (", float alpha" if q == "alpha" else "")
    shapes = {"x": "n", **({"y": "n"} if y else {})}
    sizes = [rng.randrange(1000, 4000), 2048]
    if rng.random() < 0.5:
        return draw(rng, "geometric_weights", ["strength-reduction"], f"""
            float NAME(const float* x{y}{tail}, int n) {{
            float s = 0.0f;
            for (int i = 0; i < n; i++) {{
            s += {form.replace("P", power)};
            }}
            return s;
            }}""", f"""
            float NAME(const float* x{y}{tail}, int n) {{
            float s = 0.0f;
            float t = {start};
            for (int i = 0; i < n; i++) {{
            s += {form.replace("P", "t")};
            t *= {q};
            }}
            return s;
            }}""", shapes, CHECK, sizes, restricted=0, fills={"alpha": "uniform(0.5, 0.99)"})
    return draw(rng, "geometric_weights", ["strength-reduction"], f"""
        void NAME(const float* x{y}, float* out{tail}, int n) {{
        for (int i = 0; i < n; i++) {{
        out[i] = {form.replace("P", power)};
        }}
        }}""", f"""
        void NAME(const float* x{y}, float* out{tail}, int n) {{
        float t = {start};
        for (int i = 0; i < n; i++) {{
        out[i] = {form.replace("P", "t")};
        t *= {q};
        }}
        }}""", {**shapes, "out": "n"}, CHECK, sizes, fills={"alpha": "uniform(0.5, 0.99)"})


@family("rotations")
def rotations(rng):
    """Sines and cosines of multiples of an angle, by turning a vector."""
    form = rng.choice(["x[i] * S", "x[i] * K", "x[i] * S + y[i] * K", "C * S", "x[i] + K * C", "x[i] * x[i] * K", "S * S * x[i]", "K + S * y[i]",
                       "x[i] * K - C * S"]).replace("C", constant(rng).rstrip("f"))
    form = form.replace("x[i] *", "x[i] *")
    angle = rng.choice(["w", "w", "0.01", "0.05", "0.3", "w"])
    parameters = ", ".join([f"const double* {n}" for n in "xy" if f"{n}[" in form] + (["double w"] if angle == "w" else []))
    parameters += ", " if parameters else ""
    shapes = {n: "n" for n in "xy" if f"{n}[" in form}
    slow = form.replace("S", f"sin({angle} * i)").replace("K", f"cos({angle} * i)")
    fast = form.replace("S", "p").replace("K", "q")
    total = rng.random() < 0.5 and shapes
    declare = f"double u = cos({angle});\ndouble v = sin({angle});\ndouble p = 0.0;\ndouble q = 1.0;"
    turn = "double r = p * u + q * v;\nq = q * u - p * v;\np = r;"
    out, head, place = ("", "double s = 0.0;", "s +=") if total else ("double* out, ", "", "out[i] =")
    end = "return s;" if total else ""
    kind = "double" if total else "void"
    return draw(rng, "rotations", ["strength-reduction", "algorithm"], f"""
        {kind} NAME({parameters}{out}int n) {{
        {head}
        for (int i = 0; i < n; i++) {{
        {place} {slow};
        }}
        {end}
        }}""", f"""
        {kind} NAME({parameters}{out}int n) {{
        {declare}
        {head}
        for (int i = 0; i < n; i++) {{
        {place} {fast};
        {turn}
        }}
        {end}
        }}""", {**shapes, **({} if total else {"out": "n"})}, CHECK, [rng.randrange(1000, 3000), 2048], restricted=0,
                fixed=["u", "v", "p", "q", "r", "w"])


@family("flat_index")
def flat_index(rng):
    """Row and column found by division become two loops."""
    e = Expression(rng, ["A * X", "A + X * Y", "A - Y", "A * Y + X", "X * Y", "(A - X) * Y", "A * (X + C)", "A - B * X", "fabsf(A - Y)",
                         "A * S + Y"],
                   {"A": ("a[{t}]", "a", "rows, cols"), "B": ("b[{t}]", "b", "rows, cols"), "X": ("x[{i}]", "x", "rows"),
                    "Y": ("y[{j}]", "y", "cols"), "S": ("alpha", "alpha", "")}, "tij")
    div, rem = "k / cols", "k % cols"
    locals_used = rng.random() < 0.6
    inner = f"int i = {div};\nint j = {rem};\nout[k] = {e.at('k', 'i', 'j')};" if locals_used else \
        f"out[k] = {e.at('k', div, rem)};"
    pointer = rng.random() < 0.4
    fast = "out[i * cols + j] = " + e.at("i * cols + j", "i", "j")
    before = ""
    if pointer:
        before = "float* to = out + i * cols;"
        fast = "to[j] = " + e.at("i * cols + j", "i", "j")
    return draw(rng, "flat_index", ["strength-reduction"] + ["row-pointers"] * pointer, f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int k = 0; k < rows * cols; k++) {{
        {inner}
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        {before}
        for (int j = 0; j < cols; j++) {{
        {fast};
        }}
        }}
        }}""", {**e.shapes, "out": "rows, cols"}, CHECK_2D, rng.choice(TIMED_2D))


@family("circular")
def circular(rng):
    """Remainders that wrap an index become two loops."""
    e = Expression(rng, ["X + Z", "X - Z", "X * Z", "C * X + D * Z", "fabsf(X - Z)", "X + S * Z", "W * X - Z", "(X + Z) * W", "X * X - C * Z"],
                   {"X": ("x[{i}]", "x", "n"), "Z": ("x[{j}]", "x", "n"), "W": ("w[{i}]", "w", "n"), "S": ("alpha", "alpha", "")})
    ahead = rng.choice(["1", "n / 2", "n / 3", "k"])
    step = "(i + k) % n"
    parameters = ", ".join(dict.fromkeys(e.parameters.split(", ")))
    if ahead == "k":
        extra, first = ", int k", ""
    else:
        extra, first = "", "" if ahead == "1" else f"int k = {ahead};"
        if ahead == "1":
            step = "(i + 1) % n"
    k = "1" if ahead == "1" else "k"
    scalars = {"k": None} if ahead == "k" else {}
    return draw(rng, "circular", ["strength-reduction", "branch-free"], f"""
        void NAME({parameters}, float* out, int n{extra}) {{
        {first}
        for (int i = 0; i < n; i++) {{
        out[i] = {e.at("i", step)};
        }}
        }}""", f"""
        void NAME({parameters}, float* out, int n{extra}) {{
        {first}
        for (int i = 0; i < n - {k}; i++) {{
        out[i] = {e.at("i", f"i + {k}")};
        }}
        for (int i = n - {k}; i < n; i++) {{
        out[i] = {e.at("i", f"i + {k} - n")};
        }}
        }}""", {**e.shapes, "out": "n"}, CHECK, [rng.randrange(5000, 12000), 8192], fills={"k": "uniform(0, 1)"}, scalars=scalars,
                fixed=["k"])


@family("memory_sums")
def memory_sums(rng):
    """A sum that is kept in the result's memory is kept in a register."""
    e = Expression(rng, ["A * X", "A * A", "A * Y", "fabsf(A - X)", "(A - X) * (A - X)", "A * B", "A + X", "A * X * Y", "S * A - X"],
                   {"A": ("a[{i} * cols + {j}]", "a", "rows, cols"), "B": ("b[{i} * cols + {j}]", "b", "rows, cols"),
                    "X": ("x[{j}]", "x", "cols"), "Y": ("y[{i}]", "y", "rows"), "S": ("alpha", "alpha", "")})
    start = rng.choice(["0.0f", "0.0f", "y[i]", "1.0f"])
    if "y" not in e.shapes and start == "y[i]":
        start = "alpha" if "alpha" in e.parameters else "0.0f"
    ways = rng.choice([2, 2, 4])
    shapes = {**e.shapes, "out": "rows"}
    sums = [f"s{q}" for q in range(ways)]
    fast = "\n".join(f"float {s} = {start if s == 's0' else '0.0f'};" for s in sums) + "\nint j = 0;\n" + \
        f"for (; j + {ways} <= cols; j += {ways}) {{\n" + "\n".join(f"{s} += E(i, j + {q});" for q, s in enumerate(sums)) + \
        f"\n}}\nfor (; j < cols; j++) {{\ns0 += E(i, j);\n}}\nout[i] = {' + '.join(sums)};"
    return draw(rng, "memory_sums", ["hoisting", "accumulators"], f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        out[i] = {start};
        for (int j = 0; j < cols; j++) {{
        out[i] += E(i, j);
        }}
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        {fast}
        }}
        }}""", shapes, CHECK_2D, [(120, 200), (60, 333)], {"E": e.at}, restricted=0.3)


@family("repeated_division")
def repeated_division(rng):
    """Divisions by what does not change in the inner loop become products with its reciprocal."""
    by = rng.choice(["x[i]", "(x[i] + C)", "(alpha * x[i])", "(x[i] * x[i] + 1.0f)", "sqrtf(x[i] + C)", "(x[i] + y[i])"]).replace("C", constant(rng))
    form = rng.choice(["A / D", "(A - z[j]) / D", "A / D + z[j]", "A * z[j] / D", "A / D - B / D", "fabsf(A - B) / D"])
    both = form.replace("A", "a[").replace("B", "b[") + by
    arrays = {"a": "rows, cols", "b": "rows, cols", "x": "rows", "y": "rows", "z": "cols"}
    shapes = {n: s for n, s in arrays.items() if f"{n}[" in both}
    parameters = ", ".join([f"const float* {n}" for n in shapes] + (["float alpha"] if "alpha" in by else []) + ["float* out"])
    form = form.replace("A", "a[i * cols + j]").replace("B", "b[i * cols + j]")
    slow = form.replace("D", by)
    fast = form.replace("/ D", "* t") if "b[" not in form or "fabsf" in form else "(a[i * cols + j] - b[i * cols + j]) * t"
    return draw(rng, "repeated_division", ["strength-reduction", "hoisting"], f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        for (int i = 0; i < rows; i++) {{
        out[i * cols + j] = {slow};
        }}
        }}
        }}""", f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        float t = 1.0f / {by};
        for (int j = 0; j < cols; j++) {{
        out[i * cols + j] = {fast};
        }}
        }}
        }}""", {**shapes, "out": "rows, cols"}, CHECK_2D, [(128, 100), (100, 170)], fills={"x": "uniform(0.5, 2)"})

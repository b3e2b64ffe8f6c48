"""Loops that wait for their own results, borders inside of loops, and passes that can be joined or split."""
import re

from example import family
from template import Expression, draw

CONSTANTS = "0.5f 0.25f 0.75f 0.1f 0.9f 0.8f 0.3f".split()
CHECK = [1, 3, 17, 64]
CHECK_2D = [(1, 1), (3, 5), (17, 31), (8, 64)]


@family("split_recurrence")
def split_recurrence(rng):
    """The costly part of each step needs no earlier step: a loop of its own, which becomes vector code."""
    g = rng.choice(["x[i] / (1.0f + x[i] * x[i]) / (1.0f + y[i])", "alpha / (x[i] + 1.0f) / (y[i] + C)", "x[i] / (C + x[i]) + y[i] / (C + y[i])",
                    "1.0f / (C + x[i]) - alpha / (C + y[i])", "x[i] / (y[i] + C) + y[i] / (x[i] + C)", "1.0f / (1.0f + 1.0f / (C + x[i]))",
                    "x[i] / (1.0f + y[i] / (C + x[i]))", "y[i] * (1.0f - C / (x[i] + C)) / (1.0f + y[i])"])
    g = g.replace("C", rng.choice(CONSTANTS))
    step, start = rng.choice([("s + G", "0.0f"), ("G > s ? G : s", "-1e9f"), ("G < s ? G : s", "1e9f"), ("s + G", "alpha")])
    names = [n for n in "xy" if f"{n}[" in g]
    parameters = ", ".join([f"const float* {n}" for n in names] + ["float* out"] + (["float alpha"] if "alpha" in g + start else []))
    slow = f"float t = {g};\ns = {step.replace('G', 't')};\nout[i] = s;"
    return draw(rng, "split_recurrence", ["algorithm"], f"""
        void NAME({parameters}, int n) {{
        float s = {start};
        for (int i = 0; i < n; i++) {{
        {slow}
        }}
        }}""", f"""
        void NAME({parameters}, int n) {{
        for (int i = 0; i < n; i++) {{
        out[i] = {g};
        }}
        float s = {start};
        for (int i = 0; i < n; i++) {{
        s = {step.replace("G", "out[i]")};
        out[i] = s;
        }}
        }}""", {**{n: "n" for n in names}, "out": "n"}, CHECK, [rng.randrange(4000, 9000), 8192])


@family("two_steps")
def two_steps(rng):
    """A linear recurrence, two or four steps at a time."""
    inside = rng.choice(["x[{i}]", "x[{i}] * y[{i}]", "C * x[{i}]", "x[{i}] - y[{i}]", "fabsf(x[{i}])", "x[{i}] * x[{i}]", "alpha * x[{i}]", "x[{i}] + y[{i}]"]) \
        .replace("C", rng.choice(CONSTANTS))
    at = lambda i: inside.format(i=i)
    rate = rng.choice(["r", "r", "0.5f", "0.9f", "0.75f"])
    square, cube, fourth = {"r": ("r * r", "r * r * r", "r * r * r * r"), "0.5f": ("0.25f", "0.125f", "0.0625f"),
                            "0.9f": ("0.81f", "0.729f", "0.6561f"), "0.75f": ("0.5625f", "0.421875f", "0.31640625f")}[rate]
    r = rng.choice(["r", "decay", "rate", "q"])
    names = ["x"] + (["y"] if "y[" in inside else [])
    store = rng.random() < 0.6
    parameters = ", ".join([f"const float* {n}" for n in names] + (["float* out"] if store else []) + (["float r"] if rate == "r" else []) +
                           (["float alpha"] if "alpha" in inside else []))
    kind = "void" if store else "float"
    put = (lambda i: f"out[{i}] = s;\n") if store else (lambda i: "")
    end = "" if store else "return s;"
    four = not store or rng.random() < 0.5
    if four:
        body = "".join(f"float t{q} = {at(f'i + {q}' if q else 'i')};\n" for q in range(4))
        body += f"float u1 = t1 + {rate} * t0;\nfloat u3 = t3 + {rate} * t2;\n"
        if store:
            body += f"out[i] = t0 + {rate} * s;\nout[i + 1] = u1 + r2 * s;\nout[i + 2] = t2 + {rate} * u1 + r3 * s;\n"
        body += "s = u3 + r2 * u1 + r4 * s;\n" + (put("i + 3") if store else "")
        declare = f"float r2 = {square};\n" + (f"float r3 = {cube};\n" if store else "") + f"float r4 = {fourth};\n"
        width, tail = 4, "for (; i < n; i++)"
    else:
        body = f"float t0 = {at('i')};\nfloat t1 = {at('i + 1')} + {rate} * t0;\nout[i] = t0 + {rate} * s;\ns = t1 + r2 * s;\n{put('i + 1')}"
        declare = f"float r2 = {square};\n"
        width, tail = 2, "if (i < n)"
    swap = lambda t: re.sub(r"\br\b", r, t)
    return draw(rng, "two_steps", ["algorithm", "unrolling"], swap(f"""
        {kind} NAME({parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        s = {at("i")} + {rate} * s;
        {put("i")}
        }}
        {end}
        }}"""), swap(f"""
        {kind} NAME({parameters}, int n) {{
        {declare}
        float s = 0.0f;
        int i = 0;
        for (; i + {width} <= n; i += {width}) {{
        {body}
        }}
        {tail} {{
        s = {at("i")} + {rate} * s;
        {put("i")}
        }}
        {end}
        }}"""), {**{n: "n" for n in names}, **({"out": "n"} if store else {})}, CHECK, [rng.randrange(7000, 14000), 8192],
                fills={r: "uniform(0.2, 0.9)"}, restricted=1.0 if store else 0, fixed=[r])


@family("borders")
def borders(rng):
    """Neighbours beyond the ends are treated apart, not tested for at every element."""
    left, right = "x[i - 1]", "x[i + 1]"
    edge = rng.choice(["same", "zero", "wrap"])
    before, after = {"same": ("x[0]", "x[n - 1]"), "zero": ("0.0f", "0.0f"), "wrap": ("x[n - 1]", "x[0]")}[edge]
    form = rng.choice(["C * L + M + C * R", "L + M + R", "R - L", "C * (R - L) * M", "L - 2.0f * M + R", "fabsf(M - C * (L + R))", "M * (L + R)", "L * w[i] + R",
                       "M + alpha * (L - 2.0f * M + R)", "fabsf(R - L)", "C * M - L * R", "M + alpha * (R - L) * w[i]"]).replace("C", rng.choice(CONSTANTS))

    def value(i, l, r):
        return form.replace("L", l).replace("R", r).replace("M", f"x[{i}]").replace("w[i]", f"w[{i}]")
    parameters = "const float* x" + (", const float* w" if "w[" in form else "") + ", float* out" + (", float alpha" if "alpha" in form else "")
    if edge == "zero" or rng.random() < 0.4:
        slow = f"float l = i > 0 ? {left} : {before};\nfloat r = i + 1 < n ? {right} : {after};\nout[i] = {value('i', 'l', 'r')};"
    elif edge == "same":
        slow = (f"int l = i > 0 ? i - 1 : 0;\nint r = i < n - 1 ? i + 1 : n - 1;\nout[i] = {value('i', 'x[l]', 'x[r]')};")
    else:
        slow = f"out[i] = {value('i', 'x[(i + n - 1) % n]', 'x[(i + 1) % n]')};"
    return draw(rng, "borders", ["branch-free", "hoisting"], f"""
        void NAME({parameters}, int n) {{
        for (int i = 0; i < n; i++) {{
        {slow}
        }}
        }}""", f"""
        void NAME({parameters}, int n) {{
        if (n == 1) {{
        out[0] = {value("0", before, after)};
        return;
        }}
        out[0] = {value("0", before, "x[1]")};
        for (int i = 1; i < n - 1; i++) {{
        out[i] = {value("i", left, right)};
        }}
        out[n - 1] = {value("n - 1", "x[n - 2]", after)};
        }}""", {"x": "n", "out": "n", **({"w": "n"} if "w[" in form else {})}, CHECK,
                [rng.randrange(12000, 25000), 16384], fixed=["l", "r"], restricted=0.5)


@family("cross_stencil")
def cross_stencil(rng):
    """Sums over neighbours in a plane with a frame, walked along rows."""
    terms = rng.choice(["N + S - 2.0f * M", "C * M + D * (N + S)", "W + E + N", "fabsf(E - W) + fabsf(S - N)", "(E - W) * (E - W) + (S - N) * (S - N)",
                        "M * (N + W)", "N - S + E - W", "M + alpha * (E - W)", "C * (N + M + S)", "D * (U + V) + C * M", "U - V", "fabsf(U - M) + fabsf(V - M)"])
    terms = terms.replace("C", rng.choice(CONSTANTS)).replace("D", rng.choice(CONSTANTS))
    offsets = {"N": (-1, 0), "S": (1, 0), "W": (0, -1), "E": (0, 1), "M": (0, 0), "U": (-1, -1), "V": (1, 1)}
    sign = lambda d: "" if d == 0 else (" + 1" if d > 0 else " - 1")

    def slow(match):
        di, dj = offsets[match[0]]
        row = f"(i{sign(di)})" if di else "i"
        return f"a[{row} * cols + j{sign(dj)}]"

    def fast(match):
        di, dj = offsets[match[0]]
        return f"{ {-1: 'p', 0: 'q', 1: 'r'}[di]}[j{sign(dj)}]".strip()
    letters = r"\b[NSWEMUV]\b"
    s, f = re.sub(letters, slow, terms), re.sub(letters, fast, terms)
    used = [p for p in "pqr" if f"{p}[" in f]
    rows = {"p": "const float* p = a + (i - 1) * cols;", "q": "const float* q = a + i * cols;", "r": "const float* r = a + (i + 1) * cols;"}
    pointers = rng.random() < 0.6
    parameters = "const float* a, float* out" + (", float alpha" if "alpha" in terms else "")
    declare = "\n".join(rows[p] for p in used) + "\nfloat* to = out + i * cols;" if pointers else ""
    place = f"to[j] = {f};" if pointers else f"out[i * cols + j] = {s};"
    # The frame is given, so that all of the result is written: it keeps what was there.
    return draw(rng, "cross_stencil", ["interchange"] + ["row-pointers"] * pointers, f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int j = 1; j < cols - 1; j++) {{
        for (int i = 1; i < rows - 1; i++) {{
        out[i * cols + j] = {s};
        }}
        }}
        }}""", f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int i = 1; i < rows - 1; i++) {{
        {declare}
        for (int j = 1; j < cols - 1; j++) {{
        {place}
        }}
        }}
        }}""", {"a": "rows, cols", "out": "rows, cols"}, CHECK_2D, rng.choice([[(200, 160), (150, 250)], [(128, 128), (300, 100)]]),
                inout=("out",), fixed=["p", "q", "r", "to"], restricted=0.6)


@family("chosen_values")
def chosen_values(rng):
    """Two or three cases of an element by element map without a branch."""
    low, high = sorted(rng.sample(["0.2f", "0.3f", "0.5f", "0.6f", "0.8f"], 2))
    u, v, w = rng.sample(["x[i] * x[i]", "alpha * x[i]", "x[i] - y[i]", "y[i]", "x[i] + y[i]", "0.5f * y[i]", "0.0f", "1.0f", "x[i]", "alpha", "x[i] * y[i]"], 3)
    case = rng.choice(["two", "two", "three", "guard"])
    if case == "two":
        test = rng.choice([f"x[i] < {low}", "x[i] < y[i]", f"x[i] + y[i] > {high}", "x[i] > alpha"])
        slow = f"if ({test}) {{\ns += {u};\n}} else {{\ns -= {v};\n}}"
        value = f"{test} ? {u} : -({v})" if " " in v else f"{test} ? {u} : -{v}"
    elif case == "three":
        test = ""
        slow = f"if (x[i] < {low}) {{\ns += {u};\n}} else if (x[i] > {high}) {{\ns += {v};\n}} else {{\ns += {w};\n}}"
        value = f"x[i] < {low} ? {u} : x[i] > {high} ? {v} : {w}"
    else:
        test = rng.choice([f"x[i] < {low} || x[i] > {high}", f"x[i] > {low} && y[i] < {high}"])
        slow = f"if ({test}) {{\ns += {u};\n}}"
        joined = test.replace("||", "|").replace("&&", "&").split(" | " if "||" in test else " & ")
        value = f"({joined[0]}) {'|' if '||' in test else '&'} ({joined[1]}) ? {u} : 0.0f"
    lanes = rng.choice([32, 64])
    both = slow + value
    names = [n for n in "xy" if f"{n}[" in both]
    parameters = ", ".join([f"const float* {n}" for n in names] + (["float alpha"] if "alpha" in both else []))
    lane = value.replace("[i]", "[i + k]")
    return draw(rng, "chosen_values", ["branch-free", "accumulators"], f"""
        float NAME({parameters}, int n) {{
        float s = 0.0f;
        for (int i = 0; i < n; i++) {{
        {slow}
        }}
        return s;
        }}""", f"""
        float NAME({parameters}, int n) {{
        float s[{lanes}] = {{0}};
        int i = 0;
        for (; i + {lanes} <= n; i += {lanes}) {{
        for (int k = 0; k < {lanes}; k++) {{
        s[k] += {lane};
        }}
        }}
        for (; i < n; i++) {{
        s[0] += {value};
        }}
        for (int k = 1; k < {lanes}; k++) {{
        s[0] += s[k];
        }}
        return s[0];
        }}""", {n: "n" for n in names}, [1, 3, 17, 64, 101], [rng.randrange(8000, 15000), 8192], restricted=0)


@family("scaled_rows")
def scaled_rows(rng):
    """Rows divided by a norm of their own: one division a row."""
    norm, last = rng.choice([("s += A * A;", "sqrtf(s)"), ("s += fabsf(A);", "s"), ("s += A * A;", "(s + C)"), ("s += A * X;", "s"), ("s += A;", "(s / cols)"),
                             ("s += A * A * X;", "sqrtf(s)"), ("s += fabsf(A - X);", "(1.0f + s)")])
    last = last.replace("C", rng.choice(CONSTANTS))
    form = rng.choice(["A / D", "A * X / D", "(A - X) / D", "alpha * A / D", "A * A / D"])
    a, x = "a[i * cols + j]", "x[j]"
    fill = lambda t: t.replace("A", a).replace("X", x)
    fast_form = form.replace(" / D", " * g").replace("alpha * A * g", "A * g")
    declare = f"float g = {'alpha' if 'alpha' in form else '1.0f'} / {last};"
    parameters = "const float* a" + (", const float* x" if "X" in norm + form else "") + ", float* out" + (", float alpha" if "alpha" in form else "")
    value = fill(norm)[len("s += "):-1]
    reduce = (f"float s0 = 0.0f;\nfloat s1 = 0.0f;\nint j = 0;\nfor (; j + 2 <= cols; j += 2) {{\ns0 += {value};\ns1 += {value.replace('+ j]', '+ j + 1]').replace('[j]', '[j + 1]')};\n}}\n"
              f"if (j < cols) {{\ns0 += {value};\n}}\nfloat s = s0 + s1;")
    return draw(rng, "scaled_rows", ["strength-reduction", "accumulators"], f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        float s = 0.0f;
        for (int j = 0; j < cols; j++) {{
        {fill(norm)}
        }}
        for (int j = 0; j < cols; j++) {{
        out[i * cols + j] = {fill(form).replace("D", last)};
        }}
        }}
        }}""", f"""
        void NAME({parameters}, int rows, int cols) {{
        for (int i = 0; i < rows; i++) {{
        {reduce}
        {declare}
        for (int j = 0; j < cols; j++) {{
        out[i * cols + j] = {fill(fast_form)};
        }}
        }}
        }}""", {"a": "rows, cols", "out": "rows, cols", **({"x": "cols"} if "x[" in parameters or "float* x" in parameters else {})}, CHECK_2D,
                [(60, 200), (100, 128)], fills={"a": "uniform(0.1, 1)"}, fixed=["g"], restricted=0.5)


@family("packed_values")
def packed_values(rng):
    """Records taken apart column by column, or put together, in one pass over the records."""
    parts = rng.choice([3, 4, 5])
    out_names = rng.choice([["p", "q", "r", "s", "t"], ["c0", "c1", "c2", "c3", "c4"], ["u", "v", "w", "y", "z"]])[:parts]
    form = rng.choice(["{a}", "C * {a}", "{a} * x[{i}]", "{a} - alpha", "{a} * {a}", "{a} + x[{i}]", "fabsf({a} - x[{i}])"]).replace("C", rng.choice(CONSTANTS))
    parameters = "const float* a" + (", const float* x" if "x[" in form else "") + ", float* sums" + (", float alpha" if "alpha" in form else "")
    # A sum for each field: fields go side by side.
    locals_ = "\n".join(f"float {n} = 0.0f;" for n in out_names)
    adds = "\n".join(f"{n} += {form.format(a=f'a[{parts} * i + {q}]' if q else f'a[{parts} * i]', i='i')};" for q, n in enumerate(out_names))
    stores = "\n".join(f"sums[{q}] = {n};" for q, n in enumerate(out_names))
    return draw(rng, "packed_values", ["accumulators", "fewer-passes"], f"""
        void NAME({parameters}, int n) {{
        for (int k = 0; k < {parts}; k++) {{
        sums[k] = 0.0f;
        for (int i = 0; i < n; i++) {{
        sums[k] += {form.format(a=f"a[{parts} * i + k]", i="i")};
        }}
        }}
        }}""", f"""
        void NAME({parameters}, int n) {{
        {locals_}
        for (int i = 0; i < n; i++) {{
        {adds}
        }}
        {stores}
        }}""", {"a": f"{parts} * n", "sums": str(parts), **({"x": "n"} if "x[" in form else {})}, CHECK, [rng.randrange(3000, 6000), 4096],
                fixed=[*out_names, "sums"], restricted=0)


@family("substitution")
def substitution(rng):
    """Triangular recurrences: each result is taken off all later sums at once, along a row of the turned matrix."""
    unit = rng.random() < 0.4
    form = rng.choice(["a[j * n + i] * out[j]", "a[j * n + i] * out[j] * w[j]", "C * a[j * n + i] * out[j]", "a[j * n + i] * (out[j] + w[j])"]) \
        .replace("C", rng.choice(["0.5f", "0.25f"]))
    divide = "" if unit else rng.choice([" / d[i]", " * d[i]"])
    sign = rng.choice("-+")
    parameters = "const float* a, const float* b" + (", const float* d" if divide else "") + (", const float* w" if "w[" in form else "") + ", float* out"
    # Row j of a holds what result j contributes to results i > j.
    scatter = form.replace("[j * n + i]", "[i * n + j]").replace("out[j]", "t").replace("w[j]", "w[i]")
    shapes = {"a": "n, n", "b": "n", "out": "n", **({"d": "n"} if divide else {}), **({"w": "n"} if "w[" in form else {})}
    return draw(rng, "substitution", ["interchange"], f"""
        void NAME({parameters}, int n) {{
        for (int i = 0; i < n; i++) {{
        float s = b[i];
        for (int j = 0; j < i; j++) {{
        s {sign}= {form};
        }}
        out[i] = s{divide};
        }}
        }}""", f"""
        void NAME({parameters}, int n) {{
        for (int i = 0; i < n; i++) {{
        out[i] = b[i];
        }}
        for (int i = 0; i < n; i++) {{
        float t = out[i]{divide};
        out[i] = t;
        for (int j = i + 1; j < n; j++) {{
        out[j] {sign}= {scatter};
        }}
        }}
        }}""", shapes, CHECK, [rng.randrange(120, 200), 160], fills={"a": "uniform(-0.01, 0.01)", "d": "uniform(0.5, 1.5)"}, restricted=0.8,
                fixed=["b", "d"])

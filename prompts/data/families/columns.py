"""Walks down columns and across planes, turned into walks along rows."""
from example import family
from template import Expression, draw

MATRIX = {"A": ("a[({i}) * cols + {j}]", "a", "rows, cols"), "B": ("b[({i}) * cols + {j}]", "b", "rows, cols"),
          "X": ("x[{i}]", "x", "rows"), "Y": ("y[{j}]", "y", "cols"), "S": ("alpha", "alpha", "")}
CHECK = [(1, 1), (3, 5), (17, 31), (64, 33)]
TIMED = [[(200, 160), (150, 250)], [(128, 128), (300, 100)], [(256, 120), (90, 330)]]


@family("column_sums")
def column_sums(rng):
    e = Expression(rng, ["fabsf(A)", "A * A", "A * B", "A * X", "A + B", "fabsf(A - B)", "(A - Y) * (A - Y)",
                         "X * A * A", "A * X + B", "A * (B + C)", "S * A + B", "(A - S) * X"], MATRIX)
    last = rng.choice(["s", "s", "s / rows", "s * C", "sqrtf(s)", "1.0f / (1.0f + s)"]).replace("C", "0.5f")
    way = rng.choice(["rows", "rows", "first", "pairs", "pointer"])
    after = "" if last == "s" else f"for (int j = 0; j < cols; j++) {{\nout[j] = {last.replace('s', 'out[j]', 1) if last[0] == 's' and last[1] != 'q' else last.replace('(s)', '(out[j])').replace('+ s)', '+ out[j])')};\n}}"
    zero = "for (int j = 0; j < cols; j++) {\nout[j] = 0.0f;\n}\n"
    body = {"rows": zero + "for (int i = 0; i < rows; i++) {\nfor (int j = 0; j < cols; j++) {\nout[j] += E(i, j);\n}\n}",
            "first": "for (int j = 0; j < cols; j++) {\nout[j] = E(0, j);\n}\nfor (int i = 1; i < rows; i++) {\n"
                     "for (int j = 0; j < cols; j++) {\nout[j] += E(i, j);\n}\n}",
            "pairs": zero + "int i = 0;\nfor (; i + 2 <= rows; i += 2) {\nfor (int j = 0; j < cols; j++) {\n"
                     "out[j] += E(i, j) + E(i + 1, j);\n}\n}\nif (i < rows) {\n"
                     "for (int j = 0; j < cols; j++) {\nout[j] += E(i, j);\n}\n}",
            "pointer": zero + "for (int i = 0; i < rows; i++) {\nconst float* row = a + i * cols;\n"
                       "for (int j = 0; j < cols; j++) {\nout[j] += P;\n}\n}"}[way]
    holes = {"E": e.at, "P": e.at("i", "j").replace("a[(i) * cols + j]", "row[j]")}
    tags = {"pairs": ["unrolling"], "pointer": ["row-pointers"]}.get(way, [])
    return draw(rng, "column_sums", ["interchange"] + tags, f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        float s = 0.0f;
        for (int i = 0; i < rows; i++) {{
        s += E(i, j);
        }}
        out[j] = {last};
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        {body}
        {after}
        }}""", {**e.shapes, "out": "cols"}, CHECK, rng.choice(TIMED), holes)


@family("column_extremes")
def column_extremes(rng):
    e = Expression(rng, ["fabsf(A)", "A * X", "A - B", "A + B", "fabsf(A - B)", "A * B", "A + X", "A * A", "A - X * Y",
                         "S * A - B", "fabsf(A - S)"], MATRIX)
    sign = rng.choice("<>")
    scale = rng.choice(["", "", " * 0.5f", " + 1.0f"])
    begin = rng.random() < 0.5
    if begin:
        start, first = "E(0, j)", "1"
    else:
        start, first = ("-1e30f" if sign == ">" else "1e30f"), "0"
    select = rng.choice([f"float t = E(i, j);\nif (t {sign} m) {{\nm = t;\n}}", f"m = f{'max' if sign == '>' else 'min'}f(m, E(i, j));",
                         f"if (E(i, j) {sign} m) {{\nm = E(i, j);\n}}"])
    after = f"for (int j = 0; j < cols; j++) {{\nout[j] = out[j]{scale};\n}}" if scale else ""
    return draw(rng, "column_extremes", ["interchange", "branch-free"], f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        float m = {start};
        for (int i = {first}; i < rows; i++) {{
        {select}
        }}
        out[j] = m{scale};
        }}
        }}""", f"""
        void NAME({e.parameters}, float* out, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        out[j] = {start};
        }}
        for (int i = {first}; i < rows; i++) {{
        for (int j = 0; j < cols; j++) {{
        float t = E(i, j);
        out[j] = t {sign} out[j] ? t : out[j];
        }}
        }}
        {after}
        }}""", {**e.shapes, "out": "cols"}, CHECK, rng.choice(TIMED), {"E": e.at}, restricted=0.6)


@family("column_flags")
def column_flags(rng):
    e = Expression(rng, ["A < C", "fabsf(A) > C", "A < B", "A > X && A < X + C", "A * B < C", "A != B", "A < S",
                         "A + B > S", "A > Y"], MATRIX)
    every = rng.random() < 0.4
    kind = rng.choice(["int", "int", "unsigned char"])
    flag = e.at("i", "j")
    if "&&" in flag:
        flag = "(" + flag.replace(" && ", ") & (") + ")"
    return draw(rng, "column_flags", ["interchange", "branch-free"], f"""
        void NAME({e.parameters}, {kind}* out, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        {kind} t = {int(every)};
        for (int i = 0; i < rows; i++) {{
        if ({"!(E(i, j))" if every else "E(i, j)"}) {{
        t = {int(not every)};
        }}
        }}
        out[j] = t;
        }}
        }}""", f"""
        void NAME({e.parameters}, {kind}* out, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        out[j] = {int(every)};
        }}
        for (int i = 0; i < rows; i++) {{
        for (int j = 0; j < cols; j++) {{
        out[j] {"&" if every else "|"}= F;
        }}
        }}
        }}""", {**e.shapes, "out": "cols"}, CHECK, rng.choice(TIMED), {"E": e.at, "F": flag},
                fills={name: rng.choice(["uniform(0, 1)", "uniform(-1, 1)"]) for name in e.shapes}, restricted=0.8)


@family("column_decay")
def column_decay(rng):
    """A recurrence down each column; its end, or all of it."""
    e = Expression(rng, ["A", "A * X", "A - B", "A + Y", "A * B", "X - A", "C * A", "A * Y"], MATRIX)
    c = rng.choice(["0.9f", "0.5f", "0.75f", "0.95f", "-0.5f", "alpha", "alpha"])
    step = rng.choice([f"s * {c} + E(i, j)", f"{c} * (s + E(i, j))", f"s + {c} * (E(i, j) - s)", f"E(i, j) - {c} * s"])
    rate = ", float alpha" if c == "alpha" else ""
    ends = rng.random() < 0.6
    signature = f"void NAME({e.parameters}, float* out{rate}, int rows, int cols) {{"
    start = rng.choice(["0.0f", "0.0f", "E(0, j)"])
    first = 1 if start[0] == "E" else 0
    if ends:
        return draw(rng, "column_decay", ["interchange"], f"""
            {signature}
            for (int j = 0; j < cols; j++) {{
            float s = {start};
            for (int i = {first}; i < rows; i++) {{
            s = {step};
            }}
            out[j] = s;
            }}
            }}""", f"""
            {signature}
            for (int j = 0; j < cols; j++) {{
            out[j] = {start};
            }}
            for (int i = {first}; i < rows; i++) {{
            for (int j = 0; j < cols; j++) {{
            out[j] = {step.replace("s + ", "out[j] + ").replace("s *", "out[j] *").replace("* s", "* out[j]").replace("- s", "- out[j]")};
            }}
            }}
            }}""", {**e.shapes, "out": "cols"}, CHECK, rng.choice(TIMED), {"E": e.at})
    old = "prev[j]"
    follow = step.replace("s + ", f"{old} + ").replace("s *", f"{old} *").replace("* s", f"* {old}").replace("- s", f"- {old}")
    start = "E(0, j)"
    return draw(rng, "column_decay", ["interchange", "row-pointers"], f"""
        {signature}
        for (int j = 0; j < cols; j++) {{
        float s = {start};
        out[j] = s;
        for (int i = 1; i < rows; i++) {{
        s = {step};
        out[i * cols + j] = s;
        }}
        }}
        }}""", f"""
        {signature}
        for (int j = 0; j < cols; j++) {{
        out[j] = {start};
        }}
        for (int i = 1; i < rows; i++) {{
        const float* prev = out + (i - 1) * cols;
        for (int j = 0; j < cols; j++) {{
        out[i * cols + j] = {follow};
        }}
        }}
        }}""", {**e.shapes, "out": "rows, cols"}, CHECK, rng.choice(TIMED), {"E": e.at},
                restricted=0)


@family("column_two_results")
def column_two_results(rng):
    """Two results of each column: extremes, sums, weights."""
    e = Expression(rng, ["A", "A * X", "A - B", "fabsf(A)", "A + Y", "A * B"], MATRIX)
    ops = {"max": ("E(0, j)", "t > {0} ? t : {0}"), "min": ("E(0, j)", "t < {0} ? t : {0}"),
           "sum": ("E(0, j)", "{0} + t"), "squares": ("E(0, j) * E(0, j)", "{0} + t * t")}
    first, second = rng.choice([("min", "max"), ("max", "min"), ("sum", "max"), ("squares", "min"), ("max", "squares"),
                                ("sum", "min"), ("squares", "max")])
    names = {"max": "hi", "min": "lo", "sum": "sums", "squares": "power"}
    u, v = names[first], names[second]
    def update(op, old):
        if op in ("sum", "squares"):
            return f"{old} += {'t' if op == 'sum' else 't * t'};"
        return f"{old} = " + ops[op][1].format(old) + ";"
    def slow(op, old):
        return update(op, old) if op in ("sum", "squares") else f"if (t {'>' if op == 'max' else '<'} {old}) {{\n{old} = t;\n}}"
    return draw(rng, "column_two_results", ["interchange", "fewer-passes"], f"""
        void NAME({e.parameters}, float* {u}, float* {v}, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        float s = {ops[first][0]};
        float m = {ops[second][0]};
        for (int i = 1; i < rows; i++) {{
        float t = E(i, j);
        {slow(first, "s")}
        {slow(second, "m")}
        }}
        {u}[j] = s;
        {v}[j] = m;
        }}
        }}""", f"""
        void NAME({e.parameters}, float* {u}, float* {v}, int rows, int cols) {{
        for (int j = 0; j < cols; j++) {{
        {u}[j] = {ops[first][0]};
        {v}[j] = {ops[second][0]};
        }}
        for (int i = 1; i < rows; i++) {{
        for (int j = 0; j < cols; j++) {{
        float t = E(i, j);
        {update(first, u + "[j]")}
        {update(second, v + "[j]")}
        }}
        }}
        }}""", {**e.shapes, u: "cols", v: "cols"}, CHECK, rng.choice(TIMED), {"E": e.at}, restricted=1.0)

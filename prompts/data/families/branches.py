"""Unpredictable branches become comparisons, selections and stores that always happen."""
from example import Example, family
from names import ARRAYS, COUNTERS, COUNTS, INDICES, INNER, OUTS, SIZE, array, cpp, draw, eager, inout, out, restricted, value, vary

CHECK = "[1, 2, 3, 17, 64, 100]"

@family("keep_some")
def keep_some(rng):
    """Stores every element and moves on only past those that are kept."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-1000, 1000)"), ("float", "f32", "uniform(-1000, 1000)"), ("unsigned", "u32", "uniform(0, 200)")])
    d = draw(rng, a=ARRAYS, b="b flag mask keep other", out=OUTS, n=COUNTS, i=INDICES, k="k kept w to2 c", lim="limit level threshold cut",
             f="keep_above filter compact select_values remove_small positions_of indices_where strip squeeze collect")
    test = rng.choice(["$a[$i] > $lim", "$a[$i] < $lim", "$a[$i] >= $lim", "$b[$i] != 0", "$b[$i] == 0"] + ([] if kind == "f32" else ["$a[$i] % 2 == 0", "$a[$i] % 4 < 2"]))
    place = rng.random() < 0.4 and "$a" in test
    t_out, k_out, v = ("int", "i32", "$i") if place else (t, kind, rng.choice(["$a[$i]", "$a[$i]", "$a[$i] + 1"]))
    returns = rng.random() < 0.7
    head, args = "const $t* $a, ", {d["a"]: array(kind, fill)}
    if "$b" in test:
        head, args[d["b"]] = head + "const unsigned char* $b, ", array("u8", "uniform(0, 1)")
    head, args[d["out"]] = head + f"{t_out}* $out, ", out(k_out)
    if "$lim" in test:
        head, args[d["lim"]] = head + "$t $lim, ", value(kind, "uniform(60, 140)")
    d["t"] = t
    sig = f"{'int' if returns else 'void'} $f({head}int $n) {{\n int $k = 0;\n for (int $i = 0; $i < $n; $i++) {{\n"
    tail = f"""}}
        for (int $i = $k; $i < $n; $i++) {{
            $out[$i] = 0;
        }}
        {'return $k;' if returns else ''}
    }}"""
    store = rng.choice([f"$out[$k] = {v};\n $k++;", f"$out[$k++] = {v};"])
    reference = sig + f"if ({test}) {{\n {store}\n }}\n" + tail
    rewrite = sig + f"$out[$k] = {v};\n $k += {test};\n" + tail
    return Example("keep_some", ["branch-free"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), {**args, d["n"]: SIZE}, {"check": CHECK, "timed": "[20000, 30001]"})


@family("opcodes")
def opcodes(rng):
    """Each element has its own operation: all are computed, one is selected."""
    t, kind = rng.choice([("int", "i32"), ("unsigned", "u32")])
    d = draw(rng, op="op ops code kind what", a="a x left src v", b="b y right other w", out=OUTS, n=COUNTS, i=INDICES, p="p u v1", q="q z v2",
             f="run_ops evaluate apply_codes execute interpret choose_op dispatch")
    pool = ["$p + $q", "$p - $q", "$p ^ $q", "$p & $q", "$p | $q", "2 * $p", "$q - $p", "$p * $q", "3 * $q", "$p > $q ? $p : $q", "$p < $q ? $p : $q"]
    ops = rng.sample(pool, rng.choice([3, 3, 4]))
    d["t"] = t
    head = "void $f(const unsigned char* $op, const $t* $a, const $t* $b, $t* $out, int $n) {\n for (int $i = 0; $i < $n; $i++) {\n"
    inline = lambda e: e.replace("$p", "$a[$i]").replace("$q", "$b[$i]")
    cases = "".join(f"case {k}:\n $out[$i] = {inline(e)};\n break;\n" for k, e in enumerate(ops[:-1]))
    body = f"switch ($op[$i]) {{\n{cases}default:\n $out[$i] = {inline(ops[-1])};\n }}\n"
    nested = " : ".join(f"$op[$i] == {k} ? " + (f"({e})" if "?" in e else e) for k, e in enumerate(ops[:-1])) + " : " + \
        (f"({ops[-1]})" if "?" in ops[-1] else ops[-1])
    rewrite = restricted(cpp(head + f"$t $p = $a[$i];\n $t $q = $b[$i];\n $out[$i] = {nested};\n }}\n }}", **d))
    reference = indent_cases(cpp(head + body + "}\n}", **d))
    return Example("opcodes", ["branch-free", "restrict"], reference, rewrite,
                   {d["op"]: array("u8", f"uniform(0, {len(ops) - 1})"), d["a"]: array(kind, "uniform(0, 1000)"), d["b"]: array(kind, "uniform(0, 1000)"), d["out"]: out(kind), d["n"]: SIZE},
                   {"check": CHECK, "timed": "[10000, 20001]"})


def indent_cases(code):
    """Statements of a `case` stand deeper than their label."""
    lines, inside = [], False
    for line in code.split("\n"):
        word = line.strip()
        label = word.startswith(("case ", "default:"))
        if inside and word == "}":
            inside = False
        lines.append("    " + line if inside and not label else line)
        inside = inside or label
    return "\n".join(lines)


@family("bins")
def bins(rng):
    """The bin of a value is how many bounds lie below it."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(0, 1000)"), ("float", "f32", "uniform(0, 1000)"), ("unsigned short", "u16", "uniform(0, 1000)")])
    d = draw(rng, a=ARRAYS, b="bounds edges limits steps cuts", out=OUTS, n=COUNTS, i=INDICES, k="k b c level bin", j="j q t2",
             f="bin_of grade classify levels bucket_each brackets quantiles rate_class")
    m = rng.choice([3, 4, 5, 6, 7])
    cmp = rng.choice([">=", ">"])
    d["t"] = t
    u8 = rng.random() < 0.5
    to, to_kind = ("unsigned char", "u8") if u8 else ("int", "i32")
    array_form = rng.random() < 0.5
    cuts = sorted(rng.sample(range(50, 950, 10), m))
    of = "$a[$i]"
    f32 = ".0f" if kind == "f32" else ""
    if array_form:
        head = f"void $f(const $t* $a, const $t* $b, {to}* $out, int $n) {{\n for (int $i = 0; $i < $n; $i++) {{\n"
        slow = f"int $k = 0;\n while ($k < {m} && {of} {cmp} $b[$k]) {{\n $k++;\n }}\n $out[$i] = ({to})$k;\n" if u8 else f"int $k = 0;\n while ($k < {m} && {of} {cmp} $b[$k]) {{\n $k++;\n }}\n $out[$i] = $k;\n"
        total = " + ".join(f"({of} {cmp} $b[{q}])" for q in range(m))
    else:
        head = f"void $f(const $t* $a, {to}* $out, int $n) {{\n for (int $i = 0; $i < $n; $i++) {{\n"
        less = "<" if cmp == ">=" else "<="
        slow = "".join(f"{'' if q == 0 else '} else '}if ({of} {less} {c}{f32}) {{\n $out[$i] = {q};\n" for q, c in enumerate(cuts)) + f"}} else {{\n $out[$i] = {m};\n }}\n"
        total = " + ".join(f"({of} {cmp} {c}{f32})" for c in cuts)
    parts = total.split(" + ")
    total = " + ".join(parts[:4]) + (" +\n" + " + ".join(parts[4:]) if m > 4 else "")
    store = f"$out[$i] = ({to})({total});" if u8 else f"$out[$i] = {total};"
    rewrite = restricted(cpp(head + store + "\n}\n}", **d))
    args = {d["a"]: array(kind, fill)}
    if array_form:
        args[d["b"]] = array(kind, "sorted(100, 900)", str(m))
    return Example("bins", ["branch-free", "restrict"], vary(rng, cpp(head + slow + "}\n}", **d)), rewrite, {**args, d["out"]: out(to_kind), d["n"]: SIZE},
                   {"check": CHECK, "timed": "[10000, 20001]"}, f"{d['b']} is in ascending order." if array_form else "")


@family("inside_box")
def inside_box(rng):
    """Several conditions that must all hold, computed without leaving early."""
    k = rng.choice([2, 2, 3])
    t, kind, fill = rng.choice([("int", "i32", "uniform(-1000, 1000)"), ("short", "i16", "uniform(-1000, 1000)"), ("float", "f32", "uniform(-1000, 1000)")])
    d = draw(rng, a="points xy rec data items v", n=COUNTS, i=INDICES, c=COUNTERS, out=OUTS, lo="lo low from minimum", hi="hi high upto maximum", f="count_inside in_box points_within mark_inside inside_range covered in_ring")
    separate = rng.random() < 0.5
    mark = rng.random() < 0.35
    names = rng.choice([["x", "y", "z"], ["px", "py", "pz"], ["u", "v", "w"]])[:k]
    names = [name if name not in d.values() else name + "s" for name in names]
    coordinates = [f"{name}[$i]" for name in names] if separate else [f"$a[{k} * $i" + (f" + {q}]" if q else "]") for q in range(k)]
    conditions = [c for x in coordinates for c in (f"{x} >= $lo", f"{x} < $hi")]
    if rng.random() < 0.3:
        conditions = [f"{x} > $lo" for x in coordinates] + [f"{coordinates[0]} < $hi"]
    d["t"] = t
    arrays = "".join(f"const $t* {name}, " for name in names) if separate else "const $t* $a, "
    args = {name: array(kind, fill) for name in names} if separate else {d["a"]: array(kind, fill, f"{k} * n")}
    shape = rng.choice(["and", "nested", "continue"])
    hit = "$out[$i] = 1;" if mark else "$c++;"
    if shape == "and":
        slow = f"if ({' && '.join(conditions)}) {{\n {hit}\n }}\n"
    elif shape == "nested":
        slow = "".join(f"if ({c}) {{\n" for c in conditions) + hit + "\n}" * len(conditions) + "\n"
    else:
        opposite = {">=": "<", "<": ">=", ">": "<="}
        slow = "".join(f"if ({c.rsplit(' ', 2)[0]} {opposite[c.rsplit(' ', 2)[1]]} {c.rsplit(' ', 2)[2]}) {{\n continue;\n }}\n" for c in conditions) + hit + "\n"
    fast = " & ".join(f"({c})" for c in conditions)
    if mark:
        head, begin, end, pre = f"void $f({arrays}unsigned char* $out, $t $lo, $t $hi, int $n) {{\n", "", "", "$out[$i] = 0;\n"
        args[d["out"]] = out("u8")
        fast = f"$out[$i] = {fast};\n"
    else:
        head, begin, end, pre = f"int $f({arrays}$t $lo, $t $hi, int $n) {{\n", "int $c = 0;\n", "return $c;\n", ""
        fast = f"$c += {fast};\n"
    args = {**args, d["lo"]: value(kind, "uniform(-500, -400)"), d["hi"]: value(kind, "uniform(400, 500)"), d["n"]: SIZE}
    loop = "for (int $i = 0; $i < $n; $i++) {\n%s}\n"
    rewrite = cpp(head + begin + loop % fast + end + "}", **d)
    return Example("inside_box", ["branch-free"], vary(rng, cpp(head + begin + loop % (pre + slow) + end + "}", **d)), restricted(rewrite) if mark else rewrite, args,
                   {"check": CHECK, "timed": "[10000, 20001]"})


@family("equal_records")
def equal_records(rng):
    """Records of eight bytes (or sixteen) are compared as words."""
    k = rng.choice([8, 8, 16, 4])
    d = draw(rng, a="records rows keys data entries table", key="key wanted target pattern probe", n=COUNTS, i=INDICES, j=INNER, c=COUNTERS, w="w word have x", u="u want goal y",
             same="same equal match", f="count_equal count_key find_record record_matches rows_like same_keys")
    word = {4: "uint32_t", 8: "uint64_t", 16: "uint64_t"}[k]
    size = min(k, 8)
    what = rng.choice(["count", "count", "first", "neighbours"])
    t = rng.choice(["unsigned char", "uint8_t"])
    d.update(t=t, word=word)
    other = "$a[$i * {k} + {k} + $j]".format(k=k) if what == "neighbours" else "$key[$j]"
    compare = f"bool $same = true;\n for (int $j = 0; $j < {k}; $j++) {{\n if ($a[$i * {k} + $j] != {other}) {{\n $same = false;\n {rng.choice(['', 'break;'])}\n }}\n }}\n"
    use = "if ($same) {\n return $i;\n }\n" if what == "first" else "if ($same) {\n $c++;\n }\n"
    parameters = "const $t* $a, " + ("" if what == "neighbours" else "const $t* $key, ") + "int $n"
    limit = "$n - 1" if what == "neighbours" else "$n"
    head, end = f"int $f({parameters}) {{\n" + ("" if what == "first" else "int $c = 0;\n"), "return -1;\n" if what == "first" else "return $c;\n"
    loop = f"for (int $i = 0; $i < {limit}; $i++) {{\n%s}}\n"
    if k == 16 or what == "neighbours":
        right = f"$a + {k} * ($i + 1)" if what == "neighbours" else "$key"
        test = f"memcmp($a + {k} * $i, {right}, {k}) == 0"
        body = f"if ({test}) {{\n return $i;\n }}\n" if what == "first" else f"$c += {test};\n"
        rewrite = head + loop % body + end + "}"
    else:
        body = f"$word $w;\n memcpy(&$w, $a + {k} * $i, {size});\n" + ("if ($w == $u) {\n return $i;\n }\n" if what == "first" else "$c += $w == $u;\n")
        rewrite = head + f"$word $u;\n memcpy(&$u, $key, {size});\n" + loop % body + end + "}"
    args = {d["a"]: array("u8", "uniform(0, 1)" if k < 16 else "uniform(0, 1)", f"{k} * n")}
    if what != "neighbours":
        args[d["key"]] = array("u8", "uniform(0, 1)", str(k))
    return Example("equal_records", ["wide-loads", "branch-free"], vary(rng, cpp(head + loop % (compare + use) + end + "}", **d)), cpp(rewrite, **d), {**args, d["n"]: SIZE},
                   {"check": CHECK, "timed": "[5000, 7001]"})


@family("order_pairs")
def order_pairs(rng):
    """Swaps under a condition become minima and maxima."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-1000, 1000)"), ("unsigned char", "u8", "uniform(0, 255)"), ("short", "i16", "uniform(-1000, 1000)")])
    d = draw(rng, a="a lo first x left", b="b hi second y right", n=COUNTS, i=INDICES, t2="t tmp old keep", p="p u small", q="q v large",
             f="order_pairs sort_pairs swap_if exchange_larger put_in_order sort_each lower_first")
    sign = rng.choice([">", "<"])
    width = rng.choice([2, 2, 3, 4])
    first, second = rng.choice([(0, 1), (width - 2, width - 1), (0, width - 1)])
    d["t"] = t
    x, y = (f"$a[{width} * $i + {at}]".replace(" + 0", "") for at in (first, second))
    small, large = f"$p {sign} $q ? $q : $p", f"$p {sign} $q ? $p : $q"
    head = "void $f($t* $a, int $n) {\n for (int $i = 0; $i < $n; $i++) {\n"
    slow = f"if ({x} {sign} {y}) {{\n $t $t2 = {x};\n {x} = {y};\n {y} = $t2;\n }}\n"
    fast = f"$t $p = {x};\n $t $q = {y};\n {x} = {small};\n {y} = {large};\n"
    rewrite = cpp(head + fast + "}\n}", **d)
    return Example("order_pairs", ["branch-free"], vary(rng, cpp(head + slow + "}\n}", **d)), rewrite, {d["a"]: inout(kind, fill, f"{width} * n"), d["n"]: SIZE},
                   {"check": CHECK, "timed": "[5000, 10001]"})

"""Scans of bytes and numbers: counts in bytes, ends looked for by blocks, neighbours instead of state."""
from example import Example, family
from names import (ARRAYS, BYTES, COUNTERS, COUNTS, INDICES, INNER, OUTS, SIZE, array, cpp, draw, eager, out, value, vary)

BYTE = ["unsigned char", "uint8_t"]


@family("byte_counts")
def byte_counts(rng):
    """Counts in bytes, a block at a time: more counters to a vector."""
    d = draw(rng, a=BYTES, b="other b mask second ref", c=COUNTERS, n=COUNTS, i=INDICES, j=INNER, key="key value byte target ch",
             part="part block few small", f="count_bytes count_matches tally occurrences how_many count_equal number_of")
    low, high = sorted(rng.sample(range(5, 250), 2))
    test = rng.choice(["$a[@] == $key", "$a[@] != $key", "$a[@] == $b[@]", "$a[@] > $b[@]", f"$a[@] >= {low} && $a[@] <= {high}",
                       f"$a[@] < {low} || $a[@] > {high}", "$a[@] % 2 == 1", f"($a[@] & {rng.choice([12, 96, 129, 3])}) == 0",
                       "$a[@] > $key", f"$a[@] == {low} || $a[@] == {high}", "($a[@] ^ $b[@]) > $key"])
    size = rng.choice([32, 64, 128])
    d.update(t=rng.choice(BYTE), size=size, r=rng.choice(["int", "int", "long"]))
    args, head = {d["a"]: array("u8", "uniform(0, 255)")}, "const $t* $a, "
    if "$b" in test:
        args[d["b"]], head = array("u8", "uniform(0, 255)"), head + "const $t* $b, "
    if "$key" in test:
        args[d["key"]], head = value("u8", "uniform(20, 200)"), head + "$t $key, "
    plain = test.replace("@", "$i")
    lane = eager(test.replace("@", "$i + $j"))
    skip = rng.random() < 0.3 and "&&" not in test and "||" not in test
    body = f"if (!({plain})) {{\n continue;\n }}\n $c++;" if skip else f"if ({plain}) {{\n $c++;\n }}"
    reference = cpp(f"""$r $f({head}int $n) {{
        $r $c = 0;
        for (int $i = 0; $i < $n; $i++) {{
            {body}
        }}
        return $c;
    }}""", **d)
    rewrite = cpp(f"""$r $f({head}int $n) {{
        $r $c = 0;
        int $i = 0;
        for (; $i + $size <= $n; $i += $size) {{
            unsigned char $part = 0;
            for (int $j = 0; $j < $size; $j++) {{
                $part += {lane};
            }}
            $c += $part;
        }}
        for (; $i < $n; $i++) {{
            $c += {plain};
        }}
        return $c;
    }}""", **d)
    return Example("byte_counts", ["narrow-types", "blocking"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE},
                   {"check": "[1, 3, 31, 64, 65, 255, 1000]", "timed": "[40000, 100003]"})


@family("find_place")
def find_place(rng):
    """The first place where something holds: whole blocks are passed over first."""
    t, kind, fill, lim = rng.choice([("int", "i32", "uniform(0, 100000)", 99990), ("short", "i16", "uniform(0, 30000)", 29995), ("unsigned", "u32", "uniform(0, 100000)", 99990)])
    d = draw(rng, a=ARRAYS, b="b other limit second y", n=COUNTS, i=INDICES, j=INNER, key="key target wanted limit",
             any="any found hit", f="find_first first_index position_of search locate index_of where first_place find")
    small = kind == "u8"
    test = rng.choice(["$a[@] == $key", "$a[@] > $key"] + ([f"$a[@] + $b[@] > {2 * lim - 300}", f"$a[@] - $b[@] > {lim - 500}"]
                                                        if not small and kind == "i32" else ["$a[@] >= $key"]))
    if small:
        fill = "uniform(0, 200)"
    key_fill = {"u8": "uniform(200, 201)", "i32": "uniform(99970, 99995)", "i16": "uniform(29985, 29997)",
                "u32": "uniform(99970, 99995)"}[kind]
    if "==" in test and not small:
        key_fill = "uniform(0, 1)" if kind == "i16" else "uniform(5, 500)"
    missing = rng.choice(["-1", "$n"])
    size = rng.choice([16, 32, 64])
    d.update(t=t, size=size, missing=missing)
    head, args = "const $t* $a, ", {d["a"]: array(kind, fill)}
    if "$b" in test:
        head, args[d["b"]] = head + "const $t* $b, ", array(kind, fill)
    if "$key" in test:
        args[d["key"]] = value(kind, key_fill)
    tail = "int $n, $t $key" if "$key" in test and rng.random() < 0.4 else "int $n"
    if tail == "int $n" and "$key" in test:
        head += "$t $key, "
    if "$key" in tail:
        key = args.pop(d["key"])
        args = {**args, d["n"]: SIZE, d["key"]: key}
    else:
        args[d["n"]] = SIZE
    loop = rng.choice(["for (int $i = 0; $i < $n; $i++) {\n if (%s) {\n return $i;\n }\n }\n return $missing;",
                       "int $i = 0;\n while ($i < $n) {\n if (%s) {\n return $i;\n }\n $i++;\n }\n return $missing;"])
    reference = cpp(f"int $f({head}{tail}) {{\n {loop % test.replace('@', '$i')}\n }}", **d)
    rewrite = cpp(f"""int $f({head}{tail}) {{
        int $i = 0;
        for (; $i + $size <= $n; $i += $size) {{
            int $any = 0;
            for (int $j = 0; $j < $size; $j++) {{
                $any |= {test.replace('@', '$i + $j')};
            }}
            if ($any) {{
                break;
            }}
        }}
        for (; $i < $n; $i++) {{
            if ({test.replace('@', '$i')}) {{
                return $i;
            }}
        }}
        return $missing;
    }}""", **d)
    return Example("find_place", ["blocking", "branch-free"], vary(rng, reference), rewrite, args,
                   {"check": "[1, 3, 31, 64, 65, 255, 3000]", "timed": "[40000, 30011]"})


@family("last_place")
def last_place(rng):
    """Remembers the last place where something holds, without a branch; or looks from the end."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(0, 3000)"), ("unsigned", "u32", "uniform(0, 5000)"), ("short", "i16", "uniform(-9, 3000)")])
    d = draw(rng, a=ARRAYS, b="b other mask second y", n=COUNTS, i=INDICES, key="key target wanted limit", last="last at2 found place where2",
             f="last_index find_last last_match last_position rfind latest")
    test = rng.choice(["$a[$i] == $key", "$a[$i] == $b[$i]", "$a[$i] == $key + $b[$i]", "$a[$i] % 1024 == 3"])
    head, args = "const $t* $a, ", {d["a"]: array(kind, fill)}
    if "$b" in test:
        head, args[d["b"]] = head + "const $t* $b, ", array(kind, fill)
    if "$key" in test:
        head, args[d["key"]] = head + "$t $key, ", value(kind, "uniform(0, 1500)")
    d["t"] = t
    want = rng.choice(["$last = $i;", "$last = $i + 1;"])
    none = "-1" if want == "$last = $i;" else "0"
    found = "$i" if none == "-1" else "$i + 1"
    reference = cpp(f"""int $f({head}int $n) {{
        int $last = {none};
        for (int $i = 0; $i < $n; $i++) {{
            if ({test}) {{
                {want}
            }}
        }}
        return $last;
    }}""", **d)
    loop = f"for (int $i = $n - 1; $i >= 0; $i--) {{\n if ({test}) {{\n return {found};\n }}\n }}\n return {none};"
    return Example("last_place", ["early-exit"], vary(rng, reference), cpp(f"int $f({head}int $n) {{\n {loop}\n }}", **d),
                   {**args, d["n"]: SIZE}, {"check": "[1, 2, 3, 64, 65, 1000]", "timed": "[40000, 100003]"})


@family("changes")
def changes(rng):
    """The state of a scan becomes a comparison of neighbours."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-20, 20)"), ("unsigned char", "u8", "uniform(0, 40)"), ("short", "i16", "uniform(-20, 20)"),
                                ("float", "f32", "uniform(-1, 1)")])
    d = draw(rng, a=ARRAYS, c="count c changes runs edges crossings total", n=COUNTS, i=INDICES, p="before prev old was previous",
             now="now cur is here", lim="limit level threshold cut",
             f="count_runs count_changes edges toggles switches rising_edges count_groups crossings")
    state = rng.choice(["$a[@] > $lim", "$a[@] < $lim", "$a[@] >= $lim", "$a[@]", "$a[@] == $lim"] if kind != "f32" else ["$a[@] > $lim", "$a[@] < $lim"])
    if kind not in ("f32",) and rng.random() < 0.3:
        state = rng.choice(["$a[@] % 2", "($a[@] & 4)"])
    value_state = state in ("$a[@]", "$a[@] % 2", "($a[@] & 4)")
    differs = rng.choice(["$now != $p"] + ([] if value_state else ["$p && !$now"]) + (["$now > $p", "$now < $p"] if value_state else []))
    sides = {"$now": f"({state})" if " " in state and state[0] != "(" else state, "$p": ""}
    now = sides["$now"]
    fast = differs.replace("$now", now.replace("@", "$i")).replace("$p", now.replace("@", "$i - 1")).replace("&&", "&")
    d.update(t=t, s=t if value_state else "bool")
    head, args = "const $t* $a, ", {d["a"]: array(kind, fill)}
    if "$lim" in state:
        head, args[d["lim"]] = head + "$t $lim, ", value(kind, "uniform(2, 8)" if kind != "f32" else "uniform(-0.5, 0.5)")
    first = rng.choice(["0", "1"])
    d["first"] = first
    cast = f"({t})" if value_state and " " in state and kind in ("u8", "i16") else ""
    reference = cpp(f"""int $f({head}int $n) {{
        int $c = $first;
        $s $p = {cast}{'(' if cast and state[0] != '(' else ''}{state.replace('@', '0')}{')' if cast and state[0] != '(' else ''};
        for (int $i = 1; $i < $n; $i++) {{
            $s $now = {cast}{'(' if cast and state[0] != '(' else ''}{state.replace('@', '$i')}{')' if cast and state[0] != '(' else ''};
            if ({differs}) {{
                $c++;
            }}
            $p = $now;
        }}
        return $c;
    }}""", **d)
    rewrite = cpp(f"""int $f({head}int $n) {{
        int $c = $first;
        for (int $i = 1; $i < $n; $i++) {{
            $c += {fast};
        }}
        return $c;
    }}""", **d)
    return Example("changes", ["branch-free"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE},
                   {"check": "[1, 2, 3, 17, 64, 65, 255]", "timed": "[20000, 30001]"})


@family("byte_flags")
def byte_flags(rng):
    """A set of bytes is searched for each byte: a table of 256 flags instead."""
    d = draw(rng, a=BYTES, st="set stops wanted letters marks chosen", m="m k size2 picks", n=COUNTS, i=INDICES, j=INNER, c=COUNTERS,
             out=OUTS, tab="table in flag member is lookup", hit="hit match inside same", f="count_members count_in_set mark_in_set keep_members erase_members span_of filter_bytes")
    d["t"] = t = rng.choice(BYTE)
    kind = rng.choice(["count", "count", "mark", "replace", "others"])
    search = "bool $hit = false;\n for (int $j = 0; $j < $m; $j++) {\n if ($a[$i] == $st[$j]) {\n $hit = true;\n %s}\n }\n" % rng.choice(["", "break;\n "])
    sig = f"int $f(const $t* $a, const $t* $st, int $n, int $m) {{\n" if kind in ("count", "others") else \
        f"void $f(const $t* $a, const $t* $st, $t* $out, int $n, int $m) {{\n"
    fresh = rng.choice([0, 32, 46, 63])
    slow, fast = {"count": ("if ($hit) {\n $c++;\n }", "$c += $tab[$a[$i]];"), "others": ("if (!$hit) {\n $c++;\n }", "$c += !$tab[$a[$i]];"),
                  "mark": ("$out[$i] = $hit;", "$out[$i] = $tab[$a[$i]];"),
                  "replace": (f"$out[$i] = $hit ? {fresh} : $a[$i];", f"$out[$i] = $tab[$a[$i]] ? {fresh} : $a[$i];")}[kind]
    begin, end = ("int $c = 0;\n", "return $c;\n") if sig.startswith("int") else ("", "")
    each = "for (int $i = 0; $i < $n; $i++) {\n%s\n}\n"
    make = "bool $tab[256] = {};\n for (int $j = 0; $j < $m; $j++) {\n $tab[$st[$j]] = true;\n }\n"
    args = {d["a"]: array("u8", "uniform(0, 255)"), d["st"]: array("u8", "uniform(0, 255)", "m")}
    if not sig.startswith("int"):
        args[d["out"]] = out("u8")
    return Example("byte_flags", ["tables"], vary(rng, cpp(sig + begin + each % (search + slow) + end + "}", **d)),
                   cpp(sig + make + begin + each % fast + end + "}", **d), {**args, d["n"]: SIZE, d["m"]: "{size: m}"},
                   {"check": "[{n: 1, m: 1}, {n: 17, m: 3}, {n: 300, m: 9}]", "timed": "[{n: 5000, m: 12}, {n: 4001, m: 20}]"})


@family("byte_function")
def byte_function(rng):
    """What is computed of a byte by a loop is computed once for every byte."""
    t, total = rng.choice(BYTE), rng.random() < 0.4
    d = draw(rng, a=BYTES, out=OUTS, n=COUNTS, i=INDICES, v="v x value byte", r="r y steps result w", j="j d", k="k m b g", q="q u h", tab="table lut map cost",
             s="sum total acc", f="apply transform map_bytes measure score_bytes convert evaluate digest")
    mul = rng.choice([3, 5, 7, 11])
    loop = rng.choice([
        "while ($v > 0) {\n $r += $v % 10;\n $v /= 10;\n }",
        "for (int $j = 1; $j <= $v; $j++) {\n if ($v % $j == 0) {\n $r++;\n }\n }",
        "while (($r + 1) * ($r + 1) <= $v) {\n $r++;\n }",
        f"while ($v > 1) {{\n $v = $v % 2 ? ({mul} * $v + 1) & 255 : $v / 2;\n $r++;\n if ($r == 20) {{\n break;\n }}\n }}",
        f"$r = 1;\n for (int $j = 0; $j < $v; $j++) {{\n $r = $r * {mul} % {rng.choice([251, 241, 193, 127])};\n }}",
        f"while ($v > 0) {{\n $r = ($r * {mul} + $v % 3) & 255;\n $v /= 3;\n }}",
        f"int $k = {rng.choice([36, 60, 84, 96, 180, 210])};\n while ($k != 0) {{\n int $q = $v % $k;\n $v = $k;\n $k = $q;\n }}\n $r = $v;"])
    d["t"] = t
    if total:
        head, use, begin, end = "long long $f(const $t* $a, int $n) {\n", "$s += @;", "long long $s = 0;\n", "return $s;\n"
    else:
        head, use, begin, end = "void $f(const $t* $a, $t* $out, int $n) {\n", "$out[$i] = @;", "", ""
    result = "$r" if total else "($t)$r"
    reference = cpp(head + begin + f"for (int $i = 0; $i < $n; $i++) {{\n int $v = $a[$i];\n int $r = 0;\n {loop}\n {use.replace('@', result)}\n }}\n{end}}}", **d)
    cell = "unsigned char" if not total else "int"
    rewrite = cpp(head + f"""{cell} $tab[256];
        for (int $i = 0; $i < 256; $i++) {{
            int $v = $i;
            int $r = 0;
            {loop}
            $tab[$i] = {'$r' if total else '(unsigned char)$r'};
        }}
        {begin}for (int $i = 0; $i < $n; $i++) {{
            {use.replace('@', '$tab[$a[$i]]')}
        }}
        {end}}}""", **d)
    args = {d["a"]: array("u8", "uniform(0, 255)")}
    if not total:
        args[d["out"]] = out("u8")
    return Example("byte_function", ["tables"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE},
                   {"check": "[1, 3, 17, 64, 300]", "timed": "[5000, 7001]"})


@family("byte_pairs")
def byte_pairs(rng):
    """Pairs of small numbers are counted from how often each occurs."""
    most = rng.choice([255, 255, 99, 63])
    d = draw(rng, a=ARRAYS, b="b other second y", s="pairs count total hits", n=COUNTS, i=INDICES, j=INNER, h="counts hist seen freq", v="v u value w",
             f="count_pairs equal_pairs matching_pairs pair_count pairs_with_sum", want="goal target sum2 wanted")
    kind = rng.choice(["equal", "equal", "sum", "two", "differ", "two_sum"])
    t, k = rng.choice([("unsigned char", "u8"), ("int", "i32"), ("unsigned short", "u16")])
    d.update(t=t, cells=most + 1, most=most)
    head, args = "const $t* $a, ", {d["a"]: array(k, f"uniform(0, {most})")}
    if "two" in kind:
        head, args[d["b"]] = head + "const $t* $b, ", array(k, f"uniform(0, {most})")
    if "sum" in kind:
        head, args[d["want"]] = head + "int $want, ", value("i32", f"uniform({most // 2}, {most})")
    test = {"equal": "$a[$i] == $a[$j]", "sum": "$a[$i] + $a[$j] == $want", "two": "$a[$i] == $b[$j]",
            "differ": "$a[$i] != $a[$j]", "two_sum": "$a[$i] + $b[$j] == $want"}[kind]
    begin = "0" if "two" in kind else "$i + 1"
    reference = cpp(f"""long long $f({head}int $n) {{
        long long $s = 0;
        for (int $i = 0; $i < $n; $i++) {{
            for (int $j = {begin}; $j < $n; $j++) {{
                if ({test}) {{
                    $s++;
                }}
            }}
        }}
        return $s;
    }}""", **d)
    if "two" in kind:
        use = "$s += $h[$b[$i]];" if kind == "two" else "if ($b[$i] <= $want) {\n $s += $h[$want - $b[$i]];\n }"
        body = f"""for (int $i = 0; $i < $n; $i++) {{
            $h[$a[$i]]++;
        }}
        for (int $i = 0; $i < $n; $i++) {{
            {use}
        }}"""
    else:
        use = {"equal": "$s += $h[$a[$i]];", "differ": "$s += $i - $h[$a[$i]];",
               "sum": "if ($a[$i] <= $want) {\n $s += $h[$want - $a[$i]];\n }"}[kind]
        body = f"for (int $i = 0; $i < $n; $i++) {{\n {use}\n $h[$a[$i]]++;\n }}"
    rewrite = cpp(f"long long $f({head}int $n) {{\n int $h[$cells] = {{}};\n long long $s = 0;\n {body}\n return $s;\n }}", **d)
    prose = f"All values are in 0 .. {most}." if (most, k) != (255, "u8") else ""
    if "sum" in kind:
        prose = f"All values are in 0 .. {most}, and so is {d['want']}."
    return Example("byte_pairs", ["algorithm", "tables"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE},
                   {"check": "[1, 2, 3, 17, 300]", "timed": "[600, 1001]"}, prose)


@family("byte_ranks")
def byte_ranks(rng):
    """How many are smaller (or equal, or before): from counts and their running sums."""
    most = rng.choice([255, 255, 99])
    t, k = rng.choice([("unsigned char", "u8"), ("int", "i32")])
    d = draw(rng, a=ARRAYS, out="rank out place smaller result r", n=COUNTS, i=INDICES, j=INNER, h="counts hist below freq", v="v u value w", c="c count less num",
             f="ranks count_smaller order_of places percentile occurrence_numbers count_below frequencies")
    kind = rng.choice(["<", "<=", ">", "==", "before"])
    d.update(t=t, cells=most + 1)
    test = "$a[$j] == $a[$i]" if kind == "before" else f"$a[$j] {kind} $a[$i]"
    reference = cpp(f"""void $f(const $t* $a, int* $out, int $n) {{
        for (int $i = 0; $i < $n; $i++) {{
            int $c = 0;
            for (int $j = 0; $j < {'$i' if kind == 'before' else '$n'}; $j++) {{
                if ({test}) {{
                    $c++;
                }}
            }}
            $out[$i] = $c;
        }}
    }}""", **d)
    tally = "for (int $i = 0; $i < $n; $i++) {\n $h[$a[$i]]++;\n }\n"
    if kind == "before":
        body = "int $h[$cells] = {};\n for (int $i = 0; $i < $n; $i++) {\n $out[$i] = $h[$a[$i]]++;\n }\n"
    elif kind == "==":
        body = "int $h[$cells] = {};\n" + tally + "for (int $i = 0; $i < $n; $i++) {\n $out[$i] = $h[$a[$i]];\n }\n"
    else:
        shift = {"<": "+ 1", "<=": "", ">": ""}[kind]
        cells = "$cells + 1" if kind == "<" else "$cells"
        result = {"<": "$h[$a[$i]]", "<=": "$h[$a[$i]]", ">": "$n - $h[$a[$i]]"}[kind]
        body = f"int $h[{cells}] = {{}};\n for (int $i = 0; $i < $n; $i++) {{\n $h[$a[$i] {shift}]++;\n }}\n".replace(" ]", "]") + \
            "for (int $v = 1; $v < $cells; $v++) {\n $h[$v] += $h[$v - 1];\n }\n" + f"for (int $i = 0; $i < $n; $i++) {{\n $out[$i] = {result};\n }}\n"
    return Example("byte_ranks", ["algorithm", "tables"], vary(rng, reference), cpp("void $f(const $t* $a, int* $out, int $n) {\n" + body + "}", **d),
                   {d["a"]: array(k, f"uniform(0, {most})"), d["out"]: out("i32"), d["n"]: SIZE},
                   {"check": "[1, 2, 3, 17, 300]", "timed": "[600, 1001]"}, "" if (most, k) == (255, "u8") else f"All values are in 0 .. {most}.")

"""Loops within loops that one pass can do: running results, two pointers, tables of what was seen."""
from example import Example, family
from names import ARRAYS, COUNTERS, COUNTS, INDICES, INNER, OUTS, SIZE, SUMS, array, cpp, draw, out, value, vary

NUMBERS = [("int", "i32", "int"), ("short", "i16", "int"), ("unsigned char", "u8", "int"), ("int", "i32", "long long")]
FILL = {"i32": "uniform(-1000, 1000)", "i16": "uniform(-1000, 1000)", "u8": "uniform(0, 255)", "i64": "uniform(-1000, 1000)"}
CHECK = "[1, 2, 3, 17, 64]"


@family("running_results")
def running_results(rng):
    """A result of everything before (or after) each place is carried along."""
    t, kind, _ = rng.choice(NUMBERS)
    what, start, fold, zero = rng.choice([
        ("sum", "0", "$s += $e;", True), ("max", "-1000000", "$s = $e > $s ? $e : $s;", False), ("min", "1000000", "$s = $e < $s ? $e : $s;", False),
        ("xor", "0", "$s ^= $e;", True), ("count", "0", "$s += $e > $lim;", True), ("or", "0", "$s |= $e;", True)])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, j=INNER, s="s best acc total r m", lim="limit level threshold cut",
             f=f"running_{what} {what}_so_far {what}_before {what}_after {what}_from {what}_of_rest cumulative_{what}")
    back, inclusive = rng.random() < 0.5, rng.random() < 0.6
    first, end = (("$i", "$n") if inclusive else ("$i + 1", "$n")) if back else (("0", "$i + 1") if inclusive else ("0", "$i"))
    d.update(t=t, start=start)
    e = rng.choice(["$a[@]", "$a[@]", "$a[@] * 2", "$a[@] * $a[@]", "$a[@] - 5"])
    if what == "sum" and not back and inclusive:
        e = "$a[@] * $a[@]"  # Plain prefix sums are a problem.
    slow_fold = {"max": "if ($e > $s) {\n $s = $e;\n }", "min": "if ($e < $s) {\n $s = $e;\n }",
                 "count": "if ($e > $lim) {\n $s++;\n }"}.get(what, fold)
    head, args = "const $t* $a, int* $out, ", {d["a"]: array(kind, FILL[kind]), d["out"]: out("i32")}
    if what == "count":
        head, args[d["lim"]] = head + "int $lim, ", value("i32", "uniform(10, 100)")
    reference = cpp(f"""void $f({head}int $n) {{
        for (int $i = 0; $i < $n; $i++) {{
            int $s = $start;
            for (int $j = {first}; $j < {end}; $j++) {{
                {slow_fold.replace('$e', e.replace('@', '$j'))}
            }}
            $out[$i] = $s;
        }}
    }}""", **d)
    step = fold.replace("$e", e.replace("@", "$i"))
    loop = "for (int $i = $n - 1; $i >= 0; $i--)" if back else "for (int $i = 0; $i < $n; $i++)"
    body = f"{step}\n $out[$i] = $s;" if inclusive else f"$out[$i] = $s;\n {step}"
    rewrite = cpp(f"void $f({head}int $n) {{\n int $s = $start;\n {loop} {{\n {body}\n }}\n }}", **d)
    return Example("running_results", ["algorithm"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE}, {"check": CHECK, "timed": "[500, 801]"})


@family("window_results")
def window_results(rng):
    """A window's sum moves on by one element: one comes, one goes."""
    t, kind, s = rng.choice(NUMBERS)
    what = rng.choice(["sum", "sum", "count", "xor", "mean", "square"])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, m="k w width m window span", i=INDICES, j=INNER, s=SUMS, lim="limit level threshold cut",
             f=f"window_{what} moving_{what} rolling_{what} {what}_of_each_window sliding_{what} {what}_over_span")
    e = {"sum": rng.choice(["$a[@]", "$a[@]", "$a[@] * 3"]), "count": rng.choice(["($a[@] > $lim)", "($a[@] == $lim)"]), "xor": "$a[@]", "mean": "$a[@]",
         "square": "$a[@] * $a[@]"}[what]
    plus, minus = ("^=", "^=") if what == "xor" else ("+=", "-=")
    result = "$s / $m" if what == "mean" else "$s"
    best = rng.random() < 0.3 and what != "xor"
    d.update(t=t, more=rng.choice(["largest most best top"]).split()[0])
    head = "const $t* $a, "
    args = {d["a"]: array(kind, FILL[kind], "n + k")}
    if not best:
        head, args[d["out"]] = head + "int* $out, ", out("i32")
    if what == "count":
        head, args[d["lim"]] = head + "int $lim, ", value("i32", "uniform(10, 100)")
    begin, end, use = ("", "", f"$out[$i] = {result};") if not best else (
        "int $more = -1000000000;\n", "return $more;\n", f"$more = {result} > $more ? {result} : $more;")
    sig = f"{'int' if best else 'void'} $f({head}int $n, int $m) {{\n {begin}"
    slow_fold = "if (%s) {\n $s++;\n }" % e.strip("()") if what == "count" else f"$s {plus} {e};"
    reference = cpp(sig + f"""for (int $i = 0; $i < $n; $i++) {{
            int $s = 0;
            for (int $j = 0; $j < $m; $j++) {{
                {slow_fold.replace('@', '$i + $j')}
            }}
            {use}
        }}
        {end}}}""", **d)
    rewrite = cpp(sig + f"""int $s = 0;
        for (int $j = 0; $j < $m; $j++) {{
            $s {plus} {e.replace('@', '$j')};
        }}
        for (int $i = 0; $i < $n; $i++) {{
            {use}
            $s {plus} {e.replace('@', '$i + $m')};
            $s {minus} {e.replace('@', '$i')};
        }}
        {end}}}""", **d)
    return Example("window_results", ["algorithm"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE, d["m"]: "{size: k}"},
                   {"check": "[{n: 1, k: 1}, {n: 17, k: 3}, {n: 64, k: 20}]", "timed": "[{n: 3000, k: 60}, {n: 2001, k: 100}]"})


@family("best_pair")
def best_pair(rng):
    """The best of all pairs needs only the best first partner so far."""
    t, kind, _ = rng.choice(NUMBERS)
    d = draw(rng, a=ARRAYS, n=COUNTS, i="i p k", j="j q t2 l", best="best most gain top s", low="low first held seen m",
             f="best_pair largest_rise best_trade max_gain widest_step biggest_drop best_difference peak_gain")
    # (of a pair, what is kept of the earlier one, is it the smallest, the value with it)
    pair, kept, sign, both = rng.choice([
        ("$a[$j] - $a[$i]", "$a[@]", "<", "$a[@] - $low"), ("$a[$i] - $a[$j]", "$a[@]", ">", "$low - $a[@]"),
        ("$a[$i] + $a[$j] - ($j - $i)", "$a[@] + @", ">", "$low + $a[@] - @"), ("$a[$i] + $a[$j] + $i - $j", "$a[@] + @", ">", "$low + $a[@] - @"),
        ("$a[$j] - 2 * $a[$i]", "2 * $a[@]", "<", "$a[@] - $low"), ("$a[$i] + $a[$j]", "$a[@]", ">", "$low + $a[@]"),
        ("$a[$j] * 3 - $a[$i]", "$a[@]", "<", "$a[@] * 3 - $low"), ("$i * 4 - $j * 2 + $a[$j] - $a[$i]", "$a[@] - 4 * @", "<", "$a[@] - 2 * @ - $low")])
    worst = rng.random() < 0.3
    start = "1000000000" if worst else "-1000000000"
    if worst:
        sign = "<" if sign == ">" else ">"
        if "- $low" not in both:
            sign = "<"
        else:
            sign = ">"
    compare = "<" if worst else ">"
    d.update(t=t, start=start)
    reference = cpp(f"""int $f(const $t* $a, int $n) {{
        int $best = $start;
        for (int $i = 0; $i < $n; $i++) {{
            for (int $j = $i + 1; $j < $n; $j++) {{
                if ({pair} {compare} $best) {{
                    $best = {pair};
                }}
            }}
        }}
        return $best;
    }}""", **d)
    rewrite = cpp(f"""int $f(const $t* $a, int $n) {{
        int $best = $start;
        int $low = {kept.replace('@', '0').replace(' + 0', '').replace(' - 4 * 0', '')};
        for (int $i = 1; $i < $n; $i++) {{
            int with = {both.replace('@', '$i')};
            int own = {kept.replace('@', '$i')};
            $best = with {compare} $best ? with : $best;
            $low = own {sign} $low ? own : $low;
        }}
        return $best;
    }}""", **d)
    return Example("best_pair", ["algorithm", "branch-free"], vary(rng, reference), rewrite, {d["a"]: array(kind, FILL[kind]), d["n"]: SIZE},
                   {"check": CHECK, "timed": "[700, 1001]"})


@family("best_stretch")
def best_stretch(rng):
    """The best stretch that ends here continues the best that ended before, or begins anew."""
    t, kind, _ = rng.choice([("int", "i32", 0), ("short", "i16", 0), ("int", "i32", 0)])
    d = draw(rng, a=ARRAYS, n=COUNTS, i="i p k from", j="j q t2 to", best="best most top answer", s="s sum here run",
             f="best_stretch max_segment largest_run_sum best_interval heaviest_part top_slice worst_stretch")
    e = rng.choice(["$a[@]", "$a[@] - 3", "2 * $a[@] + 1", "$a[@] + @ % 3", "($a[@] ^ 1)"])
    worst, empty = rng.random() < 0.35, rng.random() < 0.5
    compare = "<" if worst else ">"
    start = "0" if empty else ("1000000000" if worst else "-1000000000")
    d.update(t=t, start=start)
    reference = cpp(f"""int $f(const $t* $a, int $n) {{
        int $best = $start;
        for (int $i = 0; $i < $n; $i++) {{
            int $s = 0;
            for (int $j = $i; $j < $n; $j++) {{
                $s += {e.replace('@', '$j')};
                if ($s {compare} $best) {{
                    $best = $s;
                }}
            }}
        }}
        return $best;
    }}""", **d)
    restart = ">" if worst else "<"
    rewrite = cpp(f"""int $f(const $t* $a, int $n) {{
        int $best = $start;
        int $s = 0;
        for (int $i = 0; $i < $n; $i++) {{
            $s = ($s {restart} 0 ? 0 : $s) + {e.replace('@', '$i')};
            $best = $s {compare} $best ? $s : $best;
        }}
        return $best;
    }}""", **d)
    return Example("best_stretch", ["algorithm"], vary(rng, reference), rewrite, {d["a"]: array(kind, "uniform(-100, 100)"), d["n"]: SIZE},
                   {"check": CHECK, "timed": "[400, 601]"})


@family("sums_over_pairs")
def sums_over_pairs(rng):
    """A sum over pairs from running sums of one partner."""
    t, kind, _ = rng.choice(NUMBERS)
    d = draw(rng, a=ARRAYS, b="b weight other y", n=COUNTS, i="i p k", j="j q t2 l", s=SUMS, run="before sum1 run carry", f="pair_sum sum_products cross_terms weighted_pairs interaction all_pairs_sum")
    pair, more, run = rng.choice([
        ("$a[$i] * $a[$j]", "$run * $a[@]", "$a[@]"), ("($a[$j] - $a[$i])", "(long long)@ * $a[@] - $run", "$a[@]"),
        ("$a[$i] * $b[$j]", "$run * $b[@]", "$a[@]"), ("$a[$i] * ($j - $i)", None, None), ("$b[$i] * ($a[$i] + $a[$j])", None, None),
        ("($a[$i] + $a[$j])", "(long long)@ * $a[@] + $run", "$a[@]")])
    two = ""
    if more is None and "$b" in pair:
        two, run, more = "long long b2 = 0;", "$b[@] * $a[@]", "$run + b2 * $a[@]"
        after = "$run += $b[$i] * $a[$i];\n b2 += $b[$i];"
    elif more is None:
        two, more, after = "long long all = 0;", "$run", "all += $a[$i];"
    else:
        after = f"$run += {run.replace('@', '$i')};"
    head, args = "const $t* $a, ", {d["a"]: array(kind, "uniform(-100, 100)" if kind != "u8" else FILL[kind])}
    if "$b" in pair:
        head, args[d["b"]] = head + "const $t* $b, ", array(kind, "uniform(-100, 100)" if kind != "u8" else FILL[kind])
    d.update(t=t, two=two)
    reference = cpp(f"""long long $f({head}int $n) {{
        long long $s = 0;
        for (int $i = 0; $i < $n; $i++) {{
            for (int $j = $i + 1; $j < $n; $j++) {{
                $s += {pair.strip('()') if pair.count('(') == 1 and pair[0] == '(' else pair};
            }}
        }}
        return $s;
    }}""", **d)
    if "all" in two:  # Σ over later j of a[i] * (j - i): every earlier element counts once more at each step.
        body = "for (int $i = 0; $i < $n; $i++) {\n $run += all;\n $s += $run;\n all += $a[$i];\n }"
    else:
        body = f"for (int $i = 0; $i < $n; $i++) {{\n $s += {more.replace('@', '$i')};\n {after}\n }}"
    rewrite = cpp(f"long long $f({head}int $n) {{\n long long $s = 0;\n long long $run = 0;\n {two}\n {body}\n return $s;\n }}", **d)
    return Example("sums_over_pairs", ["algorithm"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE}, {"check": CHECK, "timed": "[700, 1001]"})


@family("all_but_one")
def all_but_one(rng):
    """Everything except the element itself: the whole less that element."""
    t, kind, _ = rng.choice(NUMBERS)
    op = rng.choice(["+", "^", "count", "+", "sides"])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, j=INNER, s="s rest others r", all="all total whole sum1", lim="limit level mark key",
             f="sum_of_others all_but_one leave_one_out rest_sums other_total without_self")
    e = {"+": rng.choice(["$a[@]", "$a[@] * $a[@]", "3 * $a[@]"]), "^": "$a[@]", "count": rng.choice(["($a[@] > $lim)", "($a[@] == $lim)"]), "sides": "$a[@]"}[op]
    d.update(t=t)
    head, args = "const $t* $a, int* $out, ", {d["a"]: array(kind, FILL[kind]), d["out"]: out("i32")}
    if op == "count":
        head, args[d["lim"]] = head + "int $lim, ", value("i32", "uniform(10, 100)")
    plus = "^" if op == "^" else "+"
    if op == "sides":
        fold = "if ($j < $i) {\n $s += $a[$j];\n }\n if ($j > $i) {\n $s -= $a[$j];\n }"
    else:
        fold = f"if ($j != $i) {{\n $s {plus}= {e.replace('@', '$j')};\n }}"
    reference = cpp(f"""void $f({head}int $n) {{
        for (int $i = 0; $i < $n; $i++) {{
            int $s = 0;
            for (int $j = 0; $j < $n; $j++) {{
                {fold}
            }}
            $out[$i] = $s;
        }}
    }}""", **d)
    if op == "sides":
        use = "$all -= $a[$i];\n $out[$i] = $s - $all;\n $s += $a[$i];"
        second = "int $s = 0;\n"
    else:
        use, second = f"$out[$i] = $all {'^' if op == '^' else '-'} {e.replace('@', '$i')};", ""
    rewrite = cpp(f"""void $f({head}int $n) {{
        int $all = 0;
        for (int $i = 0; $i < $n; $i++) {{
            $all {plus}= {e.replace('@', '$i')};
        }}
        {second}for (int $i = 0; $i < $n; $i++) {{
            {use}
        }}
    }}""", **d)
    return Example("all_but_one", ["algorithm"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE}, {"check": CHECK, "timed": "[500, 801]"})


@family("sorted_scans")
def sorted_scans(rng):
    """Two sorted arrays are walked through once, side by side."""
    t, kind = rng.choice([("int", "i32"), ("unsigned", "u32"), ("short", "i16"), ("long long", "i64")])
    d = draw(rng, a="a x first keys left", b="b y second values right", out=OUTS, n="n na len1 count1", m="m nb len2 count2", i="i p", j="j q", c=COUNTERS,
             f="count_common common_values matches shared_keys count_below overlap_size rank_each pairs_in_order")
    kind2 = rng.choice(["common", "below", "ranks", "ranks", "missing"])
    d.update(t=t, cmp=rng.choice(["<", "<="]))
    args = {d["a"]: array(kind, "sorted(0, 5000)"), d["b"]: array(kind, "sorted(0, 5000)", "m")}
    if kind2 in ("common", "missing"):
        reference = """int $f(const $t* $a, const $t* $b, int $n, int $m) {
            int $c = 0;
            for (int $i = 0; $i < $n; $i++) {
                bool hit = false;
                for (int $j = 0; $j < $m; $j++) {
                    if ($a[$i] == $b[$j]) {
                        hit = true;
                    }
                }
                if (%shit) {
                    $c++;
                }
            }
            return $c;
        }""" % ("!" if kind2 == "missing" else "")
        test = "$j < $m && $b[$j] == $a[$i]" if kind2 == "common" else "$j == $m || $b[$j] != $a[$i]"
        rewrite = f"""int $f(const $t* $a, const $t* $b, int $n, int $m) {{
            int $c = 0;
            int $j = 0;
            for (int $i = 0; $i < $n; $i++) {{
                while ($j < $m && $b[$j] < $a[$i]) {{
                    $j++;
                }}
                $c += {test};
            }}
            return $c;
        }}"""
    else:
        whole = kind2 == "below"
        sig = "long long $f(const $t* $a, const $t* $b, int $n, int $m) {\n long long $c = 0;\n" if whole else \
            "void $f(const $t* $a, const $t* $b, int* $out, int $n, int $m) {\n"
        inner = "for (int $j = 0; $j < $m; $j++) {\n if ($b[$j] $cmp $a[$i]) {\n $c++;\n }\n }\n"
        reference = sig + "for (int $i = 0; $i < $n; $i++) {\n" + ("" if whole else "int $c = 0;\n") + inner + ("" if whole else "$out[$i] = $c;\n") + "}\n" + \
            ("return $c;\n" if whole else "") + "}"
        rewrite = sig + "int $j = 0;\n for (int $i = 0; $i < $n; $i++) {\n while ($j < $m && $b[$j] $cmp $a[$i]) {\n $j++;\n }\n" + \
            ("$c += $j;\n" if whole else "$out[$i] = $j;\n") + "}\n" + ("return $c;\n" if whole else "") + "}"
        if not whole:
            args[d["out"]] = out("i32")
    return Example("sorted_scans", ["algorithm"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), {**args, d["n"]: SIZE, d["m"]: "{size: m}"},
                   {"check": "[{n: 1, m: 1}, {n: 17, m: 3}, {n: 64, m: 90}]", "timed": "[{n: 700, m: 700}, {n: 500, m: 1001}]"},
                   rng.choice(["Both arrays are sorted.", f"{d['a']} and {d['b']} are in ascending order."]))


@family("carried_state")
def carried_state(rng):
    """What a loop backwards finds is carried along instead."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(0, 40)"), ("unsigned char", "u8", "uniform(0, 30)"), ("short", "i16", "uniform(0, 50)")])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, j=INNER, last="last held seen now", key="key mark stop blank",
             f="fill_forward distance_back last_seen_before hold_values steps_since carry_last gap_to_previous")
    what, back = rng.choice(["value", "place", "gap"]), rng.random() < 0.3
    e = rng.choice(["$a[@] == $key", "$a[@] < $key", "$a[@] % 32 == 7"])
    none = {"value": "0", "place": "-1", "gap": "-1"}[what]
    found = {"value": "$a[$j]", "place": "$j", "gap": "$j - $i" if back else "$i - $j"}[what]
    d.update(t=t)
    head, args = "const $t* $a, int* $out, ", {d["a"]: array(kind, fill), d["out"]: out("i32")}
    if "$key" in e:
        head, args[d["key"]] = head + "$t $key, ", value(kind, "uniform(1, 2)" if "<" in e else "uniform(0, 30)")
    if e == "$a[@] < $key" or what != "value":
        pass
    elif "==" in e:
        e = "$a[@] < 2"
        head, args = "const $t* $a, int* $out, ", {k: v for k, v in args.items() if k != d["key"]}
    walk = "for (int $j = $i; $j < $n; $j++)" if back else "for (int $j = $i; $j >= 0; $j--)"
    reference = cpp(f"""void $f({head}int $n) {{
        for (int $i = 0; $i < $n; $i++) {{
            $out[$i] = {none};
            {walk} {{
                if ({e.replace('@', '$j')}) {{
                    $out[$i] = {found};
                    break;
                }}
            }}
        }}
    }}""", **d)
    loop = "for (int $i = $n - 1; $i >= 0; $i--)" if back else "for (int $i = 0; $i < $n; $i++)"
    if what == "gap":
        keep, use = "$last = $i;", "$out[$i] = $last < 0 ? -1 : " + ("$last - $i;" if back else "$i - $last;")
    else:
        keep, use = f"$last = {'$i' if what == 'place' else '$a[$i]'};", "$out[$i] = $last;"
    rewrite = cpp(f"""void $f({head}int $n) {{
        int $last = {none};
        {loop} {{
            if ({e.replace('@', '$i')}) {{
                {keep}
            }}
            {use}
        }}
    }}""", **d)
    return Example("carried_state", ["algorithm"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE}, {"check": CHECK, "timed": "[2000, 3001]"})


@family("seen_before")
def seen_before(rng):
    """Has it occurred before, and where last: remembered in a table."""
    most = rng.choice([255, 255, 499, 99])
    t, kind = ("unsigned char", "u8") if most == 255 and rng.random() < 0.6 else rng.choice([("int", "i32"), ("unsigned short", "u16")])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, j=INNER, c=COUNTERS, tab="seen last table where known", v="v u value w",
             f="mark_repeats first_occurrences previous_place repeats count_new distance_to_same new_values")
    what = rng.choice(["flag", "new", "place", "gap", "count", "count_new"])
    d.update(t=t, cells=most + 1)
    search = "for (int $j = 0; $j < $i; $j++) {\n if ($a[$j] == $a[$i]) {\n @\n }\n }\n"
    args = {d["a"]: array(kind, f"uniform(0, {most})")}
    if what.startswith("count"):
        reference = "int $f(const $t* $a, int $n) {\n int $c = 0;\n for (int $i = 0; $i < $n; $i++) {\n bool again = false;\n" + \
            search.replace("@", "again = true;") + f"if ({'!' if what == 'count_new' else ''}again) {{\n $c++;\n }}\n }}\n return $c;\n }}"
        rewrite = f"""int $f(const $t* $a, int $n) {{
            bool $tab[$cells] = {{}};
            int $c = 0;
            for (int $i = 0; $i < $n; $i++) {{
                $c += {'!' if what == 'count_new' else ''}$tab[$a[$i]];
                $tab[$a[$i]] = true;
            }}
            return $c;
        }}"""
    elif what in ("flag", "new"):
        yes, no = ("1", "0") if what == "flag" else ("0", "1")
        args[d["out"]] = out("u8")
        head = "void $f(const $t* $a, unsigned char* $out, int $n) {\n"
        reference = head + f"for (int $i = 0; $i < $n; $i++) {{\n $out[$i] = {no};\n" + search.replace("@", f"$out[$i] = {yes};") + "}\n}"
        rewrite = head + f"""bool $tab[$cells] = {{}};
            for (int $i = 0; $i < $n; $i++) {{
                $out[$i] = {'' if what == 'flag' else '!'}$tab[$a[$i]];
                $tab[$a[$i]] = true;
            }}
        }}"""
    else:
        args[d["out"]] = out("i32")
        head = "void $f(const $t* $a, int* $out, int $n) {\n"
        reference = head + "for (int $i = 0; $i < $n; $i++) {\n $out[$i] = -1;\n" + search.replace("@", "$out[$i] = " + ("$j;" if what == "place" else "$i - $j;")) + "}\n}"
        use = "$out[$i] = $tab[$a[$i]];" if what == "place" else "$out[$i] = $tab[$a[$i]] < 0 ? -1 : $i - $tab[$a[$i]];"
        rewrite = head + f"""int $tab[$cells];
            for (int $v = 0; $v < $cells; $v++) {{
                $tab[$v] = -1;
            }}
            for (int $i = 0; $i < $n; $i++) {{
                {use}
                $tab[$a[$i]] = $i;
            }}
        }}"""
    return Example("seen_before", ["tables", "algorithm"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), {**args, d["n"]: SIZE},
                   {"check": CHECK, "timed": "[700, 1001]"}, "" if kind == "u8" else f"All values are in 0 .. {most}.")


@family("number_tables")
def number_tables(rng):
    """Divisors and multiples of all numbers below n: each number marks its multiples."""
    d = draw(rng, out="out table res div r counts", n=COUNTS, i="i v x number", j="j d q k", c="c s total r2", a="a weight f1 val",
             f="divisor_counts sum_of_divisors count_factors divisor_sums mark_primes proper_divisors weigh_divisors")
    what, start, skip = rng.choice(["count", "sum", "odd", "weights", "square"]), rng.choice(["1", "2"]), rng.random() < 0.4
    add = {"count": "1", "sum": "$j", "odd": "$j % 2", "weights": "$a[$j]", "square": "$j * $j"}[what]
    d.update(start=start)
    upper = "$j < $i" if skip else "$j <= $i"
    head, args = "int* $out, ", {d["out"]: out("i32")}
    if what == "weights":
        head, args = "const int* $a, int* $out, ", {d["a"]: array("i32", "uniform(-100, 100)"), **args}
    reference = cpp(f"""void $f({head}int $n) {{
        for (int $i = 0; $i < $n; $i++) {{
            int $c = 0;
            for (int $j = $start; {upper}; $j++) {{
                if ($i % $j == 0) {{
                    $c += {add};
                }}
            }}
            $out[$i] = $c;
        }}
    }}""", **d)
    rewrite = cpp(f"""void $f({head}int $n) {{
        for (int $i = 0; $i < $n; $i++) {{
            $out[$i] = 0;
        }}
        for (int $j = $start; $j < $n; $j++) {{
            for (int $i = {'2 * $j' if skip else '$j'}; $i < $n; $i += $j) {{
                $out[$i] += {add};
            }}
        }}
    }}""", **d)
    return Example("number_tables", ["algorithm", "strength-reduction"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE},
                   {"check": CHECK, "timed": "[200, 301]"})

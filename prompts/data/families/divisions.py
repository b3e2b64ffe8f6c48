"""Divisions, remainders, powers and digits with less work."""
from example import Example, family
from names import ARRAYS, COUNTERS, COUNTS, INDICES, INNER, OUTS, SIZE, SUMS, array, cpp, draw, out, restricted, value, vary

CHECK = "[1, 2, 3, 17, 64]"


@family("flat_index_rows")
def flat_index(rng):
    """A flat index that is taken apart becomes two loops."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-100, 100)"), ("float", "f32", "uniform(-1, 1)"), ("unsigned char", "u8", "uniform(0, 255)")])
    d = draw(rng, a=ARRAYS, b="row_add offset bias u rows_of", w="w width cols stride m", h="h height rows n", out=OUTS, i="i k p idx", r="r y row i0", c="c x2 col j",
             f="add_by_row shift_cells color_grid fill_grid scale_cells offset_columns stamp_grid place_tiles")
    e = rng.choice(["$a[@] + $b[$r]", "$a[@] - $b[$c]", "$a[@] * $b[$c]", "$a[@] + $b[$r] * 2", "($r + $c) % 2 == 0 ? $a[@] : $b[$c]", "$c < $r ? $a[@] : $b[$r]", "$a[@] * $b[$r]"])
    if kind == "u8" and "?" not in e and "$b" in e:
        e = f"(unsigned char)({e})"
    d["t"] = t
    b = "$b" in e
    head = "void $f(const $t* $a, " + ("const $t* $b, " if b else "") + "$t* $out, int $h, int $w) {\n"
    taken = ("int $r = $i / $w;\n" if "$r" in e else "") + ("int $c = $i % $w;\n" if "$c" in e else "")
    inline = rng.random() < 0.4
    slow = e.replace("$r", "($i / $w)").replace("$c", "($i % $w)") if inline else e
    loop = rng.choice(["for (int $i = 0; $i < $h * $w; $i++) {\n", "for (int $i = 0; $i < $w * $h; ++$i) {\n"])
    reference = head + loop + ("" if inline else taken) + f"$out[$i] = {slow.replace('@', '$i')};\n}}\n}}"
    star = rng.random() < 0.6
    rewrite = head + f"for (int $r = 0; $r < $h; $r++) {{\n for (int $c = 0; $c < $w; $c++) {{\n $out[$r * $w + $c] = {e.replace('@', '$r * $w + $c')};\n }}\n }}\n }}"
    rewrite = cpp(rewrite, **d)
    if star:
        rewrite = restricted(rewrite)
    args = {d["a"]: array(kind, fill, "h * w")}
    if b:
        args[d["b"]] = array(kind, fill, "h + w")
    return Example("flat_index_rows", ["strength-reduction"] + (["restrict"] if star else []), vary(rng, cpp(reference, **d)), rewrite,
                   {**args, d["out"]: out(kind, "h * w"), d["h"]: "{size: h}", d["w"]: "{size: w}"},
                   {"check": "[{h: 1, w: 1}, {h: 3, w: 17}, {h: 20, w: 9}]", "timed": "[{h: 100, w: 128}, {h: 77, w: 201}]"})


@family("circular_index")
def circular_index(rng):
    """An index that wraps around: two loops without a remainder."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-100, 100)"), ("unsigned char", "u8", "uniform(0, 255)"), ("short", "i16", "uniform(-100, 100)")])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, k="k shift by offset start d", i=INDICES, s=SUMS, f="rotate turn roll rotate_left ring_shift circular_sum wrap_copy lag_product")
    what = rng.choice(["copy", "copy", "sum", "add", "backwards"])
    d["t"] = t
    args = {d["a"]: array(kind, fill)}
    e = {"copy": "$a[@]", "backwards": "$a[@]", "add": "($t)($a[$i] + $a[@])" if kind != "i32" else "$a[$i] + $a[@]", "sum": rng.choice(["$a[$i] * $a[@]", "($a[$i] > $a[@])", "($a[$i] == $a[@])"])}[what]
    if what == "backwards":
        at, one, two, split = "($i + $n - $k) % $n", "$i + $n - $k", "$i - $k", "$k"
    else:
        at, one, two, split = "($i + $k) % $n", "$i + $k", "$i + $k - $n", "$n - $k"
    if what == "sum":
        head, end, use, begin = "int $f(const $t* $a, int $n, int $k) {\n", "return $s;\n", "$s += @;", "int $s = 0;\n"
    else:
        head, end, use, begin = "void $f(const $t* $a, $t* $out, int $n, int $k) {\n", "", "$out[$i] = @;", ""
        args[d["out"]] = out(kind)
    reference = head + begin + f"for (int $i = 0; $i < $n; $i++) {{\n {use.replace('@', e.replace('@', at))}\n }}\n {end}}}"
    rewrite = head + begin + f"for (int $i = 0; $i < {split}; $i++) {{\n {use.replace('@', e.replace('@', one))}\n }}\n" + \
        f"for (int $i = {split}; $i < $n; $i++) {{\n {use.replace('@', e.replace('@', two))}\n }}\n {end}}}"
    return Example("circular_index", ["strength-reduction"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), {**args, d["n"]: SIZE, d["k"]: "{size: n / 3}"},
                   {"check": CHECK, "timed": "[10000, 20001]"}, f"{d['k']} is at least 0 and less than {d['n']}.")


@family("power_of_two_divisor")
def power_of_two_divisor(rng):
    """Division by a power of two that is known only as its exponent."""
    t, kind, one, top = rng.choice([("unsigned", "u32", "1u", 4000000000), ("uint32_t", "u32", "1u", 4000000000), ("uint64_t", "u64", "1ull", 10 ** 15),
                                    ("unsigned short", "u16", "1u", 65535)])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, k="k bits shift log e", s=SUMS, size="size block step unit", mask="mask low m",
             f="bucket_of page_numbers split_offsets quotients block_index round_down remainders slots")
    what, slow, fast = rng.choice([("quotient", "$a[$i] / $size", "$a[$i] >> $k"), ("rest", "$a[$i] % $size", "$a[$i] & $mask"),
                                   ("down", "$a[$i] - $a[$i] % $size", "$a[$i] & ~$mask"), ("both", "$a[$i] / $size + $a[$i] % $size", "($a[$i] >> $k) + ($a[$i] & $mask)"),
                                   ("is", "($a[$i] % $size == 0)", "(($a[$i] & $mask) == 0)")])
    d.update(t=t)
    total = rng.random() < 0.5 or what == "is"
    mask = f"$t $mask = ($t)(({one} << $k) - 1);\n" if "$mask" in fast else ""
    divisor = "$t $size = 1;\n " + rng.choice(["for (int $i = 0; $i < $k; $i++) {\n $size *= 2;\n }\n", "for (int $i = 0; $i < $k; $i++) {\n $size += $size;\n }\n",
                                             "for (int $i = 1; $i <= $k; $i++) {\n $size = ($t)($size * 2);\n }\n"])
    if total:
        head, begin, use, end = "uint64_t $f(const $t* $a, int $n, int $k) {\n", "uint64_t $s = 0;\n", "$s += @;", "return $s;\n"
        args = {d["a"]: array(kind, f"uniform(0, {top})")}
    else:
        head, begin, use, end = "void $f(const $t* $a, $t* $out, int $n, int $k) {\n", "", "$out[$i] = ($t)(@);" if kind == "u16" else "$out[$i] = @;", ""
        args = {d["a"]: array(kind, f"uniform(0, {top})"), d["out"]: out(kind)}
    loop = "for (int $i = 0; $i < $n; $i++) {\n%s\n}\n"
    return Example("power_of_two_divisor", ["strength-reduction", "bit-tricks"], vary(rng, cpp(head + divisor + begin + loop % use.replace("@", slow) + end + "}", **d)),
                   cpp(head + mask + begin + loop % use.replace("@", fast) + end + "}", **d), {**args, d["n"]: SIZE, d["k"]: value("i32", "uniform(1, 12)")},
                   {"check": CHECK, "timed": "[10000, 20001]"})


@family("late_remainder")
def late_remainder(rng):
    """One remainder at the end instead of one for each element."""
    t, kind, fill = rng.choice([("unsigned", "u32", "uniform(0, 4000000000)"), ("unsigned char", "u8", "uniform(0, 255)"), ("unsigned short", "u16", "uniform(0, 65535)"),
                                ("uint32_t", "u32", "uniform(0, 1000000)")])
    d = draw(rng, a=ARRAYS, b="b weight other y", n=COUNTS, i=INDICES, s="s sum h acc check", m="m mod prime base modulus", f="checksum sum_mod digest residue_sum total_mod control_sum weighted_check mod_total")
    of = rng.choice(["$a[$i]", "$a[$i]", "($i + 1) * (uint64_t)$a[$i]" if kind != "u32" else "$a[$i] / 2", "(uint64_t)$a[$i] * $b[$i]" if kind != "u32" else "$a[$i]",
                     f"{rng.choice([3, 5, 7])} * (uint64_t)$a[$i]"])
    fixed = rng.random() < 0.4
    constant = rng.choice([97, 251, 1009, 9973, 65521, 1000003])
    d.update(t=t, c=constant)
    m = "$c" if fixed else "$m"
    head, args = "unsigned $f(const $t* $a, ", {d["a"]: array(kind, fill)}
    if "$b" in of:
        head, args[d["b"]] = head + "const $t* $b, ", array(kind, fill)
    args[d["n"]] = SIZE
    head += "int $n) {\n" if fixed else "int $n, unsigned $m) {\n"
    if not fixed:
        args[d["m"]] = value("u32", "uniform(2, 100000)")
    body = rng.choice([f"$s = ($s + {of}) % {m};", f"$s += {of} % {m};\n $s %= {m};", f"$s = ($s + {of} % {m}) % {m};"])
    loop = "for (int $i = 0; $i < $n; $i++) {\n%s\n}\n"
    reference = head + "uint64_t $s = 0;\n" + loop % body + "return (unsigned)$s;\n}"
    rewrite = head + "uint64_t $s = 0;\n" + loop % f"$s += {of};" + f"return (unsigned)($s % {m});\n}}"
    return Example("late_remainder", ["strength-reduction"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), args, {"check": CHECK, "timed": "[10000, 20001]"})


@family("polynomial_hash")
def polynomial_hash(rng):
    """A hash over a chain of multiplications: several elements a step."""
    t, kind, fill = rng.choice([("unsigned char", "u8", "uniform(0, 255)"), ("unsigned", "u32", "uniform(0, 1000000)"), ("unsigned short", "u16", "uniform(0, 65535)")])
    d = draw(rng, a=ARRAYS, n=COUNTS, i=INDICES, h="h hash code digest state", f="hash_of rolling_hash text_hash digest key_of fingerprint")
    k = rng.choice([31, 33, 37, 65599, 131, 257, 1000003, 16777619])
    by = rng.choice([4, 4, 8])
    wide = rng.random() < 0.3
    r, suffix, bits = ("uint64_t", "ull", 64) if wide else (rng.choice(["unsigned", "uint32_t"]), "u", 32)
    seed = rng.choice([0, 1, 5381, 17])
    of = rng.choice(["$a[@]", "$a[@]", "$a[@] + 1", "($a[@] ^ 85)"])
    d.update(t=t, r=r)
    reference = cpp(f"""$r $f(const $t* $a, int $n) {{
        $r $h = {seed};
        for (int $i = 0; $i < $n; $i++) {{
            $h = $h * {k} + {of.replace('@', '$i')};
        }}
        return $h;
    }}""", **d)
    power = lambda e: f"{k ** e % 2 ** bits}{suffix}"
    terms = [of.replace("@", f"$i + {q}".replace(" + 0", "")) for q in range(by)]
    terms = [f"({term})" if " + 1" in term.partition("]")[2] else term for term in terms]
    parts = [f"{term} * {power(by - 1 - q)}" if q < by - 1 else term for q, term in enumerate(terms)]
    sums = " + ".join(parts)
    if by == 8:
        sums = " + ".join(parts[:4]) + " +\n" + " + ".join(parts[4:])
    rewrite = cpp(f"""$r $f(const $t* $a, int $n) {{
        $r $h = {seed};
        int $i = 0;
        for (; $i + {by} <= $n; $i += {by}) {{
            $h = $h * {power(by)} + {sums};
        }}
        for (; $i < $n; $i++) {{
            $h = $h * {k} + {of.replace('@', '$i')};
        }}
        return $h;
    }}""", **d)
    return Example("polynomial_hash", ["unrolling", "algorithm"], vary(rng, reference), rewrite, {d["a"]: array(kind, fill), d["n"]: SIZE}, {"check": "[1, 2, 3, 4, 9, 17, 64]", "timed": "[20000, 30001]"})


@family("digits")
def digits(rng):
    """Digits of numbers: comparisons, or a table of three digits at a time."""
    t, kind, top = rng.choice([("unsigned", "u32", 999999999), ("int", "i32", 999999), ("uint32_t", "u32", 999999)])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, x="x v w u", c="c digits r len2 s", tab="table three small part", k="k v2 d j",
             f="digit_counts digit_sums lengths_of_numbers decimal_lengths printed_widths cross_sums digit_totals")
    what = rng.choice(["length", "sum", "length", "special"])
    d.update(t=t)
    digit = rng.randint(1, 9)
    step = {"length": "$c++;", "sum": "$c += (int)($x % 10);", "special": f"if ($x % 10 == {digit}) {{\n $c++;\n }}"}[what]
    head = "void $f(const $t* $a, int* $out, int $n) {\n"
    reference = head + f"for (int $i = 0; $i < $n; $i++) {{\n $t $x = $a[$i];\n int $c = 0;\n while ($x > 0) {{\n {step}\n $x /= 10;\n }}\n $out[$i] = $c;\n }}\n }}"
    if what == "length":
        places = len(str(top))
        tests = [f"($x >= {10 ** p})" for p in range(places)]
        sums = " + ".join(tests[:5]) + (" +\n" + " + ".join(tests[5:]) if places > 5 else "")
        rewrite = head + f"for (int $i = 0; $i < $n; $i++) {{\n $t $x = $a[$i];\n $out[$i] = {sums};\n }}\n }}"
        tags = ["branch-free"]
    else:
        cell = "$k % 10" if what == "sum" else f"($k % 10 == {digit})"
        groups = ["$tab[$x % 1000]", "$tab[$x / 1000 % 1000]", "$tab[$x / 1000000]"][:3 if top > 999999 else 2]
        if top <= 999999:
            groups[1] = "$tab[$x / 1000]"
        rewrite = head + f"""unsigned char $tab[1000];
            $tab[0] = 0;
            for (int $k = 1; $k < 1000; $k++) {{
                $tab[$k] = (unsigned char)($tab[$k / 10] + {cell});
            }}
            for (int $i = 0; $i < $n; $i++) {{
                $t $x = $a[$i];
                $out[$i] = {' + '.join(groups)};
            }}
        }}"""
        tags = ["tables"]
    return Example("digits", tags, vary(rng, cpp(reference, **d)), cpp(rewrite, **d), {d["a"]: array(kind, f"uniform(0, {top})"), d["out"]: out("i32"), d["n"]: SIZE},
                   {"check": CHECK, "timed": "[5000, 7001]"}, f"All values are in 0 .. {top}.")


@family("whole_powers")
def powers(rng):
    """A power by squaring, not by repeated multiplication."""
    mod = rng.random() < 0.5
    d = draw(rng, a=ARRAYS, e="e exps times degree k", out=OUTS, n=COUNTS, i=INDICES, j=INNER, r="r p result power", x="x base b square", q="q left m2 rest", m="m mod p2 prime",
             f="powers raise power_each pow_mod exponentiate mod_powers compound grow")
    each = rng.random() < 0.6
    t, kind = ("uint64_t", "u64") if mod else rng.choice([("unsigned", "u32"), ("uint64_t", "u64")])
    d["t"] = t
    head, args = "void $f(const unsigned* $a, ", {d["a"]: array("u32", "uniform(1, 1000000)")}
    if each:
        head, args[d["e"]] = head + "const int* $e, ", array("i32", "uniform(0, 2000)")
    head, args[d["out"]] = head + "unsigned* $out, int $n", out("u32")
    args[d["n"]] = SIZE
    if not each:
        head, args[d["e"]] = head + ", int $e", value("i32", "uniform(500, 2000)")
    constant = rng.choice([1000003, 998244353, 65537, 10007])
    red = f" % {constant}" if mod else ""
    exponent = "$e[$i]" if each else "$e"
    body = f"for (int $j = 0; $j < {exponent}; $j++) {{\n $r = $r * $a[$i]{red};\n }}"
    store = "$out[$i] = (unsigned)$r;" if t != "unsigned" else "$out[$i] = $r;"
    reference = head + f") {{\n for (int $i = 0; $i < $n; $i++) {{\n $t $r = 1;\n {body}\n {store}\n }}\n }}"
    rewrite = head + f""") {{
        for (int $i = 0; $i < $n; $i++) {{
            $t $r = 1;
            $t $x = $a[$i]{red};
            for (int $q = {exponent}; $q > 0; $q /= 2) {{
                if ($q % 2 == 1) {{
                    $r = $r * $x{red};
                }}
                $x = $x * $x{red};
            }}
            {store}
        }}
    }}"""
    return Example("whole_powers", ["algorithm"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), args, {"check": CHECK, "timed": "[60, 81]"})


@family("repeated_steps")
def repeated_steps(rng):
    """Steps that are repeated a number of times, as one division or a closed form."""
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, j=INNER, x="x left v rest t2", c="c steps r whole s", f="split_units packages count_steps hours_of series_sum stack_sums wrap_angles trips")
    unit = rng.choice([3, 7, 12, 24, 60, 100, 365])
    what = rng.choice(["quotient", "sum", "wrap", "progression", "squares", "both"])
    t, kind, top = rng.choice([("int", "i32", 9000), ("unsigned", "u32", 9000)])
    first, step = rng.randint(1, 9), rng.randint(2, 9)
    d.update(t=t)
    slow, fast, top = {
        "quotient": (f"$t $c = 0;\n while ($x >= {unit}) {{\n $x -= {unit};\n $c++;\n }}\n $out[$i] = $c;", f"$out[$i] = $a[$i] / {unit};", unit * 100),
        "wrap": (f"while ($x >= {unit}) {{\n $x -= {unit};\n }}\n $out[$i] = $x;", f"$out[$i] = $a[$i] % {unit};", unit * 100),
        "both": (f"$t $c = 0;\n while ($x >= {unit}) {{\n $x -= {unit};\n $c++;\n }}\n $out[$i] = $c * {first} + $x;", f"$out[$i] = $a[$i] / {unit} * {first} + $a[$i] % {unit};", unit * 100),
        "sum": ("$t $c = 0;\n for ($t $j = 1; $j <= $x; $j++) {\n $c += $j;\n }\n $out[$i] = $c;", "$out[$i] = $x * ($x + 1) / 2;", 400),
        "progression": (f"$t $c = 0;\n for ($t $j = 0; $j < $x; $j++) {{\n $c += {first} + {step} * $j;\n }}\n $out[$i] = $c;",
                        f"$out[$i] = $x * {first} + {step} * ($x * ($x - 1) / 2);", 400),
        "squares": ("$t $c = 0;\n for ($t $j = 1; $j <= $x; $j++) {\n $c += $j * $j;\n }\n $out[$i] = $c;", "$out[$i] = $x * ($x + 1) * (2 * $x + 1) / 6;", 400)}[what]
    head = "void $f(const $t* $a, $t* $out, int $n) {\n for (int $i = 0; $i < $n; $i++) {\n"
    load = "$t $x = $a[$i];\n"
    return Example("repeated_steps", ["algorithm", "strength-reduction"], vary(rng, cpp(head + load + slow + "}\n}", **d)),
                   cpp(head + (load if "$x" in fast else "") + fast + "}\n}", **d), {d["a"]: array(kind, f"uniform(0, {top})"), d["out"]: out(kind), d["n"]: SIZE},
                   {"check": CHECK, "timed": "[1000, 2001]"}, "No value is negative." if t == "int" else "")


@family("divisor_known_before")
def divisor_known_before(rng):
    """Many divisions by one number: multiplications by its reciprocal, which is made once."""
    t = rng.choice(["unsigned", "uint32_t"])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, m="d divisor m unit step", inv="inv magic r reciprocal", s="c count s total", f="divide_all count_multiples quotients buckets divisible scale_down units_of multiples_of")
    what = rng.choice(["quotient", "multiples", "sum", "rest"])
    d["t"] = t
    top = 1000000 if what != "multiples" else 4000000000
    if what == "multiples":
        head, args = "int $f(const $t* $a, int $n, $t $m) {\n", {d["a"]: array("u32", f"uniform(0, {top})"), d["n"]: SIZE, d["m"]: value("u32", "uniform(2, 90)")}
        reference = head + "int $s = 0;\n for (int $i = 0; $i < $n; $i++) {\n if ($a[$i] % $m == 0) {\n $s++;\n }\n }\n return $s;\n }"
        rewrite = head + "uint64_t $inv = ~0ull / $m + 1;\n int $s = 0;\n for (int $i = 0; $i < $n; $i++) {\n $s += $a[$i] * $inv < $inv;\n }\n return $s;\n }"
    else:
        e, fast = {"quotient": ("$a[$i] / $m", "($t)($a[$i] * $inv >> 40)"), "sum": ("$a[$i] / $m", "$a[$i] * $inv >> 40"),
                   "rest": ("$a[$i] % $m", "$a[$i] - ($t)($a[$i] * $inv >> 40) * $m")}[what]
        args = {d["a"]: array("u32", f"uniform(0, {top})")}
        if what == "sum":
            head, begin, use, end = "uint64_t $f(const $t* $a, int $n, $t $m) {\n", "uint64_t $s = 0;\n", "$s += @;", "return $s;\n"
        else:
            head, begin, use, end = "void $f(const $t* $a, $t* $out, int $n, $t $m) {\n", "", "$out[$i] = @;", ""
            args[d["out"]] = out("u32")
        args = {**args, d["n"]: SIZE, d["m"]: value("u32", "uniform(2, 999)")}
        loop = "for (int $i = 0; $i < $n; $i++) {\n%s\n}\n"
        reference = head + begin + loop % use.replace("@", e) + end + "}"
        rewrite = head + "uint64_t $inv = (1ull << 40) / $m + 1;\n" + begin + loop % use.replace("@", fast) + end + "}"
    prose = f"{d['m']} is at least 2." if what == "multiples" else f"All values are in 0 .. {top}; {d['m']} is in 2 .. 999."
    return Example("divisor_known_before", ["strength-reduction", "hoisting"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), args,
                   {"check": CHECK, "timed": "[10000, 20001]"}, prose)


@family("common_divisors")
def common_divisors(rng):
    """Common divisors by Euclid's method instead of trial."""
    d = draw(rng, a="a x first v", b="b y second w", out=OUTS, n=COUNTS, i=INDICES, j=INNER, p="p u lo m", q="q t v2 r", g="g best c s", f="common_divisors gcd_each reduce_pairs shared_factor lowest_common gcd_all coprime_pairs")
    what = rng.choice(["gcd", "lcm", "coprime", "reduced"])
    t, kind = rng.choice([("int", "i32"), ("unsigned", "u32")])
    k = rng.choice(["one", "two"])
    d["t"] = t
    use = {"gcd": "$out[$i] = $g;", "lcm": "$out[$i] = $a[$i] / $g * {b};", "coprime": "$out[$i] = $g == 1;", "reduced": "$out[$i] = $a[$i] / $g;"}[what]
    if k == "two":
        head, args, second = "void $f(const $t* $a, const $t* $b, $t* $out, int $n) {\n", {d["a"]: array(kind, "uniform(1, 1000)"), d["b"]: array(kind, "uniform(1, 1000)")}, "$b[$i]"
    else:
        head, args, second = "void $f(const $t* $a, $t* $out, int $n, $t $b) {\n", {d["a"]: array(kind, "uniform(1, 1000)")}, "$b"
    args[d["out"]], args[d["n"]] = out(kind), SIZE
    if k == "one":
        args[d["b"]] = value(kind, "uniform(500, 1000)")
    use = use.replace("{b}", second)
    reference = head + f"""for (int $i = 0; $i < $n; $i++) {{
            $t $g = 1;
            for ($t $j = 2; $j <= $a[$i] && $j <= {second}; $j++) {{
                if ($a[$i] % $j == 0 && {second} % $j == 0) {{
                    $g = $j;
                }}
            }}
            {use}
        }}
    }}"""
    rewrite = head + f"""for (int $i = 0; $i < $n; $i++) {{
            $t $g = $a[$i];
            $t $p = {second};
            while ($p != 0) {{
                $t $q = $g % $p;
                $g = $p;
                $p = $q;
            }}
            {use}
        }}
    }}"""
    return Example("common_divisors", ["algorithm"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), args, {"check": CHECK, "timed": "[80, 101]"}, "All values are positive." if t == "int" else "")

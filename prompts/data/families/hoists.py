"""What the compiler cannot know: that stores leave inputs alone, that a mode stays, where memory is contiguous."""
from example import Example, family
from names import ARRAYS, COUNTS, INDICES, OUTS, SIZE, array, cpp, draw, inout, out, restricted, value, vary

CHECK = "[1, 2, 3, 17, 64, 100]"


@family("stores_in_locals")
def stores_in_locals(rng):
    """Results that are updated in memory at each step are kept in locals."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-1000, 1000)"), ("unsigned", "u32", "uniform(0, 1000)"), ("long long", "i64", "uniform(-1000, 1000)")])
    d = draw(rng, a=ARRAYS, out="out result stats res sums totals", n=COUNTS, i=INDICES, lim="limit level cut threshold", p="s0 sum first t0", q="s1 other second t1", r="s2 third best most",
             f="collect_stats summarize accumulate_into totals gather_sums tally_all update_stats measure")
    parts = rng.sample([("+= $a[$i];", "sum", "0"), ("+= $a[$i] * $a[$i];", "sum", "0"), ("^= $a[$i];", "sum", "0"), ("+= $a[$i] > $lim;", "sum", "0"),
                        ("max", "max", "$a[0]"), ("min", "min", "$a[0]"), ("+= $a[$i] & 7;", "sum", "0"), ("|= $a[$i];", "sum", "0")], rng.choice([1, 2, 2, 3]))
    d["t"] = t
    needs = any("$lim" in part[0] for part in parts)
    head, args = f"void $f(const $t* $a, $t* $out, {'$t $lim, ' if needs else ''}int $n) {{\n", {d["a"]: array(kind, fill), d["out"]: out(kind, str(len(parts)))}
    if needs:
        args[d["lim"]] = value(kind, "uniform(50, 100)")

    def update(part, place, branch):
        what = part[0]
        if what in ("max", "min"):
            sign = ">" if what == "max" else "<"
            return f"if ($a[$i] {sign} {place}) {{\n {place} = $a[$i];\n }}" if branch else f"{place} = $a[$i] {sign} {place} ? $a[$i] : {place};"
        return f"{place} {what}"
    places, names = [f"$out[{k}]" for k in range(len(parts))], ["$p", "$q", "$r"]
    loop = "for (int $i = 0; $i < $n; $i++) {\n%s\n}\n"
    reference = head + "".join(f"{place} = {part[2]};\n" for place, part in zip(places, parts)) + loop % "\n".join(update(part, place, True) for part, place in zip(parts, places)) + "}"
    rewrite = head + "".join(f"$t {name} = {part[2]};\n" for name, part in zip(names, parts)) + loop % "\n".join(update(part, name, False) for part, name in zip(parts, names)) + \
        "".join(f"{place} = {name};\n" for place, name in zip(places, names[:len(parts)])) + "}"
    return Example("stores_in_locals", ["hoisting"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d), {**args, d["n"]: SIZE}, {"check": CHECK, "timed": "[20000, 30001]"})


@family("settings_in_locals")
def settings_in_locals(rng):
    """Settings that are read through a pointer in every step are read once."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-1000, 1000)"), ("float", "f32", "uniform(-100, 100)"), ("short", "i16", "uniform(-100, 100)"), ("unsigned char", "u8", "uniform(0, 255)")])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, p="params limits range config par set opt", x="low scale first u", y="high offset second w",
             f="apply_params clamp_all rescale limit_values calibrate transform adjust shift_scale")
    cast = "" if kind in ("i32", "f32") else "($t)"
    e = rng.choice(["$a[$i] > $p[0] ? $p[1] : $a[$i]", "$a[$i] < $p[0] ? $p[0] : $a[$i] > $p[1] ? $p[1] : $a[$i]", "$a[$i] == $p[0] ? $p[1] : $a[$i]",
                    "$a[$i] < $p[1] ? $p[0] : $a[$i]", "$a[$i] >= $p[0] ? $a[$i] - $p[0] : $p[1]", "$a[$i] > $p[1] ? $a[$i] : $a[$i] + $p[0]"])
    in_place = rng.random() < 0.4
    d["t"] = t
    head = "void $f($t* $a, const $t* $p, int $n) {\n" if in_place else "void $f(const $t* $a, $t* $out, const $t* $p, int $n) {\n"
    to = "$a" if in_place else "$out"
    args = {d["a"]: inout(kind, "uniform(0, 50)") if in_place else array(kind, fill)}
    if not in_place:
        args[d["out"]] = out(kind)
    args[d["p"]] = array(kind, "sorted(2, 9)", "2")
    store = f"{to}[$i] = {cast}({e});\n" if cast else f"{to}[$i] = {e};\n"
    loop = "for (int $i = 0; $i < $n; $i++) {\n%s}\n"
    rewrite = cpp(head + "$t $x = $p[0];\n $t $y = $p[1];\n" + loop % store.replace("$p[0]", "$x").replace("$p[1]", "$y") + "}", **d)
    return Example("settings_in_locals", ["hoisting", "restrict"], vary(rng, cpp(head + loop % store + "}", **d)), restricted(rewrite), {**args, d["n"]: SIZE}, {"check": CHECK, "timed": "[20000, 30001]"})


@family("mode_outside")
def mode_outside(rng):
    """A choice that is the same for all elements is made once."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-1000, 1000)"), ("float", "f32", "uniform(-100, 100)"), ("unsigned", "u32", "uniform(0, 1000)")])
    d = draw(rng, a=ARRAYS, b="b y other second", out=OUTS, n=COUNTS, i=INDICES, mode="mode op kind what", f="apply_mode combine_by run_mode blend_with compute operate")
    ops = rng.sample(["$a[@] + $b[@]", "$a[@] - $b[@]", "$a[@] * $b[@]", "$a[@] > $b[@] ? $a[@] : $b[@]", "$b[@] - $a[@]", "$a[@] < $b[@] ? $a[@] : $b[@]", "2 * $a[@] + $b[@]"], 3)
    d["t"] = t
    head = "void $f(const $t* $a, const $t* $b, $t* $out, int $n, int $mode) {\n"
    cases = "".join(f"case {k}:\n $out[$i] = {e.replace('@', '$i')};\n break;\n" for k, e in enumerate(ops[:2]))
    reference = head + f"for (int $i = 0; $i < $n; $i++) {{\n switch ($mode) {{\n{cases}default:\n $out[$i] = {ops[2].replace('@', '$i')};\n }}\n }}\n }}"
    loop = "for (int $i = 0; $i < $n; $i++) {\n $out[$i] = %s;\n }\n"
    rewrite = head + f"if ($mode == 0) {{\n {loop % ops[0].replace('@', '$i')} }} else if ($mode == 1) {{\n {loop % ops[1].replace('@', '$i')} }} else {{\n {loop % ops[2].replace('@', '$i')} }}\n }}"
    rewrite = cpp(rewrite, **d)
    return Example("mode_outside", ["hoisting", "restrict"], cpp(reference, **d), restricted(rewrite), {d["a"]: array(kind, fill), d["b"]: array(kind, fill), d["out"]: out(kind), d["n"]: SIZE,
                   d["mode"]: value("i32", "uniform(0, 2)")}, {"check": CHECK, "timed": "[20000, 30001]"})


@family("columns_by_rows")
def columns_by_rows(rng):
    """Columns of numbers are combined along the rows."""
    t, kind, fill = rng.choice([("unsigned char", "u8", "uniform(0, 255)"), ("int", "i32", "uniform(0, 255)"), ("unsigned", "u32", "uniform(0, 255)"), ("unsigned short", "u16", "uniform(0, 255)")])
    d = draw(rng, a=ARRAYS, out=OUTS, h="h rows n height", w="w cols m width", i="i r y row", j="j c x2 col", s="s acc x v", b="b weight f1 scale",
             f="xor_columns or_columns and_columns column_energy column_checks combine_columns fold_columns column_weights")
    what, start, fold = rng.choice([("^", "0", "^= $e"), ("|", "0", "|= $e"), ("&", "255", "&= $e"), ("+", "0", "+= $e"), ("alternate", "0", "= $e - $s")])
    e = rng.choice(["$a[@]", "($a[@] ^ 85)", "($a[@] & 15)", "$a[@] * ($i + 1)", "$a[@] * $b[$i]", "$a[@] / 2"])
    if what == "+" and e == "$a[@]":
        e = "($a[@] ^ 85)"
    to, to_kind = rng.choice([("int", "i32"), ("unsigned", "u32")]) if kind in ("u8", "u16") else (t, kind)
    if to == "unsigned" and "$i + 1" in e:
        e = "$a[@] * 3"
    d.update(t=t, to=to)
    b = "$b" in e
    head, args = "void $f(const $t* $a, " + ("const $to* $b, " if b else "") + "$to* $out, int $h, int $w) {\n", {d["a"]: array(kind, fill, "h * w")}
    if b:
        args[d["b"]] = array(to_kind, "uniform(0, 100)", "h")
    at = e.replace("@", "$i * $w + $j")
    reference = head + f"for (int $j = 0; $j < $w; $j++) {{\n $to $s = {start};\n for (int $i = 0; $i < $h; $i++) {{\n $s {fold.replace('$e', at)};\n }}\n $out[$j] = $s;\n }}\n }}"
    rewrite = head + f"for (int $j = 0; $j < $w; $j++) {{\n $out[$j] = {start};\n }}\n for (int $i = 0; $i < $h; $i++) {{\n for (int $j = 0; $j < $w; $j++) {{\n " + \
        f"$out[$j] {fold.replace('$e', at).replace('$s', '$out[$j]')};\n }}\n }}\n }}"
    rewrite = restricted(cpp(rewrite, **d))
    return Example("columns_by_rows", ["interchange", "restrict"], vary(rng, cpp(reference, **d)), rewrite,
                   {**args, d["out"]: out(to_kind, "w"), d["h"]: "{size: h}", d["w"]: "{size: w}"},
                   {"check": "[{h: 1, w: 1}, {h: 3, w: 17}, {h: 20, w: 9}]", "timed": "[{h: 128, w: 256}, {h: 150, w: 201}]"})


@family("ends_apart")
def ends_apart(rng):
    """Neighbours are clamped at the ends: the middle needs no test."""
    t, kind, fill = rng.choice([("int", "i32", "uniform(-1000, 1000)"), ("unsigned char", "u8", "uniform(0, 255)"), ("short", "i16", "uniform(-100, 100)"), ("float", "f32", "uniform(-1, 1)")])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, l="left l before prev", r="right u after next2", f="smooth_line neighbour_sum blur_row differences local_shape spread sharpen")
    e = rng.choice(["$l + 2 * $x + $r", "$r - $l", "2 * $x - $l - $r", "$l + $x + $r", "3 * $x - $l", "($l > $r ? $l : $r) - $x"])
    edge = rng.choice(["clamp", "zero", "wrap"])
    to, to_kind = ("float", "f32") if kind == "f32" else ("int", "i32")
    left, right = {"clamp": ("$i > 0 ? $a[$i - 1] : $a[0]", "$i < $n - 1 ? $a[$i + 1] : $a[$n - 1]"), "zero": ("$i > 0 ? $a[$i - 1] : 0", "$i + 1 < $n ? $a[$i + 1] : 0"),
                   "wrap": ("$a[($i + $n - 1) % $n]", "$a[($i + 1) % $n]")}[edge]
    ends = {"clamp": (("$a[0]", "$a[1]"), ("$a[$n - 2]", "$a[$n - 1]")), "zero": (("0", "$a[1]"), ("$a[$n - 2]", "0")), "wrap": (("$a[$n - 1]", "$a[1]"), ("$a[$n - 2]", "$a[0]"))}[edge]
    d.update(t=t, to=to)
    after = f"$to $r = {right};\n" if "$r" in e else ""
    put = lambda x, l, r: e.replace("$x", x).replace("$l", l).replace("$r", r)
    head = f"void $f(const $t* $a, $to* $out, int $n) {{\n"
    reference = head + f"for (int $i = 0; $i < $n; $i++) {{\n $to $l = {left};\n {after}$out[$i] = {e.replace('$x', '$a[$i]')};\n }}\n }}"
    rewrite = head + f"for (int $i = 1; $i < $n - 1; $i++) {{\n $out[$i] = {put('$a[$i]', '$a[$i - 1]', '$a[$i + 1]')};\n }}\n" + \
        f"$out[0] = {put('$a[0]', *ends[0])};\n $out[$n - 1] = {put('$a[$n - 1]', *ends[1])};\n }}"
    rewrite = restricted(cpp(rewrite, **d))
    return Example("ends_apart", ["hoisting", "branch-free", "restrict"], vary(rng, cpp(reference, **d)), rewrite, {d["a"]: array(kind, fill), d["out"]: out(to_kind), d["n"]: SIZE},
                   {"check": "[2, 3, 5, 17, 64]", "timed": "[10000, 20001]"}, f"{d['n']} is at least 2.")

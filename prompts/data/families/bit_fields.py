"""Bits of words, one at a time, as operations on the whole word."""
from example import Example, family
from names import ARRAYS, COUNTERS, COUNTS, INDICES, OUTS, SIZE, SUMS, array, cpp, draw, eager, out, value, vary

SIZES = {"check": "[1, 2, 3, 17, 64]", "timed": "[2000, 3001]"}


@family("visit_set_bits")
def visit_set_bits(rng):
    """Few bits are set: jumps from one to the next."""
    bits, t, kind, ll = rng.choice([(32, "unsigned", "u32", ""), (32, "uint32_t", "u32", ""), (64, "uint64_t", "u64", "ll"),
                                    (64, "unsigned long long", "u64", "ll")])
    d = draw(rng, a="masks sets words flags rows boards active a v", w="weights cost price w value table score", s=SUMS,
             n=COUNTS, i=INDICES, m="m word u bits set left", b="b j k bit q", out=OUTS,
             f="weigh_bits sum_selected member_costs cost_of_sets masked_total bit_scores add_chosen load_of")
    each = rng.choice(["weights", "weights", "product", "positions" if bits == 64 else "product"])
    use = {"weights": "$s += $w[@];", "positions": "$s += @;",
           "product": "$s = $s * 31 + @;"}[each]
    pointer = "const int* $w, " if each == "weights" else ""
    sum_type = "int" if each in ("weights", "positions") else "unsigned"
    whole = rng.random() < 0.5 and sum_type == "int"
    test = rng.choice(["$m >> $b & 1", f"($m & ({t})1 << $b) != 0", "($m >> $b) % 2 == 1"])
    slow = f"for (int $b = 0; $b < {bits}; $b++) {{\n if ({test}) {{\n {use.replace('@', '$b')}\n }}\n }}"
    by_index = f"int $b = __builtin_ctz{ll}($m);\n {use.replace('@', '$b')}"
    fast = f"while ($m != 0) {{\n {by_index}\n $m &= $m - 1;\n }}"
    if whole:
        shape = """long long $f(const $t* $a, ${pointer}int $n) {
            long long $s = 0;
            for (int $i = 0; $i < $n; $i++) {
                $t $m = $a[$i];
                %s
            }
            return $s;
        }"""
    else:
        shape = """void $f(const $t* $a, ${pointer}${sum_type}* $out, int $n) {
            for (int $i = 0; $i < $n; $i++) {
                $t $m = $a[$i];
                $sum_type $s = 0;
                %s
                $out[$i] = $s;
            }
        }"""
    d.update(t=t, pointer=pointer, sum_type=sum_type)
    args = {d["a"]: array(kind, "uniform(0, 255)")}
    if pointer:
        args[d["w"]] = array("i32", "uniform(-1000, 1000)", str(bits))
    if not whole:
        args[d["out"]] = out("i32" if sum_type == "int" else "u32")
    return Example("visit_set_bits", ["bit-tricks"], vary(rng, cpp(shape % slow, **d)), cpp(shape % fast, **d),
                   {**args, d["n"]: SIZE}, SIZES)


@family("bitset_scan")
def bitset_scan(rng):
    """Bit after bit of a set in bytes or words."""
    bits, t, kind, ll = rng.choice([(8, "unsigned char", "u8", ""), (8, "uint8_t", "u8", ""), (32, "unsigned", "u32", ""),
                                    (64, "uint64_t", "u64", "ll")])
    d = draw(rng, a="bits set bitmap used flags mask words a", b="other b second allowed free", c=COUNTERS, n=COUNTS,
             i=INDICES, f="count_set cardinality set_size used_slots count_members common_bits bits_on ones_in_bitmap")
    op = rng.choice(["", "", "&", "|", "& ~"])
    index = rng.choice([("$i / $bits", "$i % $bits"), ("$i >> $log", "$i & $top")])
    test = "$a[%s] >> (%s) & 1" % index
    if op:
        second = "$b[%s] >> (%s) & 1" % index
        test = {"&": f"({test}) && ({second})", "|": f"({test}) || ({second})", "& ~": f"({test}) && !({second})"}[op]
    of = f"$a[$i] {op}$b[$i]".replace("& ~", "& ~") if op else "$a[$i]"
    if op == "& ~" and bits == 8:
        of = "$a[$i] & ~$b[$i]"
    d.update(t=t, bits=bits, log={8: 3, 32: 5, 64: 6}[bits], top=bits - 1, ll=ll, test=test,
             second=f"const {t}* {d['b']}, " if op else "", of=of.replace("|$", "| $").replace("&$", "& $"))
    reference = cpp("""int $f(const $t* $a, ${second}int $n) {
        int $c = 0;
        for (int $i = 0; $i < $n * $bits; $i++) {
            if ($test) {
                $c++;
            }
        }
        return $c;
    }""", **d)
    rewrite = cpp("""int $f(const $t* $a, ${second}int $n) {
        int $c = 0;
        for (int $i = 0; $i < $n; $i++) {
            $c += __builtin_popcount$ll($of);
        }
        return $c;
    }""", **d)
    fill = {8: "uniform(0, 255)", 32: "uniform(0, 4294967295)", 64: "uniform(0, 1000000000000000)"}[bits]
    args = {d["a"]: array(kind, fill)}
    if op:
        args[d["b"]] = array(kind, fill)
    return Example("bitset_scan", ["bit-tricks"], vary(rng, reference), rewrite, {**args, d["n"]: SIZE}, SIZES)


@family("pack_flags")
def pack_flags(rng):
    """A comparison's results as bits: the word is made in a register."""
    bits, t, kind = rng.choice([(8, "unsigned char", "u8"), (8, "uint8_t", "u8"), (32, "unsigned", "u32"),
                                (16, "unsigned short", "u16")])
    of, of_kind, fill = rng.choice([("int", "i32", "uniform(-100, 100)"), ("unsigned char", "u8", "uniform(0, 255)"),
                                    ("short", "i16", "uniform(-100, 100)")])
    d = draw(rng, a=ARRAYS, out="bits mask out flags packed words dst", n=COUNTS, i=INDICES, j="j b q k", w="w word m u",
             lim="limit threshold t level cut", f="pack_flags threshold_bits to_bitmap make_mask bits_above compare_bits")
    of_limit = rng.choice(["$a[@] > $lim", "$a[@] < $lim", "$a[@] >= $lim", "$a[@] == $lim", "$a[@] != 0 && $a[@] <= $lim"])
    d.update(t=t, of=of, bits=bits)
    reference = cpp("""void $f(const $of* $a, $t* $out, $of $lim, int $n) {
        for (int $i = 0; $i < $n; $i++) {
            $out[$i] = 0;
        }
        for (int $i = 0; $i < $n * $bits; $i++) {
            if (%s) {
                $out[$i / $bits] |= ($t)(1%s << ($i %% $bits));
            }
        }
    }""" % (of_limit.replace("@", "$i"), "u" if bits == 32 else ""), **d)
    at = "$bits * $i + $j"
    rewrite = cpp("""void $f(const $of* __restrict $a, $t* __restrict $out, $of $lim, int $n) {
        for (int $i = 0; $i < $n; $i++) {
            unsigned $w = 0;
            for (int $j = 0; $j < $bits; $j++) {
                $w |= (unsigned)(%s) << $j;
            }
            $out[$i] = ($t)$w;
        }
    }""" % eager(of_limit.replace("@", at)), **d)
    args = {d["a"]: array(of_kind, fill, f"{bits} * n"), d["out"]: out(kind),
            d["lim"]: value(of_kind, "uniform(20, 80)"), d["n"]: SIZE}
    return Example("pack_flags", ["bit-tricks", "branch-free"], vary(rng, reference), rewrite, args,
                   {"check": "[1, 2, 3, 17]", "timed": "[500, 1001]"})


@family("exchange_bits")
def exchange_bits(rng):
    """Moves groups of bits with masks, not bit by bit."""
    bits, t, kind, one = rng.choice([(32, "unsigned", "u32", "1u"), (32, "uint32_t", "u32", "1u"), (64, "uint64_t", "u64", "1ull")])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, j="j b bit k", w="w x word v", r="r y t swapped",
             f="swap_groups swap_neighbours exchange_halves mix_bits scramble permute_bits interchange_bits")
    what = rng.choice(["swap", "swap", "swap", "rotate", "even", "bswap"])
    fill = "uniform(0, 4294967295)" if bits == 32 else "uniform(0, 1000000000000000)"
    suffix = "u" if bits == 32 else "ull"
    group = rng.choice([1, 2, 4, 8, 16])
    ones = sum(1 << b for b in range(bits) if not b & group)
    low = f"0x{ones:x}{suffix}"
    by = rng.randrange(3, bits - 3)
    step = rng.choice([2, 4, 8])
    kept = f"0x{sum(1 << b for b in range(bits) if b % step == 0):x}{suffix}"
    swap = "__builtin_bswap32" if bits == 32 else "__builtin_bswap64"
    slow, fast = {
        "swap": (f"$r |= ($w >> $j & 1) << ($j ^ {group});", f"$out[$i] = ($w & {low}) << {group} | ($w >> {group} & {low});"),
        "rotate": (f"$r |= ($w >> $j & 1) << (($j + {by}) % {bits});", f"$out[$i] = $w << {by} | $w >> {bits - by};"),
        "even": (f"if ($j % {step} == 0) {{\n $r |= $w & {one} << $j;\n }}", f"$out[$i] = $w & {kept};"),
        "bswap": (f"$r |= ($w >> $j & 1) << ({bits - 8} - $j / 8 * 8 + $j % 8);", f"$out[$i] = {swap}($w);")}[what]
    head = "void $f(const $t%s $a, $t%s $out, int $n) {\n for (int $i = 0; $i < $n; $i++) {\n $t $w = $a[$i];\n"
    d.update(t=t)
    star = rng.choice(["*", "* __restrict"])
    reference = cpp(head % ("*", "*") + f"$t $r = 0;\n for (int $j = 0; $j < {bits}; $j++) {{\n {slow}\n }}\n $out[$i] = $r;\n }}\n }}", **d)
    rewrite = cpp(head % (star, star) + fast + "\n}\n}", **d)
    args = {d["a"]: array(kind, fill), d["out"]: out(kind), d["n"]: SIZE}
    return Example("exchange_bits", ["bit-tricks"], vary(rng, reference), rewrite, args, SIZES)


@family("bits_of_pairs")
def bits_of_pairs(rng):
    """A sum over all pairs of words, bit by bit."""
    op = rng.choice("^&|")
    t, kind, bits = rng.choice([("unsigned", "u32", 20), ("int", "i32", 16), ("unsigned char", "u8", 8), ("uint32_t", "u32", 16),
                                ("unsigned short", "u16", 16)])
    d = draw(rng, a=ARRAYS, s=SUMS, n=COUNTS, i="i p k", j="j q l", b="b bit h", c="ones c count set",
             f="pair_total xor_sum sum_over_pairs all_pairs pairwise_sum combine_pairs")
    ordered = rng.random() < 0.6
    pairs = {"^": "$c * ($n - $c)", "&": "$c * ($c - 1) / 2", "|": "$c * ($n - $c) + $c * ($c - 1) / 2"}[op]
    if not ordered:  # Every pair twice, and each word with itself.
        pairs = {"^": "2 * $c * ($n - $c)", "&": "$c * $c", "|": "$c * (2 * $n - $c)"}[op]
    d.update(t=t, op=op, bits=bits, pairs=pairs, begin="$i + 1" if ordered else "0")
    reference = cpp("""long long $f(const $t* $a, int $n) {
        long long $s = 0;
        for (int $i = 0; $i < $n; $i++) {
            for (int $j = $begin; $j < $n; $j++) {
                $s += $a[$i] $op $a[$j];
            }
        }
        return $s;
    }""", **d)
    rewrite = cpp("""long long $f(const $t* $a, int $n) {
        long long $s = 0;
        for (int $b = 0; $b < $bits; $b++) {
            long long $c = 0;
            for (int $i = 0; $i < $n; $i++) {
                $c += $a[$i] >> $b & 1;
            }
            $s += ($pairs) << $b;
        }
        return $s;
    }""", **d)
    prose = "" if bits in (8,) or kind == "u16" else f"All values are in 0 .. {2 ** bits - 1}."
    return Example("bits_of_pairs", ["algorithm", "bit-tricks"], vary(rng, reference), rewrite,
                   {d["a"]: array(kind, f"uniform(0, {2 ** bits - 1})"), d["n"]: SIZE},
                   {"check": "[1, 2, 3, 17, 64]", "timed": "[700, 1001]"}, prose)


@family("set_masks")
def set_masks(rng):
    """Small numbers: a set of them is one word."""
    d = draw(rng, a=ARRAYS, st="set keys wanted chosen list2 allowed", m="m k size2 count2 picks", n=COUNTS, i=INDICES, j="j q t b",
             c=COUNTERS, mask="mask seen bits word", out=OUTS,
             f="count_members matches in_set count_allowed select_wanted mark_members flag_chosen")
    t, kind = rng.choice([("int", "i32"), ("unsigned char", "u8"), ("unsigned", "u32")])
    flags = rng.random() < 0.4
    word, most = rng.choice([("unsigned long long", 63), ("uint64_t", 63)])
    d.update(t=t, word=word)
    hit = "$out[$i] = 1;\n" if flags else "$c++;\n"
    slow = f"for (int $j = 0; $j < $m; $j++) {{\n if ($a[$i] == $st[$j]) {{\n {hit} break;\n }}\n }}"
    if flags:
        head = "void $f(const $t* $a, const $t* $st, unsigned char* $out, int $n, int $m) {\n"
        reference = head + "for (int $i = 0; $i < $n; $i++) {\n $out[$i] = 0;\n" + slow + "\n}\n}"
        use, begin, end = "$out[$i] = $mask >> $a[$i] & 1;", "", ""
    else:
        head = "int $f(const $t* $a, const $t* $st, int $n, int $m) {\n"
        reference = head + "int $c = 0;\n for (int $i = 0; $i < $n; $i++) {\n" + slow + "\n}\n return $c;\n }"
        use, begin, end = "$c += $mask >> $a[$i] & 1;", "int $c = 0;\n", "return $c;\n"
    rewrite = head + begin + """$word $mask = 0;
        for (int $j = 0; $j < $m; $j++) {
            $mask |= ($word)1 << $st[$j];
        }
        for (int $i = 0; $i < $n; $i++) {
            %s
        }
        %s}""" % (use, end)
    args = {d["a"]: array(kind, f"uniform(0, {most})"), d["st"]: array(kind, f"uniform(0, {most})", "m")}
    if flags:
        args[d["out"]] = out("u8")
    return Example("set_masks", ["bit-tricks", "tables"], vary(rng, cpp(reference, **d)), cpp(rewrite, **d),
                   {**args, d["n"]: SIZE, d["m"]: "{size: m}"},
                   {"check": "[{n: 1, m: 1}, {n: 17, m: 3}, {n: 64, m: 9}]", "timed": "[{n: 3000, m: 10}, {n: 2001, m: 16}]"},
                   f"All values are in 0 .. {most}.")


@family("row_distinct")
def row_distinct(rng):
    """Different small numbers in each short row."""
    width = rng.choice([5, 6, 8, 9, 10, 12, 16])
    t, kind = rng.choice([("unsigned char", "u8"), ("int", "i32")])
    most = rng.choice([9, 15, 25, 31])
    d = draw(rng, a="hands rows board cells digits tickets a", out=OUTS, c=COUNTERS, n="n rows2 count len", i="i r row", j="j c2 col q",
             k="k p before", m="seen mask set used", f="distinct_per_row kinds_in_hand different_cells unique_digits distinct_counts")
    repeats = rng.random() < 0.4
    d.update(t=t, width=width)
    reference = cpp("""void $f(const $t* $a, int* $out, int $n) {
        for (int $i = 0; $i < $n; $i++) {
            int $c = 0;
            for (int $j = 0; $j < $width; $j++) {
                bool again = false;
                for (int $k = 0; $k < $j; $k++) {
                    if ($a[$i * $width + $k] == $a[$i * $width + $j]) {
                        again = true;
                    }
                }
                if (%s) {
                    $c++;
                }
            }
            $out[$i] = $c;
        }
    }""" % ("again" if repeats else "!again"), **d)
    rewrite = cpp("""void $f(const $t* $a, int* $out, int $n) {
        for (int $i = 0; $i < $n; $i++) {
            unsigned $m = 0;
            for (int $j = 0; $j < $width; $j++) {
                $m |= 1u << $a[$i * $width + $j];
            }
            $out[$i] = %s__builtin_popcount($m);
        }
    }""" % (f"{width} - " if repeats else ""), **d)
    return Example("row_distinct", ["bit-tricks", "algorithm"], vary(rng, reference), rewrite,
                   {d["a"]: array(kind, f"uniform(0, {most})", f"{width} * n"), d["out"]: out("i32"), d["n"]: SIZE},
                   {"check": "[1, 2, 3, 17, 64]", "timed": "[800, 1001]"}, f"All values are in 0 .. {most}.")


@family("word_fields")
def word_fields(rng):
    """Sums or extremes of the small fields of each word."""
    field = rng.choice([4, 8, 2])
    bits, t, kind, suffix = rng.choice([(32, "unsigned", "u32", "u"), (64, "uint64_t", "u64", "ull"), (32, "uint32_t", "u32", "u")])
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, w="w x word v", s=SUMS,
             f="field_sums nibble_sums digit_totals sum_fields lane_sums add_fields")
    mask = (1 << field) - 1
    steps, size = [], field
    word_of = lambda size: f"0x{sum(((1 << size) - 1) << b for b in range(0, bits, 2 * size)):x}{suffix}"
    while size < 8:
        steps.append(f"$w = ($w & {word_of(size)}) + ($w >> {size} & {word_of(size)});")
        size *= 2
    steps.append(f"$out[$i] = (int)($w * 0x{sum(1 << b for b in range(0, bits, 8)):x}{suffix} >> {bits - 8});")
    if field == 8:  # The sum of eight bytes does not fit into one.
        steps = [f"$w = ($w & {word_of(8)}) + ($w >> 8 & {word_of(8)});",
                 f"$out[$i] = (int)($w * 0x{sum(1 << b for b in range(0, bits, 16)):x}{suffix} >> {bits - 16});"]
    d.update(t=t, field=field, mask=mask)
    head = "void $f(const $t* $a, int* $out, int $n) {\n for (int $i = 0; $i < $n; $i++) {\n $t $w = $a[$i];\n"
    reference = cpp(head + "int $s = 0;\n while ($w != 0) {\n $s += $w & $mask;\n $w >>= $field;\n }\n $out[$i] = $s;\n }\n }", **d)
    fill = "uniform(0, 4294967295)" if bits == 32 else "uniform(0, 1000000000000000)"
    return Example("word_fields", ["bit-tricks"], vary(rng, reference), cpp(head + "\n".join(steps) + "\n}\n}", **d),
                   {d["a"]: array(kind, fill), d["out"]: out("i32"), d["n"]: SIZE}, SIZES)

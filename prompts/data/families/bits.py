"""Words as sets of bits: loops over bits become operations on words."""
from example import Example, family
from names import ARRAYS, COUNTERS, COUNTS, INDICES, OUTS, array, cpp, draw, out, vary

SIZES = {"check": "[1, 2, 3, 17, 64]", "timed": "[2000, 3001]"}


def word(rng):
    """(bits, C type, format type, fill, suffix of the builtins)"""
    return rng.choice([(32, "unsigned", "u32", "uniform(0, 4294967295)", ""),
                       (32, "uint32_t", "u32", "uniform(0, 4294967295)", ""),
                       (64, "unsigned long long", "u64", "uniform(0, 1000000000000000)", "ll"),
                       (64, "uint64_t", "u64", "uniform(0, 1000000000000000)", "ll")])


@family("popcount_words")
def popcount_words(rng):
    bits, t, kind, fill, ll = word(rng)
    d = draw(rng, a=ARRAYS, b="b mask other flags y allowed", m="mask m keep pattern bits", c=COUNTERS, n=COUNTS, i=INDICES,
             w="w word v u bits", j="j b q bit",
             f="count_bits ones bit_total set_bits population active_flags members count_ones selected_bits")
    of = rng.choice(["$a[$i]", "$a[$i] & $m", "$a[$i] & ~$m", "$a[$i] & $b[$i]", "$a[$i] | $b[$i]", "$a[$i] & ~$b[$i]",
                     "$a[$i] >> $m", "~$a[$i]"])
    args = {d["a"]: array(kind, fill)}
    head = f"const {t}* $a, "
    if "$b" in of:
        head, args[d["b"]] = head + f"const {t}* $b, ", array(kind, fill)
    if "$m" in of:
        shifted = ">>" in of
        head += f"{'int' if shifted else t} $m, "
        args[d["m"]] = "{type: i32, fill: uniform(1, 15)}" if shifted else f"{{type: {kind}, fill: {fill}}}"
    count = rng.choice(["int", "long long"])
    args[d["n"]] = "{size: n}"
    body = rng.choice([
        "for (int $j = 0; $j < $bits; $j++) {\n if ($w >> $j & 1) {\n $c++;\n }\n }",
        "for (int $j = 0; $j < $bits; $j++) {\n $c += $w >> $j & 1;\n }",
        "while ($w != 0) {\n $c += $w & 1;\n $w >>= 1;\n }",
        "while ($w) {\n if ($w % 2 == 1) {\n $c++;\n }\n $w /= 2;\n }"])
    d.update(of=of, head=head, t=t, ll=ll, bits=bits, count=count)
    reference = cpp("""$count $f(${head}int $n) {
        $count $c = 0;
        for (int $i = 0; $i < $n; $i++) {
            $t $w = $of;
            %s
        }
        return $c;
    }""" % body, **d)
    rewrite = cpp("""$count $f(${head}int $n) {
        $count $c = 0;
        for (int $i = 0; $i < $n; $i++) {
            $c += __builtin_popcount$ll($of);
        }
        return $c;
    }""", **d)
    return Example("popcount_words", ["bit-tricks"], vary(rng, reference), rewrite, args, SIZES)


@family("word_measures")
def word_measures(rng):
    """Bit lengths, powers of two, trailing zeros, parities of each word."""
    bits, t, kind, fill, ll = word(rng)
    top = bits - 1
    d = draw(rng, a=ARRAYS, out=OUTS, n=COUNTS, i=INDICES, w="w x v word", c="c r k p e", one="p bit m h")
    fold = [f"$w |= $w >> {s};" for s in (1, 2, 4, 8, 16, 32) if s < bits]
    fold_xor = [f"$w ^= $w >> {s};" for s in (32, 16, 8, 4, 2, 1) if s < bits]
    what = rng.choice(["log", "width", "next", "highest", "zeros", "lowest", "parity", "prefix"])
    small = rng.choice([("int", "i32"), ("unsigned char", "u8")])
    names = {"log": "log2_floor floor_logs levels", "width": "bit_widths lengths_in_bits bits_needed",
             "next": "round_up_pow2 next_powers pad_sizes", "highest": "top_bits highest_powers round_down_pow2",
             "zeros": "trailing_zeros alignments twos_in factor_twos", "lowest": "lowest_bits lowest_powers divisor_pow2",
             "parity": "parities parity_bits odd_flags", "prefix": "gray_decode gray_to_binary from_gray"}[what]
    loops = {
        "log": ("int $c = 0;\n while ($w > 1) {\n $w >>= 1;\n $c++;\n }\n $out[$i] = $c;",
                f"$out[$i] = {top} - __builtin_clz$ll($a[$i]);"),
        "width": ("int $c = 0;\n while ($w != 0) {\n $w /= 2;\n $c++;\n }\n $out[$i] = $c;",
                  f"$out[$i] = {bits} - __builtin_clz$ll($a[$i]);"),
        "next": ("$t $one = 1;\n while ($one < $w) {\n $one *= 2;\n }\n $out[$i] = $one;",
                 "\n".join(["$w--;", *fold, "$out[$i] = $w + 1;"])),
        "highest": ("$t $one = 1;\n while ($one <= $w / 2) {\n $one <<= 1;\n }\n $out[$i] = $one;",
                    rng.choice(["\n".join([*fold, "$out[$i] = $w - ($w >> 1);"]),
                                f"$out[$i] = ($t)1 << ({top} - __builtin_clz$ll($a[$i]));"])),
        "zeros": ("int $c = 0;\n while (($w & 1) == 0) {\n $w >>= 1;\n $c++;\n }\n $out[$i] = $c;",
                  "$out[$i] = __builtin_ctz$ll($a[$i]);"),
        "lowest": ("$t $one = 1;\n while ($w % ($one * 2) == 0) {\n $one *= 2;\n }\n $out[$i] = $one;",
                   "$out[$i] = $a[$i] & -$a[$i];"),
        "parity": ("int $c = 0;\n while ($w) {\n $c ^= $w & 1;\n $w >>= 1;\n }\n $out[$i] = $c;",
                   rng.choice(["$out[$i] = __builtin_parity$ll($a[$i]);", "\n".join([*fold_xor, "$out[$i] = $w & 1;"])])),
        "prefix": ("$t $one = $w;\n while ($one != 0) {\n $one >>= 1;\n $w ^= $one;\n }\n $out[$i] = $w;",
                   "\n".join([*fold_xor, "$out[$i] = $w;"]))}
    slow, fast = loops[what]
    words_out = what in ("next", "highest", "lowest", "prefix")
    to, to_kind = (t, kind) if words_out else small
    zero = what in ("parity", "prefix", "next")
    if not zero:
        fill = fill.replace("(0", "(1")
    if what == "next":
        fill = "uniform(1, 2000000000)"
    d.update(t=t, to=to, ll=ll, f=rng.choice(names.split()))

    def whole(body, pointer="*"):
        load = "$t $w = $a[$i];" if "$w" in body else ""
        return cpp("""void $f(const $t%s $a, $to%s $out, int $n) {
            for (int $i = 0; $i < $n; $i++) {
                %s
                %s
            }
        }""" % (pointer, pointer, load, body), **d)
    rewrite = whole(fast, rng.choice(["*", "* __restrict"]))
    return Example("word_measures", ["bit-tricks"], vary(rng, whole(slow)), rewrite,
                   {d["a"]: array(kind, fill), d["out"]: out(to_kind), d["n"]: "{size: n}"}, SIZES)

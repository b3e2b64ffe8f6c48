"""Writes C++ text from templates, with names drawn from pools.

    d = draw(rng, a=ARRAYS, s=SUMS, n=COUNTS, f="total_of sum_of")
    cpp("int $f(const int* $a, int $n) { \n int $s = 0; \n ... }", **d)
"""
import re
import string

ARRAYS = "a x v data values src items input nums keys samples list"
BYTES = "text data bytes buf src s p str line input"
OUTS = "out dst result res y to r output"
COUNTS = "n n n len count size num length"
INDICES = "i i i k pos idx at"
INNER = "j j k q b t"
SUMS = "sum total s acc r res"
COUNTERS = "count c total hits found num"


def draw(rng, **pools):
    """One name from each pool, no two alike."""
    chosen = {}
    for role, pool in pools.items():
        left = [name for name in pool.split() if name not in chosen.values()]
        chosen[role] = rng.choice(left)
    return chosen


def cpp(template, **parts):
    """The template with its $names replaced, indented by its braces; empty lines go."""
    for _ in range(3):  # Parts may name parts.
        template = string.Template(template).substitute(parts)
    depth, result = 0, []
    for line in filter(None, map(str.strip, template.splitlines())):
        deeper = depth - (1 if line[0] == "}" else 0)
        result.append("    " * deeper + line)
        depth += line.count("{") - line.count("}")
    return "\n".join(result)


def restricted(code):
    """The function with pointers that do not overlap."""
    head, brace, body = code.partition(" {")
    return head.replace("* ", "* __restrict ") + brace + body


def eager(test):
    """The test with & and |: both sides are computed, and nothing branches."""
    for lazy, both in ((" && ", " & "), (" || ", " | ")):
        if lazy in test:
            return both.join(f"({side})" for side in test.split(lazy))
    return test


def vary(rng, code):
    """The same function in another of the ways in which people write it."""
    if rng.random() < 0.25:
        code = re.sub(r"\b(\w+)\+\+\) \{", r"++\1) {", code)
    if rng.random() < 0.25:
        code = re.sub(r"^( *)(\w+)\+\+;$", r"\1\2 += 1;", code, flags=re.M)
    elif rng.random() < 0.25:
        code = re.sub(r"^( *)(\w+) \+= ([\w\[\]. *+-]*);$", r"\1\2 = \2 + \3;", code, flags=re.M)
    if rng.random() < 0.25:  # One statement needs no braces, except where an `if` would take another's `else`.
        code = re.sub(r"^( *)(if|for) (\(.*\)) \{\n(?! *(?:if|for|while|do)\b)( +[^\n{}]*;)\n\1\}$(?!\n *else)",
                      r"\1\2 \3\n\4", code, flags=re.M)
    return code


def array(kind, fill, shape="n"):
    """The entry of an input array in an example's args."""
    return f"{{type: {kind}, shape: [{shape}], fill: {fill}}}"


def inout(kind, fill, shape="n"):
    return f"{{type: {kind}, shape: [{shape}], fill: {fill}, inout: true}}"


def out(kind, shape="n"):
    return f"{{type: {kind}, shape: [{shape}], out: true}}"


def value(kind, fill):
    return f"{{type: {kind}, fill: {fill}}}"


SIZE = "{size: n}"

"""Writes C++ text: blocks and loops as lists of lines.

    text(block("float total(const float* x, int n)", "float s = 0.0f;", loop("i", "n", "s += x[i];"), "return s;"))
"""
import re

# An example may use these without including them.
HEADERS = ["immintrin.h", "math.h", "stdint.h", "string.h"]

VERBS = ("scale mix fold blend gather merge score weigh accumulate reduce combine update smooth "
         "energy weighted signed shifted biased cross mean").split()
NOUNS = ("rows cols cube grid table field signal block layer state line pairs image panel mass "
         "norm").split()


def block(head, *body):
    """`head {`, the indented body, `}`. An element of the body is a line or a list of lines."""
    return [head + " {"] + ["    " + line for line in lines(*body)] + ["}"]


def lines(*parts):
    """One list of lines from lines and (nested) lists of lines."""
    result = []
    for part in parts:
        result += [part] if isinstance(part, str) else lines(*part)
    return result


def loop(variable, end, *body, begin="0", step=1, kind="int"):
    """`for (int i = begin; i < end; i++)` around the body."""
    further = f"{variable}++" if step == 1 else f"{variable} += {step}"
    return block(f"for ({kind} {variable} = {begin}; {variable} < {end}; {further})", *body)


def rest(variable, end, *body):
    """The loop over what an unrolled one has left."""
    return block(f"for (; {variable} < {end}; {variable}++)", *body)


def unrolled(variable, end, by, *body):
    """`for (; i + by <= end; i += by)` around the body."""
    return block(f"for (; {variable} + {by} <= {end}; {variable} += {by})", *body)


def text(*parts):
    return "\n".join(lines(*parts))


def shift(expression, variable, by):
    """The expression `by` iterations of `variable` later."""
    if by == 0:
        return expression
    later = re.sub(rf"\b{variable}\b(?= \*)", f"({variable} + {by})", expression)
    return re.sub(rf"\b{variable}\b(?!\s*[*+] (n|{by}\)))(?=\])", f"{variable} + {by}", later)


def restrict(code):
    """Every pointer parameter of the (first) signature says that it does not overlap others."""
    head, brace, body = code.partition(" {")
    return re.sub(r"\* (\w)", r"* __restrict \1", head) + brace + body


def name(rng):
    """A function's name."""
    return f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}"

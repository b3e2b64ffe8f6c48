"""Families as plain C++ with holes.

    return draw(rng, "name_of_family", ["interchange"],
                reference='''
                void NAME(const float* a, float* out, int rows, int cols) {
                for (int j = 0; j < cols; j++) {
                ...''', rewrite=..., shapes={"a": "rows, cols", "out": "cols"}, check=[...], timed=[...],
                holes={"E": lambda i, j: f"2.0f * a[{i} * cols + {j}]"})

The text is written in floats, without indentation, with ordinary names. draw() fills in holes (a word, or a word
with arguments, as E(i + 1, j)), indents, draws other names for parameters, locals and the function, and turns some
examples into doubles. Types, directions and returned values are read from the reference's signature.
"""
import re

from example import Example
import text as forms

INPUTS = "a b x y u v w p q src data in values left right first second z".split()
OUTPUTS = "out y dst res r z c result to d".split()
SIZES = {1: ["n", "n", "n", "m", "count", "len", "size", "total"],
         2: ["rows cols", "rows cols", "n m", "m n", "height width", "h w", "count dim", "n d", "ny nx"],
         3: ["planes rows cols", "n m l", "batch rows cols", "d0 d1 d2", "nz ny nx", "groups rows cols"]}
INDICES = ["i j k", "i j k", "i j k", "r c k", "row col k", "ix iy iz", "p q k"]
LOCALS = {"s": "s sum acc total t".split(), "m": "m best top peak".split(), "t": "t v w f".split(),
          "scale": "scale factor inv g".split(), "alpha": "alpha beta scale bias weight k gain".split()}
VERBS = ("scale mix fold blend gather merge score weigh accumulate reduce combine update smooth filter compute "
         "apply find make build collect measure").split()
NOUNS = ("rows cols cube grid table field signal block layer state line pairs image panel mass norm samples "
         "series matrix plane levels energy track frame cells weights profile spectrum").split()
PROSE = ["The arrays do not overlap.", "Arrays do not overlap; matrices are stored by rows.",
         "The order of additions is free.", "Arrays do not overlap and the order of additions is free."]


def sizes(names, tuples):
    """The sizes in the front matter's words."""
    if len(names) == 1:
        return "[" + ", ".join(str(t) for t in tuples) + "]"
    return "[" + ", ".join("{" + ", ".join(f"{n}: {v}" for n, v in zip(names, t)) + "}" for t in tuples) + "]"


def fill(code, holes):
    """Fills in holes until none is left."""
    for name, value in holes.items():
        while found := re.search(rf"\b{name}\b" + (r"\(" if callable(value) else ""), code):
            if callable(value):
                arguments, end = _arguments(code, found.end())
                code = code[:found.start()] + value(*arguments) + code[end:]
            else:
                code = code[:found.start()] + str(value) + code[found.end():]
    return code


def _arguments(code, at):
    """The arguments of a hole whose parenthesis opens before `at`, and where it ends."""
    arguments, depth, start = [], 0, at
    while True:
        character = code[at]
        if depth == 0 and character in ",)":
            arguments.append(code[start:at].strip())
            start = at + 1
            if character == ")":
                return arguments, at + 1
        depth += (character in "([{") - (character in ")]}")
        at += 1


def simplify(code):
    """`a[(i) * n + j + 0]` as a person would write it."""
    code = re.sub(r"(?<=[\[(])\((\w+)\)(?= [-+*])", r"\1", code)
    code = re.sub(r"\[0 \* \w+ \+ ", "[", code)
    return re.sub(r" \+ 0(?=\])", "", code)


def indent(code):
    result, depth = [], 0
    for line in code.strip().splitlines():
        line = line.strip()
        if line:
            depth -= line.startswith("}")
            result.append("    " * depth + line)
            depth += line.endswith("{")
    return "\n".join(result)


def in_double(code):
    code = re.sub(r"\b(sqrt|exp|fabs|pow|sin|cos|log|tanh|floor|fmax|fmin)f\(", r"\1(", code)
    return re.sub(r"\b(\d+\.\d+(?:e-?\d+)?)f\b", r"\1", code).replace("float", "double")


def restrict(code):
    return forms.restrict(code)


def reorder(rng, codes):
    """Another order of the parameters, the same in all codes."""
    def parameters(code):
        return re.search(r"NAME\(([^)]*)\)", code)[1].split(", ")
    first = parameters(codes[0])
    order = sorted(range(len(first)), key=rng.choice([
        lambda p: 0, lambda p: 0, lambda p: 0, lambda p: "*" in first[p],
        lambda p: first[p].startswith("const"), lambda p: not first[p].startswith("const float*")]))
    return [re.sub(r"NAME\([^)]*\)", lambda _: "NAME(" + ", ".join(parameters(code)[p] for p in order) + ")", code, count=1)
            for code in codes]


class Expression:
    """One of `templates`, whose capital letters stand for operands: {"A": ("a[({i}) * cols + {j}]", "a", "rows, cols")}.

    An operand is its text, its parameter and the shape of that, "" for a number passed by value. C and D stand for
    constants. `at("i + 1", "j")` is the expression there.
    """

    def __init__(self, rng, templates, operands, indices="ij"):
        chosen = rng.choice(templates)
        for constant in "CD":
            chosen = re.sub(rf"\b{constant}\b", rng.choice(CONSTANTS), chosen)
        used = {letter: o for letter, o in operands.items() if re.search(rf"\b{letter}\b", chosen)}
        self._template, self._used, self._indices = chosen, used, indices
        self.parameters = ", ".join(f"const float* {name}" if shape else f"float {name}"
                                    for _, name, shape in used.values())
        self.shapes = {name: shape for _, name, shape in used.values() if shape}

    def at(self, *indices):
        def operand(match):
            return self._used[match[0]][0].format(**dict(zip(self._indices, indices)))
        return re.sub(r"\b[A-Z]\b", lambda m: operand(m) if m[0] in self._used else m[0], self._template)


CONSTANTS = "0.5f 0.25f 2.0f 1.5f 3.0f 0.75f 0.1f 1.25f 0.3f".split()


def accumulators(e, width, end="n", i="i", op="+", start="0.0f"):
    """Text that reduces e(i) for i < end in `width` numbers side by side, and the expression of the result.

    `op` is "+", ">" (the largest) or "<". From eight numbers on they are an array, as they are where e is long:
    32 or more, so that the compiler keeps the loop over them and turns that into vector code.
    """
    lanes = width > 4
    if op != "+" and len(e(i)) > 12:
        lanes, width = True, max(32, width)

    def update(to, value):
        if op == "+":
            return f"{to} += {value};"
        if len(value) > 12:
            return f"float t = {value};\n{to} = t {op} {to} ? t : {to};"
        return f"{to} = {value} {op} {to} ? {value} : {to};"

    if lanes:
        k = "k" if i != "k" else "j"
        first = f"float s[{width}] = {{0}};" if op == "+" else \
            f"float s[{width}];\nfor (int {k} = 0; {k} < {width}; {k}++) {{\ns[{k}] = {start};\n}}"
        body = f"for (int {k} = 0; {k} < {width}; {k}++) {{\n{update(f's[{k}]', e(f'{i} + {k}'))}\n}}"
        left = update("s[0]", e(i))
        end_code = f"\nfor (int {k} = 1; {k} < {width}; {k}++) {{\n{update('s[0]', f's[{k}]')}\n}}"
        result = "s[0]"
    else:
        names = [f"s{q}" for q in range(width)]
        first = "\n".join(f"float {s} = {start if op != '+' else '0.0f'};" for s in names)
        body = "\n".join(update(s, e(f"{i} + {q}")) for q, s in enumerate(names))
        left = update("s0", e(i))
        end_code = "" if op == "+" else "\n" + "\n".join(update("s0", s) for s in names[1:])
        result = " + ".join(names) if op == "+" else "s0"
    return (f"{first}\nint {i} = 0;\nfor (; {i} + {width} <= {end}; {i} += {width}) {{\n{body}\n}}\n"
            f"for (; {i} < {end}; {i}++) {{\n{left}\n}}{end_code}", result)


def rename(code, names):
    return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), code)


def _names(rng, codes, inputs, outputs, size_names, fixed):
    """New names for what the codes declare."""
    words = set(re.findall(r"[A-Za-z_]\w*", " ".join(codes)))
    renamed = {*inputs, *outputs, *size_names, "i", "j", "k", *LOCALS} & words - set(fixed)
    taken = words - renamed
    names = {}

    def take(old, candidates):
        if old not in renamed:
            return
        free = [c for c in candidates if c not in taken] or [old]
        names[old] = rng.choice(free)
        taken.add(names[old])

    groups = [g.split() for g in SIZES[len(size_names)] if not set(g.split()) & taken] if size_names else []
    for old, new in zip(size_names, rng.choice(groups) if groups else size_names):
        take(old, [new])
    groups = [g.split() for g in INDICES if not set(g.split()) & taken]
    for old, new in zip("ijk", rng.choice(groups)):
        take(old, [new])
    for old in outputs:
        take(old, OUTPUTS + [old])
    for old in inputs:
        take(old, INPUTS + [old])
    for old, candidates in LOCALS.items():
        take(old, [old] + candidates)
    numbered = sorted(word for word in words if re.fullmatch(r"s\d", word))
    prefix = rng.choice([p for p in ("s", "t", "sum", "acc", "part") if not {p + word[1:] for word in numbered} & taken
                         or p == "s"])
    return {**names, **{word: prefix + word[1:] for word in numbered}}


def draw(rng, family, techniques, reference, rewrite, shapes, check, timed, holes=None, fills=None, inout=(),
         prose=None, double=0.35, restricted=0.5, name="", fixed=(), compare="", scalars=None):
    """An example from texts with holes; see above.

    `shapes` of arrays; `fills` of arrays and scalars where it is not uniform(0, 1); `restricted` is the probability
    that the rewrite's pointers get __restrict; `fixed` names are kept; `scalars` are drawn integers.
    """
    reference, rewrite = (indent(simplify(fill(code, holes or {}))) for code in (reference, rewrite))
    if rng.random() < restricted:
        rewrite = restrict(rewrite)
        techniques = techniques + ["restrict"] * ("restrict" not in techniques and "*" in rewrite)
    reference, rewrite = reorder(rng, [reference, rewrite])
    if rng.random() < double and "_mm" not in rewrite:
        reference, rewrite = in_double(reference), in_double(rewrite)
    parameters = re.search(r"NAME\(([^)]*)\)", reference)[1]
    declared = [p.strip().rsplit(" ", 1) for p in parameters.split(",")]
    declared = [(t + "*" * n.count("*"), n.lstrip("*")) for t, n in declared]
    pointers = [n for t, n in declared if "*" in t]
    scalars = scalars or {}
    size_names = [n for t, n in declared if t == "int" and n not in (fills or {}) and n not in scalars]
    inputs = [n for t, n in declared if t.startswith("const")]
    outputs = [n for n in pointers if n not in inputs]
    names = _names(rng, [reference, rewrite], inputs, outputs, size_names, {*fixed, *scalars})
    names["NAME"] = name if name else f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}"
    if rng.random() < 0.2:
        reference = re.sub(r"^( *)(\w+) \+= (.*);$", r"\1\2 = \2 + \3;", reference, flags=re.M)
    if rng.random() < 0.15:
        reference, rewrite = (re.sub(r"(\w+)\+\+\) \{", r"++\1) {", code) for code in (reference, rewrite))
    reference, rewrite = rename(reference, names), rename(rewrite, names)
    # What the front matter says of a C++ type.
    words = {"float": "f32", "double": "f64", "int": "i32", "unsigned char": "u8", "unsigned": "u32",
             "long long": "i64", "short": "i16"}
    args = {}
    for ctype, old in declared:
        entry = words[ctype.replace("const ", "").replace("*", "")]
        filled = (fills or {}).get(old, "uniform(0, 1)")
        new = names.get(old, old)
        if "*" in ctype:
            shape = rename(shapes[old], names)
            way = ", out: true" if old in outputs and old not in inout else f", fill: {filled}"
            way += ", inout: true" if old in inout else ""
            args[new] = f"{{type: {entry}, shape: [{shape}]{way}}}"
        elif old in size_names:
            args[new] = f"{{size: {new}}}"
        else:
            args[new] = f"{{type: {entry}, fill: {filled}}}"
    new_sizes = [names.get(s, s) for s in size_names]
    if prose is None:
        prose = rng.choice(PROSE) if rng.random() < 0.4 else ""
    return Example(family=family, techniques=list(dict.fromkeys(techniques)), reference=reference, rewrite=rewrite,
                   args=args, sizes={"check": sizes(new_sizes, check), "timed": sizes(new_sizes, timed)},
                   prose=prose, compare=compare)

"""Variants of an example: the same pair in other words, slower beginnings of its rewrite, gaps to fill.

    for variant, rule in RULES.items():
        other = rule(example, rng)      # None where the rule does not apply

A rule may produce wrong or slow pairs: what it gives is verified and measured like what was drawn. SAME are
the rules that cannot change what the compiler makes of both functions but for the order of their parameters:
what was measured of the example holds for them.
"""
import dataclasses
import re

import text as cpp
from harness import mapping

HEAD = re.compile(r"for \(int (\w+) = ([^;()]+); \1 < ([^;()]+); \1\+\+\)")
NAMES = {"size": "n m len size count num total extent".split(),
         "in": "a b x y src in data values left right p q input samples items".split(),
         "out": "c out dst res result z target y0 output".split(),
         "inout": "x y data values buf state a items cells".split(),
         "value": "s alpha factor scale limit bias w0 level".split(),
         "loop": "i j k r t at row col idx u v".split()}
MASK = "/* ... */"
MASK_PROSE = "A part of this function is missing: write the whole function."


def words(code):
    return set(re.findall(r"\b[A-Za-z_]\w*\b", code))


def substitute(code, names):
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda match: names.get(match[0], match[0]), code)


# --- the same pair in other words ---------------------------------------------------------------

def rename(example, rng):
    """Other names for the function, its parameters and its loops' counters."""
    taken = words(example.reference + " " + example.rewrite)
    names = {}

    def choose(old, kind):
        free = [name for name in NAMES[kind] if name not in taken]
        if old not in names and free:
            names[old] = rng.choice(free)
            taken.add(names[old])
    for parameter, entry in example.args.items():
        arg = mapping(entry)
        choose(parameter, "size" if "size" in arg else "value" if "shape" not in arg else
               "out" if "out" in arg else "inout" if "inout" in arg else "in")
    for counter in sorted(set(re.findall(r"for \(int (\w+) =", example.reference))):
        choose(counter, "loop")
    function = cpp.name(rng)
    if function not in taken:
        names[example.function] = function
    if not names:
        return None
    return dataclasses.replace(
        example, reference=substitute(example.reference, names), rewrite=substitute(example.rewrite, names),
        args={names.get(parameter, parameter): entry for parameter, entry in example.args.items()})


def counters(example, rng):
    """Counters that count another way, in both functions."""
    form = rng.choice([r"++\1", r"\1 += 1"])

    def other(code):
        return re.sub(r"(?<=; )(\w+)\+\+(?=\) \{)", form, code)
    if other(example.reference) == example.reference:
        return None
    return dataclasses.replace(example, reference=other(example.reference), rewrite=other(example.rewrite))


def order(example, rng):
    """Parameters in another order."""
    parameters = list(example.args)
    places = list(range(len(parameters)))
    rng.shuffle(places)
    calls = re.compile(rf"\b{example.function}\(([^()]*)\)")
    codes = (example.reference, example.rewrite)
    if places == sorted(places) or example.generator or any(len(calls.findall(code)) != 1 for code in codes):
        return None

    def other(code):
        def turn(match):
            entries = [entry.strip() for entry in match[1].split(",")]
            return f"{example.function}({', '.join(entries[place] for place in places)})"
        return calls.sub(turn, code)
    return dataclasses.replace(
        example, reference=other(example.reference), rewrite=other(example.rewrite),
        args={parameters[place]: example.args[parameters[place]] for place in places})


# --- other types, layouts and loops -------------------------------------------------------------

def retyped(example, code_of, args_of):
    if "_mm" in example.rewrite or "__m" in example.rewrite or example.generator:
        return None
    args = {name: args_of(entry) for name, entry in example.args.items()}
    if args == example.args and "float" not in example.reference:
        return None
    return dataclasses.replace(example, reference=code_of(example.reference), rewrite=code_of(example.rewrite),
                               args=args, returns="", compare="")


def f64(example, _):
    """Doubles for floats."""
    if "float" not in example.reference:
        return None

    def code(c):
        c = re.sub(r"\b(\d+\.\d*(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)f\b", r"\1", c.replace("float", "double"))
        return re.sub(r"\b(sqrt|fabs|exp|log|sin|cos|pow|floor|fmin|fmax|fma)f\(", r"\1(", c)
    return retyped(example, code, lambda entry: entry.replace("type: f32", "type: f64"))


def i32(example, _):
    """Integers for floats, where no fraction is needed."""
    both = example.reference + example.rewrite
    literals = re.findall(r"\b\d+\.\d*(?:[eE][-+]?\d+)?f?\b|\b\d+[eE][-+]?\d+f?\b", both)
    if "float" not in example.reference or "/" in both or re.search(r"\w+f\(", both) or \
            any(not re.fullmatch(r"\d\d?\.0f", literal) for literal in literals):
        return None

    def entry_of(entry):
        if "type: f32" not in entry:
            return entry
        entry = re.sub(r"uniform\(-[^)]*\)", "uniform(-9, 9)", entry.replace("type: f32", "type: i32"))
        return re.sub(r"uniform\([0-9][^)]*\)", "uniform(0, 9)", entry)
    return retyped(example, lambda c: re.sub(r"\b(\d+)\.0f\b", r"\1", c.replace("float", "int")), entry_of)


def strided(example, rng):
    """Rows of a matrix that are longer than what is used of them."""
    matrices = [name for name, entry in example.args.items() if re.search(r"shape: \[n, n\]", entry)]
    if example.args.get("n") != "{size: n}" or not matrices or example.generator:
        return None
    stride = rng.choice(["stride", "ld", "pitch", "width"])
    if stride in words(example.reference + example.rewrite):
        return None
    names = "|".join(map(re.escape, matrices))

    def other(code):
        code = re.sub(rf"\b({names})\[([^\]]*?)\* n\b", rf"\1[\2* {stride}", code)
        code = re.sub(rf"\b({names}) \+ ([^;]*?)\* n\b", rf"\1 + \2* {stride}", code)
        return re.sub(rf"(\b{example.function}\([^()]*)\)", rf"\1, int {stride})", code, count=1)
    args = {name: entry.replace("shape: [n, n]", "shape: [n, n + 5]") for name, entry in example.args.items()}
    # Outputs have columns that nobody writes: they keep what they were.
    args = {name: entry.replace("out: true", "fill: zero, inout: true") if "n + 5" in entry and
            "inout" not in entry else entry for name, entry in args.items()}
    return dataclasses.replace(example, reference=other(example.reference), rewrite=other(example.rewrite),
                               args={**args, stride: "{size: n + 5}"})


def while_loops(example, rng):
    """The reference's innermost loops as `while`, where a counter is declared once."""
    code = example.reference
    heads = [match for match in HEAD.finditer(code) if code.count(f"int {match[1]} ") == 1]
    if not heads or "continue" in code:
        return None
    head = rng.choice(heads)
    indent, end = enclosed(code, head.start())
    if end is None:
        return None
    body = code[head.end():end]
    loop = (f"int {head[1]} = {head[2]};\n{indent}while ({head[1]} < {head[3]}){body}"
            f"    {head[1]}++;\n{indent}")
    return dataclasses.replace(example, reference=code[:head.start()] + loop + code[end:])


def walking_pointer(example, rng):
    """The reference reads one vector through a pointer that walks along."""
    code = example.reference
    pointers = {name: kind for kind, name in
                re.findall(r"(const [\w ]+?\*) (?:__restrict )?(\w+)", code.split("{")[0])}
    found = []
    for head in HEAD.finditer(code):
        indent, end = enclosed(code, head.start())
        if end is None:
            continue
        body = code[head.end():end]
        found += [(head, indent, end, body, name) for name in pointers
                  if f"{name}[{head[1]}]" in body and len(re.findall(rf"\b{name}\b", body)) ==
                  body.count(f"{name}[{head[1]}]")]
    taken = words(code + example.rewrite)
    free = [name for name in ("p", "q", "at", "ptr", "cur") if name not in taken]
    if not found or not free:
        return None
    head, indent, end, body, name = rng.choice(found)
    walker = free[0]
    begin = name if head[2] == "0" else f"{name} + {head[2]}"
    loop = (f"{pointers[name]} {walker} = {begin};\n{indent}"
            f"{head[0][:-1]}, {walker}++){body.replace(f'{name}[{head[1]}]', f'*{walker}')}")
    return dataclasses.replace(example, reference=code[:head.start()] + loop + code[end:])


def enclosed(code, at):
    """The indentation of the block whose head stands at `at`, and where its last brace is."""
    line = code.rfind("\n", 0, at) + 1
    indent = code[line:at]
    if indent.strip():
        return "", None
    end = code.find(f"\n{indent}}}", at)
    return indent, end + 1 + len(indent) if end >= 0 else None


# --- back-translation: a slower beginning of a fast function ------------------------------------

def slower(example, code, techniques):
    """The pair (code, the example's rewrite); None where nothing was made slower."""
    if code is None or code == example.rewrite or code == example.reference or len(code) > 1200:
        return None
    return dataclasses.replace(example, reference=plain(code), techniques=techniques or example.techniques)


def plain(code):
    """Nobody who writes a slow function says `restrict`."""
    return code.replace("__restrict ", "")


def interchanged(example, rng):
    """Two loops of the rewrite, one alone inside the other, change places."""
    code, nests = example.rewrite, []
    for outer in HEAD.finditer(code):
        inner = HEAD.match(code, outer.end() + len(" {\n") + len(indent_of(code, outer)) + 4)
        if inner is None or re.search(rf"\b{outer[1]}\b", inner[2] + inner[3]):
            continue
        ends = [enclosed(code, head.start())[1] for head in (outer, inner)]
        if None not in ends and code[ends[1] + 1:ends[0]].strip() == "":
            nests.append((outer, inner))
    if not nests:
        return None
    outer, inner = rng.choice(nests)
    code = code[:outer.start()] + inner[0] + code[outer.end():inner.start()] + outer[0] + code[inner.end():]
    return slower(example, code, ["interchange"])


def indent_of(code, match):
    return code[code.rfind("\n", 0, match.start()) + 1:match.start()]


def rolled(example, _):
    """The unrolled loops of the rewrite are taken out, and the sums that then do nothing."""
    code, found = example.rewrite, False
    while True:
        head = re.search(r"for \(; (\w+) \+ \w+ <= [^;]+; \1 \+= \w+\)", code)
        if not head:
            break
        indent, end = enclosed(code, head.start())
        if end is None:
            return None
        line = code.rfind("\n", 0, head.start()) + 1
        code, found = code[:line] + code[end + 2:], True
    if not found or re.search(r"\w+ \w+\[\d+\](;| = )", code) or "_mm" in code:
        return None
    for name in re.findall(r"^\s+\w+ (\w+) = [^;]+;$", code, re.M):
        uses = len(re.findall(rf"\b{name}\b", code))
        if uses == 1 + code.count(f" + {name}"):
            code = re.sub(rf"^\s+\w+ {name} = [^;]+;\n", "", code, flags=re.M).replace(f" + {name}", "")
    for counter in re.findall(r"^\s+int (\w+) = 0;\n\s+for \(; \1 <", code, re.M):
        code = re.sub(rf"int {counter} = 0;\n\s+for \(; {counter} <", f"for (int {counter} = 0; {counter} <", code)
    return slower(example, code, None)


def unhoisted(example, rng):
    """A value that the rewrite computes before a loop is computed inside, where it is used."""
    code = example.rewrite
    found = []
    for match in re.finditer(r"^( +)(?:const )?(?:float|double|int|unsigned) (\w+) = ([^;{}]+);\n", code, re.M):
        name, value, rest = match[2], match[3], code[match.end():]
        close = rest.find("\n" + match[1][:-4] + "}")
        scope = rest[:close]
        if "for (" in scope and not re.search(rf"\b{name}\b(?! ==)\s*([-+*/|&^]?=|\+\+|--|\[)|[&+-]{{1,2}}{name}\b",
                                              scope) and re.search(rf"\b{name}\b", scope) \
                and re.search(r"[\[*/(]", value):
            found.append((match, scope))
    if not found:
        return None
    match, scope = rng.choice(found)
    value = match[3] if re.fullmatch(r"\w+(\[[^\]]*\])?|\w+\([^()]*\)", match[3]) else f"({match[3]})"
    inside = re.sub(rf"\b{match[2]}\b", lambda _: value, scope)
    code = code[:match.start()] + inside + code[match.end() + len(scope):]
    return slower(example, code, ["hoisting"])


def branchy(example, _):
    """Comparisons that are added and selections become branches."""
    def count(match):
        indent, name, condition = match.groups()
        return f"{indent}if ({condition}) {{\n{indent}    {name}++;\n{indent}}}"

    def select(match):
        indent, name, condition, value = match.groups()
        return f"{indent}if ({condition}) {{\n{indent}    {name} = {value};\n{indent}}}"
    code = re.sub(r"^( +)(\w+) \+= \(?(\w[^;()]* (?:[<>]=?|[!=]=) [^;()&|?]+?)\)?;", count, example.rewrite, flags=re.M)
    code = re.sub(r"^( +)(\w+) = ([^;?=]+ [<>]=? [^;?=]+) \? ([^;:?]+) : \2;", select, code, flags=re.M)
    return slower(example, code, ["branch-free"])


# --- infilling ----------------------------------------------------------------------------------

def infill(example, rng):
    """The rewrite with a span of whole lines masked; (what is shown, what is asked) instead of an example."""
    code = example.rewrite.splitlines()
    spans = []
    for begin in range(1, len(code) - 1):
        depth = 0
        for end in range(begin, min(begin + 5, len(code) - 1)):
            depth += code[end].count("{") - code[end].count("}")
            if depth < 0:
                break
            if depth == 0 and end - begin + 1 < (len(code) - 1) * 0.6 and len("".join(code[begin:end + 1]).strip()) > 12:
                spans.append((begin, end))
    if not spans:
        return None
    begin, end = rng.choice(spans)
    indent = re.match(r" *", code[begin])[0]
    shown = "\n".join(code[:begin] + [indent + MASK] + code[end + 1:])
    return shown, " ".join(part for part in (example.prose, MASK_PROSE) if part)


SAME = {"rename": rename, "counters": counters, "order": order}
OTHER = {"f64": f64, "i32": i32, "strided": strided, "while": while_loops, "walking": walking_pointer}
BACK = {"interchanged": interchanged, "rolled": rolled, "unhoisted": unhoisted, "branchy": branchy}
RULES = {**SAME, **OTHER, **BACK}

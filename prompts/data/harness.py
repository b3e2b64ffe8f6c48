"""Compiles examples and compares their rewrites with their references, many in one program.

    for example, problem in zip(examples, verify(examples)):
        print(problem or "right")

Inputs and outputs are those of a problem (prompts/README.md): filled by `fill`, outputs poisoned, compared by
`compare`. What a program reads or writes beside its arrays is found by the sanitizers.
"""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import text as cpp
from example import C_TYPES

HERE = pathlib.Path(__file__).resolve().parent
TYPES = {t: t.upper() for t in C_TYPES}
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-function", "-Wno-ignored-attributes"]
SANITIZED = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
PLAIN = ["-O0"]
TIMED = ["-O3"]
CHUNK = 40      # examples in one program
TIMEOUT_S = 120  # of one program or compiler


class EntryError(ValueError):
    pass


# --- the prompt format's words ------------------------------------------------------------------

def split_outside(words, at=","):
    """Splits at commas that stand outside of brackets."""
    parts, depth, part = [], 0, ""
    for c in words:
        depth += (c in "([{") - (c in ")]}")
        if c == at and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return [p for p in [*parts, part.strip()] if p]


def mapping(words):
    """'{type: f32, out: true}' as a dict of texts."""
    if not (words.startswith("{") and words.endswith("}")):
        raise EntryError(f"'{words}' is not {{KEY: VALUE, …}}")
    pairs = [split_outside(part, ":") for part in split_outside(words[1:-1])]
    if any(len(pair) != 2 for pair in pairs):
        raise EntryError(f"'{words}' is not {{KEY: VALUE, …}}")
    return dict(pairs)


def sequence(words):
    if not (words.startswith("[") and words.endswith("]")):
        raise EntryError(f"'{words}' is not a list")
    return split_outside(words[1:-1])


def evaluate(expression, values):
    """An expression of sizes: integers, + - * / %, min and max."""
    if not re.fullmatch(r"[\w\s+\-*/%(),]+", expression):
        raise EntryError(f"'{expression}' is no expression")
    try:
        return int(eval(expression.replace("/", "//"),  # pylint: disable=eval-used
                        {"__builtins__": {}, "min": min, "max": max}, dict(values)))
    except (NameError, SyntaxError, TypeError, ZeroDivisionError) as error:
        raise EntryError(f"'{expression}': {error}") from error


def size_points(example, which):
    """The sizes of a list as dicts name -> value."""
    entries = sequence(example.sizes[which])
    if entries and entries[0].startswith("{"):
        return [{k: int(v) for k, v in mapping(entry).items()} for entry in entries]
    names = set()
    for arg in map(mapping, example.args.values()):
        for expression in [arg.get("size", "")] + sequence(arg.get("shape", "[]")):
            names |= set(re.findall(r"[A-Za-z_]\w*", expression)) - {"min", "max"}
    if len(names) != 1:
        raise EntryError(f"plain sizes need one size variable, not {sorted(names)}")
    return [{next(iter(names)): int(entry)} for entry in entries]


def fill_words(arg):
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", arg.get("fill", "none"))
    parameters = [p.strip() for p in (found[2] or "").split(",")] if found else []
    parameters = [p for p in parameters if p] + ["0", "0"]
    return f"{found[1].upper()}, {parameters[0]}, {parameters[1]}"


def compare_words(example):
    rule = mapping(example.compare) if example.compare else {"rule": "exact"}
    return f"{rule['rule'].upper()}, {rule.get('rtol', '0')}, {rule.get('atol', '0')}"


# --- the program --------------------------------------------------------------------------------

def test_code(number, example, timed):
    """The functions of one example and what calls them."""
    args = [mapping(entry) for entry in example.args.values()]
    declarations, calls, pairs, widths = [], [], [], []
    for at, (name, arg) in enumerate(zip(example.args, args)):
        here = f"arg{at}_"
        if "size" in arg:
            widths.append(arg["size"])
            declarations.append(f"const long {here} = v[{at}];")
            calls.append((here,) * 3)
        elif "shape" in arg:
            widths.append("*".join(f"({extent})" for extent in sequence(arg["shape"])))
            role = "OUT" if arg.get("out") == "true" else "INOUT" if "inout" in arg else "IN"
            declarations.append(f'Pair {here}(c, "{name}", {TYPES[arg["type"]]}, v[{at}], {role}, '
                                f"{fill_words(arg)});")
            calls.append(tuple(f"({example.pointers[at]}){here}.{side}" for side in ("want", "got", "begin")))
            pairs.append((here, role))
        else:
            widths.append("0")
            kind, (_, low, high) = arg["type"], fill_words(arg).split(", ")
            declarations.append(f"const auto {here} = ({C_TYPES[kind]})c.Uniform({TYPES[kind]}, {low}, {high});")
            calls.append((here,) * 3)
    want, got, begin = (f"{name}({', '.join(call[side] for call in calls)}" for side, name in enumerate(
        (f"r{number}::{example.function}", f"w{number}::{example.function}", f"g{number}::generate")))
    want, got, begin = want + ")", got + ")", begin + ", c.state);"
    if example.generator:
        declarations += [begin] + [f"{pair}.Restart();" for pair, _ in pairs]
    restart = " ".join(f"{pair}.Restart();" for pair, role in pairs if role == "INOUT")
    code = ["using namespace harness;", *declarations]
    if timed:
        code = cpp.block(f"static double time{number}(harness::Case& c, const long* v)", *code,
                         f"return Ratio([&] {{ {volatile(want)} }}, [&] {{ {volatile(got)} }}, [&] {{ {restart} }});")
    else:
        if example.returns:
            kind = TYPES[mapping(example.returns)["type"]]
            code += [f"const auto want = {want};", f"const auto got = {got};",
                     f'Compare(c, "the result", {kind}, &want, &got, 1);']
        else:
            code += [want + ";", got + ";"]
        code += [f"{pair}.Check(c);" for pair, _ in pairs] + ["(void)v;"]
        code = cpp.block(f"static void test{number}(harness::Case& c, const long* v)", *code)
    points = size_points(example, "timed" if timed else "check")
    if timed:
        points = points[:1]
    rows = [[evaluate(width, point) for width in widths] for point in points]
    table = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in rows)
    functions = [line for side, part in (("r", example.reference), ("w", example.rewrite),
                                         ("g", example.generator)) if part
                 for line in (f"namespace {side}{number} {{", f'#line 1 "{number}{side}"', part, "}",
                              f'#line 1 "{number}h"')]
    entry = (f"{{{'nullptr' if timed else f'test{number}'}, sizes{number}[0], {len(rows)}, {len(widths)}, "
             f"harness::{compare_words(example)}, {f'time{number}' if timed else 'nullptr'}}}")
    return "\n".join([*functions, f"static const long sizes{number}[][{len(widths)}] = {{{table}}};",
                      *code, ""]), entry


def volatile(call):
    """The call through a pointer that the compiler cannot see through."""
    function, brace, arguments = call.partition("(")
    return f"static auto* volatile f = &{function}; f{brace}{arguments};"


def program(examples, timed=False):
    """The text of a program that tests (or times) the examples; None entries are left out."""
    parts, entries = [], []
    for number, example in enumerate(examples):
        code, entry = test_code(number, example, timed)
        parts.append(code)
        entries.append(entry)
    return ('#include "harness.h"\n' + "".join(parts) + "static const harness::Test tests[] = {\n" + ",\n".join(entries) +
            "};\nint main(int argc, char** argv) { return harness::Run(tests, "
            f"{len(entries)}, argc, argv); }}\n")


def fingerprint():
    """Changes with what decides whether an example is right, this file and its header."""
    here = pathlib.Path(__file__).parent
    return hashlib.sha256(b"".join((here / name).read_bytes() for name in ("harness.py", "harness.h.in"))).hexdigest()


def run(command, **options):
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=TIMEOUT_S, check=False, **options)
    except subprocess.TimeoutExpired as error:
        # What it printed until then stands.
        printed = (error.stdout or b"").decode(errors="replace")
        return subprocess.CompletedProcess(command, -1, printed, f"took longer than {TIMEOUT_S} s")


def compiler(flags):
    guard = "0" if any("address" in flag for flag in flags) else "1"
    return ["g++", "-std=c++20", "-march=native", f"-DWITH_GUARD={guard}", *WARNINGS, *flags]


def diagnostics(stderr):
    """{number of the example: its first diagnostic} of a compiler's output."""
    found = {}
    for number, rest in re.findall(r"^(\d+)[rwgh]:\d+:(?:\d+:)? ((?:warning|error): .*)$", stderr, re.M):
        found.setdefault(int(number), rest)
    return found


def verify_chunk(examples, flags, timed, header):
    """One problem (or None) for each example; with `timed` one number (or a text)."""
    with tempfile.TemporaryDirectory() as folder:
        source, binary = f"{folder}/examples.cc", f"{folder}/examples"
        pathlib.Path(source).write_text(program(examples, timed))
        built = run([*compiler(flags), f"-I{header}", source, "-o", binary])
        problems = {k: f"does not compile cleanly: {v}" for k, v in diagnostics(built.stderr).items()}
        if built.returncode != 0:
            if not problems and len(examples) > 1:
                # A compiler that took too long, or had too little memory, says of nobody whose fault it is.
                half = len(examples) // 2
                return [result for part in (examples[:half], examples[half:])
                        for result in verify_chunk(part, flags, timed, header)]
            if not problems:
                return [f"does not compile: {built.stderr[-300:]}"]
            return without(examples, problems, flags, timed, header)
        results, at = {}, 0
        while at < len(examples):
            ran = run([binary, str(at)], env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
            for line in ran.stdout.splitlines():
                number, result = line.split(" ", 1)
                if not (result == "right" and int(number) in results):
                    results[int(number)] = result
            last = max(results, default=-1)
            if ran.returncode == 0:
                break
            results[max(last + 1, at)] = "crashes: " + crash_text(ran.stderr)
            at = max(last + 1, at) + 1
    merged = []
    for number in range(len(examples)):
        result = problems.get(number) or results.get(number, "was not run")
        merged.append(float(result.split()[1]) if result.startswith("ratio") else
                      None if result == "right" else result)
    return merged


def without(examples, problems, flags, timed, header):
    """Verifies again without those that do not compile."""
    kept = [example for number, example in enumerate(examples) if number not in problems]
    results = iter(verify_chunk(kept, flags, timed, header) if kept else [])
    return [problems[number] if number in problems else next(results) for number in range(len(examples))]


def crash_text(stderr):
    found = re.search(r"(?:ERROR: AddressSanitizer: |runtime error: )([^\n]*)", stderr)
    where = re.search(r"#\d+ \S+ in ([rw]\d+::\w+)", stderr)
    return (found[1] if found else stderr[-200:]) + (f" in {where[1]}" if where else "")


def verify(examples, flags=None, timed=False, jobs=2):
    """Compiles and runs all examples: a problem, or None, for each."""
    flags = flags or (TIMED if timed else SANITIZED)
    chunks = [examples[at:at + CHUNK] for at in range(0, len(examples), CHUNK)]
    with tempfile.TemporaryDirectory() as header, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        shutil.copy(HERE / "harness.h.in", f"{header}/harness.h")
        precompiled = run([*compiler(flags), "-x", "c++-header", f"{header}/harness.h", "-o", f"{header}/harness.h.gch"])
        if precompiled.returncode != 0:
            raise RuntimeError(f"harness.h does not compile:\n{precompiled.stderr}")
        return [result for chunk in pool.map(lambda part: verify_chunk(part, flags, timed, header), chunks)
                for result in chunk]

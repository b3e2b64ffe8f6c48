"""What a family of worked examples is: a function of random numbers that draws an example.

    from example import Example, family
    from text import block, loop, text

    @family("row_sums")
    def row_sums(rng):
        ...
        return Example(family="row_sums", techniques=["accumulators"], reference=..., rewrite=...,
                       args={"a": "{type: f32, shape: [n, n], fill: uniform(0, 1)}",
                             "c": "{type: f32, shape: [n], out: true}", "n": "{size: n}"},
                       sizes={"check": "[1, 3, 17, 64]", "timed": "[160]"})

One family is one kind of function with its rewrites. Calls with different random numbers give different
functions: names, expressions, constants, loop forms, rewrites by several techniques. All that is random
comes from `rng`, so that a seed gives the same examples everywhere.
"""
import dataclasses
import re

MAX_CHARS = 1200  # of a reference and of a rewrite; longer ones are not trained on

# The words for what a rewrite does; an example has one or more of them.
TECHNIQUES = {
    "accumulators": "several sums, minima or products side by side",
    "algorithm": "fewer operations by another method: running results, closed forms, two pointers",
    "bit-tricks": "words as sets of bits, carries, population counts",
    "blocking": "tiles that stay in registers or in cache",
    "branch-free": "comparisons as values, minima and maxima, selections",
    "early-exit": "ends, or skips, as soon as the answer is known",
    "fewer-passes": "several loops over the same data become one",
    "hints": "the compiler is told what it may do: unroll loops, sum in any order, do less",
    "hoisting": "what does not change is computed once, before the loop",
    "interchange": "another order of the loops, so that memory is read along rows",
    "intrinsics": "vector instructions by name",
    "layout": "data copied or turned into an order that suits the loop",
    "narrow-types": "counters or sums in smaller types, more of them to a vector",
    "restrict": "says that arrays do not overlap",
    "row-pointers": "pointers to rows instead of products of indices",
    "strength-reduction": "divisions and remainders become multiplications, shifts or counters",
    "tables": "results looked up instead of computed",
    "unrolling": "several iterations written out",
    "wide-loads": "several small elements read or written as one word",
}

C_TYPES = {"f32": "float", "f64": "double", "i8": "signed char", "i16": "short", "i32": "int",
           "i64": "long long", "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned",
           "u64": "unsigned long long"}
RETURN_TYPES = {**{c: t for t, c in C_TYPES.items()}, "unsigned int": "u32", "int8_t": "i8",
                "int16_t": "i16", "int32_t": "i32", "int64_t": "i64", "uint8_t": "u8",
                "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "long": "i64",
                "unsigned long": "u64"}
SIGNATURE = re.compile(r"^((?:const )?\w+(?: \w+)*?) (\w+)\(([^)]*)\)(?= \{)", re.M)
HINT = re.compile(r"^ *#pragma GCC (?:optimize\(.*\)|unroll \d+)\n", re.M)


def without_hints(code):
    return HINT.sub("", code)


class ExampleError(ValueError):
    """An example that breaks the rules below; the text names the family."""


@dataclasses.dataclass
class Example:
    """A function, a faster rewrite of it, and how both are called.

    `reference` and `rewrite` are complete functions of the same signature, without #include; the headers
    of text.HEADERS are there. A rewrite may define constants and static functions before it, and have hints.
    `args` has one entry for each parameter, in order, in the words of prompts/README.md; `sizes` has
    "check" and "timed"; a timed call of the reference should take 20 to 300 µs. Sums of floats whose order
    changes want `fill: uniform(0, 1)`: what cancels out has no digits to compare.
    `compare` and `returns` follow from the types if left out: exact for integers, else 1e-4 of the largest
    value. `generator` is the function `generate` of a problem's `## generator`.
    """
    family: str
    techniques: list
    reference: str
    rewrite: str
    args: dict
    sizes: dict
    prose: str = ""
    compare: str = ""
    returns: str = ""
    generator: str = ""

    def __post_init__(self):
        self.reference, self.rewrite = self.reference.strip(), self.rewrite.strip()
        wrong = [tag for tag in self.techniques if tag not in TECHNIQUES]
        if wrong or not self.techniques:
            self.fail(f"techniques {wrong} are not in example.TECHNIQUES: {', '.join(TECHNIQUES)}")
        for part, code in (("reference", self.reference), ("rewrite", self.rewrite)):
            if len(code) > MAX_CHARS:
                self.fail(f"the {part} has {len(code)} characters, more than {MAX_CHARS}")
            if "#" in (without_hints(code) if part == "rewrite" else code) or "\t" in code:
                self.fail(f"the {part} has a tab, or a '#' that is no hint")
        if self.function not in [match[2] for match in SIGNATURE.finditer(self.rewrite)]:
            self.fail(f"the rewrite does not define {self.function}")
        if list(self.args) != self.parameters:
            self.fail(f"args {list(self.args)} are not the parameters {self.parameters}, in order")
        for key in ("check", "timed"):
            if key not in self.sizes:
                self.fail(f"sizes lacks '{key}'")
        if not self.returns and self.return_type != "void":
            self.returns = f"{{type: {RETURN_TYPES[self.return_type]}}}"
        if not self.compare and any(f"type: {t}" in " ".join([*self.args.values(), self.returns])
                                    for t in ("f32", "f64")):
            self.compare = "{rule: scaled, rtol: 1.0e-4}"

    def fail(self, message):
        raise ExampleError(f"family {self.family}: {message}\n{self.reference}\n{self.rewrite}")

    @property
    def _match(self):
        found = SIGNATURE.search(self.reference)
        return found or self.fail("the reference has no signature `TYPE NAME(PARAMETERS) {` in one line")

    @property
    def signature(self):
        return self._match[0]

    @property
    def return_type(self):
        return self._match[1]

    @property
    def function(self):
        return self._match[2]

    @property
    def parameters(self):
        """The parameters' names, in order."""
        return [parameter.split()[-1].lstrip("*") for parameter in self._match[3].split(",")]

    @property
    def pointers(self):
        """The parameters' types, in order, without `const`."""
        return [re.sub(r"\bconst |\w+$", "", parameter.strip()) for parameter in self._match[3].split(",")]


FAMILIES = {}


def family(name):
    """Registers a function (rng) -> Example as the family `name`."""
    def register(function):
        if name in FAMILIES:
            raise ExampleError(f"family {name} is there twice")
        FAMILIES[name] = function
        return function
    return register

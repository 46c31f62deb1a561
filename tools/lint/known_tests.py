"""The names of all tests, read out of the sources, for the checks whose tables name tests.

A test is named by its file, as `Suite.Case` (`Suite.*` for a whole suite; of a typed or parametrized one the name
without its prefix and number does), as `Store_driver.case` of the conformance suites, by the name of a script test, or
by the `make` target that runs it.
"""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Not what instantiates a suite: the first name there is a prefix.
CASE = re.compile(r"\b(?!\w*SUITE)(?:[A-Z]+_)*(?:TEST|CASE)(?:_[A-Z]+)*\s*\(\s*(\w+)\s*,\s*(\w+)")


def words(cell):
    """The names in a table cell, without Markdown's ornaments."""
    cell = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("<br>", ",").replace("`", "")
    return [w.strip() for w in re.split(r"[,;]\s*|\s+and\s+|\s+·\s+", cell) if w.strip()]


class KnownTests:
    def __init__(self, cases, scripts=(), targets=(), exists=lambda path: False):
        self.cases, self.scripts, self.targets, self.exists = set(cases), set(scripts), set(targets), exists
        self.suites = {suite for suite, _ in self.cases}

    def complaint(self, name):
        """What is wrong with this name of a test, or None."""
        if self.exists(name) or name in self.scripts:
            return None
        if made := re.fullmatch(r"make ([\w-]+)(?: [A-Z]+=\S+)*", name):
            return None if made.group(1) in self.targets else f"no target '{made.group(1)}' in the Makefile"
        case = re.fullmatch(r"(?:\w+/)?(\w+)\.(\w+|\*)(?:/\S+)?", name)
        if not case:
            return f"'{name}' is no file, no Suite.Case, no script test and no make target"
        if case.group(2) == "*":
            return None if case.group(1) in self.suites else f"no test suite '{case.group(1)}'"
        return None if case.groups() in self.cases else f"no test '{name}'"


def scripts_in(text):
    """Script tests and fuzzers' corpora of a CMake file; loops over items are unrolled first."""
    text = re.sub(r"foreach\((\w+) IN ITEMS ([^)]*)\)(.*?)endforeach\(\)",
                  lambda loop: "".join(loop[3].replace("${%s}" % loop[1], item) for item in loop[2].split()), text,
                  flags=re.S)
    return (set(re.findall(r"\bnebis_script_test\(\s*([\w.-]+)", text)) |
            {f"{fuzz}.corpus" for fuzz in re.findall(r"\bnebis_fuzz\(\s*([\w.-]+)", text)})


def known_tests():
    """All there are in the tree. The conformance suites' tests are made at run time, each case for each driver."""
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.splitlines()
    cases, scripts, drivers, shared = set(), set(), set(), set()
    for name in files:
        path = ROOT / name
        if not path.is_file():
            continue
        if path.suffix in (".cpp", ".hpp"):
            text = path.read_text()
            cases |= set(CASE.findall(text))
            drivers |= set(re.findall(r'\bregister_(store|gate)\("(\w+)"', text))
            if found := re.fullmatch(r"conformance/(\w+)_cases\.cpp", name):
                kind = "gate" if found.group(1) == "gate" else "store"
                shared |= {(kind, case) for case in re.findall(r'\{"(\w+)",\s*\w+\}', text)}
        elif path.name == "CMakeLists.txt" or path.suffix == ".cmake":
            scripts |= scripts_in(path.read_text())
    cases |= {(f"{kind.capitalize()}_{driver}", case) for kind, driver in drivers for of, case in shared if of == kind}
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.M)
    return KnownTests(cases, scripts, targets, lambda path: (ROOT / path).is_file())

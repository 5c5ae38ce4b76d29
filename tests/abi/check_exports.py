#!/usr/bin/env python3
"""The built library exports what the public header declares and the version script lists, and nothing else.

Also: what it needs at run time, its SONAME, that it stays loaded, and that its segments are clean. Needs nm and readelf.
"""
import argparse
import pathlib
import re
import subprocess
import sys

NODE = "MGEMM_0"
SONAME = "libmamba_gemm.so.0"
ALLOWED_NEEDED = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"}


def declared(header):
    """Functions marked MGEMM_API. Every mark outside a #define must be one we understand."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    names = re.findall(r"MGEMM_API\s+[\w\s*]*?\b(mgemm_\w+)\s*\(", text)
    if len(names) != len(re.findall(r"\bMGEMM_API\b", text)) or len(names) != len(set(names)):
        sys.exit("the header has a MGEMM_API declaration this script cannot read, or one twice")
    return set(names)


def listed(script):
    """Names under `global:` of the one node of the version script."""
    text = re.sub(r"#.*|/\*.*?\*/", "", script)
    nodes = re.findall(r"(\w+)\s*\{(.*?)\}\s*;", text, flags=re.DOTALL)
    if [name for name, _ in nodes] != [NODE]:
        sys.exit(f"the version script must have the one node {NODE}, it has {[name for name, _ in nodes]}")
    body = re.fullmatch(r"\s*global:(.*)local:\s*\*;\s*", nodes[0][1], flags=re.DOTALL)
    if not body:
        sys.exit("the version script's node must be `global: names; local: *;`")
    names = [name.strip() for name in body[1].split(";") if name.strip()]
    odd = [name for name in names if not re.fullmatch(r"mgemm_\w+", name)]
    if odd or len(names) != len(set(names)):
        sys.exit(f"the version script must list each function once and by its full name; see {odd or 'repeated names'}")
    return set(names)


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library, problems):
    names = set()
    for line in tool("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        kind, symbol = line.split()[-2:]
        name, _, version = symbol.partition("@@")
        if kind == "A" and name == NODE:
            continue
        if kind != "T":
            problems.append(f"exported symbol {symbol} is of type {kind}; only functions (T) may be exported")
        elif version != NODE:
            problems.append(f"exported symbol {symbol} is not versioned {NODE}")
        names.add(name)
    return names


def compare(left_name, left, right_name, right, problems):
    for name in sorted(left - right):
        problems.append(f"{name} is in {left_name} but not in {right_name}")
    for name in sorted(right - left):
        problems.append(f"{name} is in {right_name} but not in {left_name}")


def check_dynamic(library, sanitized, problems):
    dynamic = tool("readelf", "-dW", library)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if sanitized:
        print(f"SKIPPED: the NEEDED check, a sanitizer build needs its run time: {sorted(needed)}")
    else:
        for name in sorted(needed - ALLOWED_NEEDED):
            if not re.fullmatch(r"ld-linux.*\.so\.\d+", name):
                problems.append(f"the library needs {name}; allowed are {sorted(ALLOWED_NEEDED)} and ld-linux*")
    if re.findall(r"\(SONAME\).*\[(.*)\]", dynamic) != [SONAME]:
        problems.append(f"the SONAME is not {SONAME}")
    if not re.search(r"\(FLAGS_1\).*\bNODELETE\b", dynamic):
        problems.append("the library is not linked -z nodelete: its fork handler would dangle after dlclose")
    if re.search(r"\bTEXTREL\b", dynamic):
        problems.append("the library has text relocations")
    stack = re.search(r"^\s*GNU_STACK\s+(?:0x\w+\s+){5}([RWE ]+?)\s+0x", tool("readelf", "-lW", library), re.MULTILINE)
    if not stack or "E" in stack[1]:
        problems.append("the library asks for an executable stack")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--header", required=True, type=pathlib.Path, nargs="+")
    parser.add_argument("--map", required=True, type=pathlib.Path)
    parser.add_argument("--sanitized", action="store_true", help="do not check NEEDED")
    options = parser.parse_args()

    problems = []
    in_header = declared("".join(header.read_text(encoding="utf-8") for header in options.header))
    in_map = listed(options.map.read_text(encoding="utf-8"))
    in_library = exported(options.library, problems)
    compare("the header", in_header, "the version script", in_map, problems)
    compare("the header", in_header, "the library's exports", in_library, problems)
    check_dynamic(options.library, options.sanitized, problems)
    for problem in problems:
        print(f"WRONG: {problem}")
    print(f"{len(in_header)} functions, {len(problems)} problems")
    return 1 if problems or not in_header else 0


sys.exit(main())

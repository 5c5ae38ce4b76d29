#!/usr/bin/env python3
"""check_exports.py accepts a small good library and refuses each way of spoiling it, with the right words."""
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).with_name("check_exports.py")
COMPILER = sys.argv[1] if len(sys.argv) > 1 else "cc"
HEADER = "#define MGEMM_API\nMGEMM_API int mgemm_one(int a);\nMGEMM_API const char *mgemm_two(void);\n"
MAP = "MGEMM_0 {\n  global:\n    mgemm_one;\n    mgemm_two;\n  local:\n    *;\n};\n"
SOURCE = 'int mgemm_one(int a) { return a; }\nconst char *mgemm_two(void) { return "two"; }\n'
FLAGS = ["-shared", "-fPIC", "-Wl,-soname,libmamba_gemm.so.0", "-Wl,-z,nodelete", "-Wl,-z,noexecstack"]


def run(folder, header=HEADER, script=MAP, source=SOURCE, flags=FLAGS, link_script=None, options=(), append=()):
    """Builds the library and returns (exit code, output) of the check."""
    files = {"api.h": header, "checked.map": script, "linked.map": link_script or script, "code.c": source}
    for name, text in files.items():
        (folder / name).write_text(text)
    library = folder / "library.so"
    build = [COMPILER, *flags, f"-Wl,--version-script={folder / 'linked.map'}", str(folder / "code.c")]
    subprocess.run([*build, "-o", str(library), *append], check=True)
    check = [sys.executable, str(CHECK), "--library", str(library), "--header", str(folder / "api.h")]
    done = subprocess.run([*check, "--map", str(folder / "checked.map"), *options], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def without(flag):
    return [entry for entry in FLAGS if flag not in entry]


THREE = "MGEMM_0 {\n  global:\n    mgemm_one;\n    mgemm_two;\n    mgemm_three;\n  local:\n    *;\n};\n"
CASES = {
    "a declared function is not exported": (
        {"header": HEADER + "MGEMM_API void mgemm_three(void);\n"},
        "mgemm_three is in the header but not in the library's exports",
    ),
    "an undeclared function is exported": (
        {"source": SOURCE + "void mgemm_three(void) {}\n", "link_script": THREE},
        "mgemm_three is in the library's exports but not in the header",
    ),
    "the version script lists one too many": (
        {"script": THREE, "link_script": MAP},
        "mgemm_three is in the version script but not in the header",
    ),
    "a wildcard in the version script": ({"script": MAP.replace("mgemm_one", "mgemm_*")}, "by its full name"),
    "another version node": (
        {"link_script": MAP.replace("MGEMM_0", "MGEMM_1")},
        "mgemm_one@@MGEMM_1 is not versioned MGEMM_0",
    ),
    "a weak symbol": (
        {"source": SOURCE.replace("int mgemm_one", "__attribute__((weak)) int mgemm_one")},
        "is of type W",
    ),
    "data exported": (
        {"source": 'int mgemm_one = 1;\nconst char *mgemm_two(void) { return "two"; }\n'},
        "is of type D",
    ),
    "a macro in a declaration": ({"header": HEADER + "MGEMM_API MACRO(int) mgemm_four(void);\n"}, "cannot read"),
    "another library needed": (
        {"append": ["-Wl,--no-as-needed", "-lresolv"]},
        "the library needs libresolv.so.2",
    ),
    "another SONAME": (
        {"flags": [*without("soname"), "-Wl,-soname,libmamba_gemm.so.1"]},
        "the SONAME is not libmamba_gemm.so.0",
    ),
    "unloadable": ({"flags": without("nodelete")}, "not linked -z nodelete"),
    "an executable stack": ({"flags": [*without("noexecstack"), "-Wl,-z,execstack"]}, "executable stack"),
    "text relocations": (
        # An absolute address inside the code section, which the loader would have to patch.
        {"source": SOURCE + '__asm__(".text\\n.quad mgemm_two\\n.previous");\n', "flags": [*FLAGS, "-Wl,-z,notext"]},
        "text relocations",
    ),
}


def main():
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, output = run(folder)
        if code != 0 or "2 functions, 0 problems" not in output:
            wrong += 1
            print(f"WRONG: the good library is refused: {output}")
        code, output = run(folder, append=["-Wl,--no-as-needed", "-lresolv"], options=["--sanitized"])
        if code != 0 or "SKIPPED: the NEEDED check" not in output:
            wrong += 1
            print(f"WRONG: the sanitizer build is refused, or the skip is silent: {output}")
        for case, (changes, words) in CASES.items():
            code, output = run(folder, **changes)
            if code == 0 or words not in output:
                wrong += 1
                print(f"WRONG: {case}: exit {code}, expected '{words}' in: {output}")
    print(f"{len(CASES) + 2} cases, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())

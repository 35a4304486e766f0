"""Writes the C source of holdfast_locks._native, the extension module over <holdfast/holdfast.h>.

    make_native.py HEADER OUTPUT

Its declarations are those of the header itself, so that no second copy can differ from it.
"""

import re
import sys
from pathlib import Path

import cffi


def declarations(header: str) -> str:
    """The header as cffi reads it: without the preprocessor's lines."""
    header = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", header, flags=re.DOTALL | re.MULTILINE)
    header = re.sub(r"^#(.*\\\n)*.*\n", "", header, flags=re.MULTILINE)
    header = header.replace("HOLDFAST_API ", "")
    frees = "".join(f"void free_{kind}(holdfast_{kind} **owner); " for kind in KINDS)
    return (
        header
        + "static const int64_t HOLDFAST_FOREVER, HOLDFAST_NONE; "
        + frees
        + "void free_text(char **owner); void free_completion(holdfast_completion *);"
    )


# What the library hands out, and a function for each that frees what a variable has. In C, because a function of Python
# that frees would be left by the exception of a signal, which would be lost, too.
KINDS = ["client", "fence", "queue", "state", "stop", "watch"]
FREES = """
static void free_text(char **owner) { holdfast_free(*owner); }
static void free_completion(holdfast_completion *completion) {
  holdfast_free(completion->message);
  holdfast_lease_free(completion->lease);
}
""" + "".join(f"static void free_{kind}(holdfast_{kind} **owner) {{ holdfast_{kind}_free(*owner); }}\n" for kind in KINDS)


header, output = sys.argv[1:]
ffi = cffi.FFI()
ffi.cdef(declarations(Path(header).read_text(encoding="utf-8")))
ffi.set_source("holdfast_locks._native", "#include <holdfast/holdfast.h>\n" + FREES)
ffi.emit_c_code(output)

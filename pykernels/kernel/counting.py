"""How compiled kernels count the references to their temporary arrays, in LLVM IR.

numba counts with atomic operations, since its arrays may belong to several threads. A kernel's temporary arrays are its
own, and an atomic addition takes longer than most kernels need for four elements.
"""

from __future__ import annotations

import re

__all__ = ["FUNCTIONS", "let_inline"]

#: A module with the functions that numba's code calls. Until needless calls are gone, they must not be inlined.
FUNCTIONS = """
declare void @NRT_MemInfo_call_dtor(ptr)

define linkonce_odr ptr @NRT_MemInfo_data_fast(ptr %block) {
  %place = getelementptr i64, ptr %block, i64 3
  %data = load ptr, ptr %place
  ret ptr %data
}

define linkonce_odr void @NRT_incref(ptr %block) noinline {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %old = load i64, ptr %block
  %new = add i64 %old, 1
  store i64 %new, ptr %block
  br label %done
done:
  ret void
}

define linkonce_odr void @NRT_decref(ptr %block) noinline {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %old = load i64, ptr %block
  %new = sub i64 %old, 1
  store i64 %new, ptr %block
  %last = icmp eq i64 %new, 0
  br i1 %last, label %free, label %done
free:
  call void @NRT_MemInfo_call_dtor(ptr %block)
  br label %done
done:
  ret void
}
"""

_DEFINITION = re.compile(r"^(define [^\n]*@NRT_(?:incref|decref)\([^\n]*?)#\d+ \{$", re.M)


def let_inline(code: str) -> str:
    """The text of a module in which the functions may be inlined."""
    return _DEFINITION.sub(r"\1{", code)

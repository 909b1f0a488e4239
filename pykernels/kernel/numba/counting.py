"""How compiled kernels find memory for their temporary arrays, and count the references to them, in LLVM IR.

numba counts with atomic operations, since its arrays may belong to several threads. A kernel's temporary arrays are its
own, and an atomic addition takes longer than most kernels need for four elements. So does a call for memory: small
arrays lie in an arena of the thread, blocks on top of one another, and all of it is free again once each of them is.
Where an exception leaves one behind, the arena is as good as full. A function finds the arena, once for a call: LLVM
takes it that looking up a thread's variable leaves AVX-512's additional registers alone, which the C library uses when
a thread does so for the first time.
"""

from __future__ import annotations

import re

__all__ = ["FUNCTIONS", "let_inline"]

# Bytes of an arena, as in kernel_runtime.cpp; how many are used and in how many blocks comes after them.
_ARENA = 4096
#: A module with the functions that numba's code calls. Until needless calls are gone, they must not be inlined.
FUNCTIONS = f"""
declare nonnull ptr @pk_arena_of_thread() nounwind willreturn memory(none)
declare void @NRT_MemInfo_call_dtor(ptr)
declare noalias ptr @NRT_MemInfo_alloc_safe_aligned(i64, i32)

define linkonce_odr noalias ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) noinline {{
  %arena = call ptr @pk_arena_of_thread()
  %used_at = getelementptr i8, ptr %arena, i64 {_ARENA}
  %used = load i64, ptr %used_at
  %free = sub i64 {_ARENA}, %used
  %more = add i64 %size, 127
  %bytes = and i64 %more, -64
  %is_small = icmp ule i64 %bytes, %free
  %is_usual = icmp ule i32 %alignment, 64
  %is_here = and i1 %is_small, %is_usual
  br i1 %is_here, label %here, label %elsewhere
here:
  %using = add i64 %used, %bytes
  store i64 %using, ptr %used_at
  %blocks_at = getelementptr i64, ptr %used_at, i64 1
  %blocks = load i64, ptr %blocks_at
  %one_more = add i64 %blocks, 1
  store i64 %one_more, ptr %blocks_at
  %block = getelementptr i8, ptr %arena, i64 %used
  store i64 1, ptr %block
  %data = getelementptr i8, ptr %block, i64 64
  %place = getelementptr i64, ptr %block, i64 3
  store ptr %data, ptr %place
  ret ptr %block
elsewhere:
  %other = call ptr @NRT_MemInfo_alloc_safe_aligned(i64 %size, i32 %alignment)
  ret ptr %other
}}

define linkonce_odr ptr @NRT_MemInfo_data_fast(ptr %block) {{
  %place = getelementptr i64, ptr %block, i64 3
  %data = load ptr, ptr %place
  ret ptr %data
}}

define linkonce_odr void @NRT_incref(ptr %block) noinline {{
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %old = load i64, ptr %block
  %new = add i64 %old, 1
  store i64 %new, ptr %block
  br label %done
done:
  ret void
}}

define linkonce_odr void @NRT_decref(ptr %block) noinline {{
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
}}
"""

_DEFINITION = re.compile(r"^(define [^\n]*@NRT_(?:incref|decref|MemInfo_alloc_aligned)\([^\n]*?)#\d+ \{$", re.M)


def let_inline(code: str) -> str:
    """The text of a module in which the functions may be inlined."""
    return _DEFINITION.sub(r"\1{", code)

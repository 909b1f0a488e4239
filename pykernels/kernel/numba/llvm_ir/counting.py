"""Allocate temporary arrays of compiled kernels and count references to them, in LLVM IR.

numba counts with atomic operations, since several threads may share its arrays. A kernel does not share its temporary
arrays, and an atomic addition takes longer than most kernels need for four elements. So does a call of the allocator:
small arrays lie in an arena of the thread instead, stacked block on block, and the arena is empty again once all blocks
are free. If an exception leaves a block behind, the arena never becomes empty again and fills up.

A function of the runtime, not inline LLVM IR, looks up the arena once per kernel call: LLVM assumes that a thread-local
lookup preserves zmm16 to zmm31; glibc's first lookup in a thread does not.
"""

from __future__ import annotations

import re

# The size of an arena in bytes, as in kernel_runtime.cpp; the number of used bytes and of blocks follow it.
_ARENA = 4096
#: A module with the functions that numba's code calls. They must not be inlined before redundant calls are removed.
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
    """Return the text of a module with the functions allowed to be inlined."""
    return _DEFINITION.sub(r"\1{", code)

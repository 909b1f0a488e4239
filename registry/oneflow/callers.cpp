#include "callers.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

#include "../host/error.h"
#include "headers.h"

#include <frameobject.h>

namespace pykernels::oneflow {
namespace {

// The maximum number of calls in flight whose callers are remembered.
constexpr int64_t kMost = 8192;
// The maximum number of code objects for which it is cached whether they are the user's.
constexpr size_t kMostCodes = 256;

struct Frame {
  PyCodeObject* code = nullptr;  // a strong reference
  int instruction = 0;
};

struct Code {
  PyCodeObject* code = nullptr;  // a strong reference
  bool is_users = false;
};

// Written by the calling thread without waiting for others.
struct Call {
  std::atomic<int64_t> number{-1};  // negative while the other fields are being written
  std::atomic<int64_t> caller{-1};
  std::atomic<const void*> output{nullptr};
};

std::string the_own_folder;
// Protected by the GIL.
std::vector<Frame> the_frames(kMost);
std::array<Code, kMostCodes> the_codes;
int64_t the_callers = 0;
// Atomic, because gradients are computed without the GIL.
std::vector<Call> the_calls(kMost);
std::atomic<int64_t> the_call_count{0};

thread_local int64_t the_current = -1;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string Text(PyObject* text) {
  const char* utf8 = PyUnicode_AsUTF8(text);
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

bool IsUsers(PyCodeObject* code) {
  Code& known = the_codes[reinterpret_cast<uintptr_t>(code) / alignof(max_align_t) % kMostCodes];
  if (known.code != code) {
    const std::string file = Text(code->co_filename);
    PyCodeObject* old = known.code;
    Py_INCREF(code);
    known = {code, file.compare(0, the_own_folder.size(), the_own_folder) != 0 && !EndsWith(file, "_py_api.py")};
    Py_XDECREF(old);
  }
  return known.is_users;
}

}  // namespace

int64_t NoteCaller() {
  const PyFrameObject* frame = PyEval_GetFrame();
  while (frame && !IsUsers(frame->f_code)) frame = frame->f_back;
  Frame& noted = the_frames[the_callers % kMost];
  PyCodeObject* const old = noted.code;
  if (frame) {
    Py_INCREF(frame->f_code);
    noted = {frame->f_code, frame->f_lasti};
  } else {
    noted = {};
  }
  Py_XDECREF(old);
  the_current = the_callers++;
  return the_current;
}

std::string DescribeCaller(int64_t caller) {
  if (caller < 0 || caller + kMost < the_callers) return "";
  const Frame& frame = the_frames[caller % kMost];
  if (!frame.code) return "";
  const int line = PyCode_Addr2Line(frame.code, frame.instruction * static_cast<int>(sizeof(_Py_CODEUNIT)));
  return Join(Text(frame.code->co_filename), ":", line, ", in ", Text(frame.code->co_name));
}

void SetOwnFolder(const std::string& folder) { the_own_folder = folder; }

int64_t CurrentCaller() { return the_current; }

CalledFor::CalledFor(int64_t caller) : before_(the_current) { the_current = caller; }
CalledFor::~CalledFor() { the_current = before_; }

NotedCall::NotedCall() : number_(the_call_count++) {
  Call& call = the_calls[number_ % kMost];
  call.number.store(-1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  call.caller.store(the_current, std::memory_order_relaxed);
  call.output.store(nullptr, std::memory_order_relaxed);
  call.number.store(number_, std::memory_order_release);
}

void NotedCall::Returned(const void* output) const {
  Call& call = the_calls[number_ % kMost];
  if (call.number.load(std::memory_order_relaxed) == number_) call.output.store(output, std::memory_order_relaxed);
}

int64_t CountCalls() { return the_call_count; }

int64_t FindCaller(const void* output, int64_t n_calls) {
  // The memory of a result is reused only after its kernel has ended, so only by a call that begins later.
  for (int64_t number = n_calls - 1; number >= 0; --number) {
    const Call& call = the_calls[number % kMost];
    const int64_t before = call.number.load(std::memory_order_acquire);
    const int64_t caller = call.caller.load(std::memory_order_relaxed);
    const void* const its_output = call.output.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before > number) return -1;
    const bool is_whole = before == number && call.number.load(std::memory_order_relaxed) == number;
    if (is_whole && its_output == output) return caller;
  }
  return -1;
}

}  // namespace pykernels::oneflow

#include "callers.h"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "../host/error.h"
#include "headers.h"

#include <frameobject.h>

namespace pykernels::oneflow {
namespace {

// How many calls can be in flight with their callers remembered.
constexpr int64_t kMost = 8192;
// How many frames there can be between a call of the registrar and the user: of the builder and of API files.
constexpr size_t kMostFrames = 8;

struct Frame {
  PyCodeObject* code;  // a strong reference
  int instruction;
};

// The innermost frames first; those behind are null. Looked through when something fails, not before.
using Frames = std::array<Frame, kMostFrames>;

struct Call {
  int64_t number = -1;
  int64_t caller = -1;
  const void* output = nullptr;
};

std::string the_own_folder;
// Behind the GIL.
std::vector<Frames> the_frames(kMost);
int64_t the_callers = 0;
// Gradients are computed without the GIL.
std::mutex the_calls_mutex;
std::vector<Call> the_calls(kMost);
std::atomic<int64_t> the_call_count{0};

thread_local int64_t the_current = -1;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool IsUsers(const std::string& file) {
  return file.compare(0, the_own_folder.size(), the_own_folder) != 0 && !EndsWith(file, "_py_api.py");
}

std::string Text(PyObject* text) {
  const char* utf8 = PyUnicode_AsUTF8(text);
  if (!utf8) PyErr_Clear();
  return utf8 ? utf8 : "?";
}

}  // namespace

int64_t NoteCaller() {
  Frames& frames = the_frames[the_callers % kMost];
  const PyFrameObject* frame = PyEval_GetFrame();
  for (Frame& each : frames) {
    PyCodeObject* const old = each.code;
    each.code = nullptr;
    if (frame) {
      each.code = frame->f_code;
      Py_INCREF(each.code);
      each.instruction = frame->f_lasti;
      frame = frame->f_back;
    }
    Py_XDECREF(old);
  }
  the_current = the_callers++;
  return the_current;
}

std::string DescribeCaller(int64_t caller) {
  if (caller < 0 || caller + kMost < the_callers) return "";
  for (const Frame& frame : the_frames[caller % kMost]) {
    if (!frame.code) break;
    const std::string file = Text(frame.code->co_filename);
    if (!IsUsers(file)) continue;
    const int line = PyCode_Addr2Line(frame.code, frame.instruction * static_cast<int>(sizeof(_Py_CODEUNIT)));
    return Join(file, ":", line, ", in ", Text(frame.code->co_name));
  }
  return "";
}

void SetOwnFolder(const std::string& folder) { the_own_folder = folder; }

int64_t CurrentCaller() { return the_current; }

CalledFor::CalledFor(int64_t caller) : before_(the_current) { the_current = caller; }
CalledFor::~CalledFor() { the_current = before_; }

NotedCall::NotedCall() {
  std::lock_guard<std::mutex> lock(the_calls_mutex);
  number_ = the_call_count++;
  the_calls[number_ % kMost] = {number_, the_current, nullptr};
}

void NotedCall::Returned(const void* output) const {
  std::lock_guard<std::mutex> lock(the_calls_mutex);
  Call& call = the_calls[number_ % kMost];
  if (call.number == number_) call.output = output;
}

int64_t CountCalls() { return the_call_count; }

int64_t FindCaller(const void* output, int64_t n_calls) {
  std::lock_guard<std::mutex> lock(the_calls_mutex);
  // The memory of a result is given to another only when its kernel has ended, so to a call that begins later.
  for (int64_t number = n_calls - 1; number >= 0; --number) {
    const Call& call = the_calls[number % kMost];
    if (call.number != number) return -1;
    if (call.output == output) return call.caller;
  }
  return -1;
}

}  // namespace pykernels::oneflow

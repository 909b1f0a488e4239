#include "callbacks.h"

namespace pykernels::mxnet {
namespace {

int Ignore(void* /*state*/) { return 1; }

}  // namespace

void SetNothing(MXCallbackList* ret) {
  static MXCallback callbacks[] = {Generic(Ignore)};
  static void* contexts[] = {nullptr};
  *ret = {1, callbacks, contexts};
}

int ListNames(const std::vector<std::string>& names, size_t begin, size_t end, char*** list) {
  static thread_local std::vector<char*> pointers;
  pointers.clear();
  for (size_t i = begin; i < end; ++i) pointers.push_back(const_cast<char*>(names[i].c_str()));
  pointers.push_back(nullptr);
  *list = pointers.data();
  return 1;
}

}  // namespace pykernels::mxnet

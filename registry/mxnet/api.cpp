#include "api.h"

#include "../host/error.h"

namespace pykernels::mxnet {
namespace {

MXApi the_api{};

}  // namespace

void SetApi(const MXApi& api) { the_api = api; }

const MXApi& Api() { return the_api; }

void Check(int status) {
  if (status != 0) throw Error(kPykernelsError, Api().GetLastError());
}

}  // namespace pykernels::mxnet

// The one name that tensor.h takes from this header, which OneFlow's wheel lacks.
#pragma once

namespace oneflow {

class LocalDepObject;

}  // namespace oneflow

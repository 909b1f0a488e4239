// Names of types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace popart {

using Shape = std::vector<int64_t>;
using Rank = int;
using TensorId = std::string;
using OpName = std::string;
using OpDomain = std::string;
using OpType = std::string;
using OpVersion = unsigned;
using OpId = int;
using InIndex = int;
using OutIndex = int;
using VGraphId = int64_t;
using PipelineStage = int64_t;

}  // namespace popart

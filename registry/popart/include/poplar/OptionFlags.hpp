// Options by name for a compiler that does not exist here; they have no effect.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

namespace poplar {

class OptionFlags {
 public:
  using Options = std::initializer_list<std::pair<const std::string, std::string>>;

  OptionFlags() {}
  OptionFlags(Options) {}

  void set(const std::string&, const std::string&) {}
  void set(Options) {}
};

}  // namespace poplar

// Options by name, for a compiler that is not there: they are kept and change nothing.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

namespace poplar {

class OptionFlags {
 public:
  OptionFlags() {}
  OptionFlags(std::initializer_list<std::pair<const std::string, std::string>> options) : options_(options) {}

  void set(const std::string& name, const std::string& value) { options_[name] = value; }
  void set(std::initializer_list<std::pair<const std::string, std::string>> options) {
    for (const auto& each : options) options_[each.first] = each.second;
  }
  const std::string& at(const std::string& name) const { return options_.at(name); }
  void clear() { options_.clear(); }

 private:
  std::map<std::string, std::string> options_;
};

}  // namespace poplar

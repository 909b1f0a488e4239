// Names that a profiler would show; here they appear in messages.
#pragma once

#include <string>
#include <utility>

namespace poplar {

class SourceLocation {
 public:
  static SourceLocation Current() { return SourceLocation(); }
};

class DebugNameAndId {
 public:
  DebugNameAndId(std::string name = "") : name_(std::move(name)) {}
  DebugNameAndId(const char* name) : name_(name) {}
  DebugNameAndId(const DebugNameAndId& parent, const std::string& name) : name_(Join(parent.name_, name)) {}

  const std::string& getPathName() const { return name_; }

  static std::string Join(const std::string& parent, const std::string& name) {
    return parent.empty() || name.empty() ? parent + name : parent + "/" + name;
  }

 private:
  std::string name_;
};

class DebugContext {
 public:
  DebugContext(SourceLocation = SourceLocation::Current()) {}
  DebugContext(std::string name, SourceLocation = SourceLocation::Current()) : name_(std::move(name)) {}
  DebugContext(const char* name, SourceLocation = SourceLocation::Current()) : name_(name) {}
  DebugContext(const DebugNameAndId& parent, const std::string& name = "", SourceLocation = SourceLocation::Current())
      : name_(DebugNameAndId::Join(parent.getPathName(), name)) {}
  DebugContext(const DebugContext& parent, const std::string& name, SourceLocation = SourceLocation::Current())
      : name_(DebugNameAndId::Join(parent.name_, name)) {}

  const std::string& getPathName() const { return name_; }

 private:
  std::string name_;
};

}  // namespace poplar

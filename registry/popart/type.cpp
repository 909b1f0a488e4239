// The names and sizes of Poplar's element types.
#include <poplar/Type.hpp>

#include <ostream>

namespace poplar {
namespace {

struct Row {
  const char* name;
  std::size_t size;
};
const Row kRows[] = {
    {"no type", 0},        {"float", 4}, {"half", 2},         {"bool", 1},     {"char", 1},
    {"signed char", 1},    {"unsigned char", 1}, {"short", 2}, {"unsigned short", 2}, {"int", 4},
    {"unsigned int", 4},   {"long long", 8},     {"unsigned long long", 8},
};

}  // namespace

std::string Type::toString() const { return kRows[static_cast<int>(kind_)].name; }

std::size_t Type::size() const { return kRows[static_cast<int>(kind_)].size; }

std::ostream& operator<<(std::ostream& stream, Type type) { return stream << type.toString(); }

}  // namespace poplar

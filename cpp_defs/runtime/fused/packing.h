// Runs a stage whose arrays are not contiguous along the columns: packs what it reads, and unpacks what it writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "placing.h"
#include "tables.h"

#pragma GCC visibility push(hidden)
// Copies an array to another of the same shape, which does not overlap; see copying.cpp.
extern "C" void pk_copy_apart(char* to, const int64_t* to_strides, const char* from, const int64_t* from_strides,
                              const int64_t* lengths, int axes, int64_t item);
#pragma GCC visibility pop

namespace {

// Limits on what is packed at once: elements of all arrays and of each, and the bytes that columns come from; so many
// columns are packed in any case.
constexpr int64_t kPacked = 2048, kPackedOfEach = 1024;
constexpr int64_t kPackedFrom = 32768;
constexpr int64_t kFewestPacked = 64;
// The columns packed at once of an array whose rows are contiguous in memory.
constexpr int64_t kTile = 64;
// With fewer columns than this, rows are packed as one.
constexpr int64_t kFewestInRows = 16;

struct Pass {
  // Fields that do not depend on the block: the arrays of the stage, and those that it accumulates into or copies.
  int n, n_folds, n_copies;
  const int32_t* given;
  const int32_t* copies;
  int first_fold;
  // Fields for blocks of one length:
  int64_t planned;   // length along the divided class; -1 before it is known
  int column, row;
  int n_own, own[kMaxClasses];  // the classes over which this pass loops
  int64_t rows, columns;
  bool is_empty, is_long;
  bool adds_rows;  // whether rows are added up: no array that it accumulates into has rows
  bool is_packed;
  bool is_simple;  // none of these, no own loops, and no copies
  int code;        // the variant in pk_stages
  int64_t steps[kMaxArrays];
  void* data[kMaxArrays];  // set if there is only one block
  // Where arrays are packed or copied: the axes along which that happens, the columns first and the rows last.
  int n_axes, axes[kMaxClasses];
  int64_t lengths[kMaxClasses];
  // Where they are packed: the distance of elements along each axis, in elements; how many are packed at once; whether
  // rows are packed as one; the place of each packed array, or -1.
  int64_t units[kMaxClasses];
  int64_t rows_at_once, columns_at_once;
  bool is_flat;
  int n_places, places[kMaxArrays];
};

class Packing : public Placing {
 protected:
  // Returns whether the elements of an array along the columns are not contiguous.
  bool IsSpread(const Pass& pass, int argument) const {
    const Array& array = arrays_[pass.given[argument]];
    return pass.columns > 1 && Has(array.classes, pass.column) && array.strides[pass.column] != array.item;
  }

  // Plans to pack arrays that are spread. Chooses the rows from the classes over which the pass loops.
  void PlanPacking(const int64_t* lengths, Pass* pass) const {
    pass->is_flat = pass->n_folds == 0 && pass->columns < kFewestInRows;
    for (int i = 0; i < pass->n; ++i) pass->is_flat &= Has(arrays_[pass->given[i]].classes, pass->column);
    pass->n_axes = 0;
    AddAxis(pass->column, lengths, pass);
    if (pass->is_flat) {
      PlanFlat(lengths, pass);
    } else {
      PlanRows(lengths, pass);
    }
  }

  void ComputePacked(int s, const Pass& pass, void* const* data) const {
    alignas(kAlignment) char packed[kPacked * 8];
    const int64_t room = kPacked / pass.n_places * 8;
    const int64_t row_unit = pass.row >= 0 ? pass.units[pass.n_axes - 1] : kPacked;
    for (int64_t row = 0; row < pass.rows; row += pass.rows_at_once) {
      const int64_t rows = std::min(pass.rows_at_once, pass.rows - row);
      for (int64_t at = 0; at < pass.columns; at += pass.columns_at_once) {
        const int64_t columns = std::min(pass.columns_at_once, pass.columns - at);
        void* given[kMaxArrays];
        char* part[kMaxArrays];
        int64_t steps[kMaxArrays];
        for (int i = 0; i < pass.n; ++i) {
          const Array& array = arrays_[pass.given[i]];
          part[i] = static_cast<char*>(data[i]) + row * pass.steps[i] + at * StrideOf(array, pass.column);
          given[i] = part[i];
          steps[i] = pass.steps[i];
          if (pass.places[i] < 0) continue;
          given[i] = packed + pass.places[i] * room;
          if (steps[i] != 0) steps[i] = row_unit * array.item;
          if (IsRead(s, i)) Pack(pass, i, static_cast<char*>(given[i]), part[i], rows, columns);
        }
        const int last = pass.n_axes - 1;
        const int64_t all = pass.units[last] * (pass.row >= 0 ? rows : pass.lengths[last]);
        pk_stages[s][pass.code](given, steps, numbers_, pass.is_flat ? 1 : rows, pass.is_flat ? all : columns);
        for (int i = 0; i < pass.n; ++i) {
          if (pass.places[i] >= 0 && IsWritten(s, i)) {
            Unpack(pass, i, part[i], static_cast<char*>(given[i]), rows, columns);
          }
        }
      }
    }
  }

  // Plans to copy arrays along all classes of a stage.
  void PlanCopies(int32_t classes, const int64_t* lengths, Pass* pass) const {
    pass->n_axes = 0;
    for (int c = 0; c < n_classes_; ++c) {
      if (Has(classes, c) && lengths[c] > 1) AddAxis(c, lengths, pass);
    }
  }

  void ComputeCopies(const Pass& pass, void* const* data) const {
    for (int at = 0; at < pass.n_copies;) {
      const CopyOf first = CopyAt(pass, data, at);
      // Elements that alternate between several arrays are copied together: the arrays form one more axis.
      const int n = CountAlternating(pass, data, at);
      int64_t to_strides[kMaxClasses + 1], from_strides[kMaxClasses + 1], lengths[kMaxClasses + 1];
      int n_axes = pass.n_axes;
      for (int k = 0; k < n_axes; ++k) {
        to_strides[k] = StrideOf(*first.target, pass.axes[k]);
        from_strides[k] = StrideOf(*first.source, pass.axes[k]);
        lengths[k] = pass.lengths[k];
      }
      if (n > 1) {
        to_strides[n_axes] = first.target->item;
        from_strides[n_axes] = CopyAt(pass, data, at + 1).from - first.from;
        lengths[n_axes++] = n;
      }
      pk_copy_apart(first.to, to_strides, first.from, from_strides, lengths, n_axes, first.target->item);
      at += n;
    }
  }

 private:
  struct CopyOf {
    const Array *source, *target;
    const char* from;
    char* to;
  };

  CopyOf CopyAt(const Pass& pass, void* const* data, int at) const {
    const int32_t source = pass.copies[2 * at], target = pass.copies[2 * at + 1];
    return {&arrays_[pass.given[source]], &arrays_[pass.given[target]], static_cast<const char*>(data[source]),
            static_cast<char*>(data[target])};
  }

  // Returns how many copies, from one on, write neighbouring elements and read from addresses at equal distances.
  int CountAlternating(const Pass& pass, void* const* data, int at) const {
    const CopyOf first = CopyAt(pass, data, at);
    int n = 1;
    for (; at + n < pass.n_copies; ++n) {
      const CopyOf before = CopyAt(pass, data, at + n - 1), next = CopyAt(pass, data, at + n);
      if (next.to - before.to != first.target->item) break;
      if (next.from - before.from != CopyAt(pass, data, at + 1).from - first.from) break;
      bool has_same_strides = true;
      for (int k = 0; k < pass.n_axes; ++k) {
        const int c = pass.axes[k];
        has_same_strides &= StrideOf(*next.target, c) == StrideOf(*first.target, c);
        has_same_strides &= StrideOf(*next.source, c) == StrideOf(*first.source, c);
      }
      if (!has_same_strides) break;
    }
    return n;
  }

  static void AddAxis(int c, const int64_t* lengths, Pass* pass) {
    pass->axes[pass->n_axes] = c;
    pass->lengths[pass->n_axes++] = lengths[c];
  }

  static int64_t StrideOf(const Array& array, int c) { return c >= 0 && Has(array.classes, c) ? array.strides[c] : 0; }

  // Packs rows side by side.
  void PlanRows(const int64_t* lengths, Pass* pass) const {
    const bool is_tiled = pass->n_folds == 0 && FindTiles(lengths, pass);
    pass->columns_at_once = std::min(pass->columns, is_tiled ? kTile : kPackedOfEach);
    pass->n_places = 0;
    for (int i = 0; i < pass->n; ++i) {
      pass->places[i] = IsSpread(*pass, i) ? pass->n_places++ : -1;
      if (pass->places[i] < 0) continue;
      // The lines of arrays that lie in the same ones stay in the cache until all are packed.
      const int64_t stride = std::max(std::abs(arrays_[pass->given[i]].strides[pass->column]), int64_t{1});
      pass->columns_at_once = std::min(pass->columns_at_once, std::max(kPackedFrom / stride, kFewestPacked));
    }
    const int64_t room = std::min(kPackedOfEach, kPacked / pass->n_places);
    pass->columns_at_once = std::min(pass->columns_at_once, room);
    pass->rows_at_once = room / pass->columns_at_once;
    pass->units[0] = 1;
    pass->row = pass->n_own > 0 ? pass->own[--pass->n_own] : -1;
    if (pass->row < 0) return;
    AddAxis(pass->row, lengths, pass);
    pass->units[1] = pass->columns_at_once;
  }

  // Packs rows one after another, and as many classes with them as there is room for.
  void PlanFlat(const int64_t* lengths, Pass* pass) const {
    const int64_t room = std::min(kPackedOfEach, kPacked / pass->n);
    pass->columns_at_once = pass->columns;
    int64_t elements = pass->columns;
    pass->units[0] = 1;
    pass->row = -1;
    // The columns are no longer few.
    if (pass->code != kOneColumn) pass->code = kAnyRows;
    while (pass->n_own > 0 && pass->row < 0) {
      const int c = pass->own[--pass->n_own];
      if (elements * lengths[c] > room) pass->row = c;
      pass->units[pass->n_axes] = elements;
      elements *= lengths[c];
      AddAxis(c, lengths, pass);
    }
    pass->rows_at_once = pass->row < 0 ? 1 : std::max<int64_t>(1, room / pass->units[pass->n_axes - 1]);
    pass->n_places = 0;
    for (int i = 0; i < pass->n; ++i) {
      const Array& array = arrays_[pass->given[i]];
      bool is_contiguous = true;
      for (int k = 0; k < pass->n_axes; ++k) {
        is_contiguous &= pass->lengths[k] == 1 || StrideOf(array, pass->axes[k]) == pass->units[k] * array.item;
      }
      pass->places[i] = is_contiguous ? -1 : pass->n_places++;
    }
  }

  // Moves a class to the end of those over which a pass loops, if elements lie next to each other along it but not
  // along the columns. Returns whether there is one.
  bool FindTiles(const int64_t* lengths, Pass* pass) const {
    for (int i = 0; i < pass->n; ++i) {
      const Array& array = arrays_[pass->given[i]];
      if (!IsSpread(*pass, i)) continue;
      for (int k = 0; k < pass->n_own; ++k) {
        const int c = pass->own[k];
        if (lengths[c] < 2 || std::abs(StrideOf(array, c)) != array.item) continue;
        std::swap(pass->own[k], pass->own[pass->n_own - 1]);
        return true;
      }
    }
    return false;
  }

  // The strides and lengths of an array of which a part is packed.
  struct Box {
    int n = 0;
    int64_t packed[kMaxClasses], own[kMaxClasses], lengths[kMaxClasses];
  };

  Box BoxOf(const Pass& pass, int argument, int64_t rows, int64_t columns) const {
    const Array& array = arrays_[pass.given[argument]];
    Box box;
    for (int k = 0; k < pass.n_axes; ++k) {
      const bool is_row = pass.axes[k] == pass.row;
      if (is_row && !pass.is_flat && pass.steps[argument] == 0) continue;
      box.packed[box.n] = pass.units[k] * array.item;
      box.own[box.n] = StrideOf(array, pass.axes[k]);
      box.lengths[box.n++] = k == 0 ? columns : is_row ? rows : pass.lengths[k];
    }
    return box;
  }

  void Pack(const Pass& pass, int argument, char* to, const char* from, int64_t rows, int64_t columns) const {
    const Box box = BoxOf(pass, argument, rows, columns);
    pk_copy_apart(to, box.packed, from, box.own, box.lengths, box.n, arrays_[pass.given[argument]].item);
  }

  void Unpack(const Pass& pass, int argument, char* to, const char* from, int64_t rows, int64_t columns) const {
    const Box box = BoxOf(pass, argument, rows, columns);
    pk_copy_apart(to, box.own, from, box.packed, box.lengths, box.n, arrays_[pass.given[argument]].item);
  }

  static bool IsRead(int s, int argument) { return argument < pk_stage_table[s][kReads]; }
  static bool IsWritten(int s, int argument) { return argument >= pk_stage_table[s][kFirstWritten]; }
};

}  // namespace

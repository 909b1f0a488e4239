// Runs a stage of a fused kernel over the elements of a block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "placing.h"
#include "tables.h"

namespace {

// The number of values added up in their own precision before the result is added to a sum of higher precision.
constexpr int64_t kMostFolded = 4096;
// Limits on packing: the elements of an array packed at once, the bytes they come from, and the number of arrays.
constexpr int64_t kCopied = 512;
constexpr int64_t kCopiedFrom = 32768;
constexpr int64_t kFewestCopied = 64;
constexpr int kMostCopies = 4;
// The columns packed at once of an array whose rows are contiguous in memory.
constexpr int64_t kTile = 64;

struct Pass {
  // Fields that do not depend on the block: the arrays of the stage, and those that it accumulates into.
  int n, n_folds;
  const int32_t* given;
  int first_fold;
  // Fields for blocks of one length:
  int64_t planned;   // length along the divided class; -1 before it is known
  int column, row;
  int n_own, own[kMaxClasses];  // the classes over which this pass loops
  int64_t rows, columns;
  bool is_empty, is_spread, is_long;
  bool adds_rows;  // whether rows are added up: no array that it accumulates into has rows
  bool is_simple;  // none of these
  int code;        // the variant in pk_stages
  int64_t steps[kMaxArrays];
  void* data[kMaxArrays];  // set if there is only one block
};

class Passes : public Placing {
 protected:
  // Creates the passes of all stages, without plans.
  void OpenPasses() {
    const int32_t* given = pk_arguments;
    int first_fold = 0;
    for (int s = 0; s < pk_counts[kStages]; ++s) {
      Pass& pass = passes_[s];
      pass.n = pk_stage_table[s][kArguments];
      pass.given = given;
      pass.first_fold = first_fold;
      pass.n_folds = pk_stage_table[s][kFolds];
      pass.planned = -1;
      given += pass.n;
      first_fold += pass.n_folds;
    }
  }

  void Plan(int s, const int64_t* lengths, Pass* pass) const {
    int32_t classes = pk_stage_table[s][kDomain];
    const int32_t together = LastGroup(classes);
    // Results must not depend on where blocks end.
    bool is_single = pk_stages[s][kOneColumn] != nullptr;
    for (int c = 0; c < n_classes_; ++c) is_single &= !Has(together, c) || sizes_[c] == 1;
    if (is_single) classes &= ~together;
    // The last class forms the columns. Of the others, the last that is longer than 1 forms the rows.
    int n_own = 0;
    pass->is_empty = false;
    pass->column = pass->row = -1;
    for (int c = 0; c < n_classes_; ++c) {
      if (!Has(classes, c)) continue;
      pass->is_empty |= lengths[c] == 0;
      if (pass->column >= 0 && lengths[pass->column] > 1) pass->own[n_own++] = pass->column;
      pass->column = c;
    }
    const int column = pass->column;
    pass->columns = column >= 0 ? lengths[column] : 1;
    pass->is_long = pass->columns > kMostFolded && FoldsSome(*pass, column);
    pass->is_spread = false;
    for (int i = 0; i < pass->n; ++i) pass->is_spread |= IsSpread(*pass, i);
    const bool is_short = pk_stages[s][kShort] != nullptr && pass->columns <= kFewColumns;
    const bool is_shortest = pk_stages[s][kOneByOne] != nullptr && pass->columns <= kColumnsOneByOne;
    pass->code = is_single ? kOneColumn : is_shortest ? kOneByOne : is_short ? kShort : kAnyRows;
    const bool may_add_rows = pk_stage_table[s][kAddsRows] && pass->code == kAnyRows && !pass->is_spread;
    pass->adds_rows = false;
    for (int i = n_own - 1; i >= 0 && may_add_rows && !pass->adds_rows; --i) {
      pass->adds_rows = FoldsAll(*pass, pass->own[i]);
      if (pass->adds_rows) std::swap(pass->own[i], pass->own[n_own - 1]);
    }
    const bool is_tiled = pass->is_spread && pass->n_folds == 0 && FindTiles(s, lengths, n_own, pass);
    if (n_own > 0 && (is_tiled || !pass->is_spread) && !pass->is_long) pass->row = pass->own[--n_own];
    pass->is_simple = !pass->is_spread && !pass->is_long && !pass->adds_rows;
    pass->n_own = n_own;
    pass->rows = pass->row >= 0 ? lengths[pass->row] : 1;
    for (int i = 0; i < pass->n; ++i) {
      const Array& array = arrays_[pass->given[i]];
      pass->steps[i] = pass->row >= 0 && Has(array.classes, pass->row) ? array.strides[pass->row] : 0;
    }
  }

  // Runs once over the rows and columns.
  void ComputeOnce(int s, const Pass& pass, void* const* data) const {
    if (pass.is_spread) return ComputeSpread(s, pass, data);
    if (pass.is_long) return ComputeLong(s, pass, data);
    const int64_t together = pass.adds_rows ? pass.rows / kTogether * kTogether : 0;
    if (together == 0) return pk_stages[s][pass.code](data, pass.steps, numbers_, pass.rows, pass.columns);
    pk_stages[s][kRowsTogether](data, pass.steps, numbers_, together, pass.columns);
    if (together == pass.rows) return;
    void* rest[kMaxArrays];
    for (int i = 0; i < pass.n; ++i) rest[i] = static_cast<char*>(data[i]) + together * pass.steps[i];
    pk_stages[s][kAnyRows](rest, pass.steps, numbers_, pass.rows - together, pass.columns);
  }

  Pass passes_[kMaxStages];

 private:
  // Returns the last of some classes, together with those that always occur with it.
  int32_t LastGroup(int32_t classes) const {
    int last = n_classes_ - 1;
    while (last > 0 && !Has(classes, last)) --last;
    int32_t found = 0;
    for (int c = 0; c <= last; ++c) {
      if (Has(classes, c) && pk_groups[c] == pk_groups[last]) found |= int32_t{1} << c;
    }
    return found;
  }

  // Return whether any, or every, array that a stage accumulates into has one element for the whole of a class.
  static bool FoldsSome(const Pass& pass, int c) {
    const int32_t* const folds = pk_folds + pass.first_fold;
    return std::any_of(folds, folds + pass.n_folds,
                       [c](int array) { return !Has(pk_arrays[array][kArrayClasses], c); });
  }
  static bool FoldsAll(const Pass& pass, int c) {
    const int32_t* const folds = pk_folds + pass.first_fold;
    return std::none_of(folds, folds + pass.n_folds,
                        [c](int array) { return Has(pk_arrays[array][kArrayClasses], c); });
  }

  // Runs one row in parts, each added to the sum in turn.
  void ComputeLong(int s, const Pass& pass, void* const* data) const {
    void* part[kMaxArrays];
    for (int64_t at = 0; at < pass.columns; at += kMostFolded) {
      for (int i = 0; i < pass.n; ++i) {
        const Array& array = arrays_[pass.given[i]];
        part[i] = static_cast<char*>(data[i]) + (Has(array.classes, pass.column) ? at * array.strides[pass.column] : 0);
      }
      pk_stages[s][pass.code](part, pass.steps, numbers_, 1, std::min(kMostFolded, pass.columns - at));
    }
  }

  // Runs rows in which some array has a single element for all columns, or elements that are not contiguous: packs
  // these first, and unpacks results.
  void ComputeSpread(int s, const Pass& pass, void* const* data) const {
    alignas(kAlignment) char copies[kMostCopies * kCopied * 8];
    int copy_of[kMaxArrays];
    int n_copies = 0;
    const bool is_tiled = pass.row >= 0;
    int64_t most = std::min(pass.columns, is_tiled ? kTile : kCopied);
    for (int i = 0; i < pass.n; ++i) {
      copy_of[i] = -1;
      if (!IsSpread(pass, i)) continue;
      if (IsCopied(s, pass, i)) {
        copy_of[i] = n_copies++;
        // If they lie in the same cache lines, these are still cached for the next array.
        const int64_t stride = std::max(std::abs(arrays_[pass.given[i]].strides[pass.column]), int64_t{1});
        most = std::min(most, std::max(kCopiedFrom / stride, kFewestCopied));
      } else {
        most = 1;
      }
    }
    const int64_t room = kMostCopies * kCopied / std::max(n_copies, is_tiled ? 1 : kMostCopies);
    most = std::min(most, room);
    for (int64_t row = 0; row < pass.rows; row += room / most) {
      const int64_t rows = std::min(room / most, pass.rows - row);
      for (int64_t at = 0; at < pass.columns; at += most) {
        const int64_t n = std::min(most, pass.columns - at);
        void* given[kMaxArrays];
        char* part[kMaxArrays];
        int64_t steps[kMaxArrays];
        for (int i = 0; i < pass.n; ++i) {
          const Array& array = arrays_[pass.given[i]];
          const int64_t stride = Has(array.classes, pass.column) ? array.strides[pass.column] : 0;
          steps[i] = pass.steps[i];
          given[i] = part[i] = static_cast<char*>(data[i]) + row * steps[i] + at * stride;
          if (copy_of[i] < 0) continue;
          given[i] = copies + copy_of[i] * room * 8;
          if (steps[i] != 0) steps[i] = most * array.item;
          const Lines to{given[i], steps[i], array.item}, from{part[i], pass.steps[i], stride};
          if (IsRead(s, i) && (at == 0 || stride != 0)) Copy(to, from, array.item, steps[i] != 0 ? rows : 1, n);
        }
        pk_stages[s][pass.code](given, steps, numbers_, rows, n);
        for (int i = 0; i < pass.n; ++i) {
          if (copy_of[i] < 0 || IsRead(s, i)) continue;
          const Array& array = arrays_[pass.given[i]];
          const Lines to{part[i], pass.steps[i], array.strides[pass.column]}, from{given[i], steps[i], array.item};
          Copy(to, from, array.item, steps[i] != 0 ? rows : 1, n);
        }
      }
    }
  }

  // Returns whether the elements of an array along the columns are not contiguous.
  bool IsSpread(const Pass& pass, int argument) const {
    const Array& array = arrays_[pass.given[argument]];
    return pass.columns > 1 && Has(array.classes, pass.column) && array.strides[pass.column] != array.item;
  }

  // Returns whether they can be copied: those of an input, or of an output that a stage only writes.
  static bool IsCopied(int s, const Pass& pass, int argument) {
    const int32_t tensor = pk_arrays[pass.given[argument]][kTensor];
    return tensor >= 0 && (tensor < pk_counts[kInputs] || !IsRead(s, argument));
  }

  // Moves a class to the end of those over which a pass loops, if elements lie next to each other along it but not
  // along the columns. Returns whether there is one.
  bool FindTiles(int s, const int64_t* lengths, int n_own, Pass* pass) const {
    for (int i = 0; i < pass->n; ++i) {
      const Array& array = arrays_[pass->given[i]];
      if (!IsSpread(*pass, i) || !IsCopied(s, *pass, i)) continue;
      for (int k = 0; k < n_own; ++k) {
        const int c = pass->own[k];
        if (lengths[c] < 2 || !Has(array.classes, c) || std::abs(array.strides[c]) != array.item) continue;
        std::swap(pass->own[k], pass->own[n_own - 1]);
        return true;
      }
    }
    return false;
  }

  static bool IsRead(int s, int argument) { return argument < pk_stage_table[s][kReads]; }

  // Elements in lines, with the bytes from one line and from one element to the next.
  struct Lines {
    void* data;
    int64_t line, element;
  };

  // Copies a line of elements; steps that are compile-time constants are vectorized.
  template <int64_t kTo, int64_t kFrom, typename T>
  static void CopyEvery(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      to[i * (kTo != 0 ? kTo : to_step)] = from[i * (kFrom != 0 ? kFrom : from_step)];
    }
  }

  template <typename T>
  static void CopyLine(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t n) {
    if (from_step == 1) return CopyEvery<0, 1>(to, to_step, from, 1, n);
    if (to_step != 1) return CopyEvery<0, 0>(to, to_step, from, from_step, n);
    switch (from_step) {
      case -1: return CopyEvery<1, -1>(to, 1, from, -1, n);
      case 2: return CopyEvery<1, 2>(to, 1, from, 2, n);
      case 3: return CopyEvery<1, 3>(to, 1, from, 3, n);
      case 4: return CopyEvery<1, 4>(to, 1, from, 4, n);
      default: return CopyEvery<1, 0>(to, 1, from, from_step, n);
    }
  }

  template <typename T>
  static void CopyLines(const Lines& to, const Lines& from, int64_t lines, int64_t n) {
    constexpr int64_t kItem = sizeof(T);
    int64_t to_line = to.line / kItem, to_step = to.element / kItem;
    int64_t from_line = from.line / kItem, from_step = from.element / kItem;
    const bool is_across = lines > 1 && (std::abs(from_line) == 1 || std::abs(to_line) == 1);
    if (is_across) {
      std::swap(to_line, to_step);
      std::swap(from_line, from_step);
      std::swap(lines, n);
    }
    auto* target = static_cast<T*>(to.data);
    const auto* source = static_cast<const T*>(from.data);
    for (int64_t k = 0; k < lines; ++k, target += to_line, source += from_line) {
      CopyLine(target, to_step, source, from_step, n);
    }
  }

  static void Copy(const Lines& to, const Lines& from, int64_t item, int64_t lines, int64_t n) {
    switch (item) {
      case 1: return CopyLines<uint8_t>(to, from, lines, n);
      case 2: return CopyLines<uint16_t>(to, from, lines, n);
      case 4: return CopyLines<uint32_t>(to, from, lines, n);
      default: return CopyLines<uint64_t>(to, from, lines, n);
    }
  }
};

}  // namespace

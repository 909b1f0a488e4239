// Runs a stage of a fused kernel over the elements of a block.
#pragma once

#include <algorithm>
#include <cstdint>

#include "packing.h"
#include "tables.h"

namespace {

// The number of values added up in their own precision before the result is added to a sum of higher precision.
constexpr int64_t kMostFolded = 4096;

class Passes : public Packing {
 protected:
  // Creates the passes of all stages, without plans.
  void OpenPasses() {
    const int32_t *given = pk_arguments, *copies = pk_copies;
    int first_fold = 0;
    for (int s = 0; s < pk_counts[kStages]; ++s) {
      Pass& pass = passes_[s];
      pass.n = pk_stage_table[s][kArguments];
      pass.given = given;
      pass.first_fold = first_fold;
      pass.n_folds = pk_stage_table[s][kFolds];
      pass.copies = copies;
      pass.n_copies = pk_stage_table[s][kCopies];
      pass.planned = -1;
      given += pass.n;
      copies += 2 * pass.n_copies;
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
    pass->n_own = 0;
    pass->is_empty = false;
    pass->column = pass->row = -1;
    for (int c = 0; c < n_classes_; ++c) {
      if (!Has(classes, c)) continue;
      pass->is_empty |= lengths[c] == 0;
      if (pass->column >= 0 && lengths[pass->column] > 1) pass->own[pass->n_own++] = pass->column;
      pass->column = c;
    }
    if (pass->n_copies > 0) {
      pass->n_own = 0;
      pass->is_simple = false;
      return PlanCopies(classes, lengths, pass);
    }
    const int column = pass->column;
    pass->columns = column >= 0 ? lengths[column] : 1;
    pass->is_long = pass->columns > kMostFolded && FoldsSome(*pass, column);
    pass->is_packed = false;
    for (int i = 0; i < pass->n; ++i) pass->is_packed |= IsSpread(*pass, i);
    const bool is_short = pk_stages[s][kShort] != nullptr && pass->columns <= kFewColumns;
    const bool is_shortest = pk_stages[s][kOneByOne] != nullptr && pass->columns <= kColumnsOneByOne;
    pass->code = is_single ? kOneColumn : is_shortest ? kOneByOne : is_short ? kShort : kAnyRows;
    const bool may_add_rows = pk_stage_table[s][kAddsRows] && pass->code == kAnyRows && !pass->is_packed;
    pass->adds_rows = false;
    for (int i = pass->n_own - 1; i >= 0 && may_add_rows && !pass->adds_rows; --i) {
      pass->adds_rows = FoldsAll(*pass, pass->own[i]);
      if (pass->adds_rows) std::swap(pass->own[i], pass->own[pass->n_own - 1]);
    }
    if (pass->is_empty) return;
    if (pass->is_packed) {
      PlanPacking(lengths, pass);
    } else if (pass->n_own > 0 && !pass->is_long) {
      pass->row = pass->own[--pass->n_own];
    }
    pass->is_simple = pass->n_own == 0 && !pass->is_packed && !pass->is_long && !pass->adds_rows;
    pass->rows = pass->row >= 0 ? lengths[pass->row] : 1;
    for (int i = 0; i < pass->n; ++i) {
      const Array& array = arrays_[pass->given[i]];
      pass->steps[i] = pass->row >= 0 && Has(array.classes, pass->row) ? array.strides[pass->row] : 0;
    }
  }

  // Runs once over the rows and columns.
  void ComputeOnce(int s, const Pass& pass, void* const* data) const {
    if (pass.n_copies > 0) return ComputeCopies(pass, data);
    if (pass.is_packed) return ComputePacked(s, pass, data);
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
};

}  // namespace

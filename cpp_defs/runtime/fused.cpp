// Runs a fused kernel: `pk_kernel_run` calls the kernel's own stages, each of which computes rows of elements. The same
// object code is linked into every fused kernel.
//
// Axes of tensors that have the same length form a class. A stage runs over all elements of some classes: the last
// class forms its columns, the one before its rows, and this driver loops over the others. The kernel runs on one block
// of elements after another, so that the data passed between stages stays in the caches.
#include <pykernels/kernel.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "fused/passes.h"
#include "fused/placing.h"
#include "fused/tables.h"

namespace {

constexpr int kMaxLinks = 64;

class Run : public Passes {
 public:
  // Prepares a run; see Placing::Prepare.
  int32_t Prepare(const pk_kernel* kernel, const int64_t* dims, const pk_scalar* scalars, int64_t* detail) {
    OpenPasses();
    if (const int32_t status = Placing::Prepare(kernel, dims, scalars, detail)) return status;
    n_steps_ = 1;
    for (int i = 0; i < n_blocked_; ++i) n_steps_ *= sizes_[blocked_[i]];
    n_elements_ = 1;
    int first = 0;
    for (int i = 0; i < pk_counts[kInputs]; ++i) first += kernel->ranks[i];
    for (int32_t axis = 0; axis < kernel->ranks[pk_counts[kInputs]]; ++axis) n_elements_ *= dims[first + axis];
    PlanAtOnce();
    return PK_OK;
  }

  // Computes the elements [begin, end) of the first output and the matching part of the others; everything if the first
  // has no elements.
  void Compute(void* const* data, int64_t begin, int64_t end) {
    int64_t first = 0, last = n_steps_;
    if (n_elements_ > 0 && end - begin != n_elements_) {
      first = CeilOfPart(begin, n_steps_, n_elements_);
      last = CeilOfPart(end, n_steps_, n_elements_);
    }
    if (is_at_once_ && last - first == n_steps_) {
      // An earlier call in pieces left plans for shorter blocks.
      if (is_planned_anew_) PlanAtOnce();
      return ComputeAtOnce(data);
    }
    Attach(data);
    int at = 0;
    for (int phase = 0; at < pk_counts[kStages]; ++phase) {
      const int from = at;
      while (at < pk_counts[kStages] && pk_stage_table[at][kPhase] == phase) ++at;
      ComputePhase(from, at, first, last);
    }
  }

  // Returns whether a stage found a place outside of an array.
  bool IsOutside() const { return numbers_[kMaxNumbers] != 0; }

 private:
  static int64_t CeilOfPart(int64_t part, int64_t n, int64_t total) {
    return static_cast<int64_t>((static_cast<__int128>(part) * n + total - 1) / total);
  }

  // Checks whether there is a single block, which each stage computes at once. Then only the addresses of tensors
  // differ between calls.
  void PlanAtOnce() {
    is_planned_anew_ = false;
    is_at_once_ = (n_steps_ == block_ || is_single_stage_) && !some_single_;
    n_links_ = 0;
    for (int s = 0; s < pk_counts[kStages] && is_at_once_; ++s) {
      Pass& pass = passes_[s];
      Plan(s, sizes_, &pass);
      pass.planned = n_steps_ != block_ ? -1 : n_blocked_ > 0 ? sizes_[blocked_[n_blocked_ - 1]] : 0;
      is_at_once_ = n_links_ + pass.n <= kMaxLinks;
      for (int i = 0; i < pass.n && is_at_once_; ++i) {
        const Array& array = arrays_[pass.given[i]];
        pass.data[i] = array.data;
        if (array.tensor >= 0) links_[n_links_++] = {&pass.data[i], array.tensor, array.offset};
      }
    }
  }

  // Sets an array that a stage accumulates into to its initial value: in whole words, since it is in our own memory.
  void Fill(int fold) {
    const Array& array = arrays_[pk_folds[fold]];
    uint64_t word = pk_identities[fold];
    for (int64_t bits = 8 * array.item; bits < 64; bits *= 2) {
      word &= (uint64_t{1} << bits) - 1;
      word |= word << bits;
    }
    const int64_t bytes = counts_[pk_folds[fold]] * array.item;
    std::fill_n(reinterpret_cast<uint64_t*>(array.data), (bytes + 7) / 8, word);
  }

  void ComputeAtOnce(void* const* data) {
    for (int i = 0; i < n_links_; ++i) {
      *links_[i].to = static_cast<char*>(data[links_[i].tensor]) + links_[i].offset;
    }
    for (int i = 0; i < pk_counts[kReductions]; ++i) Fill(i);
    for (int s = 0; s < pk_counts[kStages]; ++s) {
      const Pass& pass = passes_[s];
      if (pass.is_empty) continue;
      if (pass.is_simple) {
        pk_stages[s][pass.code](pass.data, pass.steps, numbers_, pass.rows, pass.columns);
      } else {
        ComputeInOrder(s, pass, pass.data, sizes_);
      }
    }
  }

  void ComputePhase(int from, int to, int64_t first, int64_t last) {
    int64_t starts[kMaxClasses], lengths[kMaxClasses];
    for (int c = 0; c < n_classes_; ++c) {
      starts[c] = 0;
      lengths[c] = sizes_[c];
    }
    int at = from;
    for (; at < to && !pk_stage_table[at][kInBlock]; ++at) ComputeStage(at, starts, lengths, true);
    if (at == to) return;
    const int cut = blocked_[n_blocked_ - 1];
    for (int i = 0; i < n_blocked_ - 1; ++i) lengths[blocked_[i]] = 1;
    if (first == last) {
      // Without elements along the blocks, sums over them keep their initial values.
      for (int s = at; s < to; ++s) Begin(passes_[s], true);
      return;
    }
    bool is_first = true;
    while (first < last) {
      int64_t rest = first;
      for (int i = n_blocked_ - 1; i >= 0 && rest > 0; --i) {
        starts[blocked_[i]] = rest % sizes_[blocked_[i]];
        rest /= sizes_[blocked_[i]];
      }
      lengths[cut] = std::min({block_, sizes_[cut] - starts[cut], last - first});
      for (int s = at; s < to; ++s) ComputeStage(s, starts, lengths, is_first);
      first += lengths[cut];
      is_first = false;
    }
  }

  // Sets the arrays that a stage accumulates into to their initial values.
  void Begin(const Pass& pass, bool is_first) {
    for (int i = pass.first_fold; i < pass.first_fold + pass.n_folds; ++i) {
      if (is_first || arrays_[pk_folds[i]].is_local) Fill(i);
    }
  }

  void ComputeStage(int s, const int64_t* starts, const int64_t* lengths, bool is_first) {
    Pass& pass = passes_[s];
    Begin(pass, is_first);
    if (some_single_ && pass.n_folds > 0) return ComputeEachFold(s, starts, lengths);
    const int64_t length = n_blocked_ > 0 ? lengths[blocked_[n_blocked_ - 1]] : 0;
    if (pass.planned != length) {
      Plan(s, lengths, &pass);
      pass.planned = length;
      is_planned_anew_ = true;
    }
    ComputeElements(s, pass, starts, lengths);
  }

  // A reduction with a single element along a class is computed in a separate run, instead of everything else.
  void ComputeEachFold(int s, const int64_t* starts, const int64_t* lengths) {
    const int from = passes_[s].first_fold, to = from + passes_[s].n_folds;
    Pass pass = passes_[s];
    for (int i = from; i < to; ++i) {
      if (!single_[i] || is_void_[i]) continue;
      int64_t own[kMaxClasses];
      bool is_there = true;
      for (int c = 0; c < n_classes_; ++c) {
        own[c] = Has(single_[i], c) ? 1 : lengths[c];
        is_there &= !Has(single_[i], c) || starts[c] == 0;
      }
      if (!is_there) continue;
      only_ = i;
      Plan(s, own, &pass);
      ComputeElements(s, pass, starts, own);
    }
    only_ = kAllEven;
    Plan(s, lengths, &pass);
    ComputeElements(s, pass, starts, lengths);
    only_ = kAll;
  }

  // Returns whether a stage should write to an array now. It may always write to arrays that it does not accumulate
  // into.
  bool IsWanted(const Pass& pass, int array) const {
    if (arrays_[array].base >= 0) array = arrays_[array].base;
    for (int i = pass.first_fold; i < pass.first_fold + pass.n_folds; ++i) {
      if (pk_folds[i] == array) return only_ == kAllEven ? !single_[i] && !is_void_[i] : only_ == i;
    }
    return true;
  }

  void ComputeElements(int s, const Pass& pass, const int64_t* starts, const int64_t* lengths) {
    if (pass.is_empty) return;
    void* data[kMaxArrays];
    for (int i = 0; i < pass.n; ++i) {
      const Array& array = arrays_[pass.given[i]];
      char* at = only_ == kAll || IsWanted(pass, pass.given[i]) ? array.data : spare_;
      if (!array.is_local) {
        for (int b = 0; b < n_blocked_; ++b) {
          if (Has(array.classes, blocked_[b])) at += starts[blocked_[b]] * array.strides[blocked_[b]];
        }
      }
      data[i] = at;
    }
    ComputeInOrder(s, pass, data, lengths);
  }

  // Runs over all elements from the given addresses on.
  void ComputeInOrder(int s, const Pass& pass, void* const* given, const int64_t* lengths) const {
    if (pass.n_own == 0) return ComputeOnce(s, pass, given);
    void* data[kMaxArrays];
    std::copy_n(given, pass.n, data);
    int64_t index[kMaxClasses];
    std::fill_n(index, pass.n_own, 0);
    while (true) {
      ComputeOnce(s, pass, data);
      int i = pass.n_own - 1;
      for (; i >= 0; --i) {
        const int c = pass.own[i];
        const bool is_past = ++index[i] == lengths[c];
        for (int k = 0; k < pass.n; ++k) {
          const Array& array = arrays_[pass.given[k]];
          if (!Has(array.classes, c)) continue;
          data[k] = static_cast<char*>(data[k]) + array.strides[c] - (is_past ? array.strides[c] * lengths[c] : 0);
        }
        if (!is_past) break;
        index[i] = 0;
      }
      if (i < 0) return;
    }
  }

  int64_t n_steps_;     // along all classes that are divided into blocks
  int64_t n_elements_;  // of the first output
  bool is_at_once_;
  bool is_planned_anew_;  // whether some pass was planned again since then
  struct {
    void** to;
    int32_t tensor;
    int64_t offset;
  } links_[kMaxLinks];
  int n_links_;
  enum { kAll = -1, kAllEven = -2 };
  int only_ = kAll;  // or the index of a reduction
};

// The run prepared for the last call, kept because the next call probably has the same shapes. It is null if there is
// none, and `Taken()` while a call uses it. Only that call puts it back, so a plain store is enough.
std::atomic<Run*> g_kept{nullptr};

Run* Taken() {
  alignas(Run) static char mark[1];
  return reinterpret_cast<Run*>(mark);
}

void Delete(Run* run) {
  if (run == nullptr) return;
  run->~Run();
  std::free(run);
}

// Holds a run for one call.
class Lease {
 public:
  Lease() : run_(g_kept.exchange(Taken(), std::memory_order_acquire)), is_kept_(run_ != Taken()) {
    if (is_kept_ && run_ != nullptr) return;
    void* const memory = std::aligned_alloc(alignof(Run), sizeof(Run));
    run_ = memory != nullptr ? new (memory) Run : nullptr;
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    const bool is_put_back = is_kept_ && is_complete_ && run_->IsSmall();
    if (!is_put_back) Delete(run_);
    if (is_kept_) g_kept.store(is_put_back ? run_ : nullptr, std::memory_order_release);
  }

  Run* run() const { return run_; }
  void SetComplete() { is_complete_ = true; }

 private:
  Run* run_;
  const bool is_kept_;
  bool is_complete_ = false;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t pk_kernel_run(const pk_kernel* kernel, void* const* data,
                                                                        const int64_t* dims, const pk_scalar* scalars,
                                                                        int64_t begin, int64_t end, int64_t* detail) {
  Lease lease;
  Run* const run = lease.run();
  if (run == nullptr) return PK_RAISED;
  if (!run->IsFor(dims, scalars)) {
    if (const int32_t status = run->Prepare(kernel, dims, scalars, detail)) return status;
  }
  run->Compute(data, begin, end);
  if (run->IsOutside()) return PK_RAISED;
  lease.SetComplete();
  return PK_OK;
}

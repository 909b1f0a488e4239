// Runs a fused kernel: `pk_kernel_run` around the kernel's own stages, each of which computes rows of elements. Linked
// into every fused kernel; the same object code for all of them.
//
// Axes of tensors that are as long as one another are of one class. A stage goes through all elements of some classes;
// the last of these are its columns, the one before its rows, and the others are gone through here. The kernel is run
// for one block of elements after another, so that what lies between two stages stays in the caches.
#include <pykernels/kernel.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#pragma GCC visibility push(hidden)
extern "C" {
// Of the kernel, as kernel/fused_code.py writes them. A class set is a mask of bits. A list has its length before it,
// a shape is the count of its axes and a list for each: the axes of tensors, by their places among all of these, whose
// lengths broadcast together are its length.
extern const int32_t pk_counts[13];
extern const int32_t pk_blocked[1];      // the classes that are cut into blocks
extern const int32_t pk_groups[];        // of every class, the first of its neighbours that always go together with it
extern const int32_t pk_classes[];       // of every axis of every tensor, its class or -1
// Tensor or -1, bytes of an element, classes, whether it is of one block only (of a view: whether it is a part).
extern const int32_t pk_arrays[][4];
extern const int32_t pk_stage_table[][7];
extern const int32_t pk_arguments[];     // of every stage, its arrays
extern const int32_t pk_folds[];         // of every stage, the arrays that it adds to
extern const int64_t pk_identities[];    // for each of these, the bits of what an element is before
extern const int32_t pk_members[];       // of every class, a list of its axes
extern const int32_t pk_output_shapes[]; // of every axis of every output, a list
extern const int32_t pk_lengths[];       // of every axis of a reshaped array, the list of steps that find its length
// Of every reshaped input and every part of one, a list with three numbers for each of the axes that it goes along: the
// place of the number that is its first index there, or -1 for 0; its step; the place of its own axis, or -1.
extern const int32_t pk_views[];
extern const int32_t pk_reshaped[];      // of everything reshaped, its shape before and after
extern const int32_t pk_counted[];       // of every array that counts, its shape
extern const int32_t pk_packed[];        // of every output, whether its elements have other axes than it has itself
extern const int32_t pk_extents[];       // of every number after the scalars, a shape with as many elements
extern const int32_t pk_reductions[];    // of every reduction, what must hold (kEven, kNonempty), and the folded shape
typedef void (*pk_stage)(void* const* arrays, const int64_t* steps, const int64_t* numbers, int64_t rows,
                         int64_t columns);
extern const pk_stage pk_stages[][2];    // for any number of rows; for a multiple of kTogether, if kAddsRows
}
#pragma GCC visibility pop

namespace {

constexpr int kMaxClasses = 24, kMaxArrays = 64, kMaxNumbers = 96, kMaxAxes = 512, kMaxSteps = 64;
// Of pk_counts:
enum {
  kInputs, kOutputs, kArrays, kStages, kClasses, kScalars, kExtents, kReductions,
  kAxes,      // of tensors
  kLengths,   // axes of reshaped arrays, whose places are after those
  kViews,     // reshaped inputs, which come after the tensors in pk_arrays
  kReshaped,  // these, and reshaped results
  kCounted    // the arrays after the views, which hold 0, 1, ...
};
// Of pk_lengths:
enum { kNumber, kCount, kMultiply, kFloorDivide, kAdd, kSubtract, kMaximum, kMinimum };
// Of pk_arrays:
enum { kTensor, kItemSize, kArrayClasses, kIsLocal };
// Of pk_stage_table:
enum { kPhase, kInBlock, kDomain, kArguments, kFolds, kFoldsColumns, kAddsRows };
constexpr int64_t kTogether = 4;
enum { kEven = 1, kNonempty = 2 };

// What a block touches stays in the first-level cache, and is small enough for the next to be fetched meanwhile; where
// its columns are cut, it stays in the second.
constexpr int64_t kBlockBytes = 8192;
constexpr int64_t kCutBlockBytes = 262144;
constexpr int64_t kFewestColumns = 128;
// So many numbers are added up in their own precision, before they are added to a sum of higher precision.
constexpr int64_t kMostFolded = 4096;
constexpr int64_t kStackBytes = 8192;
// So many elements of an array are put side by side at once, and of so many arrays.
constexpr int64_t kCopied = 512;
constexpr int kMostCopies = 4;
constexpr int kMaxPasses = 16;  // that are planned but once
constexpr int64_t kAlignment = 64;

bool Has(int32_t classes, int each) { return classes >> each & 1; }

// The length of the list at `list`, which is moved on; -1 if its axes cannot be broadcast together.
int64_t ReadLength(const int32_t*& list, const int64_t* dims) {
  int64_t length = 1;
  const int32_t* const end = list + 1 + *list;
  for (++list; list < end; ++list) {
    const int64_t own = dims[*list];
    if (own == 1) continue;
    if (length != 1 && length != own) {
      list = end;
      return -1;
    }
    length = own;
  }
  return length;
}

struct Array {
  char* data;
  int64_t item;
  int32_t classes;
  bool is_local;
  int64_t strides[kMaxClasses];  // in bytes
};

class Run {
 public:
  ~Run() {
    if (memory_ != stack_) std::free(memory_);
  }

  int32_t Prepare(const pk_kernel* kernel, void* const* data, const int64_t* dims, const pk_scalar* scalars,
                  int64_t* detail) {
    if (pk_counts[kLengths] > 0) {
      if (!FindLengths(dims)) return PK_RAISED;
      dims = dims_;
    }
    const int32_t* list = pk_members;
    for (int c = 0; c < n_classes_; ++c) {
      sizes_[c] = ReadLength(list, dims);
      if (sizes_[c] < 0) return PK_RAISED;
    }
    if (const int32_t status = CheckOutputs(kernel, dims, detail)) return status;
    if (!CheckReductions(dims)) return PK_RAISED;
    ReadNumbers(dims, scalars);
    PlaceTensors(kernel, data, dims);
    Merge();
    ChooseBlock();
    std::fill_n(planned_, std::min(pk_counts[kStages], kMaxPasses), -1);
    if (!PlaceOthers()) return PK_RAISED;
    Count(dims);
    return PK_OK;
  }

  // Computes the iterations from `begin` to `end` of `total`, or all if `total` is 0.
  void Compute(int64_t begin, int64_t end, int64_t total) {
    int64_t n = 1;
    for (int i = 0; i < n_blocked_; ++i) n *= sizes_[blocked_[i]];
    int64_t first = 0, last = n;
    if (total > 0 && end - begin != total) {
      first = CeilOfPart(begin, n, total);
      last = CeilOfPart(end, n, total);
    }
    int at = 0;
    for (int phase = 0; at < pk_counts[kStages]; ++phase) {
      const int from = at;
      while (at < pk_counts[kStages] && pk_stage_table[at][kPhase] == phase) ++at;
      ComputePhase(from, at, first, last);
    }
  }

 private:
  static int64_t CeilOfPart(int64_t part, int64_t n, int64_t total) {
    return static_cast<int64_t>((static_cast<__int128>(part) * n + total - 1) / total);
  }

  static int64_t ReadCount(const int32_t*& shape, const int64_t* dims) {
    int64_t count = 1;
    for (int32_t axes = *shape++; axes > 0; --axes) count *= ReadLength(shape, dims);
    return count;
  }

  // Puts the lengths of the axes of reshaped arrays after those of tensors.
  bool FindLengths(const int64_t* dims) {
    std::copy_n(dims, pk_counts[kAxes], dims_);
    const int32_t* at = pk_lengths;
    for (int i = 0; i < pk_counts[kLengths]; ++i) {
      int64_t stack[kMaxSteps];
      int64_t* top = stack;  // past the last
      const int32_t* const end = at + 1 + *at;
      for (++at; at < end;) {
        const int32_t step = *at++;
        if (step == kNumber) {
          *top++ = *at++;
        } else if (step == kCount) {
          *top++ = ReadCount(at, dims_);
        } else {
          const int64_t b = *--top, a = *--top;
          *top++ = Calculate(step, a, b);
        }
      }
      dims_[pk_counts[kAxes] + i] = stack[0];
      if (stack[0] < 0) return false;
    }
    at = pk_reshaped;
    for (int i = 0; i < pk_counts[kReshaped]; ++i) {
      const int64_t before = ReadCount(at, dims_);
      if (before != ReadCount(at, dims_)) return false;
    }
    return true;
  }

  static int64_t Calculate(int32_t step, int64_t a, int64_t b) {
    switch (step) {
      case kMultiply: return a * b;
      case kAdd: return a + b;
      case kSubtract: return a - b;
      case kMaximum: return std::max(a, b);
      case kMinimum: return std::min(a, b);
      default: return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
    }
  }

  // Whether elements of this length along a class would not be computed, since somewhere else they are broadcast to
  // none. That is not provided for.
  bool IsLost(int32_t c, int64_t length) const { return c >= 0 && sizes_[c] == 0 && length != 0; }

  int32_t CheckOutputs(const pk_kernel* kernel, const int64_t* dims, int64_t* detail) const {
    const int32_t* list = pk_output_shapes;
    int64_t position = 0;
    for (int i = 0; i < pk_counts[kInputs]; ++i) position += kernel->ranks[i];
    for (int k = 0; k < pk_counts[kOutputs]; ++k) {
      const int32_t rank = kernel->ranks[pk_counts[kInputs] + k];
      bool fits = true;
      for (int32_t axis = 0; axis < rank; ++axis) {
        detail[2 + axis] = ReadLength(list, dims);
        if (detail[2 + axis] < 0 || IsLost(pk_classes[position + axis], detail[2 + axis])) return PK_RAISED;
        fits = fits && detail[2 + axis] == dims[position + axis];
      }
      position += rank;
      if (fits) continue;
      detail[0] = k;
      detail[1] = rank;
      return PK_WRONG_SHAPE;
    }
    return PK_OK;
  }

  bool CheckReductions(const int64_t* dims) {
    const int32_t* at = pk_reductions;
    for (int i = 0; i < pk_counts[kReductions]; ++i) {
      const int32_t must = *at++;
      int64_t count = 1;
      single_[i] = 0;
      for (int32_t axes = *at++; axes > 0; --axes) {
        const int32_t of_class = pk_classes[at[1]];
        const int64_t length = ReadLength(at, dims);
        if (IsLost(of_class, length)) return false;
        if (must == kEven && length != sizes_[of_class]) single_[i] |= int32_t{1} << of_class;
        count *= length;
      }
      if (must == kNonempty && count == 0) return false;
      some_single_ |= single_[i] != 0;
    }
    return true;
  }

  void ReadNumbers(const int64_t* dims, const pk_scalar* scalars) {
    int n = pk_counts[kScalars];
    if (n > 0) std::memcpy(numbers_, scalars, n * sizeof *numbers_);
    const int32_t* at = pk_extents;
    for (int i = 0; i < pk_counts[kExtents]; ++i) {
      numbers_[n++] = ReadCount(at, dims);
    }
  }

  void PlaceTensors(const pk_kernel* kernel, void* const* data, const int64_t* dims) {
    int64_t starts[kMaxArrays];  // where the axes of each tensor begin
    int64_t position = 0;
    for (int i = 0; i < pk_counts[kInputs] + pk_counts[kOutputs]; ++i) {
      starts[i] = position;
      int64_t stride = Open(i, data)->item;
      for (int32_t axis = kernel->ranks[i] - 1; axis >= 0; --axis) {
        PlaceAxis(&arrays_[i], position + axis, stride, dims);
        stride *= dims[position + axis];
      }
      position += kernel->ranks[i];
    }
    const int32_t* view = pk_views;
    for (int i = pk_counts[kInputs] + pk_counts[kOutputs]; i < n_given_; ++i) {
      Array* const array = Open(i, data);
      const int32_t* const first = view + 1;
      view = first + *view;
      const bool is_part = view - first == 3 * kernel->ranks[pk_arrays[i][kTensor]] && pk_arrays[i][kIsLocal];
      const int64_t* const whole = dims + starts[pk_arrays[i][kTensor]];
      int64_t stride = array->item;
      for (const int32_t* axis = view - 3; axis >= first; axis -= 3) {
        if (axis[0] >= 0) array->data += dims[axis[0]] * stride;
        if (axis[2] >= 0) PlaceAxis(array, axis[2], stride * axis[1], dims);
        stride *= is_part ? whole[(axis - first) / 3] : dims[axis[2]];
      }
      // The rows of a part do not follow each other.
      if (is_part) uneven_ |= array->classes;
    }
  }

  Array* Open(int i, void* const* data) {
    Array& array = arrays_[i];
    array.data = static_cast<char*>(data[pk_arrays[i][kTensor]]);
    array.item = pk_arrays[i][kItemSize];
    array.classes = pk_arrays[i][kArrayClasses];
    array.is_local = false;
    return &array;
  }

  void PlaceAxis(Array* array, int64_t place, int64_t stride, const int64_t* dims) {
    const int32_t c = pk_classes[place];
    if (c < 0) return;
    array->strides[c] = dims[place] == 1 ? 0 : stride;
    if (dims[place] != sizes_[c]) uneven_ |= int32_t{1} << c;
  }

  // Makes neighbours that all arrays have or have not into one.
  void Merge() {
    for (int c = 1; c < n_classes_; ++c) {
      if (pk_groups[c] != pk_groups[c - 1] || uneven_ >> (c - 1) & 3) continue;
      if (sizes_[c] == 1) {
        for (int i = 0; i < n_given_; ++i) {
          arrays_[i].strides[c] = arrays_[i].strides[c - 1];
        }
      }
      sizes_[c] *= sizes_[c - 1];
      sizes_[c - 1] = 1;
    }
  }

  void ChooseBlock() {
    n_blocked_ = 0;
    for (int c = 0; c < n_classes_; ++c) {
      if (Has(pk_blocked[0], c)) blocked_[n_blocked_++] = c;
    }
    if (n_blocked_ == 0) return;
    // Columns that are few are not cut.
    int last = n_classes_ - 1;
    while (last > 0 && sizes_[last] == 1) --last;
    if (n_blocked_ > 1 && blocked_[n_blocked_ - 1] >= last && sizes_[last] < kFewestColumns) --n_blocked_;
    for (int i = 0; i < n_blocked_; ++i) blocked_classes_ |= int32_t{1} << blocked_[i];
    const int cut = blocked_[n_blocked_ - 1];
    int64_t bytes = 1;  // for one step along the class that is cut
    for (int i = 0; i < pk_counts[kArrays]; ++i) {
      const int32_t* const array = pk_arrays[i];
      if (!Has(array[kArrayClasses], cut)) continue;
      int64_t own = array[kItemSize];
      for (int c = 0; c < n_classes_; ++c) {
        if (Has(array[kArrayClasses], c) && !Has(blocked_classes_, c)) own *= sizes_[c];
      }
      bytes += own;
    }
    cuts_columns_ = cut >= last;
    block_ = (cuts_columns_ ? kCutBlockBytes : kBlockBytes) / bytes;
    if (cuts_columns_) block_ = std::max(block_ / kFewestColumns, int64_t{1}) * kFewestColumns;
    block_ = std::max<int64_t>(1, std::min(block_, sizes_[cut]));
  }

  int64_t LengthInMemory(const Array& array, int c) const {
    if (!array.is_local || !Has(blocked_classes_, c)) return sizes_[c];
    return c == blocked_[n_blocked_ - 1] ? block_ : 1;
  }

  // The strides of an array that has nothing but its elements; returns its size in bytes.
  int64_t Pack(Array* array) const {
    int64_t bytes = array->item;
    for (int c = n_classes_ - 1; c >= 0; --c) {
      if (!Has(array->classes, c)) continue;
      array->strides[c] = bytes;
      bytes *= LengthInMemory(*array, c);
    }
    return bytes;
  }

  bool PlaceOthers() {
    for (int k = 0; k < pk_counts[kOutputs]; ++k) {
      if (pk_packed[k]) Pack(&arrays_[pk_counts[kInputs] + k]);
    }
    int64_t offsets[kMaxArrays];
    int64_t total = 0, spare = 0;
    for (int i = n_given_; i < pk_counts[kArrays]; ++i) {
      Array& array = arrays_[i];
      array.item = pk_arrays[i][kItemSize];
      array.classes = pk_arrays[i][kArrayClasses];
      array.is_local = pk_arrays[i][kIsLocal];
      const int64_t bytes = Pack(&array);
      offsets[i] = total;
      counts_[i] = bytes / array.item;
      total += (bytes + kAlignment - 1) / kAlignment * kAlignment;
      spare = std::max(spare, bytes);
    }
    if (some_single_) total += (spare + kAlignment - 1) / kAlignment * kAlignment;
    memory_ = total <= kStackBytes ? stack_ : static_cast<char*>(std::aligned_alloc(kAlignment, total));
    for (int i = n_given_; i < pk_counts[kArrays]; ++i) {
      arrays_[i].data = memory_ + offsets[i];
    }
    spare_ = memory_ + total - (spare + kAlignment - 1) / kAlignment * kAlignment;
    return memory_ != nullptr;
  }

  void Count(const int64_t* dims) {
    const int32_t* at = pk_counted;
    for (int i = n_given_; i < n_given_ + pk_counts[kCounted]; ++i) {
      // One that is broadcast has no more than the first number.
      const int64_t own = ReadCount(at, dims);
      auto* const numbers = reinterpret_cast<int64_t*>(arrays_[i].data);
      for (int64_t k = 0; k < counts_[i]; ++k) numbers[k] = own == 1 ? 0 : k;
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
      // With no elements along the blocks, sums over them are what they began with.
      for (int s = at; s < to; ++s) Begin(s, true);
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

  // Makes what a stage adds to what it is before.
  void Begin(int s, bool is_first) {
    const int at = FirstFold(s);
    for (int i = at; i < at + pk_stage_table[s][kFolds]; ++i) {
      const Array& array = arrays_[pk_folds[i]];
      if (!array.is_local && !is_first) continue;
      const int64_t count = counts_[pk_folds[i]];
      switch (array.item) {
        case 1: std::fill_n(reinterpret_cast<uint8_t*>(array.data), count, pk_identities[i]); break;
        case 2: std::fill_n(reinterpret_cast<uint16_t*>(array.data), count, pk_identities[i]); break;
        case 4: std::fill_n(reinterpret_cast<uint32_t*>(array.data), count, pk_identities[i]); break;
        default: std::fill_n(reinterpret_cast<uint64_t*>(array.data), count, pk_identities[i]);
      }
    }
  }

  void ComputeStage(int s, const int64_t* starts, const int64_t* lengths, bool is_first) {
    if (pk_stage_table[s][kFolds] > 0) Begin(s, is_first);
    if (!some_single_ || pk_stage_table[s][kFolds] == 0) return ComputeElements(s, starts, lengths);
    const int from = FirstFold(s), to = from + pk_stage_table[s][kFolds];
    // What has a single element along a class is computed by itself, in place of all the others.
    for (int i = from; i < to; ++i) {
      if (!single_[i]) continue;
      int64_t own[kMaxClasses];
      bool is_there = true;
      for (int c = 0; c < n_classes_; ++c) {
        own[c] = Has(single_[i], c) ? 1 : lengths[c];
        is_there &= !Has(single_[i], c) || starts[c] == 0;
      }
      if (!is_there) continue;
      only_ = i;
      ComputeElements(s, starts, own);
    }
    only_ = kAllEven;
    ComputeElements(s, starts, lengths);
    only_ = kAll;
  }

  // Whether a stage is to write to an array now; all but what it adds to it may always write.
  bool IsWanted(int s, int array) const {
    for (int i = FirstFold(s); i < FirstFold(s) + pk_stage_table[s][kFolds]; ++i) {
      if (pk_folds[i] == array) return only_ == kAllEven ? !single_[i] : only_ == i;
    }
    return true;
  }

  static int FirstFold(int s) {
    int at = 0;
    for (int before = 0; before < s; ++before) at += pk_stage_table[before][kFolds];
    return at;
  }

  // How a stage goes through blocks of certain lengths.
  struct Pass {
    int n;             // arrays
    const int32_t* given;
    int column, row;
    int n_own, own[kMaxClasses];  // the classes that are gone through here
    int64_t rows, columns;
    bool is_empty, is_spread, is_long;
    bool adds_rows;  // and all that is added to has no rows
    int64_t steps[kMaxArrays];
  };

  // Whether a stage folds all along a class.
  static bool IsFolded(int s, int c) {
    const int from = FirstFold(s), to = from + pk_stage_table[s][kFolds];
    return std::none_of(pk_folds + from, pk_folds + to,
                        [c](int array) { return Has(pk_arrays[array][kArrayClasses], c); });
  }

  void Plan(int s, const int64_t* lengths, Pass* pass) const {
    const int32_t* const stage = pk_stage_table[s];
    pass->n = stage[kArguments];
    pass->given = pk_arguments;
    for (int before = 0; before < s; ++before) pass->given += pk_stage_table[before][kArguments];
    // The last class are the columns; of the others, the last that is longer than 1 are the rows.
    int n_own = 0;
    pass->is_empty = false;
    pass->column = pass->row = -1;
    for (int c = 0; c < n_classes_; ++c) {
      if (!Has(stage[kDomain], c)) continue;
      pass->is_empty |= lengths[c] == 0;
      if (pass->column >= 0 && lengths[pass->column] > 1) pass->own[n_own++] = pass->column;
      pass->column = c;
    }
    const int column = pass->column;
    pass->columns = column >= 0 ? lengths[column] : 1;
    pass->is_long = stage[kFoldsColumns] && pass->columns > kMostFolded;
    pass->is_spread = false;
    for (int i = 0; i < pass->n; ++i) {
      const Array& array = arrays_[pass->given[i]];
      pass->is_spread |= pass->columns > 1 && Has(array.classes, column) && array.strides[column] != array.item;
    }
    pass->adds_rows = false;
    for (int i = n_own - 1; i >= 0 && stage[kAddsRows] && !pass->is_spread && !pass->adds_rows; --i) {
      pass->adds_rows = IsFolded(s, pass->own[i]);
      if (pass->adds_rows) std::swap(pass->own[i], pass->own[n_own - 1]);
    }
    if (n_own > 0 && !pass->is_spread && !pass->is_long) pass->row = pass->own[--n_own];
    pass->n_own = n_own;
    pass->rows = pass->row >= 0 ? lengths[pass->row] : 1;
    for (int i = 0; i < pass->n; ++i) {
      const Array& array = arrays_[pass->given[i]];
      pass->steps[i] = pass->row >= 0 && Has(array.classes, pass->row) ? array.strides[pass->row] : 0;
    }
  }

  void ComputeElements(int s, const int64_t* starts, const int64_t* lengths) {
    Pass one;
    Pass& pass = only_ == kAll && s < kMaxPasses ? passes_[s] : one;
    const int64_t length = n_blocked_ > 0 ? lengths[blocked_[n_blocked_ - 1]] : 0;
    if (&pass == &one) {
      Plan(s, lengths, &one);
    } else if (planned_[s] != length) {
      Plan(s, lengths, &pass);
      planned_[s] = length;
    }
    if (pass.is_empty) return;
    void* data[kMaxArrays];
    for (int i = 0; i < pass.n; ++i) {
      const Array& array = arrays_[pass.given[i]];
      char* at = only_ == kAll || IsWanted(s, pass.given[i]) ? array.data : spare_;
      if (!array.is_local) {
        for (int b = 0; b < n_blocked_; ++b) {
          if (Has(array.classes, blocked_[b])) at += starts[blocked_[b]] * array.strides[blocked_[b]];
        }
      }
      data[i] = at;
    }
    int64_t index[kMaxClasses];
    for (int i = 0; i < pass.n_own; ++i) index[i] = 0;
    while (true) {
      if (pass.is_spread) {
        ComputeSpread(s, pass, data);
      } else if (pass.is_long) {
        ComputeLong(s, pass, data);
      } else {
        ComputeRows(s, pass, data);
      }
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

  void ComputeRows(int s, const Pass& pass, void* const* data) const {
    const int64_t together = pass.adds_rows ? pass.rows / kTogether * kTogether : 0;
    if (together == 0) return pk_stages[s][0](data, pass.steps, numbers_, pass.rows, pass.columns);
    pk_stages[s][1](data, pass.steps, numbers_, together, pass.columns);
    if (together == pass.rows) return;
    void* rest[kMaxArrays];
    for (int i = 0; i < pass.n; ++i) rest[i] = static_cast<char*>(data[i]) + together * pass.steps[i];
    pk_stages[s][0](rest, pass.steps, numbers_, pass.rows - together, pass.columns);
  }

  // One row, in parts that are added up one by one.
  void ComputeLong(int s, const Pass& pass, void* const* data) const {
    void* part[kMaxArrays];
    for (int64_t at = 0; at < pass.columns; at += kMostFolded) {
      for (int i = 0; i < pass.n; ++i) {
        const Array& array = arrays_[pass.given[i]];
        part[i] = static_cast<char*>(data[i]) + (Has(array.classes, pass.column) ? at * array.strides[pass.column] : 0);
      }
      pk_stages[s][0](part, pass.steps, numbers_, 1, std::min(kMostFolded, pass.columns - at));
    }
  }

  // One row, where some array has a single element for all columns, or its elements are not side by side: they are
  // copied.
  void ComputeSpread(int s, const Pass& pass, void* const* data) const {
    alignas(kAlignment) char copies[kMostCopies][kCopied * 8];
    char* part[kMaxArrays];
    int copy_of[kMaxArrays];
    int n_copies = 0;
    int64_t most = std::min(pass.columns, kCopied);
    for (int i = 0; i < pass.n; ++i) {
      const Array& array = arrays_[pass.given[i]];
      part[i] = static_cast<char*>(data[i]);
      copy_of[i] = -1;
      if (!Has(array.classes, pass.column) || array.strides[pass.column] == array.item) continue;
      const bool is_input = pk_arrays[pass.given[i]][kTensor] >= 0 &&
                            pk_arrays[pass.given[i]][kTensor] < pk_counts[kInputs];
      if (is_input && n_copies < kMostCopies) {
        copy_of[i] = n_copies++;
      } else {
        most = 1;
      }
    }
    for (int64_t at = 0; at < pass.columns; at += most) {
      const int64_t n = std::min(most, pass.columns - at);
      void* given[kMaxArrays];
      for (int i = 0; i < pass.n; ++i) {
        const Array& array = arrays_[pass.given[i]];
        const int64_t stride = Has(array.classes, pass.column) ? array.strides[pass.column] : 0;
        given[i] = part[i];
        if (copy_of[i] >= 0) {
          if (at == 0 || stride != 0) Collect(copies[copy_of[i]], part[i], array.item, stride, n);
          given[i] = copies[copy_of[i]];
        }
        part[i] += n * stride;
      }
      pk_stages[s][0](given, pass.steps, numbers_, 1, n);
    }
  }

  static void Collect(char* to, const char* from, int64_t item, int64_t stride, int64_t n) {
    const auto collect = [&](auto element) {
      using T = decltype(element);
      for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = *reinterpret_cast<const T*>(from + i * stride);
    };
    switch (item) {
      case 1: return collect(uint8_t{});
      case 2: return collect(uint16_t{});
      case 4: return collect(uint32_t{});
      default: return collect(uint64_t{});
    }
  }

  // The tensors and what is reshaped of them.
  const int n_given_ = pk_counts[kInputs] + pk_counts[kOutputs] + pk_counts[kViews];
  const int n_classes_ = pk_counts[kClasses];
  int64_t sizes_[kMaxClasses];
  int32_t uneven_ = 0;
  int blocked_[kMaxClasses];
  int n_blocked_ = 0;
  int32_t blocked_classes_ = 0;
  int64_t block_ = 1;
  bool cuts_columns_ = false;
  // Of every reduction, the classes along which it has a single element, which is broadcast elsewhere in the kernel.
  int32_t single_[kMaxArrays];
  bool some_single_ = false;
  enum { kAll = -1, kAllEven = -2 };
  int only_ = kAll;  // or a reduction
  char* spare_ = nullptr;  // as large as any array that is added to
  int64_t dims_[kMaxAxes];
  int64_t numbers_[kMaxNumbers];
  Array arrays_[kMaxArrays];
  int64_t counts_[kMaxArrays];
  char* memory_ = stack_;
  Pass passes_[kMaxPasses];
  int64_t planned_[kMaxPasses];  // for blocks of which length along the class that is cut
  alignas(kAlignment) char stack_[kStackBytes];
};

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t pk_kernel_run(const pk_kernel* kernel, void* const* data,
                                                                        const int64_t* dims, const pk_scalar* scalars,
                                                                        int64_t begin, int64_t end, int64_t* detail) {
  Run run;
  const int32_t status = run.Prepare(kernel, data, dims, scalars, detail);
  if (status != PK_OK) return status;
  int64_t total = 1;
  int first = 0;
  for (int i = 0; i < pk_counts[kInputs]; ++i) first += kernel->ranks[i];
  for (int32_t axis = 0; axis < kernel->ranks[pk_counts[kInputs]]; ++axis) total *= dims[first + axis];
  run.Compute(begin, end, total);
  return PK_OK;
}

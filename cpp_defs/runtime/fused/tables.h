// The tables that describe a fused kernel to its driver, written by kernel/emit/fused_code.py.
//
// A class set is a bit mask. A list begins with its length. A shape is its number of axes, followed by a list for each
// axis: the indices, among all axes of tensors, of those whose broadcast length is the length of the axis.
#pragma once

#include <cstdint>

#pragma GCC visibility push(hidden)
extern "C" {
extern const int32_t pk_counts[13];
extern const int32_t pk_blocked[1];      // the classes that are divided into blocks
extern const int32_t pk_groups[];        // for every class, the first neighbour that always occurs together with it
extern const int32_t pk_classes[];       // for every axis of every tensor, its class or -1
// The tensor or other array whose memory it shares, or -1; bytes of an element, classes, whether it holds one block.
extern const int32_t pk_arrays[][4];
extern const int32_t pk_stage_table[][9];
// For every stage, its arrays: the first kReads are read, those from kFirstWritten on are written.
extern const int32_t pk_arguments[];
extern const int32_t pk_copies[];        // for every stage that only copies, kCopies pairs of arrays: source, target
extern const int32_t pk_folds[];         // for every stage, the arrays that it accumulates into
extern const int64_t pk_identities[];    // for each of these, the bits of an element's initial value
extern const int32_t pk_members[];       // for every class, a list of its axes
extern const int32_t pk_output_shapes[]; // for every axis of every output, a list
extern const int32_t pk_lengths[];       // for every axis of a reshaped array, the steps that compute its length
// For every reshaped array and every part of an array, a list with four numbers for each axis of the array or reshaped
// array: the position of the number that is its first index there, or -1 for 0; its step; the position of its own
// axis, or -1; the position of the axis itself.
extern const int32_t pk_views[];
extern const int32_t pk_equal[];         // pairs of shapes with equally many elements, as before and after a reshape
extern const int32_t pk_counted[];       // for every counting array (0, 1, ...), its shape
extern const int32_t pk_packed[];        // for every output, whether its elements have other axes than the output
extern const int32_t pk_extents[];       // for every number after the scalars, a shape with that number of elements
extern const int32_t pk_reductions[];    // for every reduction, its conditions (kEven, kNonempty) and the folded shape
typedef void (*pk_stage)(void* const* arrays, const int64_t* steps, const int64_t* numbers, int64_t rows,
                         int64_t columns);
extern const pk_stage pk_stages[][5];    // see kAnyRows and the following
// Returns whether the kernel accepts these numbers; if not, the plain NumPy run reports the error.
int32_t pk_accepts(const int64_t* numbers);
}
#pragma GCC visibility pop

namespace {

constexpr int kMaxClasses = 24, kMaxArrays = 64, kMaxStages = 64, kMaxNumbers = 96, kMaxAxes = 512, kMaxSteps = 256;
// Of pk_counts:
enum {
  kInputs, kOutputs, kArrays, kStages, kClasses, kScalars, kExtents, kReductions,
  kAxes,      // of tensors
  kLengths,   // axes of reshaped arrays, which follow those
  kViews,     // of arrays, which come after the tensors in pk_arrays
  kEqual,     // pairs of shapes
  kCounted    // the counting arrays (0, 1, ...), which follow the views
};
// Of pk_lengths:
enum { kNumber, kCount, kMultiply, kFloorDivide, kAdd, kSubtract, kMaximum, kMinimum };
// Of pk_arrays:
enum { kBase, kItemSize, kArrayClasses, kIsLocal };
// Of pk_stage_table:
enum { kPhase, kInBlock, kDomain, kArguments, kFolds, kAddsRows, kReads, kFirstWritten, kCopies };
// The variants of a stage in pk_stages; all but the first may be null, and all if it only copies:
// - for any number of rows;
// - for a multiple of kTogether rows, if kAddsRows;
// - for a last class (with the classes that always occur with it) of one element, with the class before it as columns;
// - like the first, in short vectors, which is faster for up to kFewColumns columns;
// - one element at a time, for up to kColumnsOneByOne columns: it avoids stalls on loads of data that was stored in
//   other sizes.
enum { kAnyRows, kRowsTogether, kOneColumn, kShort, kOneByOne };
constexpr int64_t kFewColumns = 8, kColumnsOneByOne = 3;
constexpr int64_t kTogether = 4;
enum { kEven = 1, kNonempty = 2 };

inline bool Has(int32_t classes, int each) { return classes >> each & 1; }

}  // namespace

// What a fused kernel tells its driver: tables, as kernel/emit/fused_code.py writes them.
//
// A class set is a mask of bits. A list has its length before it, a shape is the count of its axes and a list for each:
// the axes of tensors, by their places among all of these, whose lengths broadcast together are its length.
#ifndef PYKERNELS_RUNTIME_FUSED_TABLES_H_
#define PYKERNELS_RUNTIME_FUSED_TABLES_H_

#include <cstdint>

#pragma GCC visibility push(hidden)
extern "C" {
extern const int32_t pk_counts[13];
extern const int32_t pk_blocked[1];      // the classes that are cut into blocks
extern const int32_t pk_groups[];        // of every class, the first of its neighbours that always go together with it
extern const int32_t pk_classes[];       // of every axis of every tensor, its class or -1
// Tensor or -1, bytes of an element, classes, whether it is of one block only (of a view: whether it is a part).
extern const int32_t pk_arrays[][4];
extern const int32_t pk_stage_table[][6];
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
extern const pk_stage pk_stages[][5];    // see kAnyRows and the following
// Whether there is a result for these numbers; else the plain run tells what is wrong with them.
int32_t pk_accepts(const int64_t* numbers);
}
#pragma GCC visibility pop

namespace {

constexpr int kMaxClasses = 24, kMaxArrays = 64, kMaxStages = 64, kMaxNumbers = 96, kMaxAxes = 512, kMaxSteps = 64;
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
enum { kPhase, kInBlock, kDomain, kArguments, kFolds, kAddsRows };
// Of pk_stages: for any number of rows; for a multiple of kTogether, if kAddsRows; where the last class, and what always
// goes together with it, has one element, with the class before as columns, or null if there is none; the same as the
// first in short vectors, which is faster for up to kFewColumns, or null; one by one, for up to kColumnsOneByOne: they need
// not wait until what was stored in other sizes has left the processor; or null.
enum { kAnyRows, kRowsTogether, kOneColumn, kShort, kOneByOne };
constexpr int64_t kFewColumns = 8, kColumnsOneByOne = 3;
constexpr int64_t kTogether = 4;
enum { kEven = 1, kNonempty = 2 };

inline bool Has(int32_t classes, int each) { return classes >> each & 1; }

}  // namespace

#endif  // PYKERNELS_RUNTIME_FUSED_TABLES_H_

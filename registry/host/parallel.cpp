#include "parallel.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace pykernels {
namespace {

// For smaller pieces, waking a thread takes longer than the work.
constexpr int64_t kSmallestPiece = int64_t{1} << 16;
// The same for kernels that are loops, which spend more time per output element.
constexpr int64_t kSmallestPieceOfLoops = int64_t{1} << 14;
static_assert(kFewestToCut <= 2 * kSmallestPieceOfLoops && kFewestToCut <= 2 * kSmallestPiece);
// Pieces begin at multiples of this, which keeps them on boundaries of vectors and cache lines.
constexpr int64_t kBoundary = 1024;

ThreadPool the_pool{};
pid_t the_process = 0;

// One call, and the first failure among its pieces.
struct Cut {
  const pk_kernel& kernel;
  void* const* data;
  const int64_t* dims;
  const pk_scalar* scalars;
  int64_t n_elements;
  int64_t piece;
  int64_t* detail;
  std::atomic<int32_t> status{PK_OK};

  void Run(int64_t i) {
    int64_t own_detail[PK_DETAIL_SIZE] = {};
    const int64_t begin = i * piece;
    const int64_t end = std::min(begin + piece, n_elements);
    const int32_t own = kernel.run(&kernel, data, dims, scalars, begin, end, own_detail);
    int32_t ok = PK_OK;
    if (own != PK_OK && status.compare_exchange_strong(ok, own)) {
      std::copy(own_detail, own_detail + PK_DETAIL_SIZE, detail);
    }
  }
};

int64_t CountPieces(const pk_kernel& kernel, int64_t n_elements) {
  const bool is_elementwise = kernel.flags & PK_KERNEL_ELEMENTWISE;
  if (!is_elementwise && !(kernel.flags & PK_KERNEL_ITERATIONS)) return 1;
  const int64_t smallest = is_elementwise ? kSmallestPiece : kSmallestPieceOfLoops;
  if (n_elements < 2 * smallest || !the_pool.count) return 1;
  return std::min<int64_t>(the_pool.count(), n_elements / smallest);
}

}  // namespace

void SetThreadPool(const ThreadPool& pool) {
  the_pool = pool;
  the_process = getpid();
}

bool IsForked() { return getpid() != the_process; }

int32_t RunKernel(const pk_kernel& kernel, void* const* data, const int64_t* dims, const pk_scalar* scalars,
                  int64_t n_elements, int64_t* detail) {
  const int64_t n_pieces = CountPieces(kernel, n_elements);
  if (n_pieces <= 1) return kernel.run(&kernel, data, dims, scalars, 0, n_elements, detail);
  const int64_t even = (n_elements + n_pieces - 1) / n_pieces;
  const int64_t piece = (even + kBoundary - 1) / kBoundary * kBoundary;
  Cut cut{kernel, data, dims, scalars, n_elements, piece, detail};
  const int needed = static_cast<int>((n_elements + piece - 1) / piece);
  the_pool.for_each(needed, [](void* context, int i) { static_cast<Cut*>(context)->Run(i); }, &cut);
  return cut.status;
}

}  // namespace pykernels

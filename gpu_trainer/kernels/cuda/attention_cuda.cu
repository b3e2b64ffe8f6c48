// These kernels attend, for tokens that decode, over a prompt that several share and over what is
// their own.
//
// 1. RotateStore rotates queries and keys and stores keys and values.
// 2. AttendSplits computes scores, softmax and the product with the values, within one block. It
//    takes one split (kSplitTokens tokens) of one segment and all query heads that read one
//    key/value head, of all rows of the segment: so a shared prompt is read once for QueriesMax
//    queries. The two products run on the tensor cores for 16-bit types. Keys and values go from
//    memory to fragments directly: each is used by one warp only.
// 3. MergeSplits makes a row's splits one result.
#include "gpu_trainer/kernels/cuda/cuda_code.h"

namespace whetstone::WHETSTONE_KERNELS {
namespace {

constexpr int kLanes = 32;
constexpr int kRotateThreads = 128;
constexpr int kAttendThreads = 256;
constexpr int kAttendWarps = kAttendThreads / kLanes;
constexpr int kTile = kKvTile;

// Returns where layer `layer`, key/value head `head` begins; values lie kv_heads * capacity * D
// after keys.
template <typename T>
__device__ int64_t KeysAt(const DecodeShape& shape, int32_t layer, int32_t head, int64_t capacity) {
  return ((static_cast<int64_t>(layer) * 2) * shape.kv_heads + head) * capacity * shape.head_dim;
}

// --- Rotation ------------------------------------------------------------------------------------

// A warp computes every head of every row.
template <typename T>
__global__ void __launch_bounds__(kRotateThreads) RotateStoreKernel(RotateStoreArgs args) {
  const DecodeShape& shape = args.shape;
  const int32_t d = shape.head_dim, half = d / 2;
  const int32_t heads = shape.heads + 2 * shape.kv_heads;
  const int64_t warp =
      static_cast<int64_t>(blockIdx.x) * (kRotateThreads / kLanes) + threadIdx.x / kLanes;
  const int64_t row = warp / heads;
  if (row >= args.rows) return;
  const int32_t head = static_cast<int32_t>(warp % heads), lane = threadIdx.x % kLanes;
  const float* from = args.qkv + warp * d;
  const T* bias = args.bias != nullptr
                      ? static_cast<const T*>(args.bias) + static_cast<int64_t>(head) * d
                      : nullptr;
  const DecodeToken& token = args.tokens[row];

  // A lane holds pairs of numbers that rotate together: lane, lane + 32, …
  constexpr int kPairs = kHeadDimMax / 2 / kLanes;
  float a[kPairs], b[kPairs];
  float squares = 0;
  for (int p = 0; p < kPairs; ++p) {
    const int32_t i = lane + p * kLanes;
    a[p] = i < half ? from[i] : 0.0f;
    b[p] = i < half ? from[i + half] : 0.0f;
    if (bias != nullptr && i < half) {
      a[p] += ToFloat(bias[i]);
      b[p] += ToFloat(bias[i + half]);
    }
    squares += a[p] * a[p] + b[p] * b[p];
  }

  const bool query = head < shape.heads;
  const bool key = !query && head < shape.heads + shape.kv_heads;
  const T* norm = static_cast<const T*>(query ? args.q_norm : key ? args.k_norm : nullptr);
  if (norm != nullptr) {
    // A warp works on one head: all its lanes are here.
    const float scale = rsqrtf(SumOverLanes(squares) / static_cast<float>(d) + args.eps);
    for (int p = 0; p < kPairs; ++p) {
      const int32_t i = lane + p * kLanes;
      if (i >= half) continue;
      a[p] *= scale * ToFloat(norm[i]);
      b[p] *= scale * ToFloat(norm[i + half]);
    }
  }

  T* to;
  if (query) {
    to = static_cast<T*>(args.q) + (row * shape.heads + head) * d;
  } else {
    const int32_t kv_head = head - shape.heads - (key ? 0 : shape.kv_heads);
    const int64_t capacity = token.capacity;
    to = static_cast<T*>(token.slot) + KeysAt<T>(shape, args.layer, kv_head, capacity) +
         (key ? 0 : shape.kv_heads * capacity * d) + static_cast<int64_t>(token.suffix) * d;
  }
  const float scale = query ? rsqrtf(static_cast<float>(d)) : 1.0f;
  const float* cos = args.cos + static_cast<int64_t>(token.position) * half;
  const float* sin = args.sin + static_cast<int64_t>(token.position) * half;
  for (int p = 0; p < kPairs; ++p) {
    const int32_t i = lane + p * kLanes;
    if (i >= half) continue;
    const float c = query || key ? cos[i] : 1.0f, s = query || key ? sin[i] : 0.0f;
    Put((a[p] * c - b[p] * s) * scale, to + i);
    Put((b[p] * c + a[p] * s) * scale, to + i + half);
  }
}

// --- Products of a warp --------------------------------------------------------------------------

constexpr int kStepsMax = 8;
static_assert(kHeadDimMax <= kStepsMax * kTile && kSplitTokens <= kStepsMax * kTile);

// Computes c [16 * tiles, 16] f32 = a [16 * tiles, 16 * steps] T, row-major, times b. With kColumns
// b is given transposed, as keys are, [16, 16 * steps] row-major; else it is row-major itself, as
// values are, and a step goes 16 rows down. For the tensor cores all of it, which comes from far
// memory, is asked for at once, and only once.
template <typename T, bool kColumns>
struct Product {
  static __device__ void Run(const T* a, int32_t a_stride, int32_t tiles, const T* b,
                             int32_t b_stride, int32_t steps, float* c, int32_t c_stride) {
    namespace wmma = nvcuda::wmma;
    using Layout = std::conditional_t<kColumns, wmma::col_major, wmma::row_major>;
    wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, T, Layout> right[kStepsMax];
    WHETSTONE_UNROLL
    for (int32_t k = 0; k < kStepsMax; ++k) {
      if (k < steps) {
        wmma::load_matrix_sync(right[k], b + k * kTile * (kColumns ? 1 : b_stride), b_stride);
      }
    }
    for (int32_t m = 0; m < tiles; ++m) {
      wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sum;
      wmma::fill_fragment(sum, 0.0f);
      WHETSTONE_UNROLL
      for (int32_t k = 0; k < kStepsMax; ++k) {
        if (k < steps) {
          wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, T, wmma::row_major> left;
          wmma::load_matrix_sync(left, a + m * kTile * a_stride + k * kTile, a_stride);
          wmma::mma_sync(sum, left, right[k], sum);
        }
      }
      wmma::store_matrix_sync(c + m * kTile * c_stride, sum, c_stride, wmma::mem_row_major);
    }
  }
};

// The arithmetic is plain: the tensor cores would round f32.
template <bool kColumns>
struct Product<float, kColumns> {
  static __device__ void Run(const float* a, int32_t a_stride, int32_t tiles, const float* b,
                             int32_t b_stride, int32_t steps, float* c, int32_t c_stride) {
    const int32_t column = threadIdx.x % kTile;
    for (int32_t row = threadIdx.x % kLanes / kTile; row < tiles * kTile; row += kLanes / kTile) {
      float sum = 0;
      for (int32_t k = 0; k < steps * kTile; ++k) {
        const int64_t at = kColumns ? static_cast<int64_t>(column) * b_stride + k
                                    : static_cast<int64_t>(k) * b_stride + column;
        sum += a[row * a_stride + k] * b[at];
      }
      c[row * c_stride + column] = sum;
    }
  }
};

// --- Attention -----------------------------------------------------------------------------------

// A thread copies so many bytes at once, of whatever they are.
struct __align__(16) __attribute__((may_alias)) Chunk { uint32_t words[4]; };

// A block computes one split of a segment for one key/value head: block (segment, head, split).
template <typename T>
__global__ void __launch_bounds__(kAttendThreads) AttendSplitsKernel(AttendSplitsArgs args) {
  constexpr int kQueries = std::is_same_v<T, float> ? kQueriesF32 : kQueries16;
  // Rows are longer than their contents so that neighbouring ones lie in different banks.
  constexpr int kScoreStride = kSplitTokens + 4, kWeightStride = kSplitTokens + 8;
  constexpr int kQueryStride = kHeadDimMax + 8;
  static_assert(kHeadDimMax <= kSplitTokens, "results take the place of scores");
  __shared__ __align__(32) float scores[kQueries * kScoreStride];
  __shared__ __align__(32) T weights[kQueries * kWeightStride];
  __shared__ __align__(32) T queries[kQueries * kQueryStride];

  const KvSegment& segment = args.segments[blockIdx.x];
  const int32_t split = static_cast<int32_t>(blockIdx.z), first = split * kSplitTokens;
  if (first >= segment.tokens) return;
  const int32_t tokens =
      segment.tokens - first < kSplitTokens ? segment.tokens - first : kSplitTokens;
  const int32_t token_tiles = (tokens + kTile - 1) / kTile;
  const DecodeShape& shape = args.shape;
  const int32_t d = shape.head_dim, per = shape.heads / shape.kv_heads;
  const int32_t kv_head = static_cast<int32_t>(blockIdx.y);
  const int32_t count = segment.rows * per, query_tiles = (count + kTile - 1) / kTile;
  const int32_t warp = static_cast<int32_t>(threadIdx.x) / kLanes;
  const T* keys = static_cast<const T*>(segment.base) +
                  KeysAt<T>(shape, args.layer, kv_head, segment.capacity) +
                  static_cast<int64_t>(first) * d;
  const T* values = keys + static_cast<int64_t>(shape.kv_heads) * segment.capacity * d;

  // Query i is head kv_head * per + i % per of row first_row + i / per.
  const auto query_at = [&](int32_t i) {
    return static_cast<int64_t>(segment.first_row + i / per) * shape.heads + kv_head * per +
           i % per;
  };
  constexpr int32_t kNumbers = sizeof(Chunk) / sizeof(T);
  for (int32_t i = static_cast<int32_t>(threadIdx.x) * kNumbers; i < query_tiles * kTile * d;
       i += kAttendThreads * kNumbers) {
    const int32_t query = i / d, column = i % d;
    Chunk chunk = {};
    if (query < count) {
      const T* from = static_cast<const T*>(args.q) + query_at(query) * d + column;
      chunk = *reinterpret_cast<const Chunk*>(from);
    }
    *reinterpret_cast<Chunk*>(queries + query * kQueryStride + column) = chunk;
  }
  __syncthreads();

  for (int32_t t = warp; t < token_tiles; t += kAttendWarps) {
    Product<T, true>::Run(queries, kQueryStride, query_tiles, keys + t * kTile * d, d, d / kTile,
                          scores + t * kTile, kScoreStride);
  }
  __syncthreads();

  // Every query has kShare neighbouring lanes.
  constexpr int kShare = kAttendThreads / kQueries;
  {
    const int32_t query = static_cast<int32_t>(threadIdx.x) / kShare;
    const int32_t lane = static_cast<int32_t>(threadIdx.x) % kShare;
    const float* row = scores + query * kScoreStride;
    float most = -INFINITY;
    if (query < count) {
      for (int32_t t = lane; t < tokens; t += kShare) most = fmaxf(most, row[t]);
    }
    most = MaxOverLanes<kShare>(most);
    float sum = 0;
    if (query < query_tiles * kTile) {
      for (int32_t t = lane; t < token_tiles * kTile; t += kShare) {
        const float weight = query < count && t < tokens ? expf(row[t] - most) : 0.0f;
        sum += weight;
        Put(weight, weights + query * kWeightStride + t);
      }
    }
    sum = SumOverLanes<kShare>(sum);
    if (query < count && lane == 0) {
      const int64_t row_of_query = segment.first_row + query / per;
      const int64_t head = kv_head * per + query % per;
      float* to =
          args.scales +
          ((row_of_query * shape.heads + head) * args.splits_max + segment.first_split + split) * 2;
      to[0] = most;
      to[1] = sum;
    }
  }
  __syncthreads();

  // The values of tokens past the end have weight 0. Scores are no longer needed.
  for (int32_t i = warp; i < d / kTile * query_tiles; i += kAttendWarps) {
    const int32_t n = i % (d / kTile), m = i / (d / kTile);
    Product<T, false>::Run(weights + m * kTile * kWeightStride, kWeightStride, 1,
                           values + n * kTile, d, token_tiles,
                           scores + m * kTile * kScoreStride + n * kTile, kScoreStride);
  }
  __syncthreads();

  for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count * d; i += kAttendThreads) {
    const int32_t query = i / d, column = i % d;
    args.split_out[(query_at(query) * args.splits_max + segment.first_split + split) * d + column] =
        scores[query * kScoreStride + column];
  }
}

// Block (row, head) has a thread for every dimension.
template <typename T>
__global__ void __launch_bounds__(kHeadDimMax) MergeSplitsKernel(MergeSplitsArgs args) {
  const DecodeShape& shape = args.shape;
  const int64_t query = static_cast<int64_t>(blockIdx.x) * shape.heads + blockIdx.y;
  const int32_t splits = args.tokens[blockIdx.x].splits, d = shape.head_dim;
  const float* scales = args.scales + query * args.splits_max * 2;
  const float* from = args.split_out + query * args.splits_max * d + threadIdx.x;
  float most = -INFINITY;
  for (int32_t p = 0; p < splits; ++p) most = fmaxf(most, scales[2 * p]);
  float sum = 0, out = 0;
  for (int32_t p = 0; p < splits; ++p) {
    const float share = expf(scales[2 * p] - most);
    sum += share * scales[2 * p + 1];
    out += share * from[static_cast<int64_t>(p) * d];
  }
  Put(out / sum, static_cast<T*>(args.out) + query * d + threadIdx.x);
}

LaunchError CheckShape(const DecodeShape& shape) {
  if (shape.head_dim % kTile != 0 || shape.head_dim > kHeadDimMax) {
    return "head_dim is no multiple of 16 up to 128";
  }
  if (shape.heads % shape.kv_heads != 0 || shape.heads / shape.kv_heads > kHeadsPerKvMax) {
    return "more than 16 query heads read a key/value head";
  }
  return nullptr;
}

}  // namespace

LaunchError RotateStore(const RotateStoreArgs& args, CudaStreamHandle stream) {
  if (const LaunchError error = CheckShape(args.shape)) return error;
  const int64_t warps = args.rows * (args.shape.heads + 2 * args.shape.kv_heads);
  const int64_t per_block = kRotateThreads / kLanes;
  return WithType(args.shape.type, [&]<typename T>() {
    return Launch(RotateStoreKernel<T>, Grid((warps + per_block - 1) / per_block), kRotateThreads,
                  stream, args);
  });
}

LaunchError AttendSplits(const AttendSplitsArgs& args, CudaStreamHandle stream) {
  if (const LaunchError error = CheckShape(args.shape)) return error;
  const int64_t splits = (args.tokens_max + kSplitTokens - 1) / kSplitTokens;
  return WithType(args.shape.type, [&]<typename T>() {
    return Launch(AttendSplitsKernel<T>, Grid(args.segments_count, args.shape.kv_heads, splits),
                  kAttendThreads, stream, args);
  });
}

LaunchError MergeSplits(const MergeSplitsArgs& args, CudaStreamHandle stream) {
  if (const LaunchError error = CheckShape(args.shape)) return error;
  return WithType(args.shape.type, [&]<typename T>() {
    return Launch(MergeSplitsKernel<T>, Grid(args.rows, args.shape.heads),
                  static_cast<unsigned>(args.shape.head_dim), stream, args);
  });
}

}  // namespace whetstone::WHETSTONE_KERNELS

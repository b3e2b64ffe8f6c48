#include "cpu_bench_worker/problem/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "common/philox.h"
#include "cpu_bench_worker/problem/element.h"
#include "cpu_bench_worker/problem/random_words.h"

namespace whetstone {
namespace {

// These are 8 KiB and stay in the first-level cache.
constexpr size_t kChunkWords = 32 * kRandomBlockWords;

// The largest values of 64 bits are none of a double's, which rounds up what stands for them.
template <typename T>
T FromDouble(double value) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return ToBf16(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return value < 0x1p64 ? static_cast<uint64_t>(value) : std::numeric_limits<uint64_t>::max();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return value < 0x1p63 ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::max();
  } else {
    return static_cast<T>(static_cast<int64_t>(value));
  }
}

// Calls `make(words, n, first)` for chunks of elements, with `per_element` fresh words for each.
template <typename Make>
void ForChunks(uint64_t key, int64_t count, size_t per_element, Make&& make) {
  alignas(64) uint32_t words[kChunkWords];
  const auto chunk = static_cast<int64_t>(kChunkWords / per_element);
  uint64_t block = 0;
  for (int64_t first = 0; first < count; first += chunk) {
    const int64_t n = std::min(chunk, count - first);
    const size_t blocks =
        (static_cast<size_t>(n) * per_element + kRandomBlockWords - 1) / kRandomBlockWords;
    RandomBlocks(key, block, blocks, words);
    block += blocks;
    make(words, n, first);
  }
}

double Unit(const uint32_t* words) {
  const uint64_t bits = words[0] | uint64_t{words[1]} << 32;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

template <typename T>
void FillUniform(double lo, double hi, int64_t count, uint64_t key, char* out) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Bf16>) {
    const auto low = static_cast<float>(lo);
    const float scale = static_cast<float>(hi - lo) * 0x1p-24f;
    ForChunks(key, count, 1, [&](const uint32_t* words, int64_t n, int64_t first) {
      char* p = out + first * static_cast<int64_t>(sizeof(T));
      for (int64_t i = 0; i < n; ++i) {
        const float value = low + static_cast<float>(static_cast<int32_t>(words[i] >> 8)) * scale;
        T element;
        if constexpr (std::is_same_v<T, float>) {
          element = value;
        } else {
          element = ToBf16(value);
        }
        std::memcpy(p + i * static_cast<int64_t>(sizeof(T)), &element, sizeof element);
      }
    });
  } else if constexpr (std::is_same_v<T, double>) {
    ForChunks(key, count, 2, [&](const uint32_t* words, int64_t n, int64_t first) {
      for (int64_t i = 0; i < n; ++i) {
        const double value = lo + Unit(words + 2 * i) * (hi - lo);
        std::memcpy(out + (first + i) * 8, &value, 8);
      }
    });
  } else {
    const auto low = FromDouble<T>(lo);
    const uint64_t range =
        static_cast<uint64_t>(FromDouble<T>(hi)) - static_cast<uint64_t>(low) + 1;
    if (range != 0 && range <= (uint64_t{1} << 32)) {
      ForChunks(key, count, 1, [&](const uint32_t* words, int64_t n, int64_t first) {
        for (int64_t i = 0; i < n; ++i) {
          // A multiply instead of a division is biased by less than range/2^32, which no test sees.
          const auto value =
              static_cast<T>(static_cast<uint64_t>(low) + ((words[i] * range) >> 32));
          std::memcpy(out + (first + i) * static_cast<int64_t>(sizeof(T)), &value, sizeof value);
        }
      });
    } else {
      __extension__ using Wide = unsigned __int128;
      ForChunks(key, count, 2, [&](const uint32_t* words, int64_t n, int64_t first) {
        for (int64_t i = 0; i < n; ++i) {
          const uint64_t bits = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
          const uint64_t offset =
              range == 0 ? bits : static_cast<uint64_t>((Wide{bits} * range) >> 64);
          const auto value = static_cast<T>(static_cast<uint64_t>(low) + offset);
          std::memcpy(out + (first + i) * static_cast<int64_t>(sizeof(T)), &value, sizeof value);
        }
      });
    }
  }
}

// Fills by the method of Box and Muller (1958); both values of a pair are used.
template <typename T>
void FillNormal(double mean, double sd, int64_t count, uint64_t key, char* out) {
  const auto put = [&](int64_t i, double value) {
    const T element = FromDouble<T>(value);
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &element, sizeof element);
  };
  const auto m = static_cast<float>(mean);
  const auto s = static_cast<float>(sd);
  ForChunks(key, (count + 1) / 2, 2, [&](const uint32_t* words, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; ++i) {
      const float u = (static_cast<float>(words[2 * i] >> 8) + 1.0f) * 0x1p-24f;
      const float radius = std::sqrt(-2.0f * std::log(u));
      const float angle = static_cast<float>(words[2 * i + 1] >> 8) * (0x1p-23f * 3.14159265f);
      const int64_t at = 2 * (first + i);
      put(at, m + s * radius * std::cos(angle));
      if (at + 1 < count) put(at + 1, m + s * radius * std::sin(angle));
    }
  });
}

template <typename T>
void FillOneOf(const v1::Fill& fill, int64_t count, uint64_t key, char* out) {
  const auto values = static_cast<uint64_t>(fill.parameters_size());
  ForChunks(key, count, 1, [&](const uint32_t* words, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; ++i) {
      const T element = FromDouble<T>(fill.parameters(static_cast<int>((words[i] * values) >> 32)));
      std::memcpy(out + (first + i) * static_cast<int64_t>(sizeof(T)), &element, sizeof element);
    }
  });
}

template <typename T>
void FillSorted(double lo, double hi, int64_t count, uint64_t key, char* out) {
  std::vector<double> sums(static_cast<size_t>(count) + 1);
  double sum = 0;
  ForChunks(key, count + 1, 2, [&](const uint32_t* words, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; ++i) {
      sum -= std::log1p(-Unit(words + 2 * i));
      sums[static_cast<size_t>(first + i)] = sum;
    }
  });
  // Integers are inclusive: each of lo…hi gets an equal share.
  const double width = std::is_integral_v<T> ? hi - lo + 1 : hi - lo;
  for (int64_t i = 0; i < count; ++i) {
    double value = lo + width * sums[static_cast<size_t>(i)] / sum;
    if (std::is_integral_v<T>) value = std::floor(value);
    const T element = FromDouble<T>(std::min(value, hi));
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &element, sizeof element);
  }
}

template <typename T>
void FillPermutation(FillStyle style, int64_t count, uint64_t key, char* out) {
  std::vector<T> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = style == FillStyle::kEdges ? count - 1 - i : i;
    values[static_cast<size_t>(i)] = FromDouble<T>(static_cast<double>(value));
  }
  if (style == FillStyle::kPlain) {  // This is Fisher and Yates' shuffle from the front.
    ForChunks(key, count, 1, [&](const uint32_t* words, int64_t n, int64_t first) {
      for (int64_t i = first; i < first + n; ++i) {
        const int64_t left = count - i;
        const int64_t other =
            i + static_cast<int64_t>((words[i - first] * static_cast<uint64_t>(left)) >> 32);
        std::swap(values[static_cast<size_t>(i)], values[static_cast<size_t>(other)]);
      }
    });
  }
  if (count > 0) std::memcpy(out, values.data(), values.size() * sizeof(T));
}

// Overwrites a quarter of the elements with one of `edges`.
template <typename T>
void ScatterEdges(const std::vector<double>& edges, int64_t count, uint64_t key, char* out) {
  ForChunks(key ^ 0xED6E5ull, count, 1, [&](const uint32_t* words, int64_t n, int64_t first) {
    for (int64_t i = 0; i < n; ++i) {
      if (words[i] % 4 != 0) continue;
      const T element = FromDouble<T>(edges[(words[i] >> 8) % edges.size()]);
      std::memcpy(out + (first + i) * static_cast<int64_t>(sizeof(T)), &element, sizeof element);
    }
  });
}

template <typename T>
void Fill(const v1::Fill& fill, FillStyle style, int64_t count, uint64_t key, char* out) {
  const double a = fill.parameters_size() > 0 ? fill.parameters(0) : 0;
  const double b = fill.parameters_size() > 1 ? fill.parameters(1) : 0;
  switch (fill.kind()) {
    case v1::Fill::UNIFORM: {
      FillUniform<T>(a, b, count, key, out);
      std::vector<double> edges = {a, b};
      if (a < 0 && b > 0) edges.push_back(0);
      if (style == FillStyle::kEdges) ScatterEdges<T>(edges, count, key, out);
      break;
    }
    case v1::Fill::NORMAL:
      FillNormal<T>(a, b, count, key, out);
      if (style == FillStyle::kEdges)
        ScatterEdges<T>({a, a - 4 * b, a + 4 * b, 0}, count, key, out);
      break;
    case v1::Fill::IOTA:
      for (int64_t i = 0; i < count; ++i) {
        const T element = FromDouble<T>(static_cast<double>(i));
        std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &element, sizeof element);
      }
      break;
    case v1::Fill::PERMUTATION:
      FillPermutation<T>(style, count, key, out);
      break;
    case v1::Fill::ONE_OF:
      FillOneOf<T>(fill, count, key, out);
      break;
    case v1::Fill::SORTED:
      if (style == FillStyle::kEdges) {
        for (int64_t i = 0; i < count; ++i) {
          const T element = FromDouble<T>(i < count / 2 ? a : b);
          std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), &element, sizeof element);
        }
      } else {
        FillSorted<T>(a, b, count, key, out);
      }
      break;
    default:
      std::memset(out, 0, static_cast<size_t>(count) * sizeof(T));
  }
}

uint64_t FieldKey(uint64_t key, size_t field) {
  return Philox(key, {0xF1E1D, field, 0, 0}).Next64();
}

}  // namespace

void FillElements(v1::ElementType type, const v1::Fill& fill, FillStyle style, int64_t count,
                  uint64_t key, void* out) {
  if (count <= 0) return;
  VisitElementType(type, [&](auto element) {
    Fill<decltype(element)>(fill, style, count, key, static_cast<char*>(out));
  });
}

void FillElements(const ElementLayout& element, const std::vector<v1::Fill>& fills, FillStyle style,
                  int64_t count, uint64_t key, void* out) {
  if (!element.is_struct()) {
    FillElements(element.fields[0].type, fills[0], style, count, key, out);
    return;
  }
  std::vector<char> values(static_cast<size_t>(count) * sizeof(uint64_t));
  for (size_t f = 0; f < element.fields.size(); ++f) {
    const FieldLayout& field = element.fields[f];
    FillElements(field.type, fills[f], style, count, FieldKey(key, f), values.data());
    VisitElementType(field.type, [&](auto value) {
      char* to = static_cast<char*>(out) + field.offset;
      for (int64_t i = 0; i < count; ++i, to += element.bytes)
        std::memcpy(to, values.data() + i * static_cast<int64_t>(sizeof value), sizeof value);
    });
  }
}

uint8_t PoisonByte(v1::ElementType type, uint64_t key) {
  if (IsFloating(type)) return 0xFF;
  uint32_t words[kRandomBlockWords];
  RandomBlocks(key, 0, 1, words);
  return static_cast<uint8_t>(0x80 | (words[0] & 0x7F));
}

void PoisonElements(const ElementLayout& element, int64_t count, uint64_t key, void* out) {
  if (!element.is_struct()) {
    std::memset(out, PoisonByte(element.fields[0].type, key),
                static_cast<size_t>(count) * element.bytes);
    return;
  }
  std::vector<char> one(element.bytes, static_cast<char>(PoisonByte(v1::U8, key)));
  for (size_t f = 0; f < element.fields.size(); ++f) {
    const FieldLayout& field = element.fields[f];
    std::memset(one.data() + field.offset, PoisonByte(field.type, FieldKey(key, f)),
                ElementBytes(field.type));
  }
  char* to = static_cast<char*>(out);
  for (int64_t i = 0; i < count; ++i, to += one.size()) std::memcpy(to, one.data(), one.size());
}

}  // namespace whetstone

/// The stop-bit index: what building it costs by size of the datagram, and what it saves when integers are read.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "decoder/wire/index.hpp"
#include "decoder/wire/stop_bit.hpp"

namespace stopbit::bench {
namespace {

using wire::Index;

std::span<const std::byte> bytes_of(const std::vector<std::uint8_t>& bytes) {
  return std::as_bytes(std::span(bytes));
}

void build(benchmark::State& state, const wire::IndexKernel& kernel) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<std::uint8_t> bytes(size);
  std::mt19937 random(1);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  Index index(limits::kMaxDatagramBytes, kernel);
  for (auto _ : state) {
    index.build(bytes_of(bytes));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(size) * state.iterations());
}

// ---------------------------------------------------------------------------------------------------------------------
// Integers

constexpr std::size_t kIntegers = 24;      ///< As many as a message has, or so.
constexpr std::size_t kDatagrams = 8'000;  ///< Too many for a branch predictor to know them.

struct Lengths {
  const char* name;
  std::array<unsigned, 5> percent;  ///< Of 1 to 5 bytes.
};

constexpr Lengths kLengths[] = {{"1", {100, 0, 0, 0, 0}},
                                {"70-20-7-2-1", {70, 20, 7, 2, 1}},
                                {"35-30-25-7-3", {35, 30, 25, 7, 3}},
                                {"uniform-1-to-4", {25, 25, 25, 25, 0}}};

struct Integers {
  std::vector<std::vector<std::uint8_t>> datagrams;
  std::uint64_t sum = 0;
};

Integers make_integers(const Lengths& lengths) {
  Integers out;
  std::mt19937 random(2);
  std::discrete_distribution<unsigned> length(lengths.percent.begin(), lengths.percent.end());
  for (std::size_t i = 0; i < kDatagrams; ++i) {
    std::vector<std::uint8_t>& bytes = out.datagrams.emplace_back();
    for (std::size_t k = 0; k < kIntegers; ++k) {
      const unsigned size = length(random) + 1;
      std::uint64_t value = 0;
      for (unsigned b = 0; b < size; ++b) {
        const std::uint64_t data = b == 0 ? 1 + random() % 127 : random() % 128;  // not overlong
        value = value << 7 | data;
        bytes.push_back(static_cast<std::uint8_t>(data | (b + 1 == size ? wire::kStop : 0)));
      }
      out.sum += value;
    }
  }
  return out;
}

/// As the interpreter does it: branches on the stop bits.
struct ByBytes {
  static constexpr const char* kName = "bytes";
  std::uint64_t operator()(Index& /*index*/, std::span<const std::byte> datagram) const {
    wire::Cursor in(datagram);
    std::uint64_t sum = 0;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < kIntegers && wire::read_short<false>(in, value); ++i) {
      sum += static_cast<std::uint64_t>(value);
    }
    return sum;
  }
};

std::uint64_t swapped_bytes(const std::uint8_t* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return __builtin_bswap64(word);
}

/// The lowest seven bits of each byte, next to each other.
struct Multiplied {
  static std::uint64_t compress(std::uint64_t word) {
    word &= 0x7F7F7F7F7F7F7F7FU;
    word = (word & 0x007F007F007F007FU) | (word & 0x7F007F007F007F00U) >> 1;
    word = (word & 0x00003FFF00003FFFU) | (word & 0x3FFF00003FFF0000U) >> 2;
    return (word & 0x000000000FFFFFFFU) | (word & 0x0FFFFFFF00000000U) >> 4;
  }
};

/// The length from the mask at the position; the position from the length.
template <class Compress>
std::uint64_t sum_by_position(Index& index, std::span<const std::byte> datagram) {
  index.build(datagram);
  std::uint64_t sum = 0;
  std::size_t position = 0;
  for (std::size_t i = 0; i < kIntegers; ++i) {
    const auto length = static_cast<unsigned>(std::countr_zero(index.stops_from(position))) + 1;
    sum += Compress::compress(swapped_bytes(index.data() + position) >> (64 - 8 * length));
    position += length;
  }
  return sum;
}

/// The i-th entity ends at the i-th bit of the mask: nothing waits for what was read before.
template <class Compress>
inline std::uint64_t sum_by_ends(Index& index, std::span<const std::byte> datagram) {
  index.build(datagram);
  const std::uint64_t* word = index.stops();
  std::uint64_t mask = *word;
  std::size_t base = 0;
  std::size_t begin = 0;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kIntegers; ++i) {
    while (mask == 0) {
      mask = *++word;
      base += wire::kIndexBlock;
    }
    const std::size_t end = base + static_cast<unsigned>(std::countr_zero(mask)) + 1;
    mask &= mask - 1;
    sum += Compress::compress(swapped_bytes(index.data() + begin) >> (64 - 8 * (end - begin)));
    begin = end;
  }
  return sum;
}

struct ByPosition {
  static constexpr const char* kName = "mask-at-position";
  std::uint64_t operator()(Index& index, std::span<const std::byte> datagram) const {
    return sum_by_position<Multiplied>(index, datagram);
  }
};
struct ByEnds {
  static constexpr const char* kName = "walk-of-mask";
  std::uint64_t operator()(Index& index, std::span<const std::byte> datagram) const {
    return sum_by_ends<Multiplied>(index, datagram);
  }
};

#if defined(__x86_64__)
struct ByEndsPext {
  static constexpr const char* kName = "walk-of-mask-pext";
  [[gnu::target("bmi,bmi2")]] std::uint64_t operator()(Index& index, std::span<const std::byte> datagram) const {
    index.build(datagram);
    const std::uint64_t* word = index.stops();
    std::uint64_t mask = *word;
    std::size_t base = 0;
    std::size_t begin = 0;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kIntegers; ++i) {
      while (mask == 0) {
        mask = *++word;
        base += wire::kIndexBlock;
      }
      const std::size_t end = base + static_cast<unsigned>(__builtin_ctzll(mask)) + 1;
      mask &= mask - 1;
      std::uint64_t bytes;
      std::memcpy(&bytes, index.data() + begin, sizeof(bytes));
      sum += __builtin_ia32_pext_di(__builtin_bswap64(bytes) >> (64 - 8 * (end - begin)), 0x7F7F7F7F7F7F7F7FU);
      begin = end;
    }
    return sum;
  }
};
#endif

/// Building the index is part of the methods that use it.
template <class Method>
void read(benchmark::State& state, const Lengths& lengths) {
  const Method method;
  const Integers integers = make_integers(lengths);
  Index index;
  std::uint64_t sum = 0;
  for (const auto& bytes : integers.datagrams) sum += method(index, bytes_of(bytes));
  if (sum != integers.sum) {
    state.SkipWithError("wrong sum");
    return;
  }
  for (auto _ : state) {
    for (const auto& bytes : integers.datagrams) benchmark::DoNotOptimize(method(index, bytes_of(bytes)));
  }
  const auto count = static_cast<double>(kDatagrams * kIntegers) * static_cast<double>(state.iterations());
  state.counters["ns_per_integer"] =
      benchmark::Counter(count * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <class Method>
void add_method() {
  for (const Lengths& lengths : kLengths) {
    benchmark::RegisterBenchmark((std::string("integers/") + lengths.name + '/' + Method::kName).c_str(),
                                 [&lengths](benchmark::State& state) { read<Method>(state, lengths); });
  }
}

void add_all() {
  for (const wire::IndexKernel& kernel : wire::index_kernels()) {
    benchmark::RegisterBenchmark(("index/" + std::string(kernel.name)).c_str(),
                                 [&kernel](benchmark::State& state) { build(state, kernel); })
        ->ArgName("bytes")
        ->ArgsProduct({{5, 20, 46, 64, 67, 100, 300, 1472, 8000}});
  }
  add_method<ByBytes>();
  add_method<ByPosition>();
  add_method<ByEnds>();
#if defined(__x86_64__)
  if (__builtin_cpu_supports("bmi2") != 0) add_method<ByEndsPext>();
#endif
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  stopbit::bench::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

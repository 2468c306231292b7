#include "decoder/wire/index_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "decoder/wire/index_list.hpp"

namespace stopbit::wire {
namespace {

std::vector<IndexKernel> make_list() {
  std::vector<IndexKernel> list{{"portable", kernels::build_portable}};
#if defined(__x86_64__)
  list.push_back({"sse2", kernels::build_sse2});
  const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) list.push_back({"avx2", kernels::build_avx2});
  if (has_avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0) {
    list.push_back({"avx512", kernels::build_avx512});
  }
#endif
  return list;
}

}  // namespace

std::span<const IndexKernel> index_kernels() {
  static const std::vector<IndexKernel> list = make_list();
  return list;
}

Result<IndexKernel> find_index_kernel(const char* name) {
  const std::span<const IndexKernel> list = index_kernels();
  if (name == nullptr) return list.back();
  const auto found = std::find_if(list.begin(), list.end(), [&](const IndexKernel& one) { return one.name == name; });
  if (found != list.end()) return *found;
  std::string text = "this processor has no kernel '" + std::string(name) + "'; it has";
  for (const IndexKernel& one : list) text.append(&one == list.data() ? " " : ", ").append(one.name);
  return Failure{std::move(text)};
}

const Result<IndexKernel>& chosen_index_kernel() {
  static const Result<IndexKernel> chosen = [] {
    Result<IndexKernel> found = find_index_kernel(std::getenv("STOPBIT_KERNEL"));
    return found ? found : Failure{"STOPBIT_KERNEL: " + found.message()};
  }();
  return chosen;
}

}  // namespace stopbit::wire

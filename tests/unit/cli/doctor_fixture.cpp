// SPDX-License-Identifier: Apache-2.0
//
// The few symbols by which doctor recognises libraries, chosen by definitions on the command line.
#include <cstdlib>

#define FIXTURE_EXPORT [[gnu::visibility("default")]]

#ifdef FIXTURE_TORCH
namespace at {
FIXTURE_EXPORT int get_num_threads();
int get_num_threads() {
  return 1;
}
}  // namespace at
#endif

extern "C" {

#ifdef FIXTURE_BLAS
FIXTURE_EXPORT void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                           const int*, const float*, const int*, const float*, float* c, const int*) {
  *c = 1;
}
#endif

#ifdef FIXTURE_OPENBLAS
FIXTURE_EXPORT const char* openblas_get_config() {
  return "OpenBLAS 9.9";
}
FIXTURE_EXPORT const char* openblas_get_corename() {
  return "Abacus";
}
#endif

}  // extern "C"

#ifdef FIXTURE_CRASH
namespace {
[[gnu::constructor]] void crash() {
  std::abort();
}
}  // namespace
#endif

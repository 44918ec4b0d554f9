// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/doctor/libraries.h"
#include "cli/doctor/machine.h"

namespace dtrain::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20, kGiB = 1 << 30;

class DoctorProbe : public testing::Test {
 protected:
  DoctorProbe() : root_(fs::temp_directory_path() / ("dtrain-doctor-" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
  }
  ~DoctorProbe() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  fs::path root_;
};

TEST_F(DoctorProbe, CpuFeaturesKeepsThoseThatMatter) {
  write("proc/cpuinfo",
        "processor\t: 0\nflags\t\t: fpu avx2 sse2 fma avx512f amx_tile\nprocessor\t: 1\nflags\t\t: fpu\n");
  EXPECT_THAT(cpu_features(root_), testing::ElementsAre("amx_tile", "avx2", "avx512f", "fma"));
}

TEST_F(DoctorProbe, MemoryTakesTheTightestGroupLimit) {
  write("proc/meminfo", "MemTotal:       4194304 kB\nMemFree:  1 kB\nMemAvailable:   2097152 kB\n");
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/memory.max", "1073741824\n");
  write("sys/fs/cgroup/a/b/memory.max", "max\n");
  const auto facts = memory_facts(root_);
  EXPECT_EQ(facts.total, 4 * kGiB);
  EXPECT_EQ(facts.available, 2 * kGiB);
  EXPECT_EQ(facts.limit, kGiB);
}

TEST_F(DoctorProbe, MemoryVersionOneWritesNoLimitAsAHugeNumber) {
  write("proc/self/cgroup", "4:memory:/x\n");
  write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_facts(root_).limit, std::nullopt);
}

TEST_F(DoctorProbe, HugePageModeIsTheWordInBrackets) {
  EXPECT_EQ(huge_page_mode(root_), "");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(huge_page_mode(root_), "madvise");
}

TEST_F(DoctorProbe, SpaceOfAFolderThatIsThereAndOneThatIsNot) {
  EXPECT_GT(space_facts(root_).total, 0U);
  EXPECT_EQ(space_facts(root_).error, "");
  EXPECT_EQ(space_facts(root_ / "missing").error, "No such file or directory");
}

TEST(DoctorMachine, MemfdWorksWhereTheTestsRun) {
  EXPECT_EQ(try_memfd(), "");
}

TEST(DoctorMachine, EveryFindingHasANameAndAValueAndOnlyTroubleHasAFix) {
  for (const auto& finding : examine_machine()) {
    EXPECT_FALSE(finding.name.empty());
    EXPECT_FALSE(finding.value.empty()) << finding.name;
    EXPECT_EQ(finding.fix.empty(), finding.verdict == Verdict::ok) << finding.name;
  }
}

TEST(DoctorVerdict, InstructionSet) {
  EXPECT_EQ(judge_instruction_set({"avx2", "fma"}), (Finding{"instruction set", Verdict::ok, "avx2 fma", ""}));
  EXPECT_EQ(
      judge_instruction_set({}),
      (Finding{"instruction set", Verdict::warn, "no AVX2",
               "use a processor with AVX2 (2013 or later), or a virtual machine that passes it through: training is "
               "several times slower without"}));
}

TEST(DoctorVerdict, Cpus) {
  EXPECT_EQ(judge_cpus({.online = 8, .affinity = 8, .quota = {}}),
            (Finding{"processors", Verdict::ok, "8 usable of 8", ""}));
  EXPECT_EQ(judge_cpus({.online = 8, .affinity = 2, .quota = {}}),
            (Finding{"processors", Verdict::ok, "2 usable of 8, affinity mask allows 2", ""}));
  EXPECT_EQ(
      judge_cpus({.online = 8, .affinity = 8, .quota = 1.5}),
      (Finding{"processors", Verdict::warn, "1 usable of 8, control group allows 1.50",
               "start at most 1 compute thread (ranks x train.threads), or raise the CPU quota of the container"}));
}

TEST(DoctorVerdict, Threads) {
  const CpuBudget budget{.online = 2, .affinity = 2, .quota = {}};
  EXPECT_EQ(
      judge_threads({}, budget),
      (Finding{"threads", Verdict::ok, "1 a rank unless the recipe sets train.threads; room for 2 ranks of 1", ""}));
  EXPECT_EQ(
      judge_threads({{"OMP_NUM_THREADS", "8"}}, budget),
      (Finding{"threads", Verdict::warn,
               "1 a rank unless the recipe sets train.threads; room for 2 ranks of 1; OMP_NUM_THREADS=8 is ignored",
               "unset it, and set train.threads in the recipe instead"}));
}

TEST(DoctorVerdict, Memory) {
  EXPECT_EQ(judge_memory({.total = 8 * kGiB, .available = 6 * kGiB, .limit = {}}),
            (Finding{"memory", Verdict::ok, "6.0 GiB available of 8.0 GiB", ""}));
  EXPECT_EQ(judge_memory({.total = 8 * kGiB, .available = 6 * kGiB, .limit = 512 * kMiB}),
            (Finding{"memory", Verdict::warn, "6.0 GiB available of 8.0 GiB, control group allows 512 MiB",
                     "free some memory or raise the limit: libtorch alone takes about 300 MiB a node"}));
}

TEST(DoctorVerdict, SharedMemory) {
  EXPECT_EQ(judge_shared_memory({.total = 2 * kGiB, .free = 2 * kGiB, .network = false, .error = {}}).verdict,
            Verdict::ok);
  EXPECT_EQ(judge_shared_memory({.total = 64 * kMiB, .free = 64 * kMiB, .network = false, .error = {}}),
            (Finding{"shared memory", Verdict::warn, "/dev/shm: 64 MiB free of 64 MiB",
                     "enlarge it: docker run --shm-size=2g, or mount -o remount,size=2g /dev/shm"}));
}

TEST(DoctorVerdict, Memfd) {
  EXPECT_EQ(judge_memfd("").verdict, Verdict::ok);
  EXPECT_EQ(
      judge_memfd("Function not implemented"),
      (Finding{
          "memfd", Verdict::fail, "memfd_create or mapping it failed: Function not implemented",
          "use Linux 3.17 or later and a container profile that allows memfd_create: dtrain keeps its state there"}));
}

TEST(DoctorVerdict, HugePages) {
  EXPECT_EQ(judge_huge_pages("always").verdict, Verdict::ok);
  EXPECT_EQ(judge_huge_pages("never"),
            (Finding{"huge pages", Verdict::warn, "never",
                     "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"}));
}

TEST(DoctorVerdict, OpenFiles) {
  EXPECT_EQ(judge_open_files(1024, 1048576), (Finding{"open files", Verdict::ok, "1024 (hard limit 1048576)", ""}));
  EXPECT_EQ(judge_open_files(512, RLIM_INFINITY).verdict, Verdict::warn);
  EXPECT_EQ(judge_open_files(64, 4096), (Finding{"open files", Verdict::fail, "64 (hard limit 4096)",
                                                 "ulimit -n 4096, or LimitNOFILE= in the service unit"}));
}

TEST(DoctorVerdict, Disk) {
  const SpaceFacts roomy{.total = 100 * kGiB, .free = 50 * kGiB, .network = true, .error = {}};
  EXPECT_EQ(judge_disk("/data", roomy, true),
            (Finding{"disk", Verdict::ok, "/data: 50.0 GiB free of 100.0 GiB, network file system", ""}));
  EXPECT_EQ(judge_disk("/data", roomy, false).verdict, Verdict::warn);
  EXPECT_EQ(
      judge_disk("/data", {.total = kGiB, .free = kMiB, .network = false, .error = {}}, true),
      (Finding{
          "disk", Verdict::fail, "/data: 1 MiB free of 1.0 GiB",
          "free some space or give --run-dir on another disk: each checkpoint takes 12 bytes a parameter with adamw"}));
  EXPECT_EQ(judge_disk("/gone", {.total = 0, .free = 0, .network = false, .error = "No such file or directory"}, false)
                .verdict,
            Verdict::fail);
}

TEST(DoctorVerdict, Clock) {
  const auto now = std::chrono::system_clock::from_time_t(1'800'000'000);
  EXPECT_EQ(judge_clock("tsc", std::chrono::nanoseconds(25), now),
            (Finding{"clock", Verdict::ok, "tsc, 25 ns a reading", ""}));
  EXPECT_EQ(judge_clock("hpet", std::chrono::nanoseconds(1500), now).verdict, Verdict::warn);
  EXPECT_EQ(judge_clock("tsc", std::chrono::nanoseconds(25), {}).value, "tsc, 25 ns a reading, set before 2024");
}

// A library that is certainly there stands in for libtorch: it opens, but is not libtorch.
TEST(DoctorLibraries, SaysWhyLibtorchCannotBeUsed) {
  EXPECT_THAT(probe_libraries({"libdtrain-no-such-library.so"}, std::chrono::seconds(20)).error,
              testing::HasSubstr("libdtrain-no-such-library.so: cannot open shared object file"));
  EXPECT_EQ(probe_libraries({"libc.so.6"}, std::chrono::seconds(20)).error, "the library has no at::get_num_threads");
}

TEST(DoctorLibraries, AChildThatHangsIsEnded) {
  EXPECT_EQ(probe_libraries({"libc.so.6"}, std::chrono::milliseconds(0)).error, "loading it took longer than 0 ms");
}

// A libtorch whose own BLAS is the reference while another library that it needs brings an OpenBLAS along, as happens
// on Debian.
TEST(DoctorLibraries, AsksTheLibraryThatHasTheProductNotAnyOpenBlas) {
  const auto facts = probe_libraries({DOCTOR_FIXTURES "/libdoctor_torch.so"}, std::chrono::seconds(20));
  EXPECT_EQ(facts.error, "");
  EXPECT_THAT(facts.libtorch, testing::EndsWith("/libdoctor_torch.so"));
  EXPECT_THAT(facts.blas, testing::EndsWith("/libdoctor_blas.so"));
  EXPECT_EQ(facts.blas_config, "");
  EXPECT_GT(facts.gflops, 0);
  EXPECT_EQ(judge_blas(facts).verdict, Verdict::warn);
}

TEST(DoctorLibraries, RecognisesOpenBlas) {
  const auto facts = probe_libraries({DOCTOR_FIXTURES "/libdoctor_torch_openblas.so"}, std::chrono::seconds(20));
  EXPECT_THAT(facts.blas, testing::EndsWith("/libdoctor_openblas.so"));
  EXPECT_EQ(facts.blas_config, "OpenBLAS 9.9");
  EXPECT_EQ(facts.blas_core, "Abacus");
  EXPECT_EQ(judge_blas(facts).verdict, Verdict::ok);
}

TEST(DoctorLibraries, ACrashWhileLoadingIsAFinding) {
  EXPECT_EQ(probe_libraries({DOCTOR_FIXTURES "/libdoctor_crash.so"}, std::chrono::seconds(20)).error,
            "the process that loaded it was killed by signal 6 (SIGABRT)");
}

TEST(DoctorLibraries, ReferenceBlasIsAWarning) {
  LibraryFacts facts{.libtorch = "/usr/lib/libtorch_cpu.so.1.13.0", .error = {}, .blas = "/usr/lib/blas/libblas.so.3"};
  facts.gflops = 4.4;
  EXPECT_EQ(judge_blas(facts),
            (Finding{"blas", Verdict::warn,
                     "/usr/lib/blas/libblas.so.3 is a reference BLAS: 4 GFLOP/s a thread in fp32, about 25 "
                     "times slower than an optimised one",
                     "sudo apt-get install libopenblas0-openmp"}));
  facts.blas = "/usr/lib/openblas-openmp/libblas.so.3";
  facts.blas_config = "OpenBLAS 0.3.21";
  facts.gflops = 100;
  EXPECT_EQ(judge_blas(facts).verdict, Verdict::ok);
  facts.blas.clear();
  EXPECT_EQ(judge_blas(facts), (Finding{"blas", Verdict::ok, "inside libtorch", ""}));
}

TEST(DoctorLibraries, LibtorchOfAnotherSeriesIsAFailure) {
  LibraryFacts facts{.libtorch = "/usr/lib/libtorch_cpu.so.1.13.0"};
  EXPECT_EQ(judge_libtorch(facts, "1.13.1"),
            (Finding{"libtorch", Verdict::ok, "1.13.1, /usr/lib/libtorch_cpu.so.1.13.0", ""}));
  EXPECT_EQ(judge_libtorch(facts, "1.1.0").verdict, Verdict::fail);
  EXPECT_EQ(judge_libtorch(facts, "2.6.0"),
            (Finding{"libtorch", Verdict::fail, "/usr/lib/libtorch_cpu.so.1.13.0, but dtrain was built against 2.6.0",
                     "build dtrain again, or install the libtorch that it was built against"}));
  EXPECT_EQ(judge_libtorch({.libtorch = "/wheel/torch/lib/libtorch_cpu.so"}, "2.11.0").verdict, Verdict::ok);
  EXPECT_EQ(judge_libtorch({.libtorch = {}, .error = "no file"}, "1.13.1"),
            (Finding{"libtorch", Verdict::fail, "cannot be loaded: no file",
                     "sudo apt-get install libtorch1.13 (or libtorch-dev to build dtrain)"}));
}

TEST(DoctorLibraries, ForcedKernelsAreAWarning) {
  LibraryFacts facts{.libtorch = "t"};
  facts.blas_core = "Haswell";
  EXPECT_EQ(judge_openblas_coretype(nullptr, facts).verdict, Verdict::ok);
  EXPECT_EQ(
      judge_openblas_coretype("Haswell", facts),
      (Finding{
          "openblas kernels", Verdict::warn, "Haswell, forced by OPENBLAS_CORETYPE=Haswell",
          "unset OPENBLAS_CORETYPE unless this processor needs it; it decides speed and the last bits of results"}));
}

}  // namespace
}  // namespace dtrain::doctor

// SPDX-License-Identifier: Apache-2.0
//
// dtrain doctor [--json]: what this machine and installation offer, each with a verdict and a fix. Exit code 1 when
// something would keep a run from working.
#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/doctor/libraries.h"
#include "cli/doctor/machine.h"
#include "cli/verbs.h"
#include "core/base/version.h"

namespace dtrain::cli {
namespace {

using doctor::Finding;
using doctor::Verdict;

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::warn:
      return "warn";
    case Verdict::fail:
      return "fail";
  }
  return "?";
}

Verdict worst(const std::vector<Finding>& findings) {
  auto verdict = Verdict::ok;
  for (const auto& finding : findings) verdict = std::max(verdict, finding.verdict);
  return verdict;
}

Finding version_finding() {
  utsname system{};
  ::uname(&system);
  return {.name = "dtrain",
          .verdict = Verdict::ok,
          .value = std::string(kVersion) + ", " DTRAIN_COMPILER ", toml++ " DTRAIN_TOMLPP_VERSION ", glibc " +
                   ::gnu_get_libc_version() + ", " + system.sysname + " " + system.release,
          .fix = {}};
}

std::vector<Finding> examine() {
  std::vector<std::string> candidates = {"libtorch_cpu.so", "libtorch_cpu.so.1.13"};
  if (*DTRAIN_TORCH_LIBRARY != '\0') candidates.insert(candidates.begin(), DTRAIN_TORCH_LIBRARY);
  const auto libraries = doctor::probe_libraries(candidates, std::chrono::seconds(60));
  std::vector<Finding> findings = {
      version_finding(), judge_libtorch(libraries, DTRAIN_TORCH_VERSION), judge_blas(libraries),
      judge_openblas_coretype(::getenv("OPENBLAS_CORETYPE"), libraries), judge_gloo(libraries)};
  for (auto& finding : doctor::examine_machine()) findings.push_back(std::move(finding));
  return findings;
}

void print_table(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const auto& finding : findings) width = std::max(width, finding.name.size());
  for (const auto& [name, verdict, value, fix] : findings) {
    std::cout << name_of(verdict) << std::string(6 - name_of(verdict).size(), ' ') << name
              << std::string(width + 2 - name.size(), ' ') << value << '\n';
    if (!fix.empty()) std::cout << std::string(width + 8, ' ') << "fix: " << fix << '\n';
  }
}

void print_json(const std::vector<Finding>& findings) {
  auto checks = nlohmann::ordered_json::array();
  for (const auto& [name, verdict, value, fix] : findings) {
    checks.push_back({{"name", name}, {"verdict", name_of(verdict)}, {"value", value}, {"fix", fix}});
  }
  std::cout << nlohmann::ordered_json{{"verdict", name_of(worst(findings))}, {"checks", checks}}.dump() << '\n';
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto* verb = app.add_subcommand("doctor", "Check this machine and installation; says what to mend and how");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "Print one JSON object");
  verb->callback([&action, json] {
    action = [json] {
      const auto findings = examine();
      *json ? print_json(findings) : print_table(findings);
      return worst(findings) == Verdict::fail ? 1 : 0;
    };
  });
}

}  // namespace dtrain::cli

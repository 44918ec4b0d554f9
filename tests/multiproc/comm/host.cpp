// SPDX-License-Identifier: Apache-2.0
#include "tests/multiproc/comm/host.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/support/temp_folder.h"

namespace dtrain::test {
namespace {

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::string why_no_hosts() {
  if (std::system("ip -V > /dev/null 2>&1") != 0) return "there is no program 'ip'";
  if (::geteuid() != 0) {
    const auto id = std::to_string(::geteuid());
    if (::unshare(CLONE_NEWUSER) != 0) return std::string("not root, and no user namespace: ") + std::strerror(errno);
    if (!write_file("/proc/self/uid_map", "0 " + id + " 1")) return "not root, and no user map";
  }
  const auto child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS) == 0 ? 0 : errno);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status == 0) return {};
  return std::string("no namespaces: ") + std::strerror(WEXITSTATUS(status));
}

void ip(const std::string& arguments) {
  const auto command = "ip " + arguments;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

void become_host(const Seat& seat, const std::string& address_0, const std::string& address_1) {
  const bool first = seat.rank == 0;
  const std::string name = first ? "alpha" : "beta";
  if (::unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS) != 0 || ::sethostname(name.data(), name.size()) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    throw std::runtime_error(std::string("namespaces: ") + std::strerror(errno));
  }
  ip("link set lo up");
  const auto pid = std::to_string(::getpid());
  if (first) {
    const auto peer = text_of(seat.board->get("pid", 60s));
    ip("link add name wire type veth peer name wire netns " + peer);
    seat.signal("linked");
  } else {
    seat.board->set("pid", std::as_bytes(std::span(pid)));
    seat.await("linked");
  }
  std::istringstream addresses(first ? address_0 : address_1);
  for (std::string address; addresses >> address;) {
    ip("addr add " + address + " dev wire" + (address.find(':') != std::string::npos ? " nodad" : ""));
  }
  ip("link set wire up");
  seat.signal("up-" + std::to_string(seat.rank));
  seat.await("up-" + std::to_string(1 - seat.rank));
}

void set_hosts_file(const std::string& text) {
  const TempFolder folder;
  const auto path = (folder.path() / "hosts").string();
  write_file(path, text);
  if (::mount(path.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) {
    throw std::runtime_error(std::string("/etc/hosts: ") + std::strerror(errno));
  }
}

}  // namespace dtrain::test

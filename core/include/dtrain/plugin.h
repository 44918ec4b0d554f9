// SPDX-License-Identifier: Apache-2.0
//
// How a shared library offers components to dtrain.
//
//   DTRAIN_PLUGIN("tiny", "0.1.0", dtrain::model<TinyMlp, Options>("tiny-mlp"))
//
// The macro emits two things. First the ELF note `.note.dtrain` (owner "dtrain", type 1): plugin name, version and, for
// each component, kind, name, ABI tag and option schema. dtrain reads it without dlopen. Second the entry function
// `dtrain_plugin_v1`, which returns a constant description. `init` and `shutdown` run in the host process, on its only
// thread; factories run in the workers, on the thread that trains unless the kind says otherwise.
//
// Note encoding (see wire:: in schema.h): u32 format = 1, string name, string version, u32 components, then for each
// string kind, string name, string tag, string schema.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <dtrain/error.h>
#include <dtrain/schema.h>

extern "C" {

// Append-only. `size` is that of the struct the host was built with.
struct dtrain_host {
  std::uint32_t size;
  const char* version;
  // level: 0 debug, 1 info, 2 warning, 3 error. Any thread.
  void (*log)(int level, const char* message);
};

struct dtrain_component {
  std::uint32_t size;
  const char* kind;
  const char* name;
  // Makes a component; `context` points to the kind's Context, `reader` to a dtrain::OptionReader. May throw the three
  // types of error.h. `destroy` takes what `create` returned.
  void* (*create)(const void* context, const void* reader);
  void (*destroy)(void* component);
};

struct dtrain_plugin {
  std::uint32_t size;
  std::uint32_t version;  // of this struct: 1
  const char* name;
  const char* plugin_version;
  std::uint32_t component_count;
  const dtrain_component* components;
  // Returns nullptr, or a message that stays valid. Called once in each host process.
  const char* (*init)(const dtrain_host* host);
  void (*shutdown)();
};

}  // extern "C"

namespace dtrain {

// One component of a plugin, as a compile-time value. Made by model<>(), optimizer<>() ... of each kind's header.
struct ComponentDeclaration {
  std::string_view kind;
  std::string_view name;
  std::string (*tag)();
  std::string (*schema)();
  void* (*create)(const void* context, const void* reader);
  void (*destroy)(void* component);
};

// Kind is the traits class in a kind's header: `name`, `Interface`, `Context` and `tag()`.
template <class Kind, class T, class Options>
constexpr ComponentDeclaration component(std::string_view name) {
  using Interface = typename Kind::Interface;
  using Context = typename Kind::Context;
  return ComponentDeclaration{
      .kind = Kind::name,
      .name = name,
      .tag = [] { return Kind::tag(); },
      .schema =
          [] {
            Options options;
            Schema schema;
            options.describe(schema);
            return schema.encoded();
          },
      .create = [](const void* context, const void* reader) -> void* {
        Options options;
        Schema schema(*static_cast<const OptionReader*>(reader));
        options.describe(schema);
        return static_cast<Interface*>(new T(*static_cast<const Context*>(context), options));
      },
      .destroy = [](void* object) { delete static_cast<Interface*>(object); },
  };
}

namespace plugin {

inline constexpr std::uint32_t kNoteFormat = 1;
inline constexpr std::uint32_t kNoteType = 1;

constexpr std::string encode_note(std::string_view name, std::string_view version, const ComponentDeclaration* list,
                                  std::size_t count) {
  std::string out;
  wire::put_u32(out, kNoteFormat);
  wire::put_string(out, name);
  wire::put_string(out, version);
  wire::put_u32(out, count);
  for (std::size_t i = 0; i < count; ++i) {
    wire::put_string(out, list[i].kind);
    wire::put_string(out, list[i].name);
    wire::put_string(out, list[i].tag());
    wire::put_string(out, list[i].schema());
  }
  return out;
}

// Layout of an ELF note (System V ABI, "Note Section").
template <std::size_t N>
struct ElfNote {
  std::uint32_t name_size = 7;
  std::uint32_t description_size = N;
  std::uint32_t type = kNoteType;
  char name[8] = {'d', 't', 'r', 'a', 'i', 'n', '\0', '\0'};
  char description[(N + 3) / 4 * 4] = {};
};

template <class Definition>
constexpr auto make_note() {
  constexpr std::size_t size = encode_note(Definition::name, Definition::version, Definition::declarations.data(),
                                           Definition::declarations.size())
                                   .size();
  ElfNote<size> note;
  const std::string text = encode_note(Definition::name, Definition::version, Definition::declarations.data(),
                                       Definition::declarations.size());
  for (std::size_t i = 0; i < size; ++i) note.description[i] = text[i];
  return note;
}

template <class Definition>
constexpr auto make_components() {
  std::array<dtrain_component, Definition::declarations.size()> list{};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto& d = Definition::declarations[i];
    list[i] = {sizeof(dtrain_component), d.kind.data(), d.name.data(), d.create, d.destroy};
  }
  return list;
}

// A plugin that needs to start or stop something specialises these two for its tag type; see DTRAIN_PLUGIN_WITH_INIT.
struct NoLifecycle {
  static void init(const dtrain_host&) {}
  static void shutdown() {}
};

template <class Lifecycle>
const char* guarded_init(const dtrain_host* host) noexcept {
  static std::string message;
  try {
    Lifecycle::init(*host);
    return nullptr;
  } catch (const std::exception& e) {
    message = e.what();
  } catch (...) {
    message = "an exception that is not derived from std::exception";
  }
  return message.c_str();
}

template <class Lifecycle>
void guarded_shutdown() noexcept {
  Lifecycle::shutdown();
}

}  // namespace plugin
}  // namespace dtrain

#define DTRAIN_PLUGIN(plugin_name, plugin_version, ...) \
  DTRAIN_PLUGIN_WITH_INIT(::dtrain::plugin::NoLifecycle, plugin_name, plugin_version, __VA_ARGS__)

// Lifecycle has static `void init(const dtrain_host&)`, which may throw, and static `void shutdown()`, which may not.
#define DTRAIN_PLUGIN_WITH_INIT(Lifecycle, plugin_name, plugin_version, ...)                                          \
  namespace {                                                                                                         \
  struct DtrainPluginDefinition {                                                                                     \
    static constexpr ::std::string_view name = plugin_name;                                                           \
    static constexpr ::std::string_view version = plugin_version;                                                     \
    static constexpr auto declarations = ::std::to_array<::dtrain::ComponentDeclaration>({__VA_ARGS__});              \
  };                                                                                                                  \
  [[gnu::section(".note.dtrain"), gnu::used, gnu::aligned(4)]] constexpr auto dtrain_plugin_note =                    \
      ::dtrain::plugin::make_note<DtrainPluginDefinition>();                                                          \
  constexpr auto dtrain_plugin_components = ::dtrain::plugin::make_components<DtrainPluginDefinition>();              \
  constexpr ::dtrain_plugin dtrain_plugin_description = {                                                             \
      sizeof(::dtrain_plugin),                                                                                        \
      1,                                                                                                              \
      plugin_name,                                                                                                    \
      plugin_version,                                                                                                 \
      static_cast<::std::uint32_t>(dtrain_plugin_components.size()),                                                  \
      dtrain_plugin_components.data(),                                                                                \
      &::dtrain::plugin::guarded_init<Lifecycle>,                                                                     \
      &::dtrain::plugin::guarded_shutdown<Lifecycle>};                                                                \
  }                                                                                                                   \
  extern "C" [[gnu::visibility("default")]] const ::dtrain_plugin* dtrain_plugin_v1() {                               \
    return &dtrain_plugin_description;                                                                                \
  }

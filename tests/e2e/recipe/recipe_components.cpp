// SPDX-License-Identifier: Apache-2.0
//
// A plugin of nothing but declarations: enough for what reads recipes, which never loads a plugin. It cannot be loaded.
#include <dtrain/plugin.h>

namespace {

struct Options {
  std::int64_t layers = 2;
  double dropout = 0;
  constexpr void describe(dtrain::Schema& s) {
    s.identity("layers", layers, dtrain::range(1, 64), "residual blocks");
    s.trajectory("dropout", dropout, dtrain::range(0.0, 0.99), "drop probability");
  }
};

struct DataOptions {
  std::string path;
  constexpr void describe(dtrain::Schema& s) { s.identity("path", path, dtrain::required().path(), "file"); }
};

struct Nothing {
  explicit Nothing(int, dtrain::NoOptions) {}
  Nothing(int, Options) {}
  Nothing(int, DataOptions) {}
};

#define KIND(kind)                                        \
  struct kind##_kind {                                    \
    static constexpr std::string_view name = #kind;       \
    using Interface = Nothing;                            \
    using Context = int;                                  \
    static constexpr std::string tag() { return "none"; } \
  };
KIND(model)
KIND(loss)
KIND(data)
KIND(optimizer)
KIND(schedule)
KIND(metric)
KIND(strategy)
KIND(comm)
KIND(store)

template <class Kind, class Options = dtrain::NoOptions>
constexpr auto fake(std::string_view name) {
  return dtrain::component<Kind, Nothing, Options>(name);
}

}  // namespace

DTRAIN_PLUGIN("fakes", "0.0.1", fake<model_kind, Options>("net"), fake<loss_kind>("cross_entropy"),
              fake<data_kind, DataOptions>("file"), fake<optimizer_kind>("plain"), fake<schedule_kind>("constant"),
              fake<metric_kind>("loss"), fake<strategy_kind>("single"), fake<strategy_kind>("ddp"),
              fake<comm_kind>("gloo"), fake<store_kind>("local"))

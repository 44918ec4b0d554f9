// SPDX-License-Identifier: Apache-2.0
#include "core/observe/terminal_view.h"

#include <nlohmann/json.hpp>

#include "core/observe/text_table.h"

namespace dtrain {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};

}  // namespace

void TerminalView::note(std::string_view text) {
  console_.lines("dtrain: " + std::string(text) + "\n");
}

void TerminalView::ready(const std::string& settings_json) {
  const auto fields = nlohmann::json::parse(settings_json, nullptr, false);
  if (!fields.is_object()) return;
  console_.lines(text_table(settings_rows(settings_json)));
  for (const auto& notice : fields.value("notices", nlohmann::json::array())) {
    if (notice.is_string()) note(notice.get<std::string>());
  }
  progress_.emplace(fields.value("total_steps", std::int64_t{0}), fields.value("start_step", std::int64_t{0}),
                    fields.value("unit", std::string("samples")));
}

void TerminalView::started(const Started& started) {
  note("run directory " + started.run_dir);
}

void TerminalView::step(const std::string& json) {
  last_step_ = json;
  if (!progress_) return;
  const auto now = Progress::Clock::now();
  progress_->add(json, now);
  if (console_.terminal()) {
    if (now - drawn_ < kRedraw) return;
    drawn_ = now;
    console_.live(progress_->text());
  } else if (progress_->line_due(now)) {
    console_.lines(progress_->text() + "\n");
  }
}

void TerminalView::finish() {
  if (progress_ && console_.has_live()) console_.live(progress_->text());
  console_.end_live();
}

void TerminalView::report(const std::string& json) {
  const auto fields = nlohmann::json::parse(json, nullptr, false);
  const auto event = fields.is_object() ? fields.value("event", std::string()) : std::string();
  if (event == "step") return step(json);
  if (event == "summary") {
    summary_ = json;
    finish();
    console_.lines("summary\n" + text_table(json_rows(json)));
    return;
  }
  console_.lines(event_line(json));
}

}  // namespace dtrain

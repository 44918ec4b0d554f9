// SPDX-License-Identifier: Apache-2.0
//
// One rank of a run: joins the others, brings its state up, trains, leaves.
#pragma once

#include "core/launch/host_program.h"
#include "core/worker/resume.h"
#include "core/worker/session.h"

namespace dtrain {

// States, in order: join (groups are formed), load (state initialised or read), train, leave. A RecoverableError in any of them
// ends this rank with its message; the launcher then ends the others. Thread: the main one of the worker process.
// Returns the exit code of the rank: 0 done or stopped as asked, 4 diverged.
int run_worker(Session& session, const ResumePoint& resume, const WorkerSeat& seat, AgentLink& link);

}  // namespace dtrain

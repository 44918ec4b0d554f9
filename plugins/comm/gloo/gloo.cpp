// SPDX-License-Identifier: Apache-2.0
#include "communicator.h"

DTRAIN_PLUGIN(
    "gloo", "0.1.0",
    dtrain::comm<dtrain::gloo_plugin::GlooCommunicator, dtrain::gloo_plugin::GlooCommunicator::Options>("gloo"))

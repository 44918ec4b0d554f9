// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints in a folder of a local or shared file system; see local_store.h.
#include "local_store.h"

DTRAIN_PLUGIN("local", "0.1.0", dtrain::store<dtrain::LocalStore>("local"))

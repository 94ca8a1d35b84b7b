// SPDX-License-Identifier: GPL-2.0
#include "../../client/helpers.c"

// The report of a run of the load generator, for people and for programs.
#pragma once

#include "bench/load/load_run.h"

// Both on standard output.
void bench_report(const struct load_settings *settings, const struct load_result *result);
void bench_report_json(const struct load_settings *settings, const struct load_result *result);
// Says on standard error what went wrong; true when nothing did.
bool bench_report_faults(const struct load_result *result);

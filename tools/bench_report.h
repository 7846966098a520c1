// Reports a run of the load generator, as text and as JSON.
#pragma once

#include "bench/load/load_run.h"

// Prints the report on standard output.
void bench_report(const struct load_settings *settings, const struct load_result *result);
// Prints the report as JSON on standard output.
void bench_report_json(const struct load_settings *settings, const struct load_result *result);
// Prints the faults of the run on standard error. Returns true if there are none.
bool bench_report_faults(const struct load_result *result);

/* See probing.h. */
#include "filter/probing.h"

bool trace_on;
bool probes_on, probes_sites, probes_marks, probes_were_out;
uint16_t probes_number;
bool interactions_on, requests_on, cases_on, startup_on;

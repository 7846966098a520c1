// Judges the name of an agent. An agentId ends up in logs, metrics and NATS subjects, so only characters that
// need no escaping in any of them are allowed.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Whether `text` is 1 to AGENT_ID_BYTES_MAX ASCII letters, digits, '-', '_', '.', ':' and '/', with no empty
// part between, before or after dots. Any bytes may be asked about; `text` may be null when `bytes` is 0.
bool agent_id_valid(const char *text, size_t bytes);

// Several requests, or several answers, as the body of one message between hubs: what stands around a message costs more than a small
// one does.
//
// Before each of them stands its number in eight bytes, how many bytes it has in four, and in four more what else is said of it; the
// least byte first. CR LF stands between two of them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/json/json.h"

enum {
    BUNDLE_HEAD_BYTES = 8 + 4 + 4,
    BUNDLE_BYTES_MAX = 8 * 1024, // of one, as hubs make them
    BUNDLES_MAX = 8,             // that a hub puts together at a time
};

// What stands before a request, or before an answer to one, of which nothing else is said.
struct bundled {
    uint64_t
        number; // of the request, at the hub that asks; 0: of one that was taken back, and it is to be passed over
    uint32_t time_ms;      // that is left for it; 0, and where it is over an hour: nothing is said of that
    enum governance level; // that it requires
    bool is_vouched;       // the agent that it names as its source is its source's own
};

void bundle_write_head(char out[BUNDLE_HEAD_BYTES], const struct bundled *bundled, uint32_t bytes);
// Takes the next one off the front of what is left of a bundle. False at its end, and where what is left is none (*rest isn't empty
// then).
bool bundle_next(const uint8_t *bytes, struct span *rest, struct bundled *bundled, struct span *body);

// Numbers of requests as the body of a message, each as above.
enum { BUNDLE_NUMBER_BYTES = 8 };
void bundle_write_number(char out[BUNDLE_NUMBER_BYTES], uint64_t number);
// Takes the next one off the front. False where there is none any more.
bool bundle_next_number(const uint8_t *bytes, struct span *rest, uint64_t *number);

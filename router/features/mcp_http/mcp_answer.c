#include "router/features/mcp_http/mcp_answer.h"

#include <assert.h>

#include "core/base/errors.h"
#include "core/base/text.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/features/mcp_calls/mcp_body.h"
#include "router/features/mcp_calls/tool_list.h"
#include "router/features/mcp_http/mcp_inventory.h"
#include "router/features/mcp_http/mcp_stream.h"

// Returns the status of a refusal by the hub, for a request that no server got.
static unsigned refused_status(const struct exchange *exchange) {
    switch ((enum error)exchange->error) {
    case ERROR_PARSE:
    case ERROR_INVALID_REQUEST:
    case ERROR_VERSION:
        return 400;
    case ERROR_INVALID_PARAMS: // is_targets_refusal: refused in the server's place
        return exchange->is_targets_refusal ? 200 : 400;
    case ERROR_AGENT_NOT_FOUND:
        return 404;
    case ERROR_OVERLOADED:
        return exchange->is_limited ? 429 : 503;
    default:
        return 200;
    }
}

// Returns the status of an error in the modern era. The code decides, whether the error is a server's or the hub's.
static unsigned modern_status(struct shard *shard, const struct parcel *answer) {
    assert(shard->index == 0);
    struct mcp_body body;
    if (!mcp_body_read(shard, answer, &body))
        return 200;
    int64_t code = mcp_body_code(&body);
    mcp_body_give(&body);
    return code == -32601 ? 404 : code >= -32022 && code <= -32020 ? 400 : 200;
}

unsigned mcp_answer_status(struct shard *shard, const struct mcp_call *call, const struct parcel *answer) {
    const struct exchange *exchange = call->exchange;
    bool is_refused = exchange->error && (!exchange->hub_id || exchange->is_unsent);
    unsigned status = is_refused ? refused_status(exchange) : 200;
    assert(answer);
    return status == 200 && call->is_modern && exchange->is_error ? modern_status(shard, answer) : status;
}

// Returns the Retry-After line for the statuses 429 and 503, in memory of its own. Returns NULL for another status, or
// without memory.
static char *retry_line(const struct exchange *exchange, unsigned status) {
    struct text line;
    if (status != 429 && status != 503)
        return NULL;
    uint64_t ms = exchange->wait_ms ? exchange->wait_ms : 1000;
    text_init(&line);
    text_put(&line, "Retry-After: ");
    text_number(&line, (int64_t)(ms + 999) / 1000);
    text_add(&line, "\r\n", sizeof "\r\n");
    if (!line.failed)
        return line.bytes;
    text_deinit(&line);
    return NULL;
}

// Returns an answer to tools/list without the tools that the user isn't shown. Takes `answer`. Returns NULL without
// memory.
static struct parcel *sift(struct shard *shard, const struct mcp_call *call, struct parcel *answer) {
    const struct mcp_client *client = call->client;
    struct text body;
    text_init(&body);
    if (!tool_list_filter(shard, client->user, client->name, client->name_bytes, answer, &body))
        return answer;
    send_release(shard, answer);
    struct parcel *parcel = body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
    if (!parcel)
        text_deinit(&body);
    return parcel;
}

// Notes the tools of an answer to tools/list in the inventory.
static void note_page(struct shard *shard, const struct mcp_call *call, const struct parcel *answer) {
    const struct mcp_client *client = call->client;
    struct mcp_body body;
    if (!mcp_body_read(shard, answer, &body))
        return;
    if (lookup_has(&body.lookup, KEY_RESULT) && body.lookup.type[KEY_RESULT] == JSON_OBJECT) {
        struct json_item next = json_member(body.bytes, body.lookup.value[KEY_RESULT], "nextCursor");
        mcp_inventory_add(shard, client->name, client->name_bytes, MCP_TOOLS, &body, call->is_first_page,
                          next.type != JSON_STRING);
    }
    mcp_body_give(&body);
}

void mcp_answer_give(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    if (answer && call->is_list && !call->exchange->is_error) {
        note_page(shard, call, answer);
        answer = sift(shard, call, answer);
    }
    assert(shard->index == 0);
    unsigned status = answer ? mcp_answer_status(shard, call, answer) : 0;
    if (answer)
        mcp_stream_answer(shard, call, answer, status, retry_line(call->exchange, status));
    else
        mcp_stream_end(shard, call);
}

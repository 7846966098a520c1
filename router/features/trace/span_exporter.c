#include "router/features/trace/span_exporter.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/memory.h"
#include "core/requests/trace_rejection.h"
#include "core/requests/trace_span.h"
#include "core/wire/http_answer.h"
#include "io/host_lookup.h"
#include "io/log.h"
#include "router/engine/shard/feature.h"
#include "router/features/trace/collector.h"

enum {
    BATCH_SPANS_MAX = 512,
    BATCH_MS = 1000,     // after which a POST begins with fewer spans
    POST_MS = 10 * 1000, // for a whole POST
    PAUSE_MS = 1000,     // the pause after the first POST without success, which doubles
    PAUSE_MS_MAX = 30 * 1000,
    PAUSE_ASKED_MS_MAX = 5 * 60 * 1000, // the longest pause that a collector may ask for
    LAST_MS = 500,                      // for spans of requests that the drain's end has ended
    LOG_MS = 10 * 1000,       // between two lines about dropped spans, or about faults after a success
    LOG_AGAIN_MS = 60 * 1000, // between two lines about faults without a success
    ANSWER_BYTES = 64 * 1024,
    ANSWER_HEAD_BYTES = 16 * 1024,
    ANSWER_BODY_BYTES_MAX = 1024 * 1024, // of an answer's body, that are read
    ANSWER_LENGTH_MAX = 1 << 30,         // the longest body of an answer that is waited for
    VECTORS_MAX = BATCH_SPANS_MAX + 3,
};
static_assert((int)VECTORS_MAX <= (int)IO_VECTORS_MAX, "a POST is one send");

static const struct unit_limits answer_limits = {ANSWER_HEAD_BYTES, ANSWER_LENGTH_MAX};

enum exporter_state {
    EXPORTER_IDLE,
    EXPORTER_RESOLVING,
    EXPORTER_DIALLING,
    EXPORTER_ASKING,
    EXPORTER_CLOSING
};

struct span_exporter {
    struct shard *shard;
    const struct http_url *url;
    struct collector collector;
    struct host_lookup lookup; // of the collector's addresses, if its URL has a name
    enum exporter_state state;
    int socket;           // below 0: none
    bool sends, receives; // the operation is under way
    struct list waiting;  // struct span_record.link, oldest first
    uint32_t count;       // of the waiting spans
    uint32_t batch;       // spans of the POST under way, the first ones that wait
    uint32_t settled;     // `batch` once the answer of the POST is known, else 0
    struct timer timer;
    uint64_t due_ms;        // when a POST with fewer spans than the most may begin
    uint64_t again_ms;      // before which no POST may begin, since the last one had no success
    uint64_t begun_ms;      // when the POST under way began
    uint32_t pause_ms;      // the pause after the next POST without success
    bool hurries;           // the hub's connections close: no span waits for others
    uint64_t until_ms;      // when waiting spans are dropped; 0: the hub serves
    uint64_t told, told_ms; // dropped spans that the log has told of, and when the log last told
    uint64_t fault_ms;      // when the log last told of a fault; 0: not yet
    bool has_fault;         // the last POST had no success
    int error;              // errno of the connection of the POST under way; 0: none
    struct text preamble;   // the JSON before the spans
    struct text head;       // of the POST under way
    struct iovec vectors[VECTORS_MAX];
    unsigned vector, vector_count;
    struct http_answer answer;
    struct trace_rejection rejection; // read from the body of the answer
    bool is_answer_read;              // the number of rejected spans was read, or the body's end
    uint32_t body_bytes;              // read of the answer's body
    uint32_t answer_bytes; // in answer_text: the head, and bytes of the body that were not read yet
    uint8_t answer_text[ANSWER_BYTES + BUFFER_SLACK_BYTES];
};

static uint64_t now_ms(const struct span_exporter *exporter) {
    return shard_now_ms(exporter->shard);
}

// --- What is dropped

// Returns how many spans all shards have dropped for this reason.
static uint64_t dropped_spans(const struct span_exporter *exporter, enum trace_counter counter) {
    const struct hub *hub = exporter->shard->hub;
    uint64_t sum = 0;
    for (uint32_t shard = 0; shard < hub->start_settings.shard_count; shard++)
        sum += stats_read(&hub->shards[shard]->stats, FEATURE_COUNTER(FEATURE_TRACE, counter));
    return sum;
}

static void tell_dropped(struct span_exporter *exporter, bool at_once) {
    uint64_t queue = dropped_spans(exporter, TRACE_COUNT_DROPPED_QUEUE),
             rate = dropped_spans(exporter, TRACE_COUNT_DROPPED_RATE),
             refused = dropped_spans(exporter, TRACE_COUNT_DROPPED_REFUSED), sum = queue + rate + refused;
    assert(sum >= exporter->told);
    if (sum == exporter->told ||
        (!at_once && exporter->told_ms && now_ms(exporter) - exporter->told_ms < LOG_MS))
        return;
    log_write(LOG_SPANS_DROPPED, LOG_NO_FIELDS,
              "%llu spans dropped; since the start %llu for which the queue had no room, %llu over the rate, "
              "%llu that the collector refused",
              (unsigned long long)(sum - exporter->told), (unsigned long long)queue, (unsigned long long)rate,
              (unsigned long long)refused);
    exporter->told = sum;
    exporter->told_ms = now_ms(exporter);
}

// Frees the first spans that wait.
static void drop_first(struct span_exporter *exporter, uint32_t count) {
    assert(count <= exporter->count && !exporter->sends);
    for (exporter->count -= count; count > 0; count--) {
        struct span_record *record = list_entry(exporter->waiting.next, struct span_record, link);
        list_remove(&record->link);
        trace_give(exporter->shard, record);
    }
}

static void drop_all(struct span_exporter *exporter) {
    trace_count(exporter->shard, TRACE_COUNT_DROPPED_QUEUE, exporter->count);
    drop_first(exporter, exporter->count);
}

// --- The end of a POST

static void schedule(struct span_exporter *exporter);

// Closes the connection once no operation is under way: the kernel may still read the spans of the POST until then.
static void close_if_quiet(struct span_exporter *exporter) {
    assert(exporter->state == EXPORTER_CLOSING);
    if (exporter->sends || exporter->receives)
        return;
    if (exporter->socket >= 0)
        io_close_socket(exporter->shard->io, exporter->socket);
    drop_first(exporter, exporter->settled);
    exporter->socket = -1;
    exporter->batch = exporter->settled = 0;
    exporter->state = EXPORTER_IDLE;
    schedule(exporter);
}

static void close_connection(struct span_exporter *exporter) {
    wheel_disarm(&exporter->timer);
    exporter->state = EXPORTER_CLOSING;
    if (exporter->sends || exporter->receives)
        io_shutdown(exporter->shard->io, exporter->socket, SHUT_RDWR);
    close_if_quiet(exporter);
}

// Keeps the spans of the POST, which are sent again after a pause: the pause that the collector asked for, or twice the
// last one.
static void try_again(struct span_exporter *exporter, bool is_asked, uint64_t asked_ms) {
    uint64_t most = PAUSE_ASKED_MS_MAX, pause_ms = is_asked ? asked_ms : exporter->pause_ms;
    uint64_t again_ms = now_ms(exporter) + (pause_ms < most ? pause_ms : most);
    assert(exporter->pause_ms >= PAUSE_MS && exporter->settled == 0);
    exporter->again_ms = again_ms > exporter->due_ms ? again_ms : exporter->due_ms;
    if (!is_asked)
        exporter->pause_ms =
            2 * exporter->pause_ms < PAUSE_MS_MAX ? 2 * exporter->pause_ms : (uint32_t)PAUSE_MS_MAX;
}

// Counts the spans of a POST whose answer is known: `refused` of them as refused, the others as exported.
static void settle(struct span_exporter *exporter, uint64_t refused) {
    uint32_t batch = exporter->batch;
    assert(batch > 0);
    refused = refused < batch ? refused : batch;
    trace_count(exporter->shard, TRACE_COUNT_EXPORTED, batch - refused);
    trace_count(exporter->shard, TRACE_COUNT_DROPPED_REFUSED, refused);
    exporter->settled = batch;
    exporter->pause_ms = PAUSE_MS;
    exporter->again_ms = 0;
}

// Settles a POST that the collector has taken. If the part of the answer that was read tells no number of rejected
// spans, the collector has taken all.
static void settle_taken(struct span_exporter *exporter) {
    if (!exporter->is_answer_read)
        trace_count(exporter->shard, TRACE_COUNT_ANSWERS_UNREAD, 1);
    settle(exporter, exporter->rejection.count);
}

// Logs why the collector has not taken the spans of the POST under way.
static void tell_fault(struct span_exporter *exporter, unsigned status) {
    uint64_t least_ms = exporter->has_fault ? LOG_AGAIN_MS : LOG_MS, now = now_ms(exporter);
    const char *text = exporter->answer_bytes ? "its answer isn't HTTP, or isn't whole" : "no answer";
    char server[sizeof exporter->url->host + 8], answer[32];
    exporter->has_fault = true;
    if (exporter->fault_ms && now - exporter->fault_ms < least_ms)
        return;
    exporter->fault_ms = now;
    snprintf(answer, sizeof answer, "it answers %u", status);
    if (status)
        text = answer;
    else if (exporter->state == EXPORTER_RESOLVING)
        text = host_lookup_fault(&exporter->lookup);
    else if (exporter->error && strerrordesc_np(exporter->error))
        text = strerrordesc_np(exporter->error);
    snprintf(server, sizeof server, exporter->url->is_v6 ? "[%s]:%u" : "%s:%u", exporter->url->host,
             exporter->url->port);
    log_write(LOG_COLLECTOR_FAULT, LOG_FIELDS(log_text(server)), "collector %s: %s", server, text);
}

// Ends a POST by its answer, or without an answer.
static void conclude(struct span_exporter *exporter) {
    const struct http_answer *answer = &exporter->answer;
    unsigned status = answer->unit.body_at ? answer->status : 0;
    uint64_t asked_ms = 0;
    if (status >= 200 && status <= 299) {
        exporter->has_fault = false;
        settle_taken(exporter);
    } else if (status && status != 429 && (status < 502 || status > 504)) {
        tell_fault(exporter, status);
        settle(exporter, exporter->batch);
    } else {
        tell_fault(exporter, status);
        bool is_asked = status && http_answer_retry_ms(answer, exporter->answer_text,
                                                       io_wall_ms(exporter->shard->io), &asked_ms);
        if (status == 0 && exporter->state != EXPORTER_RESOLVING)
            host_lookup_advance(&exporter->lookup);
        try_again(exporter, is_asked, asked_ms);
    }
    tell_dropped(exporter, false);
    close_connection(exporter);
}

// --- A POST

static void put_head(struct span_exporter *exporter, uint64_t body_bytes) {
    const struct http_url *url = exporter->url;
    struct text *head = &exporter->head;
    head->length = 0;
    text_put(head, "POST ");
    text_put(head, url->path);
    text_put(head, url->is_v6 ? " HTTP/1.1\r\nHost: [" : " HTTP/1.1\r\nHost: ");
    text_put(head, url->host);
    text_put(head, url->is_v6 ? "]:" : ":");
    text_number(head, url->port);
    text_put(head, "\r\nUser-Agent: patchbay/" PATCHBAY_VERSION
                   "\r\nContent-Type: application/json\r\nAccept: application/json\r\nConnection: close"
                   "\r\nContent-Length: ");
    text_number(head, (int64_t)body_bytes);
    text_put(head, "\r\n\r\n");
}

static void add_vector(struct span_exporter *exporter, const char *bytes, size_t count) {
    assert(exporter->vector_count < VECTORS_MAX && count > 0);
    exporter->vectors[exporter->vector_count++] = (struct iovec){(void *)bytes, count};
}

// Makes the vectors of a POST with the first spans. Returns false without memory.
static bool compose(struct span_exporter *exporter) {
    uint64_t bytes = exporter->preamble.length + sizeof TRACE_SPANS_END - 1;
    uint32_t count = exporter->count < BATCH_SPANS_MAX ? exporter->count : BATCH_SPANS_MAX;
    const struct list *node = exporter->waiting.next;
    exporter->vector = 0;
    exporter->vector_count = 1; // the first one is for the head
    add_vector(exporter, exporter->preamble.bytes, exporter->preamble.length);
    for (uint32_t at = 0; at < count; at++, node = node->next) {
        const struct span_record *record = list_entry(node, struct span_record, link);
        uint32_t comma = at == 0;
        add_vector(exporter, record->json + comma, record->bytes - comma);
        bytes += record->bytes - comma;
    }
    add_vector(exporter, TRACE_SPANS_END, sizeof TRACE_SPANS_END - 1);
    put_head(exporter, bytes);
    exporter->vectors[0] = (struct iovec){exporter->head.bytes, exporter->head.length};
    exporter->batch = count;
    return !exporter->head.failed;
}

// Chooses the collector's address for a POST. The addresses of a name are tried in turn. When all have failed, the name
// is looked up again.
static void dial(struct span_exporter *exporter) {
    const struct collector *collector = &exporter->collector;
    uint32_t bytes = collector->bytes;
    const struct sockaddr *address =
        bytes ? (const struct sockaddr *)&collector->address : host_lookup_address(&exporter->lookup, &bytes);
    static_assert(sizeof exporter->url->host == RESOLVER_HOST_BYTES_MAX + 1, "a name fits");
    assert(exporter->socket < 0 && !exporter->sends && !exporter->receives);
    if (!address) {
        exporter->state = EXPORTER_RESOLVING;
        if (!host_lookup_ask(&exporter->lookup, exporter->url->host, exporter->url->port))
            conclude(exporter);
        return;
    }
    int fresh =
        io_connect(exporter->shard->io, address, bytes, FEATURE_TOKEN(FEATURE_TRACE, TRACE_TOKEN_CONNECT));
    if (fresh < 0) {
        exporter->error = -fresh;
        conclude(exporter);
        return;
    }
    exporter->socket = fresh;
    exporter->sends = true;
    exporter->state = EXPORTER_DIALLING;
}

// Arms the timer for the end of the POST under way.
static void arm_deadline(struct span_exporter *exporter) {
    uint64_t end_ms = exporter->begun_ms + POST_MS;
    bool is_sooner = exporter->hurries && exporter->until_ms < end_ms;
    wheel_arm(&exporter->shard->wheel, &exporter->timer, is_sooner ? exporter->until_ms : end_ms);
}

static void begin(struct span_exporter *exporter) {
    assert(exporter->state == EXPORTER_IDLE && exporter->count > 0);
    exporter->answer = (struct http_answer){.status = 0};
    exporter->rejection = (struct trace_rejection){.count = 0};
    exporter->is_answer_read = false;
    exporter->answer_bytes = exporter->body_bytes = 0;
    exporter->error = 0;
    exporter->begun_ms = now_ms(exporter);
    exporter->due_ms = exporter->begun_ms + BATCH_MS;
    bool is_composed = compose(exporter);
    arm_deadline(exporter);
    if (is_composed) {
        dial(exporter);
    } else {
        exporter->error = ENOMEM;
        conclude(exporter);
    }
}

// Begins the next POST, arms the timer for it, or drops all spans past the drain's end. No POST is under way.
static void schedule(struct span_exporter *exporter) {
    uint64_t now = now_ms(exporter);
    assert(exporter->state == EXPORTER_IDLE);
    if (exporter->hurries && now >= exporter->until_ms)
        drop_all(exporter);
    if (exporter->count == 0) {
        wheel_disarm(&exporter->timer);
        tell_dropped(exporter, exporter->hurries);
        if (exporter->hurries)
            host_lookup_stop(&exporter->lookup);
        return;
    }
    bool is_full = exporter->count >= BATCH_SPANS_MAX || exporter->hurries;
    uint64_t next_ms = is_full ? now : exporter->due_ms;
    next_ms = next_ms > exporter->again_ms ? next_ms : exporter->again_ms;
    if (next_ms <= now) {
        begin(exporter);
        return;
    }
    if (exporter->hurries && next_ms > exporter->until_ms)
        next_ms = exporter->until_ms;
    wheel_arm(&exporter->shard->wheel, &exporter->timer, next_ms);
}

void span_exporter_take(struct span_exporter *exporter, struct span_record *record) {
    assert(list_empty(&record->link));
    list_append(&exporter->waiting, &record->link);
    if (exporter->count++ == 0 && exporter->due_ms <= now_ms(exporter))
        exporter->due_ms = now_ms(exporter) + BATCH_MS;
    if (exporter->state == EXPORTER_IDLE)
        schedule(exporter);
}

void span_exporter_expired(struct span_exporter *exporter) {
    switch (exporter->state) {
    case EXPORTER_IDLE:
        schedule(exporter);
        break;
    case EXPORTER_CLOSING:
        break;
    default: // POST_MS are over
        conclude(exporter);
        break;
    }
}

// --- Events

static bool is_interrupted(const struct io_event *event) {
    return event->result == -EINTR || event->result == -EAGAIN;
}

static bool wants_more(const struct span_exporter *exporter) {
    return exporter->state == EXPORTER_ASKING;
}

static void send_rest(struct span_exporter *exporter) {
    assert(!exporter->sends && exporter->vector < exporter->vector_count);
    exporter->sends = true;
    io_send(exporter->shard->io, exporter->socket, FEATURE_TOKEN(FEATURE_TRACE, TRACE_TOKEN_SEND),
            exporter->vectors + exporter->vector, exporter->vector_count - exporter->vector);
}

static void receive_rest(struct span_exporter *exporter) {
    assert(!exporter->receives && exporter->answer_bytes < ANSWER_BYTES);
    exporter->receives = true;
    io_receive_into(exporter->shard->io, exporter->socket, FEATURE_TOKEN(FEATURE_TRACE, TRACE_TOKEN_RECEIVE),
                    exporter->answer_text + exporter->answer_bytes, ANSWER_BYTES - exporter->answer_bytes);
}

void span_exporter_connected(struct span_exporter *exporter, const struct io_event *event) {
    assert(exporter->sends && !event->more);
    exporter->sends = false;
    if (exporter->state == EXPORTER_CLOSING) {
        close_if_quiet(exporter);
        return;
    }
    assert(exporter->state == EXPORTER_DIALLING);
    if (event->result < 0) {
        exporter->error = -event->result;
        conclude(exporter);
        return;
    }
    exporter->state = EXPORTER_ASKING;
    receive_rest(exporter);
    send_rest(exporter);
}

// Takes sent bytes off the vectors that are still to be sent.
static void count_sent(struct span_exporter *exporter, size_t bytes) {
    while (bytes > 0) {
        assert(exporter->vector < exporter->vector_count);
        struct iovec *vector = &exporter->vectors[exporter->vector];
        size_t part = bytes < vector->iov_len ? bytes : vector->iov_len;
        *vector = (struct iovec){(char *)vector->iov_base + part, vector->iov_len - part};
        exporter->vector += vector->iov_len == 0;
        bytes -= part;
    }
}

// A collector that takes no more bytes may have answered already: the answer is still received.
void span_exporter_sent(struct span_exporter *exporter, const struct io_event *event) {
    assert(exporter->sends && !event->more);
    exporter->sends = false;
    if (!wants_more(exporter)) {
        close_if_quiet(exporter);
        return;
    }
    bool has_failed = event->result < 0 && !is_interrupted(event);
    if (event->result > 0)
        count_sent(exporter, (size_t)event->result);
    if (!has_failed && exporter->vector < exporter->vector_count)
        send_rest(exporter);
    else if (has_failed && !exporter->receives) {
        exporter->error = -event->result;
        conclude(exporter);
    }
}

static bool takes_spans(const struct http_answer *answer) {
    return answer->unit.body_at && answer->status >= 200 && answer->status <= 299;
}

// Reads the part of the body that has come, and makes room for more.
static void read_body(struct span_exporter *exporter, enum http_answer_step step) {
    struct http_answer *answer = &exporter->answer;
    struct span body = http_answer_body(answer, exporter->answer_bytes);
    assert(takes_spans(answer));
    bool is_known = trace_rejection_read(&exporter->rejection, exporter->answer_text + body.at, body.bytes);
    exporter->is_answer_read = is_known || (step == HTTP_ANSWER_WHOLE && !answer->is_too_long);
    exporter->body_bytes += body.bytes;
    if (step == HTTP_ANSWER_OPEN)
        exporter->answer_bytes = http_answer_discard(answer, exporter->answer_text, exporter->answer_bytes);
}

// Returns whether the hub has read all of the answer that it needs, or reads.
static bool is_decided(const struct span_exporter *exporter, enum http_answer_step step) {
    const struct http_answer *answer = &exporter->answer;
    bool is_refusal = answer->unit.body_at && answer->status >= 300;
    return step != HTTP_ANSWER_OPEN || is_refusal || exporter->is_answer_read ||
           exporter->answer_bytes == ANSWER_BYTES || exporter->body_bytes >= ANSWER_BODY_BYTES_MAX;
}

void span_exporter_received(struct span_exporter *exporter, const struct io_event *event) {
    assert(exporter->receives && !event->more);
    exporter->receives = false;
    if (!wants_more(exporter)) {
        close_if_quiet(exporter);
        return;
    }
    if (is_interrupted(event)) {
        receive_rest(exporter);
        return;
    }
    exporter->answer_bytes += event->result > 0 ? (uint32_t)event->result : 0;
    exporter->error = event->result < 0 ? -event->result : 0;
    enum http_answer_step step =
        event->result < 0 ? HTTP_ANSWER_BAD
                          : http_answer_scan(&exporter->answer, exporter->answer_text, exporter->answer_bytes,
                                             event->result == 0, &answer_limits);
    if (takes_spans(&exporter->answer))
        read_body(exporter, step);
    if (is_decided(exporter, step))
        conclude(exporter);
    else
        receive_rest(exporter);
}

void span_exporter_resolved(struct span_exporter *exporter, const struct io_event *event) {
    enum host_lookup_step step = host_lookup_take(&exporter->lookup, event);
    uint32_t bytes;
    if (step == HOST_LOOKUP_OPEN || exporter->state != EXPORTER_RESOLVING)
        return;
    if (host_lookup_address(&exporter->lookup, &bytes))
        dial(exporter);
    else
        conclude(exporter);
}

// --- Its life

struct span_exporter *span_exporter_create(struct shard *shard) {
    struct span_exporter *exporter = memory_take_zeroed(1, sizeof *exporter);
    char node[NODE_BYTES + 1] = "";
    if (!exporter)
        return NULL;
    assert(shard->index == 0);
    exporter->shard = shard;
    exporter->url = &shard->hub->start_settings.collector_url;
    host_lookup_init(&exporter->lookup, shard->io, shard->hub->start_settings.resolvers[FEATURE_TRACE],
                     FEATURE_TOKEN(FEATURE_TRACE, TRACE_TOKEN_RESOLVER));
    collector_place(&exporter->collector, exporter->url);
    exporter->socket = -1;
    exporter->pause_ms = PAUSE_MS;
    list_init(&exporter->waiting);
    timer_init(&exporter->timer, FEATURE_KIND(FEATURE_TRACE, TRACE_TIMER_EXPORTER));
    text_init(&exporter->preamble);
    text_init(&exporter->head);
    hub_node(shard->hub, node);
    trace_span_put_head(&exporter->preamble, PATCHBAY_VERSION, node);
    if (exporter->preamble.failed) {
        span_exporter_destroy(exporter);
        return NULL;
    }
    return exporter;
}

void span_exporter_destroy(struct span_exporter *exporter) {
    assert(exporter->state == EXPORTER_IDLE && list_empty(&exporter->waiting) && !exporter->lookup.receives);
    wheel_disarm(&exporter->timer);
    text_deinit(&exporter->preamble);
    text_deinit(&exporter->head);
    memory_give(exporter);
}

// The drain's time begins with HUB_DRAINING. Spans of requests that end with the hub have LAST_MS more.
void span_exporter_drain(struct span_exporter *exporter) {
    struct shard *shard = exporter->shard;
    uint64_t drain_ms = shard_limits(shard)->drain_timeout_ns / 1000000;
    assert(shard->phase == HUB_DRAINING || shard->phase == HUB_CLOSING);
    if (shard->phase == HUB_DRAINING) {
        exporter->until_ms = now_ms(exporter) + drain_ms;
        return;
    }
    uint64_t last_ms = now_ms(exporter) + (drain_ms < LAST_MS ? drain_ms : LAST_MS);
    exporter->until_ms = exporter->until_ms > last_ms ? exporter->until_ms : last_ms;
    exporter->hurries = true;
    if (exporter->state == EXPORTER_IDLE)
        schedule(exporter);
    else if (exporter->state != EXPORTER_CLOSING)
        arm_deadline(exporter);
}

bool span_exporter_holds(const struct span_exporter *exporter) {
    return atomic_load_explicit(&trace_hub_of(exporter->shard)->spans, memory_order_relaxed) > 0 ||
           exporter->state != EXPORTER_IDLE || exporter->lookup.receives;
}

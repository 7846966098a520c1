// `patchbay record`: writes a tap with whole bodies to a file, as lines of JSON. The first line is
// {"patchbay-recording":1}, the last line {"recorded":N,"missed":M}. Success: the command ends with status 0 at an
// interrupt, or when its time is over. Failure: the file exists or can't be written (status 2 before the first request,
// else 1), the hub refuses the tap (status 1), or closes (status 3).
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "tools/commands.h"
#include "tools/input.h"
#include "tools/output.h"
#include "tools/tap_stream.h"

struct recording {
    FILE *file;
    const char *path;
    struct text params;
    uint64_t for_ns;
    uint64_t recorded, missed;
};

// Writes the entries of a hub/tapped. Returns false if the file can't be written.
static bool take_entries(void *context, const uint8_t *body, struct span params) {
    struct recording *recording = context;
    struct json_item entries = json_member(body, params, "entries"), entry;
    struct json_item missed = json_member(body, params, "missed");
    struct json_walk walk;
    uint64_t count = 0;
    if (missed.type == JSON_NUMBER && json_number_whole(body, missed.value, &count)) {
        recording->missed += count;
    }
    if (entries.type != JSON_ARRAY) {
        return true;
    }
    json_walk_begin(&walk, body, entries.value);
    while (json_next(&walk, &entry) == JSON_ITEM) {
        output_line(recording->file, body + entry.value.at, entry.value.bytes);
        recording->recorded++;
    }
    return fflush(recording->file) == 0;
}

static void put_string(struct text *params, const char *name, const char *value) {
    text_put(params, ",\"");
    text_put(params, name);
    text_put(params, "\":");
    text_string(params, value, strlen(value));
}

static bool read_arguments(struct recording *recording, int argc, char **argv) {
    static const struct option options[] = {{"agent", required_argument, NULL, 'a'},
                                            {"method", required_argument, NULL, 'm'},
                                            {"for", required_argument, NULL, 'f'},
                                            {0}};
    int option;
    text_put(&recording->params, "{\"body\":16777216,\"rate\":100000");
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        bool is_name = option == 'a' || option == 'm';
        if (is_name && input_is_text(optarg)) {
            put_string(&recording->params, option == 'a' ? "agent" : "method", optarg);
        } else if (option != 'f' || !units_time(optarg, &recording->for_ns) || recording->for_ns == 0) {
            return false;
        }
    }
    text_add(&recording->params, "}", sizeof "}");
    recording->path = argv[optind];
    return optind + 1 == argc && !recording->params.failed;
}

// Opens the recording's file, which no other user may read. Never overwrites an existing file.
static bool open_file(struct recording *recording) {
    int file = open(recording->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    recording->file = file < 0 ? NULL : fdopen(file, "w");
    if (recording->file == NULL) {
        fprintf(stderr, "patchbay: %s: %s\n", recording->path, strerror(errno));
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    fputs("{\"patchbay-recording\":1}\n", recording->file);
    return true;
}

static enum status close_file(struct recording *recording, enum status status) {
    fprintf(recording->file, "{\"recorded\":%" PRIu64 ",\"missed\":%" PRIu64 "}\n", recording->recorded,
            recording->missed);
    bool failed = ferror(recording->file) != 0;
    failed |= fclose(recording->file) != 0;
    if (failed) {
        fprintf(stderr, "patchbay: %s can't be written\n", recording->path);
        return status == STATUS_DONE ? STATUS_REFUSED : status;
    }
    fprintf(stderr, "record: %" PRIu64 " entries, %" PRIu64 " missed\n", recording->recorded,
            recording->missed);
    return status;
}

enum status command_record(int argc, char **argv, const char *hub) {
    struct recording recording = {0};
    enum status status = STATUS_USAGE;
    if (!read_arguments(&recording, argc, argv)) {
        status = usage("record");
    } else if (open_file(&recording)) {
        struct tap_stream stream = {.hub = hub,
                                    .params = recording.params.bytes,
                                    .for_ns = recording.for_ns,
                                    .take = take_entries,
                                    .context = &recording};
        status = close_file(&recording, tap_stream_follow(&stream));
    }
    text_deinit(&recording.params);
    return status;
}

// See load_server.h. Success: a line of /proc/PID/status, a member of hub/stats. Failure: a process that is
// gone, or a hub that is none, is an error for the caller, who then reports nothing of it.
#include "bench/load/load_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

int server_memory(pid_t pid, struct server_memory *memory) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -errno;
    }
    int found = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long long kib;
        if (sscanf(line, "VmRSS: %llu", &kib) == 1) {
            memory->resident_bytes = kib * 1024;
            found++;
        } else if (sscanf(line, "RssAnon: %llu", &kib) == 1) {
            memory->anonymous_bytes = kib * 1024;
            found++;
        }
    }
    fclose(file);
    return found == 2 ? 0 : -EIO;
}

static bool counter(const struct client_answer *answer, const char *name, uint64_t *value) {
    struct json_item found = json_member(answer->body.bytes, answer->value, name);
    return found.type == JSON_NUMBER && json_number_whole(answer->body.bytes, found.value, value);
}

int server_work(struct client *client, struct server_work *work) {
    struct client_answer answer;
    int error = client_call(client, "hub/stats", NULL, &answer);
    if (error < 0) {
        return error;
    }
    bool told = !answer.refused && counter(&answer, "kernel_entries", &work->kernel_entries) &&
                counter(&answer, "frames_received", &work->frames);
    return told ? 0 : -EPROTO;
}

pid_t server_pid(const char *hub) {
    struct client client;
    if (client_open(&client, hub) < 0) {
        return 0;
    }
    struct ucred peer = {0};
    socklen_t bytes = sizeof peer;
    struct client_answer answer;
    uint64_t pid = 0;
    if (getsockopt(client.socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.pid > 0) {
        pid = (uint64_t)peer.pid;
    } else if (client_call(&client, "hub/stats", NULL, &answer) < 0 || answer.refused ||
               !counter(&answer, "pid", &pid)) {
        pid = 0;
    }
    client_close(&client);
    return pid <= INT32_MAX ? (pid_t)pid : 0;
}

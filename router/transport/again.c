#include "router/transport/again.h"

#include <assert.h>
#include <string.h>

#include "router/transport/returning.h"

// Where many hubs are short of something, what each is asked in vain must not be what they are short of.
enum { AGAIN_MAX = 16, REFUSAL_BYTES_MAX = 64 << 10 };

bool again_may_have(const struct crossing *crossing, const char hub[HUB_NAME_BYTES]) {
    const struct refusal *refusal = crossing_refusal(crossing);
    const char *asked = crossing->taker ? crossing->taker->name : refusal ? refusal->last : NULL;
    assert(!crossing->taker || !crossing->waits);
    return !asked || memcmp(asked, hub, HUB_NAME_BYTES) == 0;
}

static void note_asked(struct refusal *refusal, const struct neighbour *neighbour) {
    assert(refusal->count <= AGAIN_MAX);
    refusal->count++;
    if (neighbour && neighbour->place < NEIGHBOURS_MAX)
        refusal->asked[neighbour->place / 64] |= UINT64_C(1) << neighbour->place % 64;
}

bool again_keep(struct link *link, struct crossing *crossing, const struct hub_header *mark,
                const struct frame *said) {
    assert(mark->given && mark->has_hub && mark->refused);
    if (!crossing->kept || crossing->taker || crossing->kind == SUBJECT_AGENT)
        return false;
    if (crossing_refusal(crossing))
        return true;
    uint32_t bytes = said->body.bytes;
    struct crossing_rest *rest =
        bytes <= REFUSAL_BYTES_MAX ? crossings_rest(&link->crossings, crossing) : NULL;
    struct refusal *refusal = rest ? quota_take(&link->shard->kept, sizeof *refusal + bytes) : NULL;
    if (!refusal)
        return false;
    *refusal = (struct refusal){.bytes = bytes};
    memcpy(refusal->text, frame_body(said), bytes);
    memcpy(refusal->last, mark->hub, HUB_NAME_BYTES);
    note_asked(refusal, neighbours_find(&link->crossings.neighbours, mark->hub));
    rest->refusal = refusal;
    return true;
}

// An older hub would say nothing to it, or give it to whom its user's lines here keep it from.
static bool may_ask(const struct crossing *crossing, const struct neighbour *neighbour) {
    const struct refusal *refusal = crossing_refusal(crossing);
    bool is_older = !neighbour->is_joint || (neighbour->is_unfenced && crossing->fenced);
    return !is_older && neighbour->place < NEIGHBOURS_MAX &&
           !(refusal->asked[neighbour->place / 64] >> neighbour->place % 64 & 1);
}

bool again_next(struct link *link, struct crossing *crossing) {
    const struct list *all = &link->crossings.neighbours.all, *node = all->next;
    struct refusal *refusal = crossing_refusal(crossing);
    assert(refusal && !crossing->taker && !crossing->waits);
    while (node != all && !may_ask(crossing, list_entry(node, struct neighbour, link)))
        node = node->next;
    if (node == all || refusal->count > AGAIN_MAX || crossing->cancelled || !link_is_current(link))
        return false;
    const struct neighbour *next = list_entry(node, struct neighbour, link);
    note_asked(refusal, next);
    memcpy(refusal->last, next->name, HUB_NAME_BYTES);
    return returning_again(link, crossing, next->name);
}

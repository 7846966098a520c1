// Parts of messages: ids, filler, header fields, and the records and frames that come out. compose.c says in
// what order.
#pragma once

#include "tests/sim/run.h"

// From loose to strict.
extern const char *const parts_level_names[];

// A message that is being written.
struct parts {
    struct draft fields, body;
    char id[ID_BYTES_MAX];
    const struct flaw *flaw; // NULL: none
    size_t flaw_at, flaw_end;
    bool judged;     // strictly
    bool breaks;     // strings may hold raw line breaks
    unsigned levels; // that are open where the filler's values stand
};

// A record for what is being written; NULL when the run has enough of them.
struct record *parts_record(struct run *run, struct guest *guest, enum record_kind kind);

// An id of the guest's: its k-th is spelled as every other guest's k-th, so that ids collide.
void parts_next_id(struct run *run, struct guest *guest, char *id);
void parts_put_space(struct run *run, struct draft *draft);
// The member "filler": what a careless reader would stumble over, and what flaws there are for it.
void parts_put_filler(struct run *run, struct parts *parts);
// The flaw, with what goes before and behind it, if there is one for this place; false if there is none.
bool parts_put_flaw(struct parts *parts, enum flaw_place place, const char *before, const char *behind);
// The member "id"; the record learns where it stands.
void parts_put_id(struct record *record, struct parts *parts);
// Header fields, those of the batch if one is being gathered.
void parts_put_fields(struct run *run, const struct guest *guest, struct record *record, struct draft *draft);
// Progress tokens, by chance, each with a comma behind it (reports.c).
void reports_put_tokens(struct run *run, struct parts *parts);
// The message is written: it goes into the batch that is being gathered, else into a frame of its own. Takes
// the drafts over.
void parts_seal(struct run *run, struct guest *guest, struct record *record, struct parts *parts);

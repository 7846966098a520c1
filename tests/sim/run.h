// A run of the simulation: a hub, guests that talk to it, faults, and an oracle that knows what each message's fate may
// be. All of it follows from one seed.
//
// A guest is a peer with a mind of its own: source and agent at once. Each message has a record under a tag. The tag is
// in the body, so that the guest that receives the message finds the record and compares.
#pragma once

#include "tests/sim/draft.h"
#include "tests/sim/flaws.h"
#include "tests/sim/naive.h"
#include "tests/sim/web.h"
#include "tests/sim/world.h"

enum {
    GUESTS_MAX = 40,
    NAMES_MAX = 24,
    METHODS_MAX = 3,
    RECORDS_MAX = 4096,
    DUTIES_MAX = 256,
    DUES_MAX = 512,
    RECORD_DATA_BYTES_MAX = 160,
    PROGRESS_TOKENS = 3,
    GIVEN_BYTES_MAX = 40,
    ID_BYTES_MAX = 260,
    SIM_LANES = 2,
    PATTERNS_MAX = 16,
    WISHES_MAX = 16,
    TIMES_MAX = 16,
    NOBODY = -1,
    WALL_STEPS_MAX = 64,
    JOURNALS_MAX = 16,
};

enum record_kind { RECORD_ASK, RECORD_TELL, RECORD_ANSWER };

// Where a request or notification is meant to go.
enum address_kind { TO_HUB, TO_NAME, TO_METHOD, TO_NOBODY, TO_TOPIC, TO_ASKER };

// A point in time, by the wall clock and how often that has been set before.
struct moment {
    unsigned step;
    uint64_t ms;
};

// The member by which a result of the hub's tells what it answers.
struct hub_result {
    const char *path;  // NULL: the result is null
    const char *value; // NULL: any
};

struct record {
    enum record_kind kind;
    enum address_kind to;
    int source; // guest
    int name;   // index of the agent's name, of the method, or of the event; a report's request
    int expect; // the guest that had read that it holds the name (or offers the method) when this was sent,
                // or NOBODY
    uint8_t *memory;
    struct bit fields; // as they must arrive
    struct bit body;   // as sent
    struct moment composed;
    size_t id_at, id_bytes;
    int governance;  // required level
    bool flawed;     // the hub must refuse it, or not use it
    int32_t refusal; // the one error that a flawed request must end with; 0: one that bears no id
    char data[RECORD_DATA_BYTES_MAX]; // members that the data of that error has
    bool voided;                      // a member of a batch of which nothing is routed
    bool endless;                     // no end bears its id
    uint8_t lane;
    bool short_timeout;
    bool while_draining;
    bool never; // must not be delivered
    bool ping;
    bool trial;         // a registration, or its end, that may have to wait for others of its guest
    int able;           // of a group, who had read that it is in it and supports the level, or NOBODY
    bool own_source;    // it says that it comes from the agent that its guest is
    bool journaled;     // if it is right it goes into the journal
    int32_t unroutable; // the error that it ends with where nobody is there for it
    struct hub_result result;
    char given[PROGRESS_TOKENS][GIVEN_BYTES_MAX]; // its progress tokens, as its target got them
    unsigned token;                               // of its request: under which it reports
    bool batched;                                 // sent as a member of a batch

    unsigned ended, delivered;
    int delivered_to;
    uint64_t hub_id; // that it was delivered with
    bool cancelled;  // its target was told
    bool guessed;    // ended by an error that bore its id: it may have been another one with the same id
    bool ignored;    // the agent won't answer
    bool broken_answer;
    bool secured;  // its answer was wholly written before the agent half-closed: it must arrive
    int answers;   // the tag of the request
    int cancels;   // likewise, of a cancel; else NOBODY
    bool absent;   // it takes back a name that its guest hasn't
    bool copied;   // who lists the journal's method is told of it
    bool attaches; // its guest, to
    int to_attach; // the agent of this name

    // For an event; guests as bits.
    uint64_t sure;   // had read that they subscribe to it when it was sent, and meant to go on
    uint64_t heard;  // got it
    int64_t reached; // how many the hub says got it; -1: it hasn't said
    bool refused;
};

struct duty {
    int tag;
    char id[24];
};

// An error without an id that a guest must get (dues.c).
struct due {
    int32_t code;
    const char *data;                 // members that its data has
    size_t offset_least, offset_most; // where in the frame its data says that the fault is; 0: anywhere
    bool batched;                     // in an array
    bool last;                        // nothing comes after it: it is for a framing error
};
struct dues {
    struct due list[DUES_MAX];
    unsigned count;
};

// A batch that a guest is putting together: the first member's header fields are all members'.
struct gathering {
    bool open;
    unsigned count;
    struct draft fields, members;
    int governance;
    bool short_timeout;
    unsigned first;   // record
    struct dues dues; // of members
    bool stateful;    // what a member changes is known: it isn't made void
    bool is_void;     // instead of them this one
    struct due void_due;
};

// The patterns that a guest has asked for, in their order.
struct wish {
    unsigned count;
    uint8_t patterns[PATTERNS_MAX];
};

// An answer that is due to a change of them, and its text. Changes by notifications since the change before
// this one may or may not be in force meanwhile.
struct wish_due {
    int tag; // of the request
    struct wish wish;
    unsigned ever, always; // bits: asked for at some time since then, and all the time
};

// Events that a guest wants to hear of (events.c).
struct hearing {
    unsigned listed;                 // bits: patterns that its agent lists
    struct wish wish;                // when all that it composed is done
    unsigned ever, always;           // as in a due, since the last of them
    struct wish_due due[WISHES_MAX]; // in the order in which they were composed
    unsigned due_count;
    int answered;            // the latest request that was
    unsigned sure;           // bits: asked for, confirmed, and not to be taken back
    int until[PATTERNS_MAX]; // events with this tag and later ones don't come by this pattern
    unsigned told;           // how many events the hub said that it missed
    uint64_t absent;         // bits: agents that it was told have left, and not that they have come again
    unsigned told_before;    // `told`, when it heard of such a change last
};

struct guest {
    int index;
    struct cable *cable;
    bool lines; // it speaks one JSON text a line
    struct socket socket;
    struct caller caller;
    struct subscribing subscriber;
    bool torn; // and has left in the middle of one
    int name;  // NOBODY: it registers nothing
    int level;
    unsigned methods; // bits
    int registration; // the record by which it registers, or NOBODY
    bool registered;  // has read that it is
    struct moment arrived, heard_registered;
    char session[40]; // its sessionId with quotes, if it was told
    bool leaving;     // has begun to leave, or to lose its name
    bool doomed;      // has said what must end the connection
    bool shutting;    // will half-close
    bool shut;        // has half-closed
    bool gone;        // has closed, or was closed
    bool stubborn;    // doesn't close when the hub half-closes
    bool ended_by_hub;
    unsigned plan;  // things still to do
    uint32_t reads; // in thousandths: how eagerly
    size_t piece;   // how much it reads at a time; 0: it doesn't read by time
    uint64_t reads_at_ns;
    bool breaks;   // its framing
    bool stalled;  // in the middle of a frame
    bool exits;    // has said so
    bool silenced; // has read the answer to its framing error
    struct queue_bytes out, in;
    struct gathering gathering;
    struct hearing hearing;
    struct duty duties[DUTIES_MAX];
    unsigned duty_count;
    unsigned ids;
    unsigned null_errors;
    struct dues dues;
    bool cancels;   // has cancelled something
    bool more;      // has another name, if all that it composed is done
    bool logs;      // its agent lists the journal's method
    bool attaches;  // it says little but what goes by a target, or to the one that it is attached to
    bool attaching; // it has asked for that, and doesn't know what came of it
    int attached;   // to the agent of this name, or NOBODY
    // patience.c
    unsigned deaf_after; // so many looks it stops reading; 0: it doesn't
    bool deaf;
    bool halts, halted; // stops in the middle of what it has to say; has done so
    bool has_halted;    // once, though it may go on since the hub drains
    bool slow;          // sends at a pace that is just good enough
    uint64_t writes_ns; // when it goes on, if it is slow
    bool goes;          // goes altogether after it has half-closed
    bool judged;        // that the hub closed it
    uint64_t shut_ns;   // when it half-closed
    uint64_t gone_ns;   // when the hub can know at last that it has gone
    int last_tag[GUESTS_MAX][SIM_LANES];
};

// The kind of a run.
struct profile {
    bool clean;      // no faults, nobody leaves
    bool strict;     // the hub judges all of a body
    uint32_t tokens; // in thousandths: how many calls carry progress tokens
    uint32_t flaws;  // in thousandths: how many messages have a flaw, or what looks like one
    bool lossy;      // connections may be lost to the network or to limits
    bool tight;      // limits may refuse requests
    bool counted;    // no event is lost without being counted at its subscriber
    bool drain_early;
    bool leavers;         // guests leave, half-close, return
    bool rude;            // guests send what isn't right
    bool silent;          // agents that don't answer
    uint32_t lines;       // in thousandths: how many guests speak lines
    uint32_t subscribers; // likewise, of those who only listen
    uint32_t callers;     // of the others, how many speak HTTP
    uint32_t sockets;     // of those who are left, how many speak WebSocket
    bool steady;          // queues are narrow, and guests read slowly, but read
    bool flood;           // of tiny events (flood.c)
    uint32_t big_bytes_max;
    bool timed;        // the configuration's times are short, and change; nothing else closes connections
    bool leave;        // who half-closes has left
    bool small_queue;  // slow readers may be closed
    bool sure_cancels; // no cancel is lost for want of memory or room
};

// The configuration from some time on.
struct times {
    uint64_t since_ns, idle_ns, frame_ns;
};

// The wall clock between one time when it was set and the next, and the journal's files.
struct wall {
    unsigned steps;
    uint64_t begun_ms[WALL_STEPS_MAX], ended_ms[WALL_STEPS_MAX];
    size_t journal_checked[JOURNALS_MAX]; // bytes
};

struct run {
    struct wall wall;
    struct world world;
    struct profile profile;
    struct random *random; // the world's
    struct guest *guests[GUESTS_MAX];
    unsigned guest_count;
    struct record *records[RECORDS_MAX];
    unsigned record_count;
    struct {
        uint64_t id; // a hub id that an agent has seen
        int guest;
    } seen[64];
    unsigned seen_count;
    struct limits limits; // as the configuration's file has them
    struct times times[TIMES_MAX];
    unsigned time_count;
    bool draining;
    bool narrowed;     // the bounds of frames and header blocks have changed
    bool late;         // requests may time out: guests are slow, or have stalled
    bool in_array;     // what the oracle looks at came in one
    bool settled;      // somebody has been registered
    uint64_t acted_ns; // when a guest last did something
    bool idles;        // what it did was but a sign of life
};

// Runs one seed; ends the program when the oracle finds something wrong. Returns the trace, in which the
// table secret (world_options) doesn't show.
uint64_t run_seed(uint64_t seed, bool clean, uint64_t table_secret);
// Prints the counts of all runs so far, for a person to see that the runs did something.
void run_print_totals(void);

// --- compose.c: messages

// A record of a message by this guest, queued to be written; NULL when the run has enough of them.
struct record *compose_ask(struct run *run, struct guest *guest, enum address_kind to, int name);
struct record *compose_tell(struct run *run, struct guest *guest, enum address_kind to, int name);
// Asks who is here, or who it is itself.
void compose_question(struct run *run, struct guest *guest);
struct record *compose_ping(struct run *run, struct guest *guest);
struct record *compose_register(struct run *run, struct guest *guest);
// Answers a duty, perhaps so that the hub must end the request with an error of its own.
struct record *compose_answer(struct run *run, struct guest *guest, const struct duty *duty);
// An answer to an id that this guest was never asked with.
struct record *compose_spoof(struct run *run, struct guest *guest, uint64_t id);
// Something that isn't a message: answered with an error without an id, or (`framing`) the end of the
// connection.
void compose_junk(struct run *run, struct guest *guest, bool framing);
// A request or notification of any kind.
struct call {
    enum record_kind kind;
    enum address_kind to;
    int name;
    const char *method;
    const char *extra;       // goes into params, with a comma behind it; NULL: nothing
    const struct flaw *flaw; // NULL: none
    bool targetless;         // params.targetAgent doesn't tell where it goes
    bool plain;              // no priority is added
    bool judged;             // strictly, whatever the hub's depth is
    int32_t unroutable;      // 0: as is usual for where it goes
};
struct record *compose_call(struct run *run, struct guest *guest, const struct call *call);
// The guest that had read, by now, that it can be reached as such a record says; NOBODY: there is none.
int compose_expected(const struct run *run, const struct record *record);
// A flaw, in so many thousandths of all cases, for a message of this guest's of the kind that the bit tells;
// else NULL.
const struct flaw *compose_flaw(struct run *run, const struct guest *guest, unsigned in, uint32_t per_mille);
// From now on all that this guest composes goes into one batch, until that is ended.
void compose_batch_begin(const struct run *run, struct guest *guest);
void compose_batch_end(struct run *run, struct guest *guest);
int record_tag(const struct run *run, const struct record *record);

// --- forms.c: the hub's methods in every form

// Composes a form that says nothing of what the guest is or wants; as a request or a notification, alone or
// in a batch.
void forms_compose(struct run *run, struct guest *guest);
// Takes another name, or takes it back.
void forms_name(struct run *run, struct guest *guest);
// "exit" or "shutdown".
void forms_leave(struct run *run, struct guest *guest, const char *method);

// --- remote_attach.c: guests that are attached to an agent

// Decides whether a guest that has come attaches itself to agents.
void attaching_begin(struct run *run, struct guest *guest);
// Composes a message of a guest that may be attached: one without a target, hub/attach for the agent `name`, or one
// that names that agent.
void attaching_compose(struct run *run, struct guest *guest, bool ask, int name);
// The hub has answered that it attaches itself.
void attaching_answered(struct guest *guest, const struct record *record, const struct naive_frame *frame);

// --- cancel_request.c: cancels

// Cancels something that this guest has asked, in some form.
void cancelling_compose(struct run *run, struct guest *guest, const struct record *record);
// Returns whether it is a cancel, in whatever form.
bool cancelling_is(struct bit body);
// A cancel has come.
void cancelling_check(struct run *run, struct guest *guest, const struct naive_frame *frame);

// --- splices.c: what arrives of a body that isn't passed as it was sent

// A stretch of what was sent, in whose place this arrives.
struct splice {
    size_t at, bytes;
    struct bit value;
};
bool splices_same(struct bit sent, const struct splice *splices, unsigned count,
                  const struct naive_frame *frame);
// Returns whether the header fields that came with it have arrived: a line has none.
bool splices_fields_same(const struct record *record, const struct naive_frame *frame);
// Returns the splice of a request that arrives as a notification. The splice cuts out the id's member, and the comma
// behind the member or else before it. For a notification nothing is.
struct splice splices_id_member(const struct record *record);
// Returns whether it arrives as a notification, with nothing else changed.
bool splices_told(const struct record *record, const struct naive_frame *frame);

// --- events.c: events and who hears of them

// Decides what the guest's agent lists; writes it as JSON for its capabilities.
void events_list(struct run *run, struct guest *guest, char *out, size_t capacity);
// Publishes one, as a request or not, or several.
void events_compose(struct run *run, struct guest *guest, bool ask);
// Asks for some patterns, or takes some back, by a request or a notification.
void events_change_wish(struct run *run, struct guest *guest);
// Writes the query of a stream for a guest that only listens, which is open.
size_t events_query(struct run *run, struct guest *guest, char *out, size_t capacity);
void events_streaming(struct guest *guest);
// An event has come.
void events_check(struct run *run, struct guest *guest, struct record *record, int tag,
                  const struct naive_frame *frame);
// The hub has answered what a guest asked it: true when that was about events.
bool events_answered(struct run *run, struct guest *guest, const struct naive_frame *frame);
// A request ended with an error of the hub's: this one, or another one with the same id.
void events_refused(struct run *run, struct record *record);
// hub/dropped has come.
void events_told(struct run *run, struct guest *guest, const struct naive_frame *frame);
// Returns whether the frame tells of an agent that has come or gone; and checks it.
bool events_is_presence(const struct naive_frame *frame);
void events_presence(struct run *run, struct guest *guest, const struct naive_frame *frame);
// All has come to rest: the books must balance.
void events_rest(const struct run *run);

// --- hugai.c: the methods of HugAI v2

// Returns whether guests of this run speak them: to a strict hub, and to a lazy one what it puts into its journal.
bool hugai_spoken(const struct run *run);
// Composes a message of HugAi's methods, right or with a wrong field. A message to an agent goes to the agent called
// `name`.
void hugai_compose(struct run *run, struct guest *guest, bool ask, int name);

// --- reports.c: progress tokens and reports

// Returns whether a call or an answer has arrived as it was sent, with `id` where its id was, and others for its
// progress tokens. A report's id is its token.
bool reports_same(const struct record *record, const struct naive_frame *frame, struct bit id);
// Keeps the tokens that a request has arrived with.
void reports_note(struct record *record, const struct naive_frame *frame);
// The token under which a report must arrive: the one that its request was sent with.
struct bit reports_token(const struct run *run, const struct record *report);
// The guest, which was asked this, reports; false when there is nothing to report under.
bool reports_compose(struct run *run, struct guest *guest, int tag);
// Reports on a request that it has answered, or wasn't asked.
void reports_spoof(struct run *run, struct guest *guest, int tag);

// --- liners.c: guests that speak one JSON text a line

// Connects the guest, which speaks lines or doesn't; NULL when nobody listens.
struct cable *liners_dial(struct run *run, bool lines);
// Makes what a guest of lines has composed fit a line.
void liners_fit(struct draft *body);
// Writes it.
void liners_put(struct run *run, struct guest *guest, const void *body, size_t count);
// Something that isn't a message; `long_too`: perhaps a line that ends the connection.
void liners_junk(struct run *run, struct guest *guest, bool long_too);
// The begin of a line that never ends.
const char *liners_start(struct run *run);
// The guest is about to write its last bytes and to half-close: perhaps its last line has no line feed.
void liners_end(struct run *run, struct guest *guest);
// Returns whether it has written a line without its feed, and no more.
bool liners_open(const struct guest *guest);
// Notes that the guest is about to close, perhaps in the middle of a line, which is one all the same.
void liners_left(const struct run *run, struct guest *guest);

// --- pace.c: reading by time, and ends

// Decides whether a guest that has come reads by time.
void pace_choose(const struct run *run, struct guest *guest);
// From now on it reads so.
void pace_take(const struct run *run, struct guest *guest);
// Returns whether it doesn't read yet; that it has read.
bool pace_rests(const struct run *run, const struct guest *guest);
void pace_has_read(const struct run *run, struct guest *guest);
// When the next one reads that has something to read; UINT64_MAX: there is none.
uint64_t pace_next_ns(const struct run *run);
// The guest begins a frame that never ends.
void pace_stall(struct run *run, struct guest *guest);
// Exits, with much still due.
void pace_exit(struct run *run, struct guest *guest);
// The guest's connection has come to its end: all that was due before must have come.
void pace_check_end(const struct run *run, const struct guest *guest);

// --- trials.c: what is refused as a whole

// Tries something that the hub must refuse; what needs somebody is addressed to this name.
void trials_compose(struct run *run, struct guest *guest, int name);
// Returns whether one of its registrations may be under way, which takes room from its subscriptions.
bool trials_open(const struct run *run, const struct guest *guest);
// All has come to rest: what was registered, and what nothing has ended, is there on all shards.
void trials_rest(const struct run *run);

// --- dues.c: errors without an id, and what is counted

void dues_add(struct dues *dues, struct due due);
// An error without an id has come.
void dues_check(const struct run *run, struct guest *guest, const struct naive_frame *frame, int64_t code);
// Returns whether the data of an error has all of these members, an object.
bool dues_data_fits(const struct naive_frame *frame, const char *members);
// All has come to rest: none is still due, and the hub has counted what it dropped.
void dues_rest(const struct run *run);

// --- witness.c: times and the names of connections

void witness_begin(struct run *run);
struct moment witness_now(const struct run *run);
// Sets the wall clock, forward or back.
void witness_set_clock(struct run *run);
// The hub has answered something with a result of its own.
void witness_answer(struct run *run, struct guest *guest, const struct naive_frame *frame);
// Looks at the lines that have come to the journal.
void witness_journal(struct run *run);

// --- guest.c: behaviour

struct guest *guest_arrive(struct run *run, int name);
// Does something; false when there is nothing to do.
bool guest_act(struct run *run, struct guest *guest);
void guest_leave(const struct run *run, struct guest *guest);
void queue_bytes_add(struct queue_bytes *queue, const void *bytes, size_t count);

// --- patience.c: guests that take their time, and the configuration's times

// Draws the times that hold at first.
void patience_choose(struct run *run, uint64_t seed, struct world_options *options);
// Perhaps changes them.
void patience_reload(struct run *run);
// Draws how patient a guest is; from now on it is as others are.
void patience_begin(struct run *run, struct guest *guest);
void patience_end(struct guest *guest);
// Returns whether it reads still.
bool patience_reads(struct guest *guest);
// Returns how much of a piece the guest writes now.
size_t patience_piece(struct run *run, struct guest *guest, size_t piece);
// The guest has half-closed; perhaps it goes altogether (true: it will, or did); it is about to close.
void patience_shut(struct run *run, struct guest *guest);
bool patience_goes(struct run *run, struct guest *guest);
void patience_left(const struct run *run, struct guest *guest);
// When a guest goes on by itself; UINT64_MAX: never.
uint64_t patience_next_ns(const struct run *run);
// A guest sees that the hub has closed its connection.
void patience_closed(const struct run *run, struct guest *guest);
// Returns whether a guest that has half-closed, and whose connection the hub has ended, must have all its answers
// though others may lose theirs.
bool patience_is_answered(const struct run *run, const struct guest *guest);
// Nothing more happens before next_ns: what must have happened by then has.
void patience_check(const struct run *run, uint64_t next_ns);

// --- oracle.c: judgement

struct totals {
    uint64_t asked, answered, refused, told, delivered, null_errors, lost, runs, events, heard, missed;
    uint64_t strict, flawed, reports, cancels, forms; // runs; messages
    uint64_t witnessed;                               // lines of journals
    uint64_t liners, sockets, callers, subscribers;   // guests of lines, of WebSocket and of HTTP
    uint64_t attached;                                // messages without a target
};
extern struct totals totals;

// A message keeps its place among those of its source and priority.
void oracle_order(struct run *run, struct guest *guest, const struct record *record, int tag,
                  const struct naive_frame *frame);
// A request ends.
void oracle_end_once(struct run *run, struct record *record, const struct naive_frame *frame);
// A guest has received a frame. True when it now has something to answer, in the guest's last duty.
bool oracle_frame(struct run *run, struct guest *guest, const struct naive_frame *frame);
// A guest has seen its connection end.
void oracle_end(struct run *run, struct guest *guest);
// All has come to rest (`stopped`: because the hub has ended).
void oracle_rest(struct run *run, bool stopped);
__attribute__((noreturn)) void oracle_fail(const struct run *run, int tag, const struct naive_frame *frame,
                                           const char *what);

#include "tests/sim/flaws.h"

#include <limits.h>

#define CALL (FLAW_IN_ASK | FLAW_IN_TELL)
#define ANY  (CALL | FLAW_IN_ANSWER)

// Blocks of 64 bytes, whatever it begins at.
#define LONG                                                                                                 \
    "more plain text than the hub looks at in one step, and than it looks at in the next one, too, since "   \
    "it "                                                                                                    \
    "is meant to meet those steps that find nothing to do"

#define VERSION(text)                                                                                        \
    { FLAW_VERSION, ANY, text, -32602, "{\"field\":\"jsonrpc\",\"expected\":\"2.0\"}", true, false }
#define KEY(place, in, text, key, strict)                                                                    \
    { place, in, text, -32600, "{\"key\":\"" key "\"}", strict, false }
#define ID(text)                                                                                             \
    {                                                                                                        \
        FLAW_ID, FLAW_IN_ASK, text, -32600,                                                                  \
            "{\"fault\":\"an id must be a string or a number within the limit\",\"limit\":256}", false,      \
            false                                                                                            \
    }
#define BROKEN(text)                                                                                         \
    { FLAW_DEEP, ANY, text, -32700, "{\"fault\":\"the body is not JSON\"}", true, true }
#define OUTCOME(text)                                                                                        \
    { FLAW_OUTCOME, FLAW_IN_ANSWER, text, -32603, "{}", true, false }
#define NO_UTF8(text)                                                                                        \
    { FLAW_DEEP, ANY, text, -32600, "{\"fault\":\"the body is not UTF-8\"}", false, true }
#define BEHIND(text)                                                                                         \
    { FLAW_BEHIND, ANY, text, -32700, "{\"fault\":\"the body is not JSON\"}", false, true }
#define FINE(place, in, text)                                                                                \
    { place, in, text, 0, "{}", false, false }

static const struct flaw flaws[] = {
    VERSION("\"x\":1"),
    VERSION("\"jsonrpc\":\"1.0\""),
    VERSION("\"jsonrpc\":\"2.00\""),
    VERSION("\"jsonrpc\":\"2.\\u0030\\u0020\""),
    VERSION("\"jsonrpc\":2.0"),
    VERSION("\"jsonrpc\":[\"2.0\"]"),
    VERSION("\"jsonrpc\":null"),
    FINE(FLAW_VERSION, ANY, "\"jsonrpc\":\"2\\u002e0\""),
    FINE(FLAW_VERSION, ANY, "\"jsonrpc\"\t:\r\n\"2.0\""),

    KEY(FLAW_TOP, CALL, "\"method\":\"x\"", "method", false),
    KEY(FLAW_TOP, CALL, "\"m\\u0065thod\":\"x\"", "method", false),
    KEY(FLAW_TOP, CALL, "\"jsonrpc\":\"2.0\"", "jsonrpc", false),
    KEY(FLAW_TOP, CALL, "\"params\":{}", "params", false),
    KEY(FLAW_TOP, FLAW_IN_ANSWER, "\"error\":1,\"error\":2", "error", false),
    KEY(FLAW_TOP, ANY, "\"re\\u0073ult\":1", "result", false),
    KEY(FLAW_TOP, ANY, "\"Method\":\"x\"", "method", true),
    KEY(FLAW_TOP, ANY, "\"METHOD\":\"x\"", "method", true),
    KEY(FLAW_TOP, ANY, "\"Result\":1", "result", true),
    KEY(FLAW_TOP, ANY, "\"iD\":7", "id", true),
    KEY(FLAW_TOP, ANY, "\"\\u0049d\":7", "id", true),
    KEY(FLAW_TOP, ANY, "\"param\xc5\xbf\":{}", "params", true), // a long s, whose capital is S
    {FLAW_TOP, CALL, "\"result\":1", -32600,
     "{\"fault\":\"the body is neither a request, a notification nor a response\"}", false, false},
    FINE(FLAW_TOP, ANY, "\"TargetAgent\":\"nobody\",\"targetAgent\":7"),
    FINE(FLAW_TOP, ANY, "\"Priority\":1,\"methods\":[],\"i\\u0064s\":0"),

    ID("null"),
    ID("true"),
    ID("{\"a\":1}"),
    ID("[1]"),

    KEY(FLAW_PARAMS, CALL, "\"event\":\"a\",\"event\":\"b\"", "event", false),
    KEY(FLAW_PARAMS, CALL, "\"t\\u006fol\":1", "tool", false),
    KEY(FLAW_PARAMS, CALL, "\"_meta\":{\"progressToken\":1,\"progressToken\":2}", "progressToken", false),
    KEY(FLAW_PARAMS, CALL, "\"_meta\":{\"pro\\u0067ressToken\":1}", "progressToken", false),
    KEY(FLAW_PARAMS, CALL, "\"targetagent\":\"nobody\"", "targetAgent", true),
    KEY(FLAW_PARAMS, CALL, "\"Priority\":\"high\"", "priority", true),
    KEY(FLAW_PARAMS, CALL, "\"SourceAgent\":1", "sourceAgent", true),
    KEY(FLAW_PARAMS, CALL,
        "\"to\xe2\x84\xaa"
        "en\":1",
        "token", true), // the sign for kelvin
    KEY(FLAW_PARAMS, CALL, "\"_Meta\":{}", "_meta", true),
    KEY(FLAW_PARAMS, CALL, "\"_meta\":{\"ProgressToken\":1}", "progressToken", true),
    FINE(FLAW_PARAMS, CALL, "\"Method\":1,\"JSONRPC\":\"1.0\",\"Result\":{}"),
    FINE(FLAW_PARAMS, CALL, "\"deeper\":{\"Event\":1,\"event\":1,\"event\":2,\"\\u0069d\":3}"),
    FINE(FLAW_PARAMS, CALL, "\"_meta\":{\"TargetAgent\":1,\"Id\":2}"),

    {FLAW_SOURCE, CALL, "\"sourceAgent\":\"nobody\"", -32001,
     "{\"field\":\"params.sourceAgent\",\"agent\":\"nobody\"}", true, false},
    {FLAW_SOURCE, CALL, "\"sourceAgent\":\"no\\u0062ody\"", -32001,
     "{\"field\":\"params.sourceAgent\",\"agent\":\"nobody\"}", true, false},
    {FLAW_SOURCE, CALL, "\"sourceAgent\":\"\"", -32001, "{\"field\":\"params.sourceAgent\",\"agent\":\"\"}",
     true, false},
    {FLAW_SOURCE, CALL, "\"sourceAgent\":7", -32602,
     "{\"field\":\"params.sourceAgent\",\"expected\":\"string\"}", true, false},
    {FLAW_SOURCE, CALL, "\"sourceAgent\":[\"a\"]", -32602,
     "{\"field\":\"params.sourceAgent\",\"expected\":\"string\"}", true, false},

    OUTCOME("\"result\":{\"a\":1},\"error\":{\"code\":-1,\"message\":\"no\"}"),
    OUTCOME("\"result\":1,\"error\":null"),
    {FLAW_NO_OUTCOME, FLAW_IN_ANSWER, "\"x\":1", -32603, "{}", true, false},
    OUTCOME("\"error\":null"),
    OUTCOME("\"error\":{}"),
    OUTCOME("\"error\":[{\"code\":1,\"message\":\"m\"}]"),
    OUTCOME("\"error\":\"no\""),
    OUTCOME("\"error\":{\"code\":1}"),
    OUTCOME("\"error\":{\"message\":\"m\"}"),
    OUTCOME("\"error\":{\"code\":\"1\",\"message\":\"m\"}"),
    OUTCOME("\"error\":{\"code\":-1.5,\"message\":\"m\"}"),
    OUTCOME("\"error\":{\"code\":1,\"message\":7}"),
    OUTCOME("\"error\":{\"code\":1,\"message\":\"m\",\"c\\u006fde\":null}"),

    BROKEN("[1,]"),
    BROKEN("[,1]"),
    BROKEN("[1 2]"),
    BROKEN("[1:2]"),
    BROKEN("[{\"a\":1},,{}]"),
    BROKEN("{\"a\" 1}"),
    BROKEN("{\"a\":1,}"),
    BROKEN("{\"a\":}"),
    BROKEN("{\"a\"}"),
    BROKEN("{1:2}"),
    BROKEN("{\"a\":1 \"b\":2}"),
    BROKEN("{\"a\":1:2}"),
    BROKEN("nope"),
    BROKEN("tru"),
    BROKEN("nulL"),
    BROKEN("truefalse"),
    BROKEN("01"),
    BROKEN("-"),
    BROKEN("1."),
    BROKEN(".5"),
    BROKEN("1e"),
    BROKEN("1e+"),
    BROKEN("+1"),
    BROKEN("0x1"),
    BROKEN("1-2"),
    BROKEN("\"\\x\""),
    BROKEN("\"\\ug234\""),
    BROKEN("\"\\u1g34\""),
    BROKEN("\"\\u12g4\""),
    BROKEN("\"\\u123g\""),
    BROKEN("\"\\ud83\""),
    BROKEN("\"a\x01\""),
    BROKEN("\"\t\""),
    BROKEN("\"" LONG "\n" LONG "\""),
    BROKEN("\"" LONG "\\" LONG "\""),
    BROKEN("{\"" LONG "\" 1}"),
    BROKEN("[{]}"),
    BROKEN("{\"a\":[1}]"),
    BROKEN("'a'"),
    FINE(FLAW_DEEP, ANY, "\"\\ud83d\""),
    FINE(FLAW_DEEP, ANY, "1E400"),
    FINE(FLAW_DEEP, ANY, "-0.0e-0"),
    FINE(FLAW_DEEP, ANY, "\"\x7f\\u0000\\/\""),
    FINE(FLAW_DEEP, ANY, "{\"\":{\"a\":1,\"a\":2},\"\\u0000\":[[[]],{}]}"),

    NO_UTF8("\"\xff\""),
    NO_UTF8("\"" LONG "\xff" LONG "\""),
    NO_UTF8("\"" LONG LONG "\xe2\x82 " LONG "\""),
    NO_UTF8("\"\x80\""),
    NO_UTF8("\"\xc0\xaf\""),
    NO_UTF8("\"\xe2\x82\""),
    NO_UTF8("\"\xed\xa0\x80\""),
    NO_UTF8("\"\xf4\x90\x80\x80\""),
    NO_UTF8("\"\xf0\x8f\xbf\xbf\""),

    {FLAW_NEST, ANY, "", -32600, "{\"fault\":\"the body is nested too deeply\",\"limit\":1024}", true, true},
    FINE(FLAW_NEST, ANY, ""),

    BEHIND("}"),
    BEHIND(","),
    BEHIND("x"),
    BEHIND("7"),
    BEHIND("{}"),
    BEHIND("\x0b"),
};

enum { FLAWS = sizeof flaws / sizeof *flaws };

// The n-th of those that may stand in `in` at this place; NULL when there are no more than n, which *count
// tells.
static const struct flaw *nth(enum flaw_place place, unsigned in, unsigned n, unsigned *count) {
    *count = 0;
    for (unsigned index = 0; index < FLAWS; index++)
        if (flaws[index].place == place && flaws[index].in & in && (*count)++ == n)
            return &flaws[index];
    return NULL;
}

// First the place, so that each is met as often.
const struct flaw *flaw_choose(struct random *random, unsigned in) {
    unsigned count = 0;
    enum flaw_place place = FLAW_VERSION;
    while (count == 0) {
        place = random_below(random, FLAW_FIELD);
        nth(place, in, UINT_MAX, &count);
    }
    return nth(place, in, random_below(random, count), &count);
}

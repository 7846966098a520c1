// The lookup stage: lookup_body against simdjson On-Demand reading the same fields with one parser kept, the
// peer to beat. The fields are method, id, params.targetAgent, and whether there is a result or an error.
//
// `ondemand` stops in params at targetAgent. `ondemand_guarded` looks at every key there, as lookup_body must
// in order to refuse a key that comes twice. `strict` is lookup_body_strict, which judges all of the
// document. `dom` is simdjson's DOM parser, which does that too, but reads no field. `stage1` is its first
// stage alone: UTF-8 and the places of the tokens.
//
// Bodies differ in the filling of `params`: many small members, one long string with escapes (code), or one nested
// structure. /different takes 4,096 documents in turn, or fewer of at most 64 MiB together: no branch predictor learns
// these. Without it one document is read again and again. This file is compiled for the machine it is built on, since
// On-Demand's front end is chosen by the compiler.

#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "core/base/limits.h"
#include "core/json/json.h"
#include "core/lookup/lookup.h"
}

namespace {

enum class Fill { members, text, nested };

constexpr size_t documents_count = 4096;
constexpr size_t documents_bytes_max = size_t{64} << 20;

// A document and the slack behind it.
struct Document {
    std::vector<uint8_t> bytes;
    uint32_t length;
};

std::string word(std::mt19937 &random) {
    static const char *const words[] = {"file",       "main",     "context",   "diff",    "generate-tests",
                                        "src/app.ts", "x",        "state",     "updated", "label",
                                        "review",     "coverage", "depends_on"};
    return words[random() % (sizeof words / sizeof *words)];
}

std::string value(std::mt19937 &random) {
    switch (random() % 6) {
    case 0:
        return std::to_string(random() % 100000);
    case 1:
        return random() % 2 != 0 ? "true" : "null";
    default:
        return '"' + word(random) + ' ' + word(random) + '"';
    }
}

std::string member(std::mt19937 &random) {
    return '"' + word(random) + std::to_string(random() % 1000) + "\":" + value(random);
}

std::string fill_text(std::mt19937 &random, size_t bytes) {
    std::string out = "\"source\":\"";
    while (out.size() < bytes) {
        out += std::string(4 * (random() % 4), ' ') + "const " + word(random) + " = " + word(random) + "(";
        out += random() % 3 == 0 ? "\\\"" + word(random) + "\\\");\\n" : std::string("value);\\n");
    }
    return out + '"';
}

std::string fill_nested(std::mt19937 &random, size_t bytes) {
    std::string out = "\"context\":{\"items\":[";
    do {
        out += '{' + member(random) + ",\"range\":{\"start\":[" + value(random) + ',' + value(random) + "]},";
        out += member(random) + "},";
    } while (out.size() < bytes);
    return out + "{}]}";
}

std::string fill_members(std::mt19937 &random, size_t bytes) {
    std::string out = member(random);
    while (out.size() < bytes)
        out += ',' + member(random);
    return out;
}

Document document(Fill fill, bool id_last, size_t bytes, unsigned seed) {
    std::mt19937 random(seed);
    std::string id = "\"id\":" + std::to_string(random() % 100000);
    std::string out = "{\"jsonrpc\":\"2.0\",";
    if (!id_last)
        out += id + ',';
    out +=
        "\"method\":\"agent/request\",\"params\":{\"sourceAgent\":\"agent-" + std::to_string(random() % 1000);
    out += "\",\"targetAgent\":\"agent-" + std::to_string(random() % 1000) + "\",\"task\":\"generate\",";
    size_t rest = out.size() + 40 < bytes ? bytes - out.size() - 40 : 1;
    out += fill == Fill::text     ? fill_text(random, rest)
           : fill == Fill::nested ? fill_nested(random, rest)
                                  : fill_members(random, rest);
    out += ",\"priority\":\"high\"}";
    if (id_last)
        out += ',' + id;
    out += '}';
    Document made{{out.begin(), out.end()}, static_cast<uint32_t>(out.size())};
    made.bytes.resize(out.size() + BUFFER_SLACK_BYTES, ' ');
    return made;
}

std::vector<Document> documents(Fill fill, bool id_last, size_t bytes, bool different) {
    size_t count = different ? std::min(documents_count, documents_bytes_max / bytes) : 1;
    std::vector<Document> made;
    for (size_t index = 0; index < count; index++)
        made.push_back(document(fill, id_last, bytes, static_cast<unsigned>(index)));
    return made;
}

template <typename Read>
void run(benchmark::State &state, Fill fill, bool id_last, bool different, Read read) {
    std::vector<Document> all = documents(fill, id_last, static_cast<size_t>(state.range(0)), different);
    size_t next = 0, bytes = 0;
    for (auto _ : state) {
        const Document &one = all[next];
        next = next + 1 == all.size() ? 0 : next + 1;
        bytes += one.length;
        if (!read(one))
            std::abort(); // not what is measured here
    }
    state.SetBytesProcessed(static_cast<int64_t>(bytes));
}

bool read_lookup(const Document &one) {
    lookup found;
    lookup_body(&found, one.bytes.data(), one.length, 256);
    benchmark::DoNotOptimize(found);
    return found.verdict == LOOKUP_GOOD && lookup_has(&found, KEY_TARGET_AGENT);
}

bool read_strict(const Document &one) {
    lookup found;
    lookup_body_strict(&found, one.bytes.data(), one.length, 256);
    benchmark::DoNotOptimize(found);
    return found.verdict == LOOKUP_GOOD && lookup_has(&found, KEY_TARGET_AGENT);
}

bool read_dom(simdjson::dom::parser &parser, const Document &one) {
    return parser.parse(one.bytes.data(), one.length, false).error() == simdjson::SUCCESS;
}

bool read_stage1(simdjson::dom::parser &parser, const Document &one) {
    return parser.implementation->stage1(one.bytes.data(), one.length, simdjson::stage1_mode::regular) ==
           simdjson::SUCCESS;
}

struct Fields {
    std::string_view method, id, target;
    bool answered = false;
};

bool read_ondemand(simdjson::ondemand::parser &parser, const Document &one) {
    Fields fields;
    simdjson::ondemand::document root;
    simdjson::ondemand::object top;
    if (parser.iterate(one.bytes.data(), one.length, one.bytes.size()).get(root) ||
        root.get_object().get(top))
        return false;
    for (auto each : top) {
        simdjson::ondemand::field field;
        if (std::move(each).get(field))
            return false;
        auto key = field.key();
        if (key == "method") {
            if (field.value().get_string().get(fields.method))
                return false;
        } else if (key == "id") {
            fields.id = field.value().raw_json_token();
        } else if (key == "params") {
            if (field.value().find_field_unordered("targetAgent").get_string().get(fields.target))
                return false;
        } else if (key == "result" || key == "error") {
            fields.answered = true;
        }
    }
    benchmark::DoNotOptimize(fields);
    return !fields.target.empty() && !fields.id.empty();
}

// The guarded keys of each level by their first byte, so that nearly all others cost one look into a table.
struct Guards {
    std::string_view text[LOOKUP_KEYS_COUNT];
    uint32_t by_first[3][256] = {};

    Guards() {
        unsigned index = 0;
#define X(name, level, spelled)                                                                              \
    text[index] = spelled;                                                                                   \
    by_first[level][static_cast<uint8_t>(spelled[0])] |= 1u << index++;
        LOOKUP_KEYS(X)
#undef X
    }
};
const Guards guards;

// Whether this key of the level came before.
bool repeated(simdjson::ondemand::raw_json_string key, unsigned level, uint32_t &seen) {
    uint32_t candidates = guards.by_first[level][static_cast<uint8_t>(key.raw()[0])];
    for (; candidates != 0; candidates &= candidates - 1) {
        unsigned index = static_cast<unsigned>(__builtin_ctz(candidates));
        if (!key.unsafe_is_equal(guards.text[index]))
            continue;
        bool twice = (seen >> index & 1) != 0;
        seen |= UINT32_C(1) << index;
        return twice;
    }
    return false;
}

bool read_params(simdjson::ondemand::object params, Fields &fields) {
    uint32_t seen = 0;
    for (auto each : params) {
        simdjson::ondemand::field field;
        if (std::move(each).get(field) || repeated(field.key(), 1, seen))
            return false;
        if (field.key() == "targetAgent" && field.value().get_string().get(fields.target))
            return false;
    }
    return true;
}

bool read_ondemand_guarded(simdjson::ondemand::parser &parser, const Document &one) {
    Fields fields;
    uint32_t seen = 0;
    simdjson::ondemand::document root;
    simdjson::ondemand::object top, params;
    if (parser.iterate(one.bytes.data(), one.length, one.bytes.size()).get(root) ||
        root.get_object().get(top))
        return false;
    for (auto each : top) {
        simdjson::ondemand::field field;
        if (std::move(each).get(field) || repeated(field.key(), 0, seen))
            return false;
        auto key = field.key();
        if (key == "method") {
            if (field.value().get_string().get(fields.method))
                return false;
        } else if (key == "id") {
            fields.id = field.value().raw_json_token();
        } else if (key == "params") {
            if (field.value().get_object().get(params) || !read_params(params, fields))
                return false;
        } else if (key == "result" || key == "error") {
            fields.answered = true;
        }
    }
    benchmark::DoNotOptimize(fields);
    return !fields.target.empty() && !fields.id.empty();
}

template <typename Make>
void add(const char *who, const std::string &name, Fill fill, bool id_last, bool different, Make make) {
    auto *one = benchmark::RegisterBenchmark(
        (who + name).c_str(), [=](benchmark::State &state) { run(state, fill, id_last, different, make()); });
    for (int64_t bytes : {200, 1024, 16 * 1024, 256 * 1024, 1024 * 1024})
        one->Arg(bytes);
}

// A reader with an On-Demand parser of its own.
template <bool (*Read)(simdjson::ondemand::parser &, const Document &)> auto with_ondemand() {
    auto parser = std::make_shared<simdjson::ondemand::parser>();
    return [parser](const Document &one) { return Read(*parser, one); };
}

template <bool (*Read)(simdjson::dom::parser &, const Document &)> auto with_dom() {
    auto parser = std::make_shared<simdjson::dom::parser>();
    if (parser->allocate(size_t{2} << 20))
        std::abort();
    return [parser](const Document &one) { return Read(*parser, one); };
}

void add_all(const std::string &name, Fill fill, bool id_last, bool different) {
    add("lookup", name, fill, id_last, different, [] { return read_lookup; });
    add("strict", name, fill, id_last, different, [] { return read_strict; });
    add("ondemand", name, fill, id_last, different, with_ondemand<read_ondemand>);
    add("ondemand_guarded", name, fill, id_last, different, with_ondemand<read_ondemand_guarded>);
    add("dom", name, fill, id_last, different, with_dom<read_dom>);
    add("stage1", name, fill, id_last, different, with_dom<read_stage1>);
}

} // namespace

// PATCHBAY_JSON_LEVEL (0 portable, 1 AVX2, 2 AVX-512) measures another level than the machine's best.
int main(int argc, char **argv) {
    if (const char *level = std::getenv("PATCHBAY_JSON_LEVEL"))
        if (!json_level_use(static_cast<json_level>(std::atoi(level))))
            return 1;
    for (bool different : {false, true})
        for (bool id_last : {false, true})
            for (Fill fill : {Fill::members, Fill::text, Fill::nested}) {
                std::string name = fill == Fill::members ? "/members"
                                   : fill == Fill::text  ? "/text"
                                                         : "/nested";
                name += id_last ? "/id_last" : "/id_first";
                name += different ? "/different" : "";
                add_all(name, fill, id_last, different);
            }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}

// Fuzzes the lookup. The first byte fills the slack behind the rest, which is the body. All levels of vector
// code must find the same. Where simdjson's DOM parser, which judges everything, accepts the body, the lookup
// must find what the tree holds. The strict lookup must find the same or refuse. (The tree has no spelling:
// for a body with a backslash it can't tell that no guarded key was escaped.)
#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
#include "core/base/limits.h"
#include "core/json/json.h"
#include "core/lookup/lookup.h"
}

using simdjson::dom::element;
using simdjson::dom::element_type;

namespace {

constexpr uint32_t id_bytes_max = 24;

void require(bool holds) {
    if (!holds)
        abort();
}

json_type type_of(element value) {
    switch (value.type()) {
    case element_type::ARRAY:
        return JSON_ARRAY;
    case element_type::OBJECT:
        return JSON_OBJECT;
    case element_type::STRING:
        return JSON_STRING;
    case element_type::BOOL:
        return value.get_bool().value_unsafe() ? JSON_TRUE : JSON_FALSE;
    case element_type::NULL_VALUE:
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}

// The guarded keys of the tree.
struct Oracle {
    bool twice = false, stream_type = false;
    uint32_t present = 0;
    element value[LOOKUP_KEYS_COUNT];

    int key_of(int level, std::string_view text) const {
#define X(name, at, spelled)                                                                                 \
    if (level == at && text == spelled)                                                                      \
        return name;
        LOOKUP_KEYS(X)
#undef X
        return -1;
    }

    void read(element from, int level) {
        simdjson::dom::object object;
        if (from.get_object().get(object))
            return;
        for (auto field : object) {
            int key = key_of(level, field.key);
            stream_type = stream_type || (level == 0 && field.key == "type");
            if (key < 0)
                continue;
            twice = twice || (present >> key & 1) != 0;
            present |= 1u << key;
            value[key] = field.value;
            if (key == KEY_PARAMS || key == KEY_META)
                read(field.value, level + 1);
        }
    }

    bool has(lookup_key key) const {
        return (present >> key & 1) != 0;
    }
};

void require_value(const lookup &found, lookup_key key, element value, const uint8_t *text) {
    std::string_view string;
    uint64_t number, whole;
    require(found.type[key] == type_of(value));
    if (!value.get_string().get(string)) {
        std::vector<char> out(string.size() + 1);
        require(json_string_decode(text, found.value[key], out.data(), string.size()) == string.size());
        require(memcmp(out.data(), string.data(), string.size()) == 0);
        require(json_string_valid(text, found.value[key]));
    }
    if (value.is_uint64() && !value.get_uint64().get(number)) {
        bool fits = number < uint64_t{1} << 53;
        require(json_number_whole(text, found.value[key], &whole) == fits && (!fits || whole == number));
    }
}

void require_kind(const lookup &found, const Oracle &oracle) {
    bool answer = oracle.has(KEY_RESULT) || oracle.has(KEY_ERROR);
    if (oracle.has(KEY_METHOD)) {
        require(found.kind == (oracle.has(KEY_ID) ? BODY_REQUEST : BODY_NOTIFICATION));
        bool message = !answer && type_of(oracle.value[KEY_METHOD]) == JSON_STRING;
        require((found.verdict == LOOKUP_NOT_MESSAGE) == !message);
        if (!message || found.kind == BODY_NOTIFICATION)
            return;
        json_type type = type_of(oracle.value[KEY_ID]);
        bool good = (type == JSON_STRING || type == JSON_NUMBER) && found.value[KEY_ID].bytes <= id_bytes_max;
        require(found.verdict == (good ? LOOKUP_GOOD : LOOKUP_BAD_ID));
    } else if (answer || (oracle.stream_type && !oracle.has(KEY_JSONRPC))) {
        require(found.verdict == LOOKUP_GOOD && found.kind == (answer ? BODY_RESPONSE : BODY_STREAM));
    } else {
        require(found.verdict == LOOKUP_NOT_MESSAGE && found.kind == BODY_UNKNOWN);
    }
}

void require_as_tree(const lookup &found, element root, const uint8_t *text, size_t bytes) {
    Oracle oracle;
    if (root.is_array()) {
        require(found.verdict == LOOKUP_GOOD && found.kind == BODY_BATCH);
        return;
    }
    oracle.read(root, 0);
    bool escapes = memchr(text, '\\', bytes) != nullptr;
    if (found.verdict == LOOKUP_AMBIGUOUS) {
        require(oracle.twice || escapes);
        return;
    }
    require(!oracle.twice);
    require(found.present == oracle.present);
    for (unsigned key = 0; key < LOOKUP_KEYS_COUNT; key++)
        if (oracle.has(static_cast<lookup_key>(key)))
            require_value(found, static_cast<lookup_key>(key), oracle.value[key], text);
    require_kind(found, oracle);
}

void require_same(const lookup &left, const lookup &right) {
    require(left.verdict == right.verdict && left.kind == right.kind && left.present == right.present);
    require(left.fault_at == right.fault_at && left.fault_key == right.fault_key);
    for (unsigned key = 0; key < LOOKUP_KEYS_COUNT; key++)
        if ((left.present >> key & 1) != 0) {
            require(left.type[key] == right.type[key] && left.value[key].at == right.value[key].at);
            require(left.value[key].bytes == right.value[key].bytes);
        }
}

// The strict lookup finds the same as the lazy one in a body that is valid in all its depth and has no key in
// another case. It refuses any other body.
void require_strict(const lookup &lazy, const uint8_t *text, uint32_t bytes) {
    lookup strict;
    lookup_body_strict(&strict, text, bytes, id_bytes_max);
    bool good_text = lazy.verdict != LOOKUP_NOT_UTF8 && json_grammar_valid(text, bytes);
    bool refused = strict.verdict == LOOKUP_NOT_JSON || strict.verdict == LOOKUP_NOT_UTF8 ||
                   strict.verdict == LOOKUP_TOO_DEEP;
    require(refused == !good_text);
    require(strict.fault_at <= bytes);
    if (!refused && strict.verdict != LOOKUP_AMBIGUOUS) {
        require_same(lazy, strict);
        for (uint32_t index = 0; index < strict.others && index < LOOKUP_OTHERS_MAX; index++)
            require(json_string_valid(text, strict.other[index].key));
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static simdjson::dom::parser parser;
    if (size < 2)
        return 0;
    std::string copy(reinterpret_cast<const char *>(data) + 1, size - 1);
    copy.append(BUFFER_SLACK_BYTES, static_cast<char>(data[0]));
    std::vector<uint8_t> owned(copy.begin(), copy.end()); // of just that size, so that a read past it is seen
    const uint8_t *text = owned.data();
    uint32_t bytes = static_cast<uint32_t>(size - 1);

    lookup found, other;
    require(json_level_use(JSON_LEVEL_PORTABLE));
    lookup_body(&found, text, bytes, id_bytes_max);
    for (json_level level : {JSON_LEVEL_AVX2, JSON_LEVEL_AVX512})
        if (json_level_use(level)) {
            lookup_body(&other, text, bytes, id_bytes_max);
            require_same(found, other);
        }
    for (json_level level : {JSON_LEVEL_PORTABLE, JSON_LEVEL_AVX2, JSON_LEVEL_AVX512})
        if (json_level_use(level))
            require_strict(found, text, bytes);
    bool utf8 = simdjson::validate_utf8(reinterpret_cast<const char *>(text), bytes);
    require((found.verdict == LOOKUP_NOT_UTF8) == !utf8);
    require(found.fault_at <= bytes);
    element root;
    if (!parser.parse(text, bytes, false).get(root)) {
        require(found.verdict != LOOKUP_NOT_JSON && json_grammar_valid(text, bytes));
        require_as_tree(found, root, text, bytes);
    }
    return 0;
}

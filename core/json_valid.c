// A whole text judged by the grammar of RFC 8259, 64 bytes at a time, without a walk from token to token.
//
// A block becomes masks: strings, brackets, colons, commas, white space, and what is left, which are the
// scalars. Each token must be one that may follow the token before it; white space between the two is
// stepped over by an addition that carries through it. What may follow what:
//
//     behind { [           a value, or a closing bracket
//     behind , :           a value
//     behind a value       , } ] or :      (the end of the text, when all brackets have closed)
//     : itself             only behind a string that follows { [ or ,       (it may be a key)
//
// That leaves what depends on the container. So the block is cut at its brackets, and of each stretch the
// container is known from a stack: in an object every value behind { or , is a string with a colon behind it;
// in an array there is no colon; outside there is nothing. The stack is the only thing that goes bracket by
// bracket. Scalars are judged one by one, strings all at once, escapes where there are backslashes.
//
// What a block begins in (a string, a scalar, behind which token) is carried as one bit each. A fault ends
// the judging at its block; everything before it was judged as it is, so what masks mean behind it doesn't
// matter.

#include <string.h>

#include "core/json.h"
#include "core/json_block.h"

enum container { ARRAY, OBJECT, OUTSIDE, CONTAINERS_COUNT };

enum { STACK_SLACK = JSON_BLOCK_BYTES + 1 }; // a block's brackets may leave the stack on either side

struct judge {
    const uint8_t *text;
    uint32_t end;
    uint64_t inside;      // all ones: the block begins in a string
    uint64_t may_be_key;  // that string follows { [ or ,
    uint64_t escaped;     // the block's first byte is escaped
    uint64_t scalar;      // the byte before it belongs to a scalar
    uint64_t after_open;  // the last token was { or [
    uint64_t after_comma; // it was a comma
    uint64_t after_colon; // it was a colon
    uint64_t after_key;   // it was a string that may be a key
    uint64_t first;       // the block begins with the text's first token
    int32_t depth;
    uint8_t stack[STACK_SLACK + JSON_GRAMMAR_DEPTH_MAX + STACK_SLACK]; // enum container, from STACK_SLACK on
};

// --- Strings.

// The bytes behind a backslash that is not itself escaped. As simdjson finds them: the runs of backslashes
// that begin at odd places are added to all, and the parity of where a run ends tells whether it escapes.
JSON_INLINE uint64_t find_escaped(struct judge *judge, uint64_t backslash) {
    const uint64_t even = UINT64_C(0x5555555555555555);
    if (__builtin_expect(backslash == 0, 1)) {
        uint64_t escaped = judge->escaped;
        judge->escaped = 0;
        return escaped;
    }
    backslash &= ~judge->escaped;
    uint64_t behind = backslash << 1 | judge->escaped;
    uint64_t odd_starts = backslash & ~even & ~behind, sum;
    judge->escaped = __builtin_add_overflow(odd_starts, backslash, &sum);
    return (even ^ sum << 1) & behind;
}

static bool hex(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
}

// Whether four hexadecimal digits stand behind each u that is escaped. They may lie in the slack: the string
// has then no end.
static __attribute__((noinline)) bool hex_follows(const uint8_t *block, uint64_t escaped) {
    for (; escaped != 0; escaped &= escaped - 1) {
        const uint8_t *at = block + json_lowest(escaped);
        if (*at == 'u' && !(hex(at[1]) && hex(at[2]) && hex(at[3]) && hex(at[4])))
            return false;
    }
    return true;
}

// --- Between strings.

// The tokens that come next behind these, white space between them passed. *carry: into this block, out of
// it.
JSON_INLINE uint64_t next_behind(uint64_t tokens, uint64_t space, uint64_t *carry) {
    uint64_t starts = tokens << 1 | *carry, sum;
    bool over = __builtin_add_overflow(starts & space, space, &sum);
    *carry = tokens >> 63 | over;
    return (starts | sum) & ~space;
}

// Where the strings end that begin at these quotes.
JSON_INLINE uint64_t ends_of(uint64_t quotes, uint64_t in_string, uint64_t *carry) {
    uint64_t with_carry, sum;
    bool over = __builtin_add_overflow(in_string, *carry, &with_carry);
    over |= __builtin_add_overflow(with_carry, quotes, &sum);
    *carry = over;
    return sum & ~in_string;
}

// What may follow a scalar; any other byte belongs to it.
static bool ends_scalar(uint8_t byte) {
    switch (byte) {
    case ' ':
    case '\n':
    case '\r':
    case '\t':
    case ',':
    case ':':
    case '"':
    case '[':
    case ']':
    case '{':
    case '}':
        return true;
    default:
        return false;
    }
}

static bool scalar_valid(const struct judge *judge, uint32_t at) {
    enum json_type type;
    uint32_t behind = json_skip_short_number(judge->text, at, judge->end);
    if (behind == at)
        behind = json_skip_scalar(judge->text, at, judge->end, &type);
    return behind != UINT32_MAX && (behind == judge->end || ends_scalar(judge->text[behind]));
}

JSON_INLINE bool scalars_valid(const struct judge *judge, uint32_t block, uint64_t starts) {
    for (; starts != 0; starts &= starts - 1)
        if (!scalar_valid(judge, block + json_lowest(starts)))
            return false;
    return true;
}

// Goes through the brackets of a block with the stack. `forbidden` says for each container what must not be
// in it. All that is wrong is gathered, so that nothing here has to be guessed by the processor.
JSON_INLINE bool brackets_valid(struct judge *judge, const uint8_t *block, uint64_t brackets,
                                const uint64_t forbidden[CONTAINERS_COUNT]) {
    uint8_t *stack = judge->stack + STACK_SLACK;
    int32_t depth = judge->depth, deepest = depth;
    uint64_t bad = 0, left = UINT64_MAX;
    for (; brackets != 0; brackets &= brackets - 1) {
        uint64_t passed = brackets ^ (brackets - 1); // up to this bracket and with it
        uint8_t byte = block[json_lowest(brackets)];
        uint8_t kind = byte >> 5 & 1; // enum container
        bool close = (byte & 4) != 0;
        bad |= forbidden[stack[depth]] & passed & left;
        bad |= close && kind != stack[depth];
        left = ~passed;
        stack[depth + !close] = kind;
        depth += close ? -1 : 1;
        deepest = depth > deepest ? depth : deepest;
    }
    bad |= forbidden[stack[depth]] & left;
    judge->depth = depth;
    return bad == 0 && deepest <= JSON_GRAMMAR_DEPTH_MAX;
}

JSON_INLINE bool tokens_valid(struct judge *judge, uint32_t block, uint64_t limit, uint64_t quotes,
                              uint64_t in_string, const struct json_token_masks *masks) {
    uint64_t outside = ~(in_string | quotes) & limit;
    uint64_t open = masks->open & outside, close = masks->close & outside, colon = masks->colon & outside;
    uint64_t comma = masks->comma & outside, space = (masks->space & outside) | ~limit;
    uint64_t scalar = outside & ~(open | close | colon | comma | space);
    uint64_t scalar_starts = scalar & ~(scalar << 1 | judge->scalar), string_starts = quotes & in_string;
    judge->scalar = scalar >> 63;

    uint64_t value = string_starts | scalar_starts | open;
    uint64_t behind_open = next_behind(open, space, &judge->after_open);
    uint64_t behind_comma = next_behind(comma, space, &judge->after_comma);
    uint64_t behind_colon = next_behind(colon, space, &judge->after_colon);
    uint64_t item =
        behind_open | behind_comma; // where an element or a key begins, or an empty container ends
    uint64_t keys = ends_of(item & string_starts, in_string, &judge->may_be_key);
    uint64_t behind_key = next_behind(keys, space, &judge->after_key);

    uint64_t tokens = value | close | colon | comma;
    uint64_t behind_value = tokens & ~(item | behind_colon | judge->first);
    uint64_t bad = (behind_open & ~(value | close)) | ((behind_comma | behind_colon) & ~value) |
                   (behind_value & ~(comma | close | colon)) | (colon & ~behind_key);
    const uint64_t forbidden[CONTAINERS_COUNT] = {
        [ARRAY] = colon,
        [OBJECT] = (item & (scalar_starts | open)) | (behind_key & ~colon),
        [OUTSIDE] = tokens & ~judge->first,
    };
    judge->first = 0;
    return bad == 0 && brackets_valid(judge, judge->text + block, open | close, forbidden) &&
           scalars_valid(judge, block, scalar_starts);
}

// --- All.

JSON_INLINE bool block_valid(struct judge *judge, json_string_masks_of *strings_of,
                             json_token_masks_of *tokens_of, json_escape_of *escape_of,
                             json_parity_of *parity_of, uint32_t block) {
    const uint8_t *bytes = judge->text + block;
    uint64_t limit = json_bits_below(judge->end - block);
    struct json_string_masks strings = strings_of(bytes);
    uint64_t escaped = find_escaped(judge, strings.backslash & limit) & limit;
    if (escaped != 0 && ((escaped & ~escape_of(bytes)) != 0 || !hex_follows(bytes, escaped)))
        return false;
    uint64_t quotes = strings.quote & limit & ~escaped;
    if (quotes == 0 && judge->inside != 0)
        return (strings.control & limit) == 0;
    uint64_t in_string = parity_of(quotes) ^ judge->inside;
    judge->inside = (uint64_t)((int64_t)in_string >> 63);
    if ((strings.control & in_string & limit) != 0)
        return false;
    struct json_token_masks masks = tokens_of(bytes);
    return tokens_valid(judge, block, limit, quotes, in_string, &masks);
}

JSON_INLINE bool valid(json_string_masks_of *strings_of, json_token_masks_of *tokens_of,
                       json_escape_of *escape_of, json_parity_of *parity_of, const uint8_t *text, uint32_t at,
                       uint32_t end) {
    struct judge judge;
    judge.text = text;
    judge.end = end;
    judge.inside = judge.may_be_key = judge.escaped = judge.scalar = 0;
    judge.after_open = judge.after_comma = judge.after_colon = judge.after_key = 0;
    judge.first = 1;
    judge.depth = 0;
    memset(judge.stack, OUTSIDE, STACK_SLACK + 1);
    for (uint64_t block = at; block < end; block += JSON_BLOCK_BYTES)
        if (!block_valid(&judge, strings_of, tokens_of, escape_of, parity_of, (uint32_t)block))
            return false;
    return judge.depth == 0 && judge.inside == 0;
}

static bool valid_portable(const uint8_t *text, uint32_t at, uint32_t end) {
    return valid(json_string_masks_portable, json_token_masks_portable, json_escape_portable,
                 json_parity_portable, text, at, end);
}
#if defined(__x86_64__)
JSON_TARGET_AVX2 static bool valid_avx2(const uint8_t *text, uint32_t at, uint32_t end) {
    return valid(json_string_masks_avx2, json_token_masks_avx2, json_escape_avx2, json_parity_avx2, text, at,
                 end);
}
JSON_TARGET_AVX512 static bool valid_avx512(const uint8_t *text, uint32_t at, uint32_t end) {
    return valid(json_string_masks_avx512, json_token_masks_avx512, json_escape_avx512, json_parity_avx512,
                 text, at, end);
}
#endif

static bool (*const valids[JSON_LEVELS_COUNT])(const uint8_t *text, uint32_t at, uint32_t end) = {
    valid_portable,
#if defined(__x86_64__)
    valid_avx2,
    valid_avx512,
#endif
};

bool json_valid(const uint8_t *text, uint32_t bytes) {
    uint32_t at = json_skip_space(text, 0, bytes);
    if (at < bytes && (text[at] == '{' || text[at] == '['))
        return valids[json_level_in_use()](text, at, bytes);
    return json_grammar_valid(text, bytes);
}

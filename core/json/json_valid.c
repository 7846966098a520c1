#include <assert.h>
#include <string.h>

#include "core/json/json.h"
#include "core/json/json_block.h"

// Judges a whole text by the grammar of RFC 8259, 64 bytes at a time, without a walk from token to token.
//
// A block becomes masks of strings, brackets, colons, commas, white space, and the rest, which are the scalars. Each
// token must be one that may follow the token before it. An addition carries over the white space between two tokens.
// Allowed orders:
//
//     behind { [           a value, or a closing bracket
//     behind , :           a value
//     behind a value       , } ] or :      (the end of the text, when all brackets have closed)
//     : itself             only behind a string that follows { [ or ,       (it may be a key)
//
// Other rules depend on the container. For these the block is cut at its brackets, and a stack gives the container of
// each stretch. In an object, every value behind { or , is a string with a colon behind it. In an array there is no
// colon. Outside all containers there is nothing. Only the stack goes bracket by bracket. Scalars are judged one by
// one, strings all at once, and escapes only if there are backslashes.
//
// The state at the start of a block (in a string, in a scalar, behind which token) is one bit each. Judging ends at the
// block with a fault. All before the fault was judged correctly, so wrong masks behind the fault don't matter.

enum container { ARRAY, OBJECT, OUTSIDE, CONTAINERS_COUNT };

enum { STACK_SLACK = JSON_BLOCK_BYTES + 1 }; // a block's brackets may go beyond the stack on either side

// The state from block to block, kept in registers if possible.
struct carry {
    uint64_t inside;      // all ones: the block begins in a string
    uint64_t may_be_key;  // with `inside`: the string follows { [ or ,
    uint64_t escaped;     // the block's first byte is escaped
    uint64_t scalar;      // the byte before the block belongs to a scalar
    uint64_t after_open;  // the last token was { or [
    uint64_t after_comma; // the last token was a comma
    uint64_t after_colon; // the last token was a colon
    uint64_t after_key;   // the last token was a string that may be a key
    uint64_t first;       // the block begins with the text's first token
};

// The open containers.
struct stack {
    int32_t depth;
    uint8_t kinds[STACK_SLACK + JSON_GRAMMAR_DEPTH_MAX + STACK_SLACK]; // enum container, from STACK_SLACK on
};

// --- Strings.

// Returns the bytes behind unescaped backslashes, as simdjson finds them. The runs of backslashes that begin at odd
// places are added to all backslashes. The parity of the place where a run ends tells whether the run escapes the next
// byte.
JSON_INLINE uint64_t find_escaped(struct carry *carry, uint64_t backslash) {
    assert(carry->escaped <= 1);
    const uint64_t even = UINT64_C(0x5555555555555555);
    if (__builtin_expect(backslash == 0, 1)) {
        uint64_t escaped = carry->escaped;
        carry->escaped = 0;
        return escaped;
    }
    backslash &= ~carry->escaped;
    uint64_t behind = backslash << 1 | carry->escaped;
    uint64_t odd_starts = backslash & ~even & ~behind, sum;
    carry->escaped = __builtin_add_overflow(odd_starts, backslash, &sum);
    return (even ^ sum << 1) & behind;
}

static bool hex(uint8_t byte) {
    return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
}

// Returns whether four hexadecimal digits follow each escaped u. The digits may lie in the slack: the string then has
// no end.
static __attribute__((noinline)) bool hex_follows(const uint8_t *block, uint64_t escaped) {
    assert(escaped != 0);
    for (; escaped != 0; escaped &= escaped - 1) {
        const uint8_t *at = block + json_lowest(escaped);
        if (*at == 'u' && !(hex(at[1]) && hex(at[2]) && hex(at[3]) && hex(at[4])))
            return false;
    }
    return true;
}

// --- Between strings.

// Returns where the strings end that begin at these quotes.
JSON_INLINE uint64_t ends_of(uint64_t quotes, uint64_t in_string, uint64_t *carry) {
    assert(*carry <= 1 && (quotes & ~in_string) == 0);
    uint64_t with_carry, sum;
    bool over = __builtin_add_overflow(in_string, *carry, &with_carry);
    over |= __builtin_add_overflow(with_carry, quotes, &sum);
    *carry = over;
    return sum & ~in_string;
}

// Bytes that may follow a scalar; any other byte belongs to the scalar.
static const bool ends_scalar[256] = {
    [' '] = true, ['\n'] = true, ['\r'] = true, ['\t'] = true, [','] = true, [':'] = true,
    ['"'] = true, ['['] = true,  [']'] = true,  ['{'] = true,  ['}'] = true,
};

JSON_INLINE bool is_literal(const uint8_t *text, const char *literal) {
    return memcmp(text, literal, 4) == 0;
}

JSON_INLINE bool scalar_valid(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at < end);
    enum json_type type;
    uint32_t behind = json_skip_whole_number(text, at, end);
    if (behind == at) {
        if (is_literal(text + at, "true") || is_literal(text + at, "null"))
            behind = at + 4;
        else if (is_literal(text + at, "fals") && text[at + 4] == 'e')
            behind = at + 5;
        else
            behind = json_skip_scalar(text, at, end, &type);
    }
    return behind == end || (behind < end && ends_scalar[text[behind]]);
}

// Judges the brackets of a block with the stack. `forbidden` has for each container the bytes that may not be in it.
// All faults are collected in one word, so that the processor has no branch to predict.
JSON_INLINE bool brackets_valid(struct stack *stack, const uint8_t *block, uint64_t brackets,
                                const uint64_t forbidden[CONTAINERS_COUNT]) {
    assert(stack->depth >= 0 && stack->depth <= JSON_GRAMMAR_DEPTH_MAX);
    uint8_t *kinds = stack->kinds + STACK_SLACK;
    int32_t depth = stack->depth, deepest = depth;
    uint64_t bad = 0, left = UINT64_MAX;
    for (; brackets != 0; brackets &= brackets - 1) {
        uint64_t passed = brackets ^ (brackets - 1); // the bits up to and including this bracket
        uint8_t byte = block[json_lowest(brackets)];
        uint8_t kind = byte >> 5 & 1; // enum container
        bool close = (byte & 4) != 0;
        bad |= forbidden[kinds[depth]] & passed & left;
        bad |= close & (kind != kinds[depth]);
        left = ~passed;
        kinds[depth + !close] = kind;
        depth += close ? -1 : 1;
        deepest = depth > deepest ? depth : deepest;
    }
    bad |= forbidden[kinds[depth]] & left;
    assert(depth >= -STACK_SLACK && depth <= JSON_GRAMMAR_DEPTH_MAX + STACK_SLACK);
    stack->depth = depth;
    return bad == 0 && deepest <= JSON_GRAMMAR_DEPTH_MAX;
}

// Judges the tokens between the strings of a block.
JSON_INLINE bool tokens_valid(struct carry *carry, struct stack *stack, json_token_masks_of *tokens_of,
                              const uint8_t *text, uint32_t block, uint32_t end, uint64_t quotes,
                              uint64_t in_string) {
    assert(block < end && carry->scalar <= 1 && carry->may_be_key <= 1);
    assert(carry->first + carry->after_open + carry->after_comma + carry->after_colon + carry->after_key <=
           1);
    struct json_token_masks masks = tokens_of(text + block);
    uint64_t limit = json_bits_below(end - block), outside = ~(in_string | quotes) & limit;
    uint64_t open = masks.open & outside, close = masks.close & outside, colon = masks.colon & outside;
    uint64_t comma = masks.comma & outside, space = (masks.space & outside) | ~limit;
    uint64_t scalar = outside & ~(open | close | colon | comma | space);
    uint64_t scalar_starts = scalar & ~(scalar << 1 | carry->scalar), string_starts = quotes & in_string;
    carry->scalar = scalar >> 63;

    uint64_t value = string_starts | scalar_starts | open;
    uint64_t behind_open = json_next_behind(open, space, &carry->after_open);
    uint64_t behind_comma = json_next_behind(comma, space, &carry->after_comma);
    uint64_t behind_colon = json_next_behind(colon, space, &carry->after_colon);
    uint64_t item =
        behind_open | behind_comma; // where an element or a key begins, or an empty container ends
    uint64_t keys = ends_of(item & string_starts, in_string, &carry->may_be_key);
    uint64_t behind_key = json_next_behind(keys, space, &carry->after_key);

    uint64_t bad = (value & ~(item | behind_colon | carry->first)) | (behind_open & (comma | colon)) |
                   ((behind_comma | behind_colon) & ~value) | (colon & ~behind_key);
    const uint64_t forbidden[CONTAINERS_COUNT] = {
        [ARRAY] = colon,
        [OBJECT] = (item & (scalar_starts | open)) | (behind_key & ~colon),
        [OUTSIDE] = (value | close | colon | comma) & ~carry->first,
    };
    carry->first = 0;
    if (bad != 0 || !brackets_valid(stack, text + block, open | close, forbidden))
        return false;
    for (; scalar_starts != 0; scalar_starts &= scalar_starts - 1)
        if (!scalar_valid(text, block + json_lowest(scalar_starts), end))
            return false;
    return true;
}

// --- The whole text.

// Returns the first block from `block` on that has more than plain characters of a string.
JSON_INLINE uint32_t skip_plain(json_string_masks_of *strings_of, const uint8_t *text, uint32_t block,
                                uint32_t end) {
    assert(block <= end);
    while (end - block >= JSON_BLOCK_BYTES) {
        struct json_string_masks strings = strings_of(text + block);
        if ((strings.quote | strings.backslash | strings.control) != 0)
            break;
        block += JSON_BLOCK_BYTES;
    }
    return block;
}

JSON_INLINE bool valid(json_string_masks_of *strings_of, json_token_masks_of *tokens_of,
                       json_escape_of *escape_of, json_parity_of *parity_of, const uint8_t *text, uint32_t at,
                       uint32_t end) {
    assert(at < end && (text[at] == '{' || text[at] == '['));
    struct carry carry = {.first = 1};
    struct stack stack;
    stack.depth = 0;
    memset(stack.kinds, OUTSIDE, STACK_SLACK + 1);
    while (at < end) {
        uint64_t limit = json_bits_below(end - at);
        struct json_string_masks strings = strings_of(text + at);
        uint64_t escaped = find_escaped(&carry, strings.backslash & limit) & limit;
        if (escaped != 0 && ((escaped & ~escape_of(text + at)) != 0 || !hex_follows(text + at, escaped)))
            return false;
        uint64_t quotes = strings.quote & limit & ~escaped;
        uint64_t in_string = parity_of(quotes) ^ carry.inside;
        // A string that began in an earlier block and goes on in the next one
        bool within = quotes == 0 && carry.inside != 0;
        carry.inside = (uint64_t)((int64_t)in_string >> 63);
        if ((strings.control & in_string & limit) != 0)
            return false;
        if (!within && !tokens_valid(&carry, &stack, tokens_of, text, at, end, quotes, in_string))
            return false;
        at = end - at > JSON_BLOCK_BYTES ? at + JSON_BLOCK_BYTES : end;
        if (carry.inside != 0 && carry.escaped == 0)
            at = skip_plain(strings_of, text, at, end);
    }
    assert(at == end && carry.first == 0);
    return stack.depth == 0 && carry.inside == 0;
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

// --- The place of a fault

// Judges a whole text by the grammar of RFC 8259 alone, byte by byte, with one bit for each open container. Slow: for
// the few texts that simdjson refuses for more than their grammar, and to find the fault in a text that json_valid
// refused.

enum { OBJECT_BIT_WORDS = JSON_GRAMMAR_DEPTH_MAX / 64 };

struct validator {
    const uint8_t *text;
    uint32_t at;
    uint32_t end;
    uint32_t depth;
    bool too_deep;
    uint64_t object[OBJECT_BIT_WORDS]; // bit d: the open container at depth d + 1 is an object
};

static bool in_object(const struct validator *validator) {
    assert(validator->depth > 0 && validator->depth <= JSON_GRAMMAR_DEPTH_MAX);
    uint32_t index = validator->depth - 1;
    return (validator->object[index / 64] >> (index % 64) & 1) != 0;
}

static bool next_is(struct validator *validator, uint8_t byte) {
    assert(validator->at <= validator->end);
    validator->at = json_skip_space(validator->text, validator->at, validator->end);
    return validator->at < validator->end && validator->text[validator->at] == byte;
}

static bool json_grammar_take(struct validator *validator, uint8_t byte) {
    bool is = next_is(validator, byte);
    validator->at += is;
    return is;
}

static bool take_string(struct validator *validator) {
    if (!next_is(validator, '"'))
        return false;
    uint32_t behind = json_skip_valid_string(validator->text, validator->at, validator->end);
    if (behind == UINT32_MAX)
        return false;
    assert(behind > validator->at && behind <= validator->end);
    validator->at = behind;
    return true;
}

static bool take_key(struct validator *validator) {
    return take_string(validator) && json_grammar_take(validator, ':');
}

static bool take_scalar(struct validator *validator) {
    enum json_type type;
    if (next_is(validator, '"'))
        return take_string(validator);
    if (validator->at == validator->end)
        return false;
    uint32_t behind = json_skip_scalar(validator->text, validator->at, validator->end, &type);
    if (behind == UINT32_MAX)
        return false;
    assert(behind > validator->at && behind <= validator->end);
    validator->at = behind;
    return true;
}

// Takes the opening bracket at `at`. *empty: the container is empty, and its closing bracket comes next.
static bool take_open(struct validator *validator, bool object, bool *empty) {
    assert(validator->at < validator->end && validator->text[validator->at] == (object ? '{' : '['));
    validator->too_deep = validator->depth == JSON_GRAMMAR_DEPTH_MAX;
    if (validator->too_deep)
        return false;
    uint64_t bit = UINT64_C(1) << (validator->depth % 64);
    if (object)
        validator->object[validator->depth / 64] |= bit;
    else
        validator->object[validator->depth / 64] &= ~bit;
    validator->depth++;
    validator->at++;
    *empty = next_is(validator, object ? '}' : ']');
    return *empty || !object || take_key(validator);
}

// Takes the closing brackets behind a value, then a comma and the key of the next value. *done: the outermost value
// ended.
static bool take_separator(struct validator *validator, bool *done) {
    assert(validator->depth <= JSON_GRAMMAR_DEPTH_MAX);
    while (validator->depth > 0 && json_grammar_take(validator, in_object(validator) ? '}' : ']'))
        validator->depth--;
    *done = validator->depth == 0;
    return *done || (json_grammar_take(validator, ',') && (!in_object(validator) || take_key(validator)));
}

// Takes a value. On failure, validator->at is the place of the fault.
static bool take_value(struct validator *validator) {
    for (bool done = false; !done;) {
        bool object = next_is(validator, '{'), empty = true;
        if (object || next_is(validator, '[')) {
            if (!take_open(validator, object, &empty))
                return false;
        } else if (!take_scalar(validator)) {
            return false;
        }
        if (empty && !take_separator(validator, &done))
            return false;
    }
    return true;
}

uint32_t json_grammar_fault(const uint8_t *text, uint32_t bytes, bool *too_deep) {
    struct validator validator = {.text = text, .end = bytes};
    bool good = take_value(&validator);
    assert(validator.at <= bytes && (!good || (validator.depth == 0 && !validator.too_deep)));
    *too_deep = validator.too_deep;
    if (!good)
        return validator.at;
    uint32_t behind = json_skip_space(text, validator.at, bytes);
    return behind == bytes ? UINT32_MAX : behind;
}

bool json_grammar_valid(const uint8_t *text, uint32_t bytes) {
    assert(bytes != UINT32_MAX);
    bool too_deep;
    return json_grammar_fault(text, bytes, &too_deep) == UINT32_MAX;
}

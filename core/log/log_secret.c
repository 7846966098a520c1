#include "core/log/log_secret.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/base/argv.h"
#include "core/log/secret_variant.h"

enum { STARS = 3, BEARER_BYTES_MIN = 8, JWT_BYTES_MIN = 20, SEED_BYTES = 58, TOKEN_BYTES_MIN = 40 };
enum { ESCAPE = '\x1b', ESCAPE_BYTES_MAX = 24 };
enum { GAP_BYTES_MAX = 48 };       // between a name and its separator
enum { PAIR_BYTES_MAX = 1 << 10 }; // of NAME:PASSWORD, so that a line with many colons takes little time

// Replaces `count` bytes at `at` by stars, and reduces *bytes. Returns the offset behind the stars.
static size_t put_stars(char *text, size_t *bytes, size_t at, size_t count) {
    size_t stars = count < STARS ? count : STARS;
    assert(at + count <= *bytes);
    memset(text + at, '*', stars);
    memmove(text + at + stars, text + at + count, *bytes - at - count);
    *bytes -= count - stars;
    return at + stars;
}

static bool is_blank_or_quote(char byte) {
    return (unsigned char)byte <= ' ' || byte == '"' || byte == '\'' || byte == '<' || byte == '>';
}

static bool is_base64url(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           byte == '-' || byte == '_';
}

static bool is_one_of(char byte, const char *set) {
    return byte && strchr(set, byte);
}

// Returns how many bytes of a terminal's escape, such as a colour, stand at `at`. 0: none.
static size_t escape_bytes(const char *text, size_t bytes, size_t at) {
    size_t end = at + 2;
    if (at + 2 >= bytes || text[at] != ESCAPE || text[at + 1] != '[')
        return 0;
    while (end < bytes && end - at < ESCAPE_BYTES_MAX && is_one_of(text[end], "0123456789;:?"))
        end++;
    bool is_whole =
        end < bytes && ((text[end] >= 'A' && text[end] <= 'Z') || (text[end] >= 'a' && text[end] <= 'z'));
    return is_whole ? end + 1 - at : 0;
}

// Returns how many bytes of a terminal's escape end at `end`. 0: none.
static size_t escape_bytes_before(const char *text, size_t end) {
    for (size_t count = 1; count <= end && count <= ESCAPE_BYTES_MAX; count++)
        if (text[end - count] == ESCAPE)
            return escape_bytes(text, end, end - count) == count ? count : 0;
    return 0;
}

// Moves `at` behind blanks and a terminal's escapes. Returns the new offset.
static size_t skip_blanks(const char *text, size_t bytes, size_t at) {
    assert(at <= bytes);
    for (size_t escape; at < bytes && text[at] != '\n'; at += escape > 0 ? escape : 1) {
        escape = escape_bytes(text, bytes, at);
        if (escape == 0 && (unsigned char)text[at] > ' ')
            break;
    }
    return at;
}

// Returns the bytes up to the last @ of the word: a password with an @ or a slash makes no valid URL, but must be
// hidden, too.
static size_t url_bytes(const char *text, size_t bytes) {
    size_t found = 0;
    for (size_t at = 0; at < bytes && !is_blank_or_quote(text[at]); at++)
        if (text[at] == '@')
            found = at;
    return found;
}

static size_t word_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && !is_blank_or_quote(text[at]))
        at++;
    return at;
}

static size_t bearer_bytes(const char *text, size_t bytes) {
    size_t count = word_bytes(text, bytes);
    return count >= BEARER_BYTES_MIN ? count : 0;
}

static int base64_value(char byte) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = byte ? strchr(alphabet, byte) : NULL;
    return found ? (int)(found - alphabet) : -1;
}

// Returns the bytes of NAME:PASSWORD in base64. A word without a colon inside, such as `authentication`, is none.
static size_t basic_bytes(const char *text, size_t bytes) {
    unsigned bits = 0, held = 0;
    bool has_colon = false;
    size_t at = 0;
    for (; at < bytes && base64_value(text[at]) >= 0; at++) {
        bits = (bits << 6 | (unsigned)base64_value(text[at])) & 0xffff;
        held += 6;
        if (held >= 8)
            has_colon |= (bits >> (held -= 8) & 0xff) == ':';
    }
    while (at < bytes && text[at] == '=')
        at++;
    return has_colon ? at : 0;
}

// Returns the bytes of a token of `patchbay token new`.
static size_t token_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && is_base64url(text[at]))
        at++;
    return at >= TOKEN_BYTES_MIN ? at : 0;
}

// Returns the bytes of a JWT, or of a token that services make with a prefix of their own.
static size_t dotted_token_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && (is_base64url(text[at]) || text[at] == '.'))
        at++;
    return at >= JWT_BYTES_MIN ? at : 0;
}

static size_t seed_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && ((text[at] >= 'A' && text[at] <= 'Z') || (text[at] >= '2' && text[at] <= '7')))
        at++;
    return at == SEED_BYTES ? at : 0;
}

// A form of credentials. `head` is the text before a credential. `bytes` returns how many of the following bytes belong
// to the credential; 0: none. `is_own`: the head belongs to the credential. `is_scheme`: blanks follow the head.
static const struct form {
    const char *head;
    bool is_own, is_word, is_scheme; // is_word: the head begins a word
    size_t (*bytes)(const char *text, size_t bytes);
} forms[] = {
    {"://", false, false, false, url_bytes},           {"bearer", false, true, true, bearer_bytes},
    {"basic", false, true, true, basic_bytes},         {"pb_", true, true, false, token_bytes},
    {"eyJ", true, true, false, dotted_token_bytes},    {"S", true, true, false, seed_bytes},
    {"ghp_", true, true, false, dotted_token_bytes},   {"gho_", true, true, false, dotted_token_bytes},
    {"ghs_", true, true, false, dotted_token_bytes},   {"ghu_", true, true, false, dotted_token_bytes},
    {"ghr_", true, true, false, dotted_token_bytes},   {"github_pat_", true, true, false, dotted_token_bytes},
    {"glpat-", true, true, false, dotted_token_bytes}, {"sk-", true, true, false, dotted_token_bytes},
    {"xoxb-", true, true, false, dotted_token_bytes},  {"xoxp-", true, true, false, dotted_token_bytes},
};

static bool stands_at(const struct form *form, const char *text, size_t bytes, size_t at) {
    size_t head = strlen(form->head);
    assert(at < bytes && head > 0);
    bool is_head = bytes - at >= head && (form->is_own ? strncmp(text + at, form->head, head) == 0
                                                       : strncasecmp(text + at, form->head, head) == 0);
    if (!is_head || (form->is_scheme && skip_blanks(text, bytes, at + head) == at + head))
        return false;
    return !form->is_word || at == 0 || !is_base64url(text[at - 1]) || escape_bytes_before(text, at) > 0;
}

size_t log_hide_credentials(char *text, size_t bytes) {
    size_t unsearched = bytes; // only the last bytes of this number may have a URL with a user
    for (size_t at = 0; at < bytes; at++)
        for (size_t index = 0; index < sizeof forms / sizeof *forms; index++) {
            const struct form *form = &forms[index];
            if (!stands_at(form, text, bytes, at))
                continue;
            size_t begin = at + (form->is_own ? 0 : strlen(form->head));
            bool is_url = form->bytes == url_bytes;
            begin = form->is_scheme ? skip_blanks(text, bytes, begin) : begin;
            size_t count =
                is_url && begin + unsearched < bytes ? 0 : form->bytes(text + begin, bytes - begin);
            if (count > 0)
                at = put_stars(text, &bytes, begin, count) - 1;
            else if (is_url && begin + unsearched >= bytes)
                unsearched = bytes - begin - word_bytes(text + begin, bytes - begin);
            break;
        }
    return bytes;
}

// --- Values by their name

// Ends of the names of secrets, in lower case. `_` stands for `-`, `_`, a blank, or nothing; `+` for the first three
// alone.
static const char *const secret_names[] = {"password",    "passwd",      "passphrase",    "passcode",
                                           "pwd",         "secret",      "token",         "api_key",
                                           "access_key",  "private_key", "secret_key",    "credential",
                                           "credentials", "bearer",      "authorization", "cookie"};
enum {
    HEADERS = 2
}; // the last names are of HTTP's headers: without quotes, a value may be the rest of its line

static bool is_letter_of(char letter, char byte) {
    return (byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte) == letter;
}

// Returns whether the text up to `end` ends with the name. Any text may stand before the name: `DB_PASSWORD`.
static bool ends_with_name(const char *text, size_t end, const char *name) {
    size_t left = strlen(name);
    for (; left > 0 && end > 0; left--) {
        bool may_be_gap = name[left - 1] == '_', must_be_gap = name[left - 1] == '+';
        bool is_gap = text[end - 1] == '-' || text[end - 1] == '_' || text[end - 1] == ' ';
        if (may_be_gap && !is_gap)
            continue;
        if (must_be_gap ? !is_gap : !may_be_gap && !is_letter_of(name[left - 1], text[end - 1]))
            return false;
        end--;
    }
    return left == 0;
}

// Returns the index of the secret name that the text up to `end` ends with; `count`: none.
static size_t find_name(const char *text, size_t end, size_t count) {
    size_t index = 0;
    assert(count == sizeof secret_names / sizeof *secret_names);
    while (index < count && !ends_with_name(text, end, secret_names[index]))
        index++;
    return index;
}

// Returns how many bytes stand at `at` and separate a name from its value. 0: none.
static size_t separator_bytes(const char *text, size_t bytes, size_t at) {
    static const char *const separators[] = {"=", ":",  "->",           ">",           "%3d", "%3a",
                                             " ", "\t", "\xef\xbc\x9d", "\xef\xbc\x9a"};
    assert(at < bytes);
    for (size_t index = 0; index < sizeof separators / sizeof *separators; index++) {
        size_t count = strlen(separators[index]);
        if (bytes - at >= count && strncasecmp(text + at, separators[index], count) == 0)
            return count;
    }
    return 0;
}

// Returns where the name ends that stands before the separator at `at`. Blanks, quotes, even escaped ones, a bracket,
// and a terminal's escapes may stand between.
static size_t find_name_end(const char *text, size_t at) {
    size_t end = at;
    while (end > 0 && at - end < GAP_BYTES_MAX) {
        size_t escape = escape_bytes_before(text, end);
        if (escape > 0)
            end -= escape;
        else if (end >= 3 && (memcmp(text + end - 3, "%22", 3) == 0 || memcmp(text + end - 3, "%20", 3) == 0))
            end -= 3;
        else if (is_one_of(text[end - 1], " \t\"'`\\]"))
            end--;
        else
            break;
    }
    assert(end <= at);
    return end;
}

// Returns whether the word that ends at `end` is an option of a command line.
static bool is_option(const char *text, size_t end) {
    size_t begin = end;
    while (begin > 0 && end - begin < GAP_BYTES_MAX &&
           (is_base64url(text[begin - 1]) || text[begin - 1] == '.'))
        begin--;
    return begin < end && text[begin] == '-';
}

// Returns the index of the secret's name before the separator at `at`; `count`: none.
static size_t find_name_before(const char *text, size_t at, size_t count) {
    bool is_blank = is_one_of(text[at], " \t"), is_tag = text[at] == '>';
    size_t end = is_blank || is_tag ? at : find_name_end(text, at);
    return is_blank && !is_option(text, end) ? count : find_name(text, end, count);
}

// Returns the offset of the quote that ends the quoted text at `at`. `escapes`: how many backslashes stand before the
// opening quote. `bytes`: there is none.
static size_t find_quote(const char *text, size_t bytes, size_t at, char quote, size_t escapes) {
    assert(at <= bytes);
    for (size_t run = 0; at < bytes && text[at] != '\n'; at++) {
        if (text[at] == quote && (run <= escapes || run % (2 * escapes + 2) == escapes))
            return at - (run < escapes ? run : escapes);
        run = text[at] == '\\' ? run + 1 : 0;
    }
    return at;
}

// Returns the offset of the bracket that ends the text at `at`, behind an open one.
static size_t find_bracket(const char *text, size_t bytes, size_t at) {
    assert(at > 0 && at <= bytes && is_one_of(text[at - 1], "[{("));
    for (size_t depth = 1; at < bytes && text[at] != '\n'; at++) {
        depth += is_one_of(text[at], "[{(") ? 1 : 0;
        depth -= is_one_of(text[at], "]})") ? 1 : 0;
        if (depth == 0)
            return at;
        if (text[at] == '"' || text[at] == '\'')
            at = find_quote(text, bytes, at + 1, text[at], 0);
        if (at >= bytes || text[at] == '\n')
            break;
    }
    return at < bytes ? at : bytes;
}

// Returns the offset of the end of a value without quotes. A comma ends the value if the line goes on with a blank or
// a quote.
static size_t find_word_end(const char *text, size_t bytes, size_t at) {
    while (at < bytes) {
        size_t escape = escape_bytes(text, bytes, at);
        bool is_inner = escape > 0 && at + escape < bytes && !is_blank_or_quote(text[at + escape]);
        bool is_comma = text[at] == ',' && (at + 1 == bytes || is_blank_or_quote(text[at + 1]));
        if (!is_inner && (is_comma || is_blank_or_quote(text[at]) || is_one_of(text[at], ";&)}]")))
            break;
        at += escape > 0 ? escape : 1;
    }
    return at;
}

// Returns the offset behind a scheme of HTTP and its blanks, or `at` if there is none: another first word is the
// credential itself.
static size_t skip_scheme(const char *text, size_t bytes, size_t at) {
    static const char *const schemes[] = {"bearer", "basic", "digest", "token", "apikey", "negotiate"};
    assert(at <= bytes);
    for (size_t index = 0; index < sizeof schemes / sizeof *schemes; index++) {
        size_t count = strlen(schemes[index]);
        if (bytes - at <= count || strncasecmp(text + at, schemes[index], count) != 0)
            continue;
        size_t value = skip_blanks(text, bytes, at + count);
        return value > at + count ? value : at;
    }
    return at;
}

// Moves *at behind all that may stand between a separator and its value: blanks, more of the separator, a prefix of
// quotes as in b'…', and backslashes before quotes. Sets *escapes to the number of these backslashes.
static void skip_to_value(const char *text, size_t bytes, size_t *at, size_t *escapes) {
    size_t next;
    do {
        *at = skip_blanks(text, bytes, *at);
        while (*at < bytes && is_one_of(text[*at], "=:>"))
            ++*at;
        if (bytes - *at > 3 && memcmp(text + *at, "%22", 3) == 0)
            *at += 3;
        next = skip_blanks(text, bytes, *at);
    } while (next > *at);
    while (next < bytes && next - *at < 2 && is_one_of(text[next], "bBfFrRuU"))
        next++;
    for (*escapes = 0; next < bytes && text[next] == '\\'; next++)
        ++*escapes;
    bool is_quote = next < bytes && (is_one_of(text[next], "\"'`"));
    assert(next >= *at && next <= bytes);
    *at = is_quote ? next : *at;
    *escapes = is_quote ? *escapes : 0;
}

// Finds the value behind a separator of `separator` bytes: moves *at to the value. Returns the value's bytes.
// `is_header`: the value may be the rest of its line.
static size_t find_named_value(const char *text, size_t bytes, size_t *at, size_t separator, bool is_header) {
    size_t escapes = 0, end;
    assert(separator > 0 && *at + separator <= bytes);
    bool is_tag = text[*at] == '>', is_blank = is_one_of(text[*at], " \t");
    *at += separator;
    skip_to_value(text, bytes, at, &escapes);
    char first = *at < bytes ? text[*at] : '\0';
    if (is_blank && first == '-')
        return 0;
    *at += is_one_of(first, "[{(\"'`") ? 1 : 0;
    if (is_one_of(first, "[{("))
        return find_bracket(text, bytes, *at) - *at;
    if (is_one_of(first, "\"'`")) {
        end = find_quote(text, bytes, *at, first, escapes);
        *at = is_header ? skip_scheme(text, end, *at) : *at;
        return end - *at;
    }
    size_t value = is_header ? skip_scheme(text, bytes, *at) : *at;
    bool is_rest = is_tag || (is_header && (value == *at || is_letter_of('d', text[*at])));
    *at = value;
    end = is_rest ? find_quote(text, bytes, *at, is_tag ? '<' : '\n', 0) : find_word_end(text, bytes, *at);
    return end - *at;
}

static size_t hide_behind_names(char *text, size_t bytes) {
    const size_t names = sizeof secret_names / sizeof *secret_names;
    for (size_t at = 0; at < bytes; at++) {
        size_t separator = separator_bytes(text, bytes, at);
        size_t name = separator > 0 ? find_name_before(text, at, names) : names;
        if (name == names)
            continue;
        size_t begin = at, count = find_named_value(text, bytes, &begin, separator, name >= names - HEADERS);
        bool is_hidden = count <= STARS + 1 && count >= STARS && memcmp(text + begin, "***", STARS) == 0;
        if (count >= LOG_SECRET_BYTES_MIN && !is_hidden) // `***:` is hidden already, and keeps its colon
            at = put_stars(text, &bytes, begin, count) - 1;
    }
    return bytes;
}

// --- NAME:PASSWORD@HOST

// Returns how many bytes of NAME:PASSWORD stand at `at`, before an @ of the same word. 0: none. A digest behind the @
// belongs to an image of a container.
static size_t name_password_bytes(const char *text, size_t bytes, size_t at) {
    static const char digest[] = "@sha256:";
    size_t colon = at, last;
    assert(at < bytes);
    bytes = bytes - at > PAIR_BYTES_MAX ? at + PAIR_BYTES_MAX : bytes;
    while (colon < bytes && (is_base64url(text[colon]) || strchr(".%+", text[colon])))
        colon++;
    if (colon == at || colon + 2 >= bytes || text[colon] != ':' || strchr("/@", text[colon + 1]))
        return 0;
    last = colon + 1 + url_bytes(text + colon + 1, bytes - colon - 1);
    bool is_digest = bytes - last > sizeof digest && memcmp(text + last, digest, sizeof digest - 1) == 0;
    return last > colon + 1 && !is_digest ? last - at : 0;
}

// Returns the offset of the first NAME:PASSWORD before an @, and sets *count to the pair's bytes. `bytes`: none.
static size_t find_name_password(const char *text, size_t bytes, size_t from, size_t *count) {
    for (size_t at = from; at < bytes; at++) {
        bool begins = at == 0 || is_blank_or_quote(text[at - 1]) || strchr("=(,[{`", text[at - 1]);
        *count = begins ? name_password_bytes(text, bytes, at) : 0;
        if (*count > 0)
            return at;
    }
    return bytes;
}

size_t log_hide_named(char *text, size_t bytes) {
    bytes = hide_behind_names(text, bytes);
    for (size_t count, at = 0; (at = find_name_password(text, bytes, at, &count)) < bytes;)
        at = put_stars(text, &bytes, at, count);
    return bytes;
}

// --- Words of a command

// Ends of the names of secrets in a command, besides secret_names. In a program's output these may be ordinary words.
static const char *const argument_names[] = {"auth", "jwt", "pass", "+pat"};

static bool ends_with_any(const char *text, size_t end) {
    size_t count = sizeof secret_names / sizeof *secret_names, index = 0;
    if (find_name(text, end, count) < count)
        return true;
    count = sizeof argument_names / sizeof *argument_names;
    while (index < count && !ends_with_name(text, end, argument_names[index]))
        index++;
    return index < count;
}

// A secret that may follow.
enum secret_kind {
    SECRET_NONE,
    SECRET_ANY,
    SECRET_LIST,  // of a name such as --api-keys: any value but a number
    SECRET_USER,  // of -u or --user: NAME:PASSWORD
    SECRET_APART, // of `--token=` without a value: the next word, unless that is an option
};

// Returns the kind of secret that the name in the text up to `end` announces. `begin`: where the name's word begins.
static enum secret_kind kind_of_name(const char *text, size_t begin, size_t end) {
    assert(begin <= end);
    bool is_short = end - begin >= 2 && text[begin] == '-' && text[begin + 1] != '-';
    if (ends_with_any(text, end))
        return SECRET_ANY;
    if (end > 0 && text[end - 1] == 's' && ends_with_any(text, end - 1))
        return SECRET_LIST;
    bool is_user = ends_with_name(text, end, "user") || (is_short && is_letter_of('u', text[end - 1]));
    return is_user ? SECRET_USER : SECRET_NONE;
}

// Returns whether the value is of that kind. A value of `is_word` ends with its word, else with a blank.
static bool is_of_kind(enum secret_kind kind, const char *value, size_t bytes, bool is_word) {
    bool has_colon = false, is_number = true;
    assert(bytes > 0);
    for (size_t at = 0; at < bytes && (is_word || (unsigned char)value[at] > ' '); at++) {
        has_colon |= value[at] == ':';
        is_number &= strchr("0123456789:\"'`\\", value[at]) != NULL;
    }
    return kind == SECRET_ANY || (kind == SECRET_LIST && !is_number) ||
           (kind == SECRET_USER && has_colon && !is_number) || (kind == SECRET_APART && *value != '-');
}

// Returns whether the `:` at `at` is in -uNAME:PASSWORD.
static bool is_in_user(const char *word, size_t bytes, size_t option, size_t at) {
    size_t name = option + 2;
    assert(option <= at && at < bytes);
    return word[at] == ':' && at > name && word[option] == '-' && is_letter_of('u', word[option + 1]) &&
           is_of_kind(SECRET_USER, word + name, bytes - name, false);
}

// Returns the offset of the value behind a secret's name in the word; `bytes`: there is none. Before a blank, as in the
// command of `sh -c`, the name must be an option's. Quotes that belong to the name may follow the name.
static size_t find_value(const char *word, size_t bytes) {
    for (size_t at = 0, option = 0; at < bytes; at++) {
        bool is_blank = (unsigned char)word[at] <= ' ';
        size_t end = at, value = at + 1;
        while (end > 0 && strchr(" \t\"'`\\", word[end - 1]))
            end--;
        while (value < bytes && (unsigned char)word[value] <= ' ')
            value++;
        bool precedes_value = is_blank ? word[option] == '-' : word[at] == '=' || word[at] == ':';
        if (precedes_value && value < bytes &&
            (is_in_user(word, bytes, option, at) ||
             is_of_kind(kind_of_name(word, option < end ? option : end, end), word + value, bytes - value,
                        false)))
            return value;
        option = is_blank || (option == at && is_blank_or_quote(word[at])) ? at + 1 : option;
    }
    return bytes;
}

// Returns the kind of secret that the next word may be: the value of an option, of a header's name, of a scheme of
// HTTP. `is_value`: this word is the value of the word before, as in `Authorization: Bearer VALUE`.
static enum secret_kind kind_of_next(const char *word, size_t bytes, bool is_value) {
    static const char *const schemes[] = {"bearer", "basic", "digest", "token", "apikey", "negotiate"};
    enum { SCHEMES_DISTINCT = 2 }; // the first two schemes are no ordinary words
    assert(bytes > 0);
    bool is_header = word[bytes - 1] == ':', has_mark = memchr(word, '=', bytes) != NULL;
    bool is_option = *word == '-', is_empty = is_option && word[bytes - 1] == '=';
    enum secret_kind kind = is_header || is_empty || (is_option && !has_mark)
                                ? kind_of_name(word, 0, bytes - (is_header || is_empty))
                                : SECRET_NONE;
    if (kind != SECRET_NONE)
        return !is_empty ? kind : kind == SECRET_ANY ? SECRET_APART : SECRET_NONE;
    for (size_t index = 0; index < (is_value ? sizeof schemes / sizeof *schemes : SCHEMES_DISTINCT); index++)
        if (strlen(schemes[index]) == bytes && strncasecmp(word, schemes[index], bytes) == 0)
            return SECRET_ANY;
    return SECRET_NONE;
}

// Returns whether the word only stands between a name and its value, as in `--token = VALUE`.
static bool is_value_mark(const char *word, size_t bytes) {
    return (bytes == 1 && (*word == '=' || *word == ':')) || (bytes == 2 && memcmp(word, "--", 2) == 0);
}

// Finds the byte that closes a substitution which a hidden word opens, as in `--token=$(echo VALUE)`. Returns 0 if the
// word leaves none open.
static char find_closing_delimiter(const char *word, size_t bytes) {
    const char *substitution = memmem(word, bytes, "$(", 2);
    bool is_open = false;
    assert(bytes > 0);
    for (size_t at = 0; at < bytes; at++)
        is_open ^= word[at] == '`';
    if (is_open)
        return '`';
    return substitution && !memchr(substitution, ')', bytes - (size_t)(substitution - word)) ? ')' : '\0';
}

// Adds a word of a command, in quotes if it needs any.
static void add_quoted(struct text *out, const char *word, size_t bytes) {
    bool is_plain = bytes > 0;
    for (size_t at = 0; at < bytes; at++)
        is_plain &= !is_blank_or_quote(word[at]) && word[at] != '\\';
    text_add(out, "'", !is_plain);
    for (size_t at = 0; at < bytes; at++)
        if (word[at] == '\'')
            text_put(out, "'\\''");
        else
            text_add(out, word + at, 1);
    text_add(out, "'", !is_plain);
}

// Adds the word with `***` for its credentials. The user of a URL ends at the last @: in quotes a password may have
// blanks and quotes.
static void add_without_credentials(struct text *out, const char *word, size_t bytes) {
    assert(bytes > 0);
    size_t count, pair = find_name_password(word, bytes, 0, &count);
    const char *scheme = memmem(word, bytes, "://", 3);
    const char *user = scheme ? scheme + 3 : pair < bytes ? word + pair : NULL;
    const char *at = user ? memrchr(user, '@', bytes - (size_t)(user - word)) : NULL;
    size_t shown = at ? (size_t)(user - word) : 0;
    text_add(out, word, shown);
    text_put(out, at ? "***" : "");
    shown = at ? (size_t)(at - word) : 0;
    text_add(out, word + shown, bytes - shown);
    out->length = out->failed ? 0 : log_hide_credentials(out->bytes, out->length);
}

// Adds the word to the empty `out` without its secrets. `is_value`: the whole word is one.
static void hide_in_word(struct text *out, const char *word, size_t bytes, bool is_value) {
    add_without_credentials(out, word, bytes);
    size_t value = is_value ? 0 : find_value(out->bytes, out->length);
    if (value < out->length) {
        out->length = value;
        text_put(out, "***");
    }
}

void log_hide_word(const char *word, struct text *out) {
    assert(out->length == 0);
    if (*word)
        hide_in_word(out, word, strlen(word), false);
}

void log_hide_program(const char *child, const char *program, struct text *out) {
    size_t bytes = strlen(program);
    assert(out->length == 0);
    enum secret_kind kind = kind_of_name(child, 0, strlen(child));
    if (bytes > 0)
        hide_in_word(out, program, bytes, is_of_kind(kind, program, bytes, true));
}

static bool is_same_text(const struct text *text, const char *word, size_t bytes) {
    return text->length == bytes && (bytes == 0 || memcmp(text->bytes, word, bytes) == 0);
}

// Tells how to read the next word of a command, by the words before.
struct command_words {
    enum secret_kind next;
    char closing_delimiter; // all words up to the word with this byte are hidden; 0: none
};

// Adds the next word to the empty `out` without its secrets.
static void hide_next_word(struct command_words *words, const char *word, size_t bytes, struct text *out) {
    assert(out->length == 0);
    if (bytes == 0) {
        words->next = SECRET_NONE;
        return;
    }
    bool is_mark = words->next != SECRET_NONE && !words->closing_delimiter && is_value_mark(word, bytes);
    bool is_value = words->closing_delimiter || (!is_mark && is_of_kind(words->next, word, bytes, true));
    hide_in_word(out, word, bytes, is_value);
    if (words->closing_delimiter)
        words->closing_delimiter =
            memchr(word, words->closing_delimiter, bytes) ? '\0' : words->closing_delimiter;
    else if (!is_same_text(out, word, bytes))
        words->closing_delimiter = find_closing_delimiter(word, bytes);
    words->next = is_mark ? words->next : kind_of_next(word, bytes, is_value);
}

// --- Parts of a command that are hidden

// Reports a text, and the text behind its first colon.
static void report_behind_colon(const char *secret, size_t bytes, log_secret_sink *sink, void *context) {
    const char *colon = memchr(secret, ':', bytes);
    sink(context, secret, bytes);
    if (colon)
        sink(context, colon + 1, bytes - (size_t)(colon + 1 - secret));
}

static void report_secret(const char *secret, size_t bytes, log_secret_sink *sink, void *context) {
    size_t begin = skip_scheme(secret, bytes, 0), end;
    while (begin < bytes && (is_blank_or_quote(secret[begin]) || secret[begin] == '`'))
        begin++;
    for (end = begin; end < bytes && !is_blank_or_quote(secret[end]) && !strchr(",;&`)}]", secret[end]);)
        end++;
    report_behind_colon(secret, bytes, sink, context);
    if (end - begin < bytes)
        report_behind_colon(secret + begin, end - begin, sink, context);
}

// Reports the parts of the word in whose place the shown text has stars.
static void report_hidden(const char *word, size_t bytes, const struct text *shown, log_secret_sink *sink,
                          void *context) {
    const char *end = word + bytes, *at = shown->bytes, *shown_end = at + shown->length;
    for (const char *stars; (stars = memmem(at, (size_t)(shown_end - at), "***", STARS));) {
        word += stars - at;
        at = stars + STARS;
        stars = memmem(at, (size_t)(shown_end - at), "***", STARS);
        size_t kept = (size_t)((stars ? stars : shown_end) - at);
        const char *next = !stars ? end - kept : memmem(word, (size_t)(end - word), at, kept);
        next = next && next >= word && (kept > 0 || !stars) ? next : end;
        report_secret(word, (size_t)(next - word), sink, context);
        word = next;
    }
}

bool log_find_command_secrets(const char *words, size_t count, log_secret_sink *sink, void *context) {
    struct command_words state = {0};
    struct text shown = {0};
    for (; count > 0 && !shown.failed; count--, words += strlen(words) + 1) {
        size_t bytes = strlen(words);
        shown.length = 0;
        hide_next_word(&state, words, bytes, &shown);
        if (!shown.failed && !is_same_text(&shown, words, bytes))
            report_hidden(words, bytes, &shown, sink, context);
    }
    bool good = !shown.failed;
    text_deinit(&shown);
    return good;
}

// --- Commands as they are spelled

// Adds a word of a command. `raw` is the word as the command spells it, and is added unchanged if nothing of the word
// is hidden.
static void add_word(struct text *out, struct command_words *words, const struct text *word, const char *raw,
                     size_t raw_bytes) {
    struct text shown = {0};
    assert(raw_bytes >= word->length);
    hide_next_word(words, word->bytes, word->length, &shown);
    if (is_same_text(&shown, word->bytes, word->length))
        text_add(out, raw, raw_bytes);
    else
        add_quoted(out, shown.bytes, shown.length);
    out->failed |= shown.failed;
    text_deinit(&shown);
}

void log_hide_command(const char *command, struct text *out) {
    struct argv_reader reader = {.next = command};
    struct command_words words = {0};
    struct text word = {0};
    char byte;
    for (enum argv_part part; (part = argv_read(&reader, &byte)) != ARGV_END;) {
        if (part == ARGV_BYTE) {
            text_add(&word, &byte, 1);
            continue;
        }
        text_add(out, command, (size_t)(reader.word - command));
        add_word(out, &words, &word, reader.word, (size_t)(reader.next - reader.word));
        command = reader.next;
        word.length = 0;
    }
    text_put(out, command);
    out->failed |= word.failed;
    text_deinit(&word);
}

// --- One secret

// Returns how many bytes of the text's end are the beginning of the secret.
static size_t cut_bytes(const char *text, size_t bytes, const char *secret, size_t secret_bytes) {
    size_t count = bytes < secret_bytes ? bytes : secret_bytes;
    assert(secret_bytes >= LOG_SECRET_BYTES_MIN);
    while (count >= LOG_SECRET_BYTES_MIN && memcmp(text + bytes - count, secret, count) != 0)
        count--;
    return count >= LOG_SECRET_BYTES_MIN ? count : 0;
}

// Hides the secret where it is spelled with escapes. Only a text with an escape, or a secret with a blank, can have
// such a place.
static size_t hide_spelled(char *text, size_t bytes, const char *secret, size_t secret_bytes) {
    bool has_blank = memchr(secret, ' ', secret_bytes) != NULL;
    if (!has_blank && !memchr(text, '%', bytes) && !memchr(text, '\\', bytes))
        return bytes;
    for (size_t at = 0; at < bytes;) {
        bool may_begin = text[at] == *secret || text[at] == '%' || text[at] == '\\' || has_blank;
        size_t count = may_begin ? secret_variant_bytes(text + at, bytes - at, secret, secret_bytes) : 0;
        at = count > 0 ? put_stars(text, &bytes, at, count) : at + 1;
    }
    return bytes;
}

size_t log_hide_secret(char *text, size_t bytes, const char *secret, size_t secret_bytes, bool is_cut) {
    if (secret_bytes < LOG_SECRET_BYTES_MIN)
        return bytes;
    char *found;
    for (size_t at = 0; (found = memmem(text + at, bytes - at, secret, secret_bytes));)
        at = put_stars(text, &bytes, (size_t)(found - text), secret_bytes);
    bytes = hide_spelled(text, bytes, secret, secret_bytes);
    size_t cut = !is_cut ? 0 : cut_bytes(text, bytes, secret, secret_bytes);
    if (cut > 0)
        put_stars(text, &bytes, bytes - cut, cut);
    return bytes;
}

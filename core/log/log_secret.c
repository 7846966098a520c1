#include "core/log/log_secret.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "core/log/secret_variant.h"

enum { STARS = 3, BEARER_BYTES_MIN = 8, JWT_BYTES_MIN = 20, SEED_BYTES = 58, TOKEN_BYTES_MIN = 40 };

// Puts stars in the place of `count` bytes at `at`, and moves *bytes. Returns what follows the stars.
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

// Up to the last @ of the word: a password that has one, or a slash, is no URL, and yet a password.
static size_t url_bytes(const char *text, size_t bytes) {
    size_t found = 0;
    for (size_t at = 0; at < bytes && !is_blank_or_quote(text[at]); at++)
        if (text[at] == '@')
            found = at;
    return found;
}

static size_t bearer_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && !is_blank_or_quote(text[at]))
        at++;
    return at >= BEARER_BYTES_MIN ? at : 0;
}

static int base64_value(char byte) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = byte ? strchr(alphabet, byte) : NULL;
    return found ? (int)(found - alphabet) : -1;
}

// NAME:PASSWORD in base64. A word without a colon in it, such as `authentication`, is none.
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

// As `patchbay token new` makes them.
static size_t token_bytes(const char *text, size_t bytes) {
    size_t at = 0;
    while (at < bytes && is_base64url(text[at]))
        at++;
    return at >= TOKEN_BYTES_MIN ? at : 0;
}

static size_t jwt_bytes(const char *text, size_t bytes) {
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

// A form of credentials: what stands before one, and how many bytes of what follows belong to it; 0: there is none. `is_own`: what
// stands before belongs to it.
static const struct form {
    const char *head;
    bool is_own, is_word; // is_word: it begins a word
    size_t (*bytes)(const char *text, size_t bytes);
} forms[] = {
    {"://", false, false, url_bytes},     {"bearer ", false, true, bearer_bytes},
    {"basic ", false, true, basic_bytes}, {"pb_", true, true, token_bytes},
    {"eyJ", true, true, jwt_bytes},       {"S", true, true, seed_bytes},
};

static bool stands_at(const struct form *form, const char *text, size_t bytes, size_t at) {
    size_t head = strlen(form->head);
    assert(at < bytes && head > 0);
    bool is_head = bytes - at >= head && (form->is_own ? strncmp(text + at, form->head, head) == 0
                                                       : strncasecmp(text + at, form->head, head) == 0);
    return is_head && (!form->is_word || at == 0 || !is_base64url(text[at - 1]));
}

size_t log_hide_credentials(char *text, size_t bytes) {
    for (size_t at = 0; at < bytes; at++)
        for (size_t index = 0; index < sizeof forms / sizeof *forms; index++) {
            const struct form *form = &forms[index];
            if (!stands_at(form, text, bytes, at))
                continue;
            size_t begin = at + (form->is_own ? 0 : strlen(form->head));
            size_t count = form->bytes(text + begin, bytes - begin);
            if (count > 0)
                at = put_stars(text, &bytes, begin, count) - 1;
            break;
        }
    return bytes;
}

// --- Values by their name

// The ends of names that tell of a secret, in lower case. `_` stands for `-`, `_` or a blank, or for nothing.
static const char *const secret_names[] = {"password",   "passwd",     "passphrase",  "secret",
                                           "token",      "api_key",    "access_key",  "private_key",
                                           "secret_key", "credential", "credentials", "authorization"};

static bool is_letter_of(char letter, char byte) {
    return (byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte) == letter;
}

// Whether the text up to `end` ends with the name, whatever stands before the name: `DB_PASSWORD`.
static bool ends_with_name(const char *text, size_t end, const char *name) {
    size_t left = strlen(name);
    for (; left > 0 && end > 0; left--) {
        bool is_gap = name[left - 1] == '_';
        if (is_gap && text[end - 1] != '-' && text[end - 1] != '_' && text[end - 1] != ' ')
            continue;
        if (!is_gap && !is_letter_of(name[left - 1], text[end - 1]))
            return false;
        end--;
    }
    return left == 0;
}

// The name that the text up to `end` ends with; `count`: none.
static size_t find_name(const char *text, size_t end, size_t count) {
    size_t index = 0;
    assert(count == sizeof secret_names / sizeof *secret_names);
    while (index < count && !ends_with_name(text, end, secret_names[index]))
        index++;
    return index;
}

// Whether `=` or `:` at `at` stands behind a name of a secret, which may be in quotes, also escaped ones.
static bool is_behind_name(const char *text, size_t at, bool *has_scheme) {
    size_t end = at;
    assert(text[at] == '=' || text[at] == ':');
    while (end > 0 && at - end < 4 && strchr(" \t\"'\\", text[end - 1]))
        end--;
    size_t count = sizeof secret_names / sizeof *secret_names, index = find_name(text, end, count);
    *has_scheme = index == count - 1;
    return index < count;
}

// How many bytes the value at `at` has. In quotes it may have blanks.
static size_t value_bytes(const char *text, size_t bytes, size_t at, char quote) {
    size_t end = at;
    while (end < bytes && text[end] != '\n' &&
           (quote ? text[end] != quote : !is_blank_or_quote(text[end]) && !strchr(",;&)}]", text[end])))
        end++;
    return end - at;
}

// Moves behind blanks, and behind a quote, which is returned; 0: there is none.
static char skip_to_value(const char *text, size_t bytes, size_t *at) {
    while (*at < bytes && (text[*at] == ' ' || text[*at] == '\t'))
        ++*at;
    if (*at + 1 < bytes && text[*at] == '\\' && text[*at + 1] == '"')
        ++*at;
    bool is_quote = *at < bytes && (text[*at] == '"' || text[*at] == '\'');
    return is_quote ? text[(*at)++] : '\0';
}

// Moves behind a scheme of HTTP and its blank. Another first word is the credential itself.
static size_t skip_scheme(const char *text, size_t bytes, size_t at) {
    static const char *const schemes[] = {"bearer ", "basic ", "digest ", "token ", "apikey ", "negotiate "};
    for (size_t index = 0; index < sizeof schemes / sizeof *schemes; index++) {
        size_t count = strlen(schemes[index]);
        if (bytes - at > count && strncasecmp(text + at, schemes[index], count) == 0)
            return at + count;
    }
    return at;
}

size_t log_hide_named(char *text, size_t bytes) {
    for (size_t at = 0; at < bytes; at++) {
        bool has_scheme;
        if ((text[at] != '=' && text[at] != ':') || !is_behind_name(text, at, &has_scheme))
            continue;
        size_t begin = at + 1;
        char quote = skip_to_value(text, bytes, &begin);
        begin = has_scheme ? skip_scheme(text, bytes, begin) : begin;
        size_t count = value_bytes(text, bytes, begin, quote);
        if (count >= LOG_SECRET_BYTES_MIN)
            at = put_stars(text, &bytes, begin, count) - 1;
    }
    return bytes;
}

// --- Arguments of a command

static bool is_quote(char byte) {
    return byte == '"' || byte == '\'';
}

// Whether the value of an argument begins behind `at`: `=` stands there, or the blank behind an option such as --token.
static bool precedes_argument(const char *text, size_t bytes, size_t word, size_t at) {
    size_t count = sizeof secret_names / sizeof *secret_names;
    assert(word <= at && at < bytes);
    bool is_option = text[at] == ' ' && text[word] == '-' && at + 1 < bytes && text[at + 1] != '-';
    return (text[at] == '=' || is_option) && find_name(text, at, count) < count;
}

// Hides the value behind `at`, where these quotes are open; 0: none are. Returns what follows the value.
static size_t hide_argument(char *text, size_t *bytes, size_t at, char quote) {
    size_t begin = at + 1;
    char end_quote = text[at] == '=' ? quote : '\0';
    assert(at < *bytes);
    while (text[at] == ' ' && begin < *bytes && text[begin] == ' ')
        begin++;
    if (begin < *bytes && is_quote(text[begin]) && text[begin] != quote)
        end_quote = text[begin++];
    size_t end = begin;
    while (end < *bytes && (end_quote ? text[end] != end_quote : !is_blank_or_quote(text[end])))
        end++;
    return end - begin >= LOG_SECRET_BYTES_MIN ? put_stars(text, bytes, begin, end - begin) : end;
}

size_t log_hide_arguments(char *text, size_t bytes) {
    char quote = '\0'; // that is open
    for (size_t at = 0, word = 0; at < bytes; at++) {
        if (quote ? text[at] == quote : is_quote(text[at])) {
            quote = quote ? '\0' : text[at];
            word = at + 1;
        } else if (precedes_argument(text, bytes, word, at)) {
            at = hide_argument(text, &bytes, at, quote);
            at -= at < bytes && text[at] == quote; // the end of the quotes is looked at
            word = at + 1;
        } else if (text[at] == ' ') {
            word = at + 1;
        }
    }
    return bytes;
}

// --- One secret

// How many bytes of the text's end are the beginning of the secret.
static size_t cut_bytes(const char *text, size_t bytes, const char *secret, size_t secret_bytes) {
    size_t count = bytes < secret_bytes ? bytes : secret_bytes;
    assert(secret_bytes >= LOG_SECRET_BYTES_MIN);
    while (count >= LOG_SECRET_BYTES_MIN && memcmp(text + bytes - count, secret, count) != 0)
        count--;
    return count >= LOG_SECRET_BYTES_MIN ? count : 0;
}

// Hides the places where the secret is spelled otherwise. Only a text with an escape, or with a blank in the secret, can have one.
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

// The keyed hash against the vectors of its authors' own program: the key is 00 01 02 ..., and so is the
// text.
#include "core/base/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct siphash_key KEY = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};

// For texts of so many bytes: SipHash-1-3 and SipHash-2-4-128.
static const struct vector {
    size_t bytes;
    const char *table, *name;
} vectors[] = {
    {0, "dcc40f055801acab", "a3817f04ba25a8e66df67214c7550293"},
    {1, "93ca577df39bf4c9", "da87c1d86b99af44347659119b22fc45"},
    {3, "fbf7dde7b80af88b", "9c70b60c5267a94e5f33b6b02985ed51"},
    {4, "2883d388605775cf", "f88164c12d9c8faf7d0f6e7c7bcd5579"},
    {7, "4011b19b987d92d3", "a1f1ebbed8dbc153c0b84aa61ff08239"},
    {8, "8e9a298d11959036", "3b62a9ba6258f5610f83e264f31497b4"},
    {9, "e43d066cb38ea425", "264499060ad9baabc47f8b02bb6d71ed"},
    {12, "a2d9b457b184a378", "d626b266905ef35882634df68532c125"},
    {15, "5699512a6dd820d3", "5493e99933b0a8117e08ec0f97cfc3d9"},
    {63, "a8b3bbb76290199d", "5150d1772f50834a503e069a973fbd7c"},
};

static void expect_bytes(const uint8_t *bytes, size_t count, const char *expected) {
    char text[2 * SIPHASH_BYTES + 1];
    for (size_t at = 0; at < count; at++)
        snprintf(text + 2 * at, 3, "%02x", bytes[at]);
    assert_string_equal(text, expected);
}

static void it_gives_the_vectors(void **state) {
    (void)state;
    uint8_t text[64], out[SIPHASH_BYTES];
    for (size_t at = 0; at < sizeof text; at++)
        text[at] = (uint8_t)at;
    for (size_t index = 0; index < sizeof vectors / sizeof *vectors; index++) {
        const struct vector *vector = &vectors[index];
        uint64_t table = siphash_table(&KEY, text, vector->bytes);
        for (size_t at = 0; at < sizeof table; at++)
            out[at] = (uint8_t)(table >> 8 * at);
        expect_bytes(out, sizeof table, vector->table);
        siphash_name(&KEY, text, vector->bytes, out);
        expect_bytes(out, sizeof out, vector->name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gives_the_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Nobody has more than its share, whoever else has what, and all that is given back may be taken again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/quota.h"

enum { HALF = 1000 };

static struct quota_shares shares;

static int begin(void **state) {
    (void)state;
    memset(&shares, 0, sizeof shares);
    return 0;
}

static uint64_t holder_at(uint64_t first, uint64_t second) {
    return first | second << QUOTA_SHARES_BITS;
}

static void a_holder_has_no_more(void **state) {
    (void)state;
    uint64_t holder = holder_at(7, 9);
    assert_true(quota_shares_take(&shares, holder, HALF - 1, HALF));
    assert_false(quota_shares_take(&shares, holder, 2, HALF));
    assert_true(quota_shares_take(&shares, holder, 1, HALF));
    assert_false(quota_shares_take(&shares, holder, 1, HALF));
    quota_shares_give(&shares, holder, HALF);
    assert_false(quota_shares_take(&shares, holder, HALF + 1, HALF));
    assert_true(quota_shares_take(&shares, holder, HALF, HALF));
    quota_shares_give(&shares, holder, HALF);
}

// Another one that is counted at one of the places, or at neither, doesn't matter.
static void others_have_theirs(void **state) {
    (void)state;
    uint64_t holder = holder_at(7, 9), others[] = {holder_at(7, 10), holder_at(8, 9), holder_at(9, 7)};
    assert_true(quota_shares_take(&shares, others[0], HALF, HALF));
    assert_true(quota_shares_take(&shares, holder, HALF, HALF));
    assert_true(quota_shares_take(&shares, others[2], HALF, HALF));
    assert_false(quota_shares_take(&shares, holder, 1, HALF));
    quota_shares_give(&shares, holder, HALF);
    assert_true(quota_shares_take(&shares, others[1], HALF, HALF));
    quota_shares_give(&shares, others[0], HALF);
    quota_shares_give(&shares, others[1], HALF);
    quota_shares_give(&shares, others[2], HALF);
    static const struct quota_shares none;
    assert_memory_equal(&shares, &none, sizeof shares);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_holder_has_no_more, begin),
        cmocka_unit_test_setup(others_have_theirs, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

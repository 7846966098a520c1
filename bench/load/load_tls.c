// See load_tls.h. Success: what is opened lies behind what was held. Failure: as a connection that broke.
#include "bench/load/load_tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

#include "bench/load/load_bytes.h"

enum { RECORD_BYTES_MAX = 16 * 1024 };

bool load_tls_begin(SSL *ssl) {
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    if (in == NULL || out == NULL) {
        BIO_free(in);
        BIO_free(out);
        return false;
    }
    SSL_set_bio(ssl, in, out);
    return true;
}

bool load_tls_open(SSL *ssl, const uint8_t *arrived, size_t count, struct bytes *out) {
    bool good = count == 0 || BIO_write(SSL_get_rbio(ssl), arrived, (int)count) == (int)count;
    ERR_clear_error();
    for (int result = 1; good && result == 1;) {
        size_t opened = 0;
        if (!bytes_room(out, RECORD_BYTES_MAX)) {
            return false;
        }
        result = SSL_read_ex(ssl, out->at + out->count, RECORD_BYTES_MAX, &opened);
        out->count += opened;
        good = result == 1 || SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ;
    }
    return good;
}

bool load_tls_seal(SSL *ssl, const uint8_t *bytes, size_t count, struct bytes *out) {
    BIO *sealed = SSL_get_wbio(ssl);
    ERR_clear_error();
    for (size_t at = 0, written; at < count; at += written) { // a record at a time
        if (SSL_write_ex(ssl, bytes + at, count - at, &written) != 1) {
            return false;
        }
    }
    char *from = NULL;
    long sealed_bytes = BIO_get_mem_data(sealed, &from);
    if (sealed_bytes < 0 || !bytes_room(out, (size_t)sealed_bytes)) {
        return false;
    }
    memcpy(out->at + out->count, from, (size_t)sealed_bytes);
    out->count += (size_t)sealed_bytes;
    return BIO_reset(sealed) == 1;
}

void load_tls_end(SSL *ssl) {
    SSL_free(ssl);
}

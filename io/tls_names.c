#include "io/tls_names.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <string.h>

// A name with a zero byte in it could be taken for its beginning.
static bool show(const ASN1_STRING *name, secure_visit *visit, void *context) {
    const char *bytes = (const char *)ASN1_STRING_get0_data(name);
    int count = ASN1_STRING_length(name);
    return count > 0 && !memchr(bytes, 0, (size_t)count) && visit(context, bytes, (size_t)count);
}

static bool show_address(const ASN1_STRING *name, secure_visit *visit, void *context) {
    char text[INET6_ADDRSTRLEN];
    int count = ASN1_STRING_length(name);
    int family = count == 4 ? AF_INET : count == 16 ? AF_INET6 : AF_UNSPEC;
    return family != AF_UNSPEC && inet_ntop(family, ASN1_STRING_get0_data(name), text, sizeof text) &&
           visit(context, text, strlen(text));
}

static bool show_alternative(const GENERAL_NAME *name, secure_visit *visit, void *context) {
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    switch (type) {
    case GEN_DNS:
    case GEN_EMAIL:
    case GEN_URI:
        return show(value, visit, context);
    case GEN_IPADD:
        return show_address(value, visit, context);
    default:
        return false;
    }
}

// The last one is the most specific. As UTF-8, whatever it is written in.
static bool show_common_name(X509 *certificate, secure_visit *visit, void *context) {
    X509_NAME *subject = X509_get_subject_name(certificate);
    int at = -1;
    for (int next = -1; (next = X509_NAME_get_index_by_NID(subject, NID_commonName, next)) >= 0;)
        at = next;
    if (at < 0)
        return false;
    unsigned char *text = NULL;
    int count = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    bool taken = count > 0 && !memchr(text, 0, (size_t)count) && visit(context, (char *)text, (size_t)count);
    OPENSSL_free(text);
    return taken;
}

bool tls_names_visit(X509 *certificate, secure_visit *visit, void *context) {
    int critical;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, NULL);
    if (!names) // none (-1), or what can't be read: then it has no name
        return critical == -1 && show_common_name(certificate, visit, context);
    bool taken = false;
    for (int index = 0; !taken && index < sk_GENERAL_NAME_num(names); index++)
        taken = show_alternative(sk_GENERAL_NAME_value(names, index), visit, context);
    GENERAL_NAMES_free(names);
    return taken;
}

// The tables of header blocks that tests/core/wire/frame.c lays before the scanner. Some blocks must be
// taken, others refused, at the given byte and for the given reason (HugAI v2 headers; RFC 9110 section 5).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/wire/frame.h"

// A good block and its result; a body of '.' is put behind it.
struct good {
    const char *block;
    uint32_t body_bytes;
    bool canonical;
    enum unit_version version;
};

#define LENGTH "Content-Length: 3\r\n"

static const struct good good_blocks[] = {
    {LENGTH "\r\n", 3, true, 0},
    {"Content-Length: 14\r\n\r\n", 14, true, 0},
    {LENGTH "A: b\r\n\r\n", 3, true, 0},
    // The length in other spellings of the same.
    {"content-length: 3\r\n\r\n", 3, false, 0},
    {"CONTENT-LENGTH: 3\r\n\r\n", 3, false, 0},
    {"Content-Length:3\r\n\r\n", 3, false, 0},
    {"Content-Length:  3\r\n\r\n", 3, false, 0},
    {"Content-Length:\t3\r\n\r\n", 3, false, 0},
    {"Content-Length: 3 \r\n\r\n", 3, false, 0},
    {"Content-Length: \t 3\t \r\n\r\n", 3, false, 0},
    {"Content-Length: 03\r\n\r\n", 3, false, 0},
    {"Content-Length: 0000000012\r\n\r\n", 12, false, 0},
    {"A: b\r\n" LENGTH "\r\n", 3, false, 0},
    // Any media type; charset=utf-8 in every spelling.
    {LENGTH "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: application/json\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type:\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b;\r\n\r\n", 3, true, 0},
    {LENGTH "content-type: a/b;CHARSET=UTF-8\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; charset=utf8\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; charset=\"utf-8\"\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; charset=\"\\ut\\f8\"\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b ;\tcharset=Utf-8 ; q=1\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; x=\"; charset=latin1\"; charset=utf-8\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; x=\"\\\"; charset=latin1\"\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; x = \"; charset=latin1\"\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; charset = \"utf-8\"\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; charsets=latin1; xcharset=latin1\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Type: a/b; charset=utf-8; charset=utf8\r\n\r\n", 3, true, 0},
    // The version's major number decides, and isn't a matter of framing.
    {LENGTH "HugAI-Version: 2.0.0\r\n\r\n", 3, true, VERSION_SERVED},
    {LENGTH "hugai-version:2\r\n\r\n", 3, true, VERSION_SERVED},
    {LENGTH "HUGAI-VERSION: 2.17 \r\n\r\n", 3, true, VERSION_SERVED},
    {LENGTH "HugAI-Version: 1.9\r\n\r\n", 3, true, VERSION_OTHER},
    {LENGTH "HugAI-Version: 20.0\r\n\r\n", 3, true, VERSION_OTHER},
    {LENGTH "HugAI-Version: 02\r\n\r\n", 3, true, VERSION_OTHER},
    {LENGTH "HugAI-Version: v2\r\n\r\n", 3, true, VERSION_OTHER},
    {LENGTH "HugAI-Version:\r\n\r\n", 3, true, VERSION_OTHER},
    // Fields that mean nothing here, as often as they like, with all that a value may hold.
    {LENGTH "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 3, true, 0},
    {LENGTH "Request-Id: 7\r\nRequest-Id: 7\r\nCustom-X: \r\nCustom-X:\r\n\r\n", 3, true, 0},
    {LENGTH "!#$%&'*+-.^_`|~09azAZ: \x80\xff\t\"(),/:;<=>?@[\\]{}\r\n\r\n", 3, true, 0},
    {LENGTH "Content-Lengthy: 5\r\nContent-Lengt: 5\r\nContent_Length: 5\r\n\r\n", 3, true, 0},
};

// A bad block and its fault. The last byte is the one that shows the fault.
struct bad {
    const char *block;
    enum unit_fault fault;
    uint32_t fault_at;
};

static const struct bad bad_blocks[] = {
    // Names: tokens, then a colon at once.
    {"GET ", UNIT_FAULT_NAME, 3},
    {":", UNIT_FAULT_NAME, 0},
    {LENGTH ":", UNIT_FAULT_NAME, 19},
    {"Content-Length ", UNIT_FAULT_NAME, 14},
    {"Content-Length\t", UNIT_FAULT_NAME, 14},
    {"Content-Length\r", UNIT_FAULT_NAME, 14},
    {"Content-Length\n", UNIT_FAULT_NAME, 14},
    {"{", UNIT_FAULT_NAME, 0},
    {"\xef", UNIT_FAULT_NAME, 0},
    {"A\xc3", UNIT_FAULT_NAME, 1},
    {"A\"", UNIT_FAULT_NAME, 1},
    // Line folds.
    {LENGTH " ", UNIT_FAULT_NAME, 19},
    {"A: b\r\n\t", UNIT_FAULT_NAME, 6},
    // Values: no controls but tab.
    {"A: \x01", UNIT_FAULT_VALUE, 3},
    {"A: b\x7f", UNIT_FAULT_VALUE, 4},
    {"A: 123456789012345678\x0b", UNIT_FAULT_VALUE, 21},
    {"Content-Length: x\x1f", UNIT_FAULT_VALUE, 17},
    // Lines: CR LF and nothing else.
    {"\n", UNIT_FAULT_LINE_END, 0},
    {"Content-Length: 3\n", UNIT_FAULT_LINE_END, 17},
    {"Content-Length: 3\r\r", UNIT_FAULT_LINE_END, 18},
    {"Content-Length: 3\rA", UNIT_FAULT_LINE_END, 18},
    {LENGTH "\n", UNIT_FAULT_LINE_END, 19},
    {LENGTH "\r\r", UNIT_FAULT_LINE_END, 20},
    {LENGTH "\r{", UNIT_FAULT_LINE_END, 20},
    // The length: required, once, 1 to 10 digits, not zero.
    {"\r\n", UNIT_FAULT_LENGTH_MISSING, 0},
    {"A: b\r\n\r\n", UNIT_FAULT_LENGTH_MISSING, 6},
    {"Content-Length:\r\n", UNIT_FAULT_LENGTH, 15},
    {"Content-Length:  \r\n", UNIT_FAULT_LENGTH, 17},
    {"Content-Length: +5\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: -5\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 0x5\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 5a\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 5.\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 5, 5\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 5 5\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: \"5\"\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: \xd9\xa3\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 00000000005\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 12345678901\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: 0\r\n", UNIT_FAULT_LENGTH_ZERO, 16},
    {"content-length:  0000000000\r\n", UNIT_FAULT_LENGTH_ZERO, 17},
    {"Content-Length: 16777217\r\n", UNIT_FAULT_BODY_TOO_LARGE, 16},
    {"Content-Length: 4294967296\r\n", UNIT_FAULT_BODY_TOO_LARGE, 16},
    {"Content-Length: 4294967299\r\n", UNIT_FAULT_BODY_TOO_LARGE, 16},
    {"A: b\r\nContent-Length:\t9999999999\r\n", UNIT_FAULT_BODY_TOO_LARGE, 22},
    // Fields that may come once only; a second one is refused whatever its value.
    {LENGTH LENGTH, UNIT_FAULT_REPEATED, 19},
    {LENGTH "content-length: 9\r\n", UNIT_FAULT_REPEATED, 19},
    {LENGTH "content-length: x\r\n", UNIT_FAULT_REPEATED, 19},
    {"Content-Type: a/b\r\nA: b\r\ncontent-type: a/b\r\n", UNIT_FAULT_REPEATED, 25},
    {"HugAI-Version: 2\r\nHugAI-Version: 2\r\n", UNIT_FAULT_REPEATED, 18},
    {"Governance-Level: manual\r\nGOVERNANCE-LEVEL:\r\n", UNIT_FAULT_REPEATED, 26},
    {"Custom-Timeout-Ms: 1\r\nCustom-Timeout-MS: 1\r\n", UNIT_FAULT_REPEATED, 22},
    // Charsets.
    {"Content-Type: a/b; charset=latin1\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b; CharSet=\"utf-16\"\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset=utf-80\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset=utf-\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset='utf-8'\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset=\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset=\"utf-8\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset=\"utf-8\\\"\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b;charset=\"utf-8\"x\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b; x=\"y\"; charset=latin1\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b; x=\"; charset=latin1\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b; charset=utf-8; charset=latin1\r\n", UNIT_FAULT_CHARSET, 14},
    {"Content-Type: a/b; charset = latin1\r\n", UNIT_FAULT_CHARSET, 14},
    // Blocks with two faults, of which the first counts.
    {"Content-Length: x\r\n", UNIT_FAULT_LENGTH, 16},
    {"Content-Length: x\n", UNIT_FAULT_LINE_END, 17},
};

// The protocol between a blind relay (bench/relay.c) and its load. A connection begins with one byte that
// says which side it is on and is echoed when the relay has taken note. Then blocks of one size follow, both
// ways.
//
//   block   [bytes of the block: 4] [bytes of the body: 4] [the body] [zeros]
//
// The relay reads none of it. A block is RELAY_WRAP_BYTES longer than its bodies are said to be, so that it
// is about as long as the hub's frame with that body.
#pragma once

enum { RELAY_WRAP_BYTES = 24, RELAY_SOURCE = 's', RELAY_TARGET = 't' };

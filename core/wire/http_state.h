// States that the parts of the scanner of requests share (http.h).
#pragma once

enum { HTTP_LINE_BYTES_MAX = 8 * 1024, HTTP_CHUNK_LINE_BYTES_MAX = 1024 };

// unit.state: the head's own are below HTTP_CHUNKS, those of a chunked body from there on.
enum { HTTP_CHUNKS = 16, HTTP_SIZED = 32, HTTP_REFUSED };

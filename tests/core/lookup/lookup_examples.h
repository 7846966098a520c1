// The example messages of the HugAI v2 messages (sections 3.1 to 3.8) and of the Hermes extension API, as
// those documents print them, with what they are.
#pragma once

#include "core/lookup/lookup.h"

struct row {
    const char *body;
    enum lookup_verdict verdict;
    enum body_kind kind;
};

static const struct row examples[] = {
    {"{\n\"jsonrpc\": \"2.0\",\n\"method\": \"initialize\",\n\"params\": {\n\"processId\": "
     "12345,\n\"agentId\": "
     "\"demo-agent-1\",\n\"capabilities\": { \"code-generation\": true, \"testing\": true "
     "},\n\"governanceLevel\": "
     "\"supervised\",\n\"clientInfo\": { \"name\": \"HugAI Client\", \"version\": \"1.0.0\" "
     "},\n\"workspaceFolders\": "
     "[\"/project/demo\"]\n},\n\"id\": 1\n}",
     LOOKUP_GOOD, BODY_REQUEST},
    {"{\n\"jsonrpc\": \"2.0\",\n\"method\": \"agent/register\",\n\"params\": {\n\"agentId\": "
     "\"advanced-agent-1\",\n"
     "\"capabilities\": { \"code-generation\": true, \"testing\": true, \"refactoring\": true "
     "},\n\"governanceLevel\": "
     "\"supervised\",\n\"version\": \"1.2.0\",\n\"author\": \"HugAI Team\",\n\"description\": \"Advanced "
     "agent for code "
     "generation and refactoring\",\n\"dependencies\": [\"test-agent\", \"review-agent\"]\n},\n\"id\": 2\n}",
     LOOKUP_GOOD, BODY_REQUEST},
    {"{\n\"jsonrpc\": \"2.0\",\n\"method\": \"agent/request\",\n\"params\": {\n\"sourceAgent\": "
     "\"demo-agent-1\",\n"
     "\"targetAgent\": \"test-agent-2\",\n\"task\": \"generate-tests\",\n\"context\": { \"file\": "
     "\"main.ts\" },\n"
     "\"priority\": \"high\"\n},\n\"id\": 3\n}",
     LOOKUP_GOOD, BODY_REQUEST},
    {"{\n\"jsonrpc\": \"2.0\",\n\"method\": \"event\",\n\"params\": {\n\"event\": "
     "\"task-progress\",\n\"data\": { "
     "\"task\": \"generate-tests\", \"progress\": 50 }\n}\n}",
     LOOKUP_GOOD, BODY_NOTIFICATION},
    {"{\n\"jsonrpc\": \"2.0\",\n\"method\": \"governance/approval\",\n\"params\": {\n\"checkpoint\": "
     "\"code-review\",\n"
     "\"artifact\": { \"file\": \"main.ts\", \"diff\": \"...\" },\n\"approver\": "
     "\"user-123\",\n\"decision\": "
     "\"approved\",\n\"feedback\": \"Meets the standards.\"\n},\n\"id\": 4\n}",
     LOOKUP_GOOD, BODY_REQUEST},
    {"{\n\"jsonrpc\": \"2.0\",\n\"method\": \"tool/integration\",\n\"params\": {\n\"tool\": "
     "\"ci-pipeline\",\n\"action\": "
     "\"run-tests\",\n\"data\": { \"branch\": \"feature-x\" },\n\"callback\": \"event\"\n},\n\"id\": 5\n}",
     LOOKUP_GOOD, BODY_REQUEST},
    {"{\n\"jsonrpc\": \"2.0\",\n\"method\": \"audit/log\",\n\"params\": {\n\"action\": "
     "\"approval\",\n\"actor\": "
     "\"user-123\",\n\"target\": \"main.ts\",\n\"details\": { \"decision\": \"approved\" },\n\"timestamp\": "
     "\"2024-06-01T12:34:56Z\"\n}\n}",
     LOOKUP_GOOD, BODY_NOTIFICATION},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", LOOKUP_GOOD, BODY_REQUEST},
    {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"editor/getMessage\",\n  \"params\": {\n    "
     "\"format\": "
     "\"json\"\n  }\n}",
     LOOKUP_GOOD, BODY_REQUEST},
    {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"message\": "
     "\"{\\\"MSH\\\":{\\\"1\\\":\\\"|\\\",\\\"2\\\":\\\"^~\\\\\\\\&\\\"}}\"\n  }\n}",
     LOOKUP_GOOD, BODY_RESPONSE},
    {"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"error\": {\n    \"code\": -32600,\n    \"message\": "
     "\"Invalid "
     "Request\",\n    \"data\": \"Missing required field: method\"\n  }\n}",
     LOOKUP_GOOD, BODY_RESPONSE},
    {"{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"initialized\"\n}", LOOKUP_GOOD, BODY_NOTIFICATION},
};
enum { EXAMPLES_COUNT = sizeof examples / sizeof *examples };

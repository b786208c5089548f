// A TOML document as events in the order of its tables. Parsed by toml++, which throws nothing here.

#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ctoml_kind {
    CTOML_TABLE = 0,    // its entries follow, one level deeper
    CTOML_ARRAY = 1,    // its elements follow, one level deeper, without keys
    CTOML_STRING = 2,
    CTOML_INTEGER = 3,
    CTOML_BOOLEAN = 4,  // text is "true" or "false"
    CTOML_OTHER = 5,    // floating-point numbers, dates and times
};

struct ctoml_event {
    uint32_t depth;     // 0 for entries of the document
    uint32_t line;      // from 1 on
    int kind;           // ctoml_kind
    const char *key;    // UTF-8, key_length bytes, not terminated; empty in arrays
    size_t key_length;
    const char *text;   // of scalars, UTF-8, text_length bytes, not terminated
    size_t text_length;
};

struct ctoml_failure {
    uint32_t line;
    char message[256];  // UTF-8, terminated
};

// Calls `visit` for each value. Returns 0, or -1 with `failure` filled. Its pointers are valid during a call.
int ctoml_parse(
    const char *text, size_t length, void *context, void (*visit)(void *context, const struct ctoml_event *event),
    struct ctoml_failure *failure);

#ifdef __cplusplus
}
#endif

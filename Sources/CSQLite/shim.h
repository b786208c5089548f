#include <stddef.h>
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast that Swift cannot import.
static inline sqlite3_destructor_type chatfs_sqlite_transient(void) {
    return SQLITE_TRANSIENT;
}

// When SQLite recovers a log without frames, it copies uninitialised memory from malloc(3) into the log's shared
// memory, which is a file. So large allocations are zeroed. Call before any other function of SQLite; one module does.
static inline sqlite3_mem_methods *chatfs_sqlite_memory(void) {
    static sqlite3_mem_methods methods;
    return &methods;
}

static inline void *chatfs_sqlite_allocate(int size) {
    void *memory = chatfs_sqlite_memory()->xMalloc(size);
    // The size of a part of the shared memory.
    if (memory && size >= 32768) __builtin_memset(memory, 0, (size_t)size);
    return memory;
}

static inline int chatfs_sqlite_zero_memory(void) {
    int result = sqlite3_config(SQLITE_CONFIG_GETMALLOC, chatfs_sqlite_memory());
    if (result != SQLITE_OK) return result;
    sqlite3_mem_methods methods = *chatfs_sqlite_memory();
    methods.xMalloc = chatfs_sqlite_allocate;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
}

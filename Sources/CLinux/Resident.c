#define _GNU_SOURCE
#include "CLinux.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Code changed by the dynamic linker exists only in memory.
static int has_changed_text(const struct dl_phdr_info *object) {
    for (int index = 0; index < object->dlpi_phnum; index++) {
        if (object->dlpi_phdr[index].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[index].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_TEXTREL) return 1;
            if (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL) return 1;
        }
    }
    return 0;
}

static int give_back(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size;
    (void)unused;
    if (strstr(object->dlpi_name, "vdso") || has_changed_text(object)) return 0;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int index = 0; index < object->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        size_t start = (object->dlpi_addr + segment->p_vaddr) & ~(page - 1);
        // A partial last page stays, because others may share it.
        size_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_filesz) & ~(page - 1);
        if (end > start) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}

void chatfs_give_back_code(void) { dl_iterate_phdr(give_back, NULL); }

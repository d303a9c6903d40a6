/* What the operating system may do to a program: each call that changes files, and each large allocation, can be made to
   fail, or to be the last thing the process ever does. Loaded before the C library (LD_PRELOAD); asleep until armed.

   Only files below one folder count. Every change is written to a log, from which the caller learns what a power failure
   would have lost: what was written and not yet flushed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ERROR = 1, CRASH = 2, MEMORY = 3 };

static char folder[4096];
static size_t length;
static int mode, code, journal = -1;
static long at;
static size_t least;
static atomic_long seen;

void faults_arm(const char *below, int kind, long number, int error, int log, size_t smallest) {
    strncpy(folder, below, sizeof folder - 1);
    length = strlen(folder);
    at = number, code = error, journal = log, least = smallest;
    atomic_store(&seen, 0);
    mode = kind;
}

long faults_disarm(void) {
    mode = 0;
    return atomic_load(&seen);
}

static int below(const char *path) { return mode && mode != MEMORY && path && !strncmp(path, folder, length); }

static int known(int handle, char *path) {
    char link[64];
    if (!mode || mode == MEMORY || handle == journal) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    long count = syscall(SYS_readlink, link, path, 4095);
    if (count <= 0) return 0;
    path[count] = 0;
    return below(path);
}

static void note(const char *what, const char *path, const char *other) {
    char line[8300];
    int count = snprintf(line, sizeof line, "%s\t%s\t%s\n", what, path, other);
    syscall(SYS_write, journal, line, (size_t)count);
}

/* Whether it is this call's turn: 1 to fail, 2 to end the process. */
static int turn(void) { return atomic_fetch_add(&seen, 1) == at ? mode : 0; }

#define NEXT(name) static __typeof__(name) *next; if (!next) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define STRIKE(bad) switch (turn()) { case ERROR: errno = code; return bad; case CRASH: _exit(77); }

#define OPEN(name)                                                                        \
    int name(const char *path, int flags, ...) {                                          \
        NEXT(name);                                                                       \
        va_list more;                                                                     \
        va_start(more, flags);                                                            \
        int access = va_arg(more, int);                                                   \
        va_end(more);                                                                     \
        if (below(path) && flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) {             \
            STRIKE(-1)                                                                    \
            if (flags & O_TRUNC) note("write", path, "");                                 \
        }                                                                                 \
        return next(path, flags, access);                                                 \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int handle, const void *data, size_t count) {
    NEXT(write);
    char path[4096];
    if (known(handle, path)) {
        int now = turn();
        note("write", path, "");
        if (now == ERROR) {
            if (count > 1 && code == ENOSPC) return next(handle, data, count / 2);  /* a disk that fills up */
            errno = code;
            return -1;
        }
        if (now == CRASH) {
            next(handle, data, count / 2);
            _exit(77);
        }
        if (mode == ERROR && code == ENOSPC && atomic_load(&seen) > at) {  /* and stays full */
            errno = code;
            return -1;
        }
    }
    return next(handle, data, count);
}

#define PWRITE(name, place)                                                               \
    ssize_t name(int handle, const void *data, size_t count, place offset) {              \
        NEXT(name);                                                                       \
        char path[4096];                                                                  \
        if (known(handle, path)) { STRIKE(-1) note("write", path, ""); }                  \
        return next(handle, data, count, offset);                                         \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define TRUNCATE(name, place)                                                             \
    int name(int handle, place size) {                                                    \
        NEXT(name);                                                                       \
        char path[4096];                                                                  \
        if (known(handle, path)) { STRIKE(-1) note("write", path, ""); }                  \
        return next(handle, size);                                                        \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define FLUSH(name)                                                                       \
    int name(int handle) {                                                                \
        NEXT(name);                                                                       \
        char path[4096];                                                                  \
        if (known(handle, path)) { STRIKE(-1) note("flush", path, ""); }                  \
        return next(handle);                                                              \
    }
FLUSH(fsync)
FLUSH(fdatasync)

#define TWO(name)                                                                         \
    int name(const char *from, const char *to) {                                          \
        NEXT(name);                                                                       \
        if (below(to)) { STRIKE(-1) note(#name, from, to); }                              \
        return next(from, to);                                                            \
    }
TWO(rename)
TWO(link)

int unlink(const char *path) {
    NEXT(unlink);
    if (below(path)) { STRIKE(-1) note("unlink", path, ""); }
    return next(path);
}

int mkdir(const char *path, mode_t access) {
    NEXT(mkdir);
    if (below(path)) STRIKE(-1)
    return next(path, access);
}

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
#define REFUSED(size) (mode == MEMORY && (size) >= least && turn())
void *malloc(size_t size) { return REFUSED(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return REFUSED(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return REFUSED(size) ? NULL : __libc_realloc(old, size); }

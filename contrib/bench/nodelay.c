/*
 * Sets TCP_NODELAY on every connection of a program. The
 * official xftp programs do not, so that on one machine much of their time is waiting (Nagle's algorithm against
 * delayed acknowledgements); chatfs-bench measures them with and without.
 *
 *     cc -O2 -shared -fPIC nodelay.c -o nodelay.so
 *     LD_PRELOAD=./nodelay.so xftp …
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* A socket of another kind refuses: that is no error of the caller's. */
static void send_at_once(int descriptor) {
    int kept = errno, yes = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    errno = kept;
}

int socket(int family, int type, int protocol) {
    int (*next)(int, int, int) = dlsym(RTLD_NEXT, "socket");
    int made = next(family, type, protocol);
    if (made >= 0) send_at_once(made);
    return made;
}

int accept(int listening, struct sockaddr *address, socklen_t *length) {
    int (*next)(int, struct sockaddr *, socklen_t *) = dlsym(RTLD_NEXT, "accept");
    int made = next(listening, address, length);
    if (made >= 0) send_at_once(made);
    return made;
}

int accept4(int listening, struct sockaddr *address, socklen_t *length, int flags) {
    int (*next)(int, struct sockaddr *, socklen_t *, int) = dlsym(RTLD_NEXT, "accept4");
    int made = next(listening, address, length, flags);
    if (made >= 0) send_at_once(made);
    return made;
}

import Base
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("Events beside a folder that waits", .serialized)
struct SlowFolderTests {
    @Test("a waiting folder delays no other folder's events")
    func others() async throws {
        let stage = try await ScriptedMount.start()
        stage.simplex.change { $0.contacts[2] = "carol" }
        let doomed = stage.offer(1, size: 1000, description: "")
        try await stage.mount(["--delete", "self"])
        try await stage.waitUntilShown(doomed)
        let watch = OpenFile(adopting: inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)))
        let watched = inotify_add_watch(watch.descriptor, stage.folder.path("Chats/carol"), UInt32(IN_CREATE))
        try #require(watched >= 0)

        // The kernel locks Bob's folder until the core answers, or for five seconds.
        stage.simplex.change { $0.silent = ["/_delete item "] }
        let isRemoved = Lock(false)
        let path = stage.path(of: doomed)
        Thread.start("remover") {
            unlink(path)
            isRemoved.withLock { $0 = true }
        }
        try await wait(until: "the core is asked") { stage.simplex.count("/_delete item ") == 1 }
        stage.simplex.tellNew(ScriptedMessage(id: 2, contact: 1, name: "late.txt"))
        try await Task.sleep(for: .milliseconds(200))
        stage.simplex.tellNew(ScriptedMessage(id: 3, contact: 2, name: "soon.txt"))
        try await wait(until: "Carol's folder has its event") {
            var requests = [pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0)]
            return poll(&requests, milliseconds: 0) == 1
        }
        #expect(!isRemoved.withLock { $0 })
        try await wait(until: "the removal ends") { isRemoved.withLock { $0 } }
        try await stage.leave()
    }
}

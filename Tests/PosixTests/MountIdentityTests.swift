import Glibc
import TestSupport
import Testing

@testable import Posix

/// The kernel reuses the number and device of a mount for the next one.
@Suite(
    "a mount and its successor", .serialized,
    .enabled(if: geteuid() == 0, "only root can mount what is needed"))
struct MountIdentityTests {
    @Test("a mount with a reused number is another mount")
    func successor() async throws {
        let folder = try TemporaryFolder()
        let formerPlace = try folder.makeFolder("earlier")
        try await mount(at: formerPlace)
        let former = try #require(try MountTable.mount(at: formerPlace))
        // A child process of another test may hold it for a moment.
        try await wait(until: "it may go") { await former.unmountIfIdle() == .gone }
        let place = try folder.makeFolder("later")
        try await mount(at: place)
        defer { umount2(place, Int32(MNT_DETACH)) }
        let later = try #require(try MountTable.mount(at: place))
        let earlier = MountTable.Mount(
            id: later.id, serial: former.serial, device: later.device, path: former.path, type: later.type,
            source: later.source)
        #expect(try !earlier.exists())
        #expect(await earlier.unmountIfIdle() == .gone)
        #expect(await earlier.detach() == .gone)
        #expect(try later.exists() && MountTable.mount(at: place) == later)
        try await wait(until: "it may go") { await later.unmountIfIdle() == .gone }
        #expect(try !later.exists())
    }

    @Test("concurrent mounts never unmount each other")
    func sideBySide() async throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b", "c"] { _ = try folder.makeFolder(name) }
        try await withThrowingTaskGroup { group in
            for name in ["a", "b", "c"] {
                let place = folder.path(name)
                group.addTask {
                    for _ in 0..<40 {
                        try await mount(at: place)
                        let own = try #require(try MountTable.mount(at: place))
                        try await Task.sleep(for: .milliseconds(2))
                        #expect(try own.exists(), "somebody took it away")
                        // A child process of another test may hold the path for a moment.
                        try await wait(until: "it may go") { await own.unmountIfIdle() == .gone }
                        // As a daemon that waits for the end of its connection.
                        for _ in 0..<5 { #expect(await own.unmountIfIdle() == .gone) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try MountTable.mounts(below: folder.path).isEmpty)
    }
}

private func mount(at place: String) async throws {
    let outcome = try await Shell.run("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", place])
    guard outcome.succeeded else { throw WaitedInVain("mount: \(outcome.errors)") }
}

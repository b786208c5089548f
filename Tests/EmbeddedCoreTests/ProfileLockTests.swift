import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct ProfileLockTests {
    @Test func aSecondMountIsRefusedAndToldWhoHasTheProfile() async throws {
        let world = try World()
        let alice = try await world.open("alice", mountpoint: "/home/me/My Chats")
        let error = await refusal { try await world.open("alice") }
        #expect(error?.code == .profileInUse)
        #expect(error?.sentence.contains("\(getpid())") == true)
        #expect(error?.sentence.contains("/home/me/My Chats") == true)
        // Another profile is free.
        await (try await world.open("bob")).shutDown()
        await alice.shutDown()
    }

    @Test func whoIsFinishingIsWaitedFor() async throws {
        let world = try World()
        let path = world.folder.path("lock")
        let holder = Lock<ProfileLock?>(try ProfileLock(path: path, mountpoint: nil, patience: .zero))
        holder.withLock { $0?.finish() }
        async let next = ThreadPool.shared.run {
            try ProfileLock(path: path, mountpoint: "/next", patience: .seconds(60))
        }
        try await Task.sleep(for: .milliseconds(120))
        holder.withLock { $0 = nil }
        _ = try await next
        let text = String(decoding: try world.folder.read("lock"), as: UTF8.self)
        #expect(
            ProfileLock.Holder(text)
                == ProfileLock.Holder(process: getpid(), state: .running, mountpoint: "/next"))
    }

    @Test func whoNeverFinishesIsNotWaitedForLongerThanThePatience() throws {
        let world = try World()
        let path = world.folder.path("lock")
        let holder = try ProfileLock(path: path, mountpoint: nil, patience: .zero)
        holder.finish()
        let error = #expect(throws: ChatError.self) {
            try ProfileLock(path: path, mountpoint: nil, patience: .milliseconds(150))
        }
        #expect(error?.code == .profileInUse)
        withExtendedLifetime(holder) {}
    }

    @Test func theLockGoesWithItsProcess() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        await (try await world.open("alice")).shutDown()
        await (try await world.open("alice")).shutDown()
    }
}

import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct ProfileLockTests {
    @Test func secondMountFailsNamingHolder() async throws {
        let world = try World()
        let alice = try await world.open("alice", mountpoint: "/home/me/My Chats")
        let error = await refusal { try await world.open("alice") }
        #expect(error?.code == .profileInUse)
        #expect(error?.sentence.contains("\(getpid())") == true)
        #expect(error?.sentence.contains("/home/me/My Chats") == true)
        // Other profiles are free.
        await (try await world.open("bob")).shutDown()
        await alice.shutDown()
    }

    @Test func lockEndsWithProcess() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        await (try await world.open("alice")).shutDown()
        await (try await world.open("alice")).shutDown()
    }
}

import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct ClosedCoreTests {
    @Test func keepsNoDescriptor() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let before = try openFiles(in: world)
        for name in ["alice", "bob"] {
            let core = try await world.open(name)
            _ = try await core.chats()
            #expect(try openFiles(in: world) > before)
            await core.shutDown()
        }
        // Cancelled tasks release the core when they end.
        try await wait(until: "all descriptors are closed") { try openFiles(in: world) == before }
    }

    /// Without those of SQLite, which closes some only with the last connection of the process.
    private func openFiles(in world: World) throws -> Int {
        let folder = world.directory.path
        return try OpenDescriptors.paths().values.count {
            $0.hasPrefix(folder) && !$0.hasPrefix(folder + "/chatfs.db")
        }
    }
}

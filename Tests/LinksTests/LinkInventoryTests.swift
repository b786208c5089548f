import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Links

@Suite("Comparing rows and files of links during a mount")
struct LinkInventoryTests {
    private let stage: LinkStage

    init() throws { stage = try LinkStage() }

    private func inventory() throws -> LinkInventory {
        try LinkInventory(
            path: stage.folder.path("profile/links.sqlite"), stagingFolder: stage.core.stagingFolder,
            profile: stage.core.profile)
    }

    @Test("without links nothing is created")
    func unused() throws {
        let inventory = try inventory()
        #expect(inventory.items.isEmpty && inventory.strays.isEmpty)
        #expect(inventory.folder == stage.folder.path("staging/links-3"))
        #expect(try stage.folder.names(in: "profile").isEmpty && stage.kept.isEmpty)
    }

    @Test("lists local files, and unnamed ones as strays")
    func compared() throws {
        let store = stage.store()
        let upload = try store.add(stage.message("a.bin", [1, 2]))
        _ = try store.add(stage.addition(1))
        let lost = try store.add(stage.message("b.bin", [1]))
        store.folder.remove(try #require(lost.storedName))
        let plain = try store.folder.makePlain(
            upload.id, named: "a.bin", of: try #require(store.location(of: upload)))
        try stage.folder.write([1], to: "staging/links-3/stray")
        // The mount continues meanwhile.
        let inventory = try inventory()
        #expect(inventory.items.map(\.id) == [lost.item, upload.item])
        #expect(inventory.items.last?.file?.source == store.location(of: upload))
        #expect(inventory.strays == ["stray"])
        #expect(access(plain, F_OK) == 0)
        #expect(try stage.folder.names(in: "staging/links-3").contains("stray"), "nothing is removed")
        _ = try store.remove([upload.id])
        #expect(try self.inventory().items.map(\.id) == [lost.item])
        store.close()
    }

    @Test("an unreadable folder is an error")
    func unreadable() throws {
        let store = stage.store()
        _ = try store.add(stage.message("a.bin", [1]))
        store.close()
        let path = stage.folder.path("staging/links-3")
        #expect(rename(path, stage.folder.path("moved")) == 0)
        try stage.folder.write([], to: "staging/links-3")
        #expect(throws: SystemError.self) { try inventory() }
    }
}

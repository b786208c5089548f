import Base
import ChatCore
import Posix
import TestSupport
import Testing

@testable import Namespace

/// Names reserved outside the tree.
@Suite struct ReservedNameTests {
    private typealias Fixture = NamespaceFixture

    private struct Reserved: Sendable {
        let names = Lock<Set<String>>([])

        func hold(_ names: String...) { self.names.withLock { $0.formUnion(names) } }
        func free(_ name: String) { names.withLock { _ = $0.remove(name) } }

        func leave(to fixture: NamespaceFixture) {
            let folder = fixture.folder(NamespaceFixture.alice)
            fixture.names.leave(
                NameReservation { name, place in
                    place == folder && names.withLock { $0.contains(name.description) }
                })
        }
    }

    private func taken(_ body: () throws -> Void) -> NamespaceErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? NamespaceError)?.code
        }
    }

    @Test func arrivalsGetTheNextFreeName() throws {
        let (fixture, reserved) = (try Fixture(), Reserved())
        reserved.leave(to: fixture)
        reserved.hold("F", "F (2)", "G.txt")
        _ = try fixture.names.show([
            Fixture.item(1, "F"), Fixture.item(2, "G.txt"), Fixture.item(3, "F"),
            Fixture.item(4, "F", in: Fixture.bob),
        ])
        #expect(fixture.list() == ["F (3)", "G (2).txt", "F (4)"])
        #expect(fixture.list(Fixture.bob) == ["F"])
        // An assigned name is permanent, whatever is reserved or freed later.
        reserved.free("F")
        reserved.hold("F (4)")
        _ = try fixture.names.show([Fixture.item(5, "F"), Fixture.item(6, "F")])
        #expect(fixture.list() == ["F (3)", "G (2).txt", "F (4)", "F", "F (5)"])
    }

    @Test func filesArrivedWhileUnmountedDoToo() throws {
        let (fixture, reserved) = (try Fixture(), Reserved())
        reserved.leave(to: fixture)
        reserved.hold("F")
        try fixture.names.complete(Fixture.alice, with: [Fixture.item(1, "F"), Fixture.item(2, "F")])
        #expect(fixture.list() == ["F (2)", "F (3)"])
    }

    @Test func draftCannotTakeReservedName() throws {
        let (fixture, reserved) = (try Fixture(), Reserved())
        let folder = fixture.folder(Fixture.alice)
        reserved.leave(to: fixture)
        reserved.hold("F")
        #expect(
            taken { _ = try fixture.names.show(draft: DraftID(1), named: EntryName("F"), in: folder) }
                == .nameTaken)
        #expect(fixture.list() == [])
        let node = try fixture.names.show(draft: DraftID(1), namedLike: EntryName("F"), in: folder)
        #expect(node.name == EntryName("F (2)"))
        #expect(
            taken { try fixture.names.rename(draft: DraftID(1), to: EntryName("F")) } == .nameTaken)
        #expect(fixture.list() == ["F (2)"])
        reserved.free("F")
        try fixture.names.rename(draft: DraftID(1), to: EntryName("F"))
        #expect(fixture.list() == ["F"])
    }

    @Test func nameTakenWhileUnchangedIsReserved() async throws {
        let (fixture, reserved) = (try Fixture(), Reserved())
        reserved.leave(to: fixture)
        let (names, folder) = (fixture.names, fixture.folder(Fixture.alice))
        let got = Lock<[String]>([])
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<30 {
                let name = "n\(number)"
                group.addTask {
                    await ThreadPool.shared.run {
                        _ = try? names.show([Fixture.item(Int64(number + 1), name)])
                    }
                }
                group.addTask {
                    await ThreadPool.shared.run {
                        names.whileUnchanged {
                            guard names.child(EntryName(name), of: folder) == nil else { return }
                            reserved.hold(name)
                            got.withLock { $0.append(name) }
                        }
                    }
                }
            }
        }
        let shown = Set(fixture.list())
        #expect(shown.count == 30)
        #expect(shown.isDisjoint(with: got.withLock { $0 }))
    }

    @Test func errorOfBodyIsThrown() throws {
        struct Refusal: Error {}
        let fixture = try Fixture()
        #expect(throws: Refusal.self) { try fixture.names.whileUnchanged { throw Refusal() } }
        #expect(fixture.names.whileUnchanged { 5 } == 5)
        _ = try fixture.names.show([Fixture.item(1, "a")])
        #expect(fixture.list() == ["a"])
    }
}

import Base
import RemoteControl
import TestSupport
import Testing

@testable import OfficialCore

/// A waiting computer announces itself to the phone of its last session.
@Suite("A phone finds its computer by announcements")
struct PhoneAnnouncementTests {
    private static func connect(
        _ phone: ChatPhone, by search: AnnouncementSearch, to core: OfficialCore
    ) async throws {
        try phone.connect(to: try await search.link(for: phone.keys))
        try await wait(until: "it is connected") { core.isReachable }
    }

    @Test func eachSessionLetsThePhoneFindTheNextOne() async throws {
        let (desk, phone, search) = (try PhoneDesk(), try ChatPhone(), try AnnouncementSearch())
        let core = try await desk.connected(phone)
        // The phone keeps the keys of two sessions only.
        for _ in 1...3 {
            phone.leave()
            try await wait(until: "it is away") { !core.isReachable }
            try await Self.connect(phone, by: search, to: core)
        }
        await core.shutDown()
    }

    @Test func computerThatMovesIsAnnouncedFromItsNewAddress() async throws {
        let (desk, phone, search) = (try PhoneDesk(), try ChatPhone(), try AnnouncementSearch())
        await (try await desk.connected(phone)).shutDown()
        let core = try await desk.open().value
        #expect(try await desk.link().contains("@127.0.0.1:"))
        desk.address.withLock { $0 = "127.0.0.2" }
        let link = try await desk.link()
        #expect(link.contains("@127.0.0.2:"))
        #expect(try await search.isReadable(announcementOf: link, for: phone.keys))
        try await Self.connect(phone, by: search, to: core)
        await core.shutDown()
    }

    @Test func computerTwoSessionsBehindNeedsOneLink() async throws {
        let (desk, phone, search) = (try PhoneDesk(), try ChatPhone(), try AnnouncementSearch())
        await (try await desk.connected(phone)).shutDown()
        let first = try #require(try desk.knownPhone())
        var core = try await desk.connected(phone)
        await core.shutDown()
        // One session behind: the phone still has the key.
        try desk.restore(first)
        core = try await desk.open().value
        try await Self.connect(phone, by: search, to: core)
        await core.shutDown()
        // Two sessions behind.
        try desk.restore(first)
        core = try await desk.open().value
        let link = try await desk.link()
        #expect(!(try await search.isReadable(announcementOf: link, for: phone.keys)))
        try phone.connect(to: link)
        try await wait(until: "it is connected") { core.isReachable }
        phone.leave()
        try await wait(until: "it is away") { !core.isReachable }
        try await Self.connect(phone, by: search, to: core)
        await core.shutDown()
    }
}

import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Contact requests and group invitations")
struct ArrivedRequestTests {
    private static let bob = Chat(
        reference: .direct(7), displayName: "bob", updatedAt: Timestamp(seconds: 0))

    private let world: World
    private let core: EmbeddedCore
    private let chats: [Int64]

    init() async throws {
        world = try World(["alice"])
        let core = try await world.open("alice")
        let now = world.clock.now()
        chats = try core.store.commit { change in
            try change.tables.requests.insert(address: ConnectionID(4), link: "l", .ask)
            return try ["bob", "carol"].map {
                try change.tables.chats.insertContact($0, of: core.profile.id, at: now)
            }
        }
        self.core = core
    }

    private func all(_ state: StoredRequestState) throws -> [RequestTable.Request] {
        try core.store.read { try $0.requests.all(state) }
    }

    private func take(_ body: (ArrivedRequests) throws -> Void) throws {
        let now = world.clock.now()
        try core.store.commit { try body(ArrivedRequests(change: $0, time: now)) }
    }

    private static let invitation = GroupInvitation(
        host: MemberReference(id: StoreStage.member(1), role: .owner),
        invited: MemberReference(id: StoreStage.member(2), role: .member), link: "l",
        profile: GroupProfile(displayName: "club"))

    private static func information(_ name: String, _ id: SharedMessageID? = nil) -> [UInt8] {
        let request = MessageEvent.ContactRequest(profile: ContactProfile(displayName: name), requestID: id)
        return Array(ChatMessage(.contactRequest(request), id: nil).json.utf8)
    }

    @Test("strangers' requests do not displace contacts' invitations")
    func apart() async throws {
        let mark = SharedMessageID(bytes: Array("\(chats[0]) club".utf8))
        try take { requests in
            for number in Int64(1)...100 {
                let id = number == 1 ? mark : StoreStage.message(Int(number))
                try requests.take(
                    ContactRequestID(number), Self.information("\(number)", id), over: ConnectionID(4))
            }
            for chat in chats + chats { try requests.take(Self.invitation, in: chat) }
        }
        let waiting = try all(.waiting)
        #expect(waiting.count == 102 && waiting.suffix(2).map(\.chat) == chats)
        for request in waiting {
            let listed = try #require(WaitingRequest(request, from: Self.bob))
            #expect(listed.group == (request.chat == nil ? nil : "club"))
            #expect(listed.chat == (request.chat == nil ? nil : "@7"))
        }
        #expect(waiting.first?.chat == nil && waiting.first?.asked.number == 1)
        #expect(try all(.rejected).isEmpty)
        await core.shutDown()
    }

    @Test("listeners hear of requests and answers")
    func told() async throws {
        let heard = Lock(0)
        let events = core.events()
        Task {
            for await event in events { if case .requestsChanged = event { heard.withLock { $0 += 1 } } }
        }
        try take { try $0.take(ContactRequestID(1), Self.information("eve"), over: ConnectionID(4)) }
        try await wait(until: "the request is heard of") { heard.withLock { $0 } == 1 }
        try take { try $0.take(Self.invitation, in: chats[0]) }
        try await wait(until: "the invitation is heard of") { heard.withLock { $0 } == 2 }
        // Repeated with another text.
        try take { try $0.take(Self.invitation, in: chats[0]) }
        try await wait(until: "that is heard of") { heard.withLock { $0 } == 3 }
        try await core.rejectRequest(try #require(all(.waiting).first).number)
        try await wait(until: "the answer is heard of") { heard.withLock { $0 } == 4 }
        await core.shutDown()
    }

    @Test("one contact's invitations do not displace others")
    func manyGroups() async throws {
        try take { requests in
            for number in 1...200 {
                var other = Self.invitation
                other.profile.displayName = "club \(number)"
                try requests.take(other, in: chats[1])
            }
            try requests.take(Self.invitation, in: chats[0])
            try requests.take(ContactRequestID(500), Self.information("x"), over: ConnectionID(4))
        }
        #expect(try all(.waiting).count { $0.chat == chats[1] } == ArrivedRequests.maxWaiting)
        #expect(try all(.waiting).count == ArrivedRequests.maxWaiting + 2)
        #expect(try all(.rejected).isEmpty)
        await core.shutDown()
    }
}

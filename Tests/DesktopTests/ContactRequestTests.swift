import Base
import ChatCore
import FoundationEssentials
import TestSupport
import Testing

@testable import Desktop

/// A core that records requests about people.
private final class PeopleCore: ContactMaking, ConnectionListing, AddressKeeping, ChatReading {
    let profile = Profile(id: 1, displayName: "alice")
    let stagingFolder = "/staging"
    let asked = Lock<[String]>([])
    /// The error of every request; nil to accept.
    let refusal = Lock<ChatError?>(nil)
    private let hub = EventHub()
    private let met = Lock<Chat?>(nil)

    private func note(_ words: String) throws(ChatError) {
        asked.withLock { $0.append(words) }
        if let refusal = refusal.withLock({ $0 }) { throw refusal }
    }

    /// Connects a contact.
    func meet(_ chat: Chat) {
        met.withLock { $0 = chat }
        hub.tell(.chatUpdated(chat))
    }

    static func chat(_ reference: ChatReference, _ name: String, alias: Bool = false) -> Chat {
        Chat(
            reference: reference, displayName: name, updatedAt: Timestamp(seconds: 0), isNamedByUser: alias)
    }

    func events() -> AsyncStream<ChatEvent> { hub.listen() }
    func chats() async throws(ChatError) -> [Chat] {
        [
            Self.chat(.notes(1), "Saved notes"), Self.chat(.direct(7), "bob"), Self.chat(.group(3), "bob"),
            Self.chat(.direct(8), "carol"), Self.chat(.direct(9), "carol", alias: true),
        ] + (met.withLock { $0 }.map { [$0] } ?? [])
    }

    func invite() async throws(ChatError) -> ContactInvitation {
        try note("invite")
        return ContactInvitation(connection: 5, link: "simplex:/secret")
    }
    func accept(_ link: String) async throws(ChatError) -> Int64 {
        try note("accept \(link)")
        return 6
    }
    func contact(of connection: Int64) async throws(ChatError) -> Chat? {
        try note("contact \(connection)")
        return met.withLock { $0 }
    }
    func security(of chat: ChatReference) async throws(ChatError) -> ContactSecurity? {
        try note("security \(chat)")
        return chat == .direct(7) ? ContactSecurity(code: "12345", protection: .standard) : nil
    }
    func verify(_ chat: ChatReference, code: String?) async throws(ChatError) {
        try note("verify \(chat) \(code ?? "-")")
    }
    func requireVerification(of chat: ChatReference, _ isRequired: Bool) async throws(ChatError) {
        try note("require \(chat) \(isRequired)")
    }
    func connections(after number: Int64, count: Int) async throws(ChatError) -> [ListedConnection] {
        try note("connections \(number) \(count)")
        return [
            ListedConnection(number: 4, purpose: .unknown, servers: ["smp://x@y"]),
            // bob now calls himself carol.
            ListedConnection(
                number: 5, purpose: .contact, chat: .direct(7), name: "carol", servers: ["smp://x@y"]),
            // No chat here is named mallory.
            ListedConnection(
                number: 6, purpose: .contact, chat: .direct(77), name: "mallory", servers: ["smp://x@y"]),
        ]
    }
    func deleteConnection(_ number: Int64) async throws(ChatError) { try note("end \(number)") }
    func renewKeys(of chat: ChatReference) async throws(ChatError) { try note("renew \(chat)") }
    func moveQueue(of chat: ChatReference) async throws(ChatError) { try note("move \(chat)") }
    func createAddress(_ acceptance: RequestAcceptance?) async throws(ChatError) -> ContactAddress {
        try note("address \(acceptance.map(\.rawValue) ?? "-")")
        return ContactAddress(link: "simplex:/address", acceptance: acceptance ?? .ask)
    }
    func address() async throws(ChatError) -> ContactAddress? {
        try note("show")
        return nil
    }
    func deleteAddress() async throws(ChatError) { try note("delete") }
    func requests() async throws(ChatError) -> [WaitingRequest] {
        try note("requests")
        let time = Timestamp(seconds: 9)
        return [
            WaitingRequest(number: 3, name: "eve", time: time, text: "hi"),
            // bob now calls himself carol.
            WaitingRequest(number: 4, name: "carol", time: time, text: "", group: "club", chat: .direct(7)),
        ]
    }
    func acceptRequest(_ number: Int64) async throws(ChatError) -> Int64 {
        try note("take \(number)")
        return 60 + number
    }
    func rejectRequest(_ number: Int64) async throws(ChatError) { try note("reject \(number)") }

    private static let foreign = ChatError(.invalidCommand, "Only people are asked about.")
    func items(of chat: ChatReference, before: ItemID?, count: Int) async throws(ChatError) -> [ChatItem] {
        throw Self.foreign
    }
    func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem { throw Self.foreign }
    func item(of file: FileID) async throws(ChatError) -> ChatItem? { throw Self.foreign }
    func itemCount() async throws(ChatError) -> Int { throw Self.foreign }
    func unsettledItems() async throws(ChatError) -> [ChatItem] { throw Self.foreign }
}

private struct PeopleFolders: FolderNaming {
    func folders(of chats: [Chat]) async -> [ChatReference: String] {
        [
            .direct(7): "bob", .group(3): "bob (2)", .direct(8): "carol", .direct(9): "carol (2)",
            .direct(12): "dora",
        ]
    }
}

@Suite("Contact requests")
struct ContactRequestTests {
    private let core = PeopleCore()

    private var asked: [String] { core.asked.withLock { $0 } }

    /// Every request with its core calls.
    private static let steps: [(request: ContactRequest, asks: [String])] = [
        (.invite, ["invite"]), (.accept("simplex:/x"), ["accept simplex:/x"]),
        (.verify("bob"), ["security @7"]), (.renew("@7"), ["renew @7"]), (.move("bob"), ["move @7"]),
        (.mark("bob", verifiedBy: "12 34"), ["verify @7 12 34"]),
        (.removeVerification("bob"), ["verify @7 -"]),
        (.requireVerification("bob", true), ["require @7 true", "security @7"]),
        (.requireVerification("bob", false), ["require @7 false", "security @7"]),
        (.connections(after: 3), ["connections 3 100"]), (.deleteConnection(4), ["end 4"]),
        (.createAddress(nil), ["address -"]), (.createAddress(.automatically), ["address automatically"]),
        (.deleteAddress, ["delete"]), (.requests, ["requests"]), (.acceptRequest(3), ["take 3"]),
        (.rejectRequest(4), ["reject 4"]),
    ]

    @Test("each request calls its core method only", arguments: steps.indices)
    func step(place: Int) async throws {
        let (request, expected) = Self.steps[place]
        _ = try await request.carryOut(on: core, naming: PeopleFolders())
        #expect(asked == expected)
        // The request survives encoding.
        let line = try JSONEncoder().encode(request)
        #expect(try JSONDecoder().decode(ContactRequest.self, from: line) == request)
    }

    @Test("core refusals are returned verbatim", arguments: steps.indices)
    func refused(place: Int) async {
        core.refusal.withLock { $0 = ChatError(.invalidCommand, "It does not want to.") }
        let error = await #expect(throws: ChatError.self) {
            try await Self.steps[place].request.carryOut(on: core, naming: PeopleFolders())
        }
        #expect(error?.sentence == "It does not want to.")
        #expect(asked == Array(Self.steps[place].asks.prefix(1)))
    }

    @Test("replies contain only the requested fields")
    func answers() async throws {
        #expect(
            try await ContactRequest.invite.carryOut(on: core, naming: PeopleFolders())
                == ContactAnswer(connection: 5, link: "simplex:/secret"))
        #expect(
            try await ContactRequest.accept("x").carryOut(on: core, naming: PeopleFolders())
                == ContactAnswer(connection: 6))
        #expect(
            try await ContactRequest.verify("bob").carryOut(on: core, naming: PeopleFolders())
                == ContactAnswer(
                    name: "bob", code: "12345", protection: .standard, verification: .unverified,
                    isVerificationRequired: false))
        #expect(
            try await ContactRequest.verify("@8").carryOut(on: core, naming: PeopleFolders())
                == ContactAnswer(name: "@8"))
        for request in [ContactRequest.renew("bob"), .move("bob")] {
            #expect(
                try await request.carryOut(on: core, naming: PeopleFolders()) == ContactAnswer(name: "bob"))
        }
        let address = try await ContactRequest.createAddress(.automatically).carryOut(
            on: core, naming: PeopleFolders())
        #expect(address == ContactAnswer(link: "simplex:/address", acceptance: .automatically))
        #expect(
            try await ContactRequest.deleteAddress.carryOut(on: core, naming: PeopleFolders())
                == ContactAnswer())
        #expect(
            try await ContactRequest.requests.carryOut(on: core, naming: PeopleFolders()).requests?.map(
                \.name) == ["eve", "bob"])
        #expect(
            try await ContactRequest.acceptRequest(3).carryOut(on: core, naming: PeopleFolders())
                == ContactAnswer(connection: 63))
        #expect(
            try await ContactRequest.connections(after: 3).carryOut(on: core, naming: PeopleFolders())
                .connections?.map(\.name) == [nil, "bob", "@77"])
        await #expect(throws: ChatError.self) {
            try await ContactRequest.showAddress.carryOut(on: core, naming: PeopleFolders())
        }
    }

    @Test("contacts are selected by the user's names")
    func names() async throws {
        for make in [ContactRequest.verify, ContactRequest.renew, ContactRequest.move] {
            for name in ["carol", "nobody", "#3", "*1", "Saved notes", "", "@99"] {
                await #expect(throws: ChatError.self, "\(name)") {
                    try await make(name).carryOut(on: core, naming: PeopleFolders())
                }
            }
            #expect(try await make("@9").carryOut(on: core, naming: PeopleFolders()).name == "carol (2)")
        }
        #expect(asked.count == 3 && asked.allSatisfy { $0.hasSuffix("@9") })
    }

    @Test("waiting ends with the contact or an error")
    func waiting() async throws {
        async let found = ContactRequest.look(5).carryOut(on: core, naming: PeopleFolders())
        try await wait(until: "it is looked") { asked.contains("contact 5") }
        core.meet(PeopleCore.chat(.direct(12), "dora"))
        let answer = try await found
        #expect(answer == ContactAnswer(name: "dora", chat: "@12"))
        // A connected contact is returned at once.
        #expect(try await ContactRequest.look(5).carryOut(on: core, naming: PeopleFolders()).name == "dora")
        core.refusal.withLock { $0 = ChatError(.invalidCommand, "The link was used.") }
        let error = await #expect(throws: ChatError.self) {
            try await ContactRequest.look(5).carryOut(on: core, naming: PeopleFolders())
        }
        #expect(error?.sentence == "The link was used.")
    }

    /// Requests and replies contain links, which printing them must not show.
    @Test("an invitation does not print its link")
    func secrets() {
        #expect("\(ContactInvitation(connection: 1, link: "simplex:/secret"))" == "ContactInvitation(…)")
    }
}

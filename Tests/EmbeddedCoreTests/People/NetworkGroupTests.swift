import Agent
import Base
import ChatCore
import ChatProtocol
import Network
import Posix
import SMP
import SMPClient
import TestSupport
import Testing

@testable import EmbeddedCore

/// A minimal group host: an agent with functions to send and receive.
private final class Host: Sendable {
    let agent: Agent
    private let server: ServerAddress
    private let connections: QueueConnections
    private let heard = Lock<[AgentEvent]>([])
    private let listening = Lock<Task<Void, Never>?>(nil)
    private let folder: TemporaryFolder

    let id = MemberReference(id: MemberID(bytes: Array("host".utf8))!, role: .owner)
    let member = MemberReference(id: MemberID(bytes: Array("alice".utf8))!, role: .member)
    let carol = MemberReference(id: MemberID(bytes: Array("carol".utf8))!, role: .member)

    init(_ internet: Internet) async throws {
        folder = try TemporaryFolder()
        server = internet.server
        connections = QueueConnections(
            ConnectionSettings(policy: OutboundPolicy(chosen: internet.server.places)))
        let agent = try Agent(
            path: folder.path("agent.sqlite"), key: nil, servers: connections,
            settings: AgentSettings(servers: [server]))
        self.agent = agent
        try await agent.start()
        let heard = heard
        listening.withLock {
            $0 = Task {
                for await event in agent.events {
                    heard.withLock { $0.append(event) }
                    try? await agent.acknowledge(event: event.number, withReceipt: false)
                }
            }
        }
    }

    func stop() async {
        await agent.stop()
        await connections.close()
    }

    /// Returns the messages received over a connection.
    func messages(over id: ConnectionID) -> [ChatMessage] {
        heard.withLock { $0 }.filter { $0.connection == id }.flatMap { event -> [ChatMessage] in
            let bytes: [UInt8]
            switch event.content {
            case .received(let message): bytes = message.body
            case .connecting(let information), .connected(let information): bytes = information
            default: return []
            }
            let elements = (try? ChatBody.read(bytes, compression: Zstandard.installed)) ?? []
            return elements.compactMap { if case .message(let message) = $0 { message } else { nil } }
        }
    }

    func hears(
        _ what: String, over id: ConnectionID, _ condition: @escaping (MessageEvent) -> Bool
    ) async throws -> MessageEvent {
        try await wait(for: "the host hears \(what)") {
            messages(over: id).map(\.event).first(where: condition)
        }
    }

    func request() async throws -> ContactRequestID {
        try await wait(for: "somebody asks at the group's link") {
            heard.withLock { $0 }.lazy.compactMap { event -> ContactRequestID? in
                if case .requested(let id, _) = event.content { id } else { nil }
            }.first
        }
    }

    func say(_ event: MessageEvent, over id: ConnectionID, as message: SharedMessageID? = nil) async throws {
        let message = ChatMessage(event, id: message ?? SharedMessageID(from: SystemRandomSource()))
        let body = try ChatBody.write(message, capacity: .message, compression: nil)
        _ = try await agent.send(body, to: id, notifies: false, identifier: nil)
    }

    /// Forwards a message from carol.
    func pass(_ event: MessageEvent, named name: String? = "carol", over id: ConnectionID) async throws {
        let message = ChatMessage(event, id: SharedMessageID(from: SystemRandomSource()))
        let forwarded = ForwardedMessage(
            author: carol.id, authorName: name, message: message, time: Timestamp(seconds: 1_800_000_000))
        try await say(.group(.forwarded(forwarded)), over: id)
    }

    func information(_ event: MessageEvent) throws -> [UInt8] {
        try ChatBody.write(ChatMessage(event, id: nil), capacity: .information, compression: nil)
    }

    /// Returns a one-time link for a new member.
    /// - Parameter isShort: whether the link must be resolved by its server.
    func invitation(isShort: Bool = false) async throws -> (connection: ConnectionID, link: String) {
        let made = try await agent.invite(
            Invitation(
                kind: .oneTime, server: server, information: information(.nothingToSay),
                linkData: isShort ? Array("{}".utf8) : nil))
        return (made.connection, made.links.short?.webLink ?? made.links.full.link)
    }
}

@Suite("Groups on the network")
struct NetworkGroupTests {
    private let internet: Internet
    private let host: Host
    private let alice: Machine

    init() async throws {
        internet = try Internet()
        host = try await Host(internet)
        alice = try internet.machine("alice")
        try await alice.open()
    }

    private func end() async throws {
        await host.stop()
        try await alice.core.shutDown()
    }

    /// Connects the host to alice and invites her.
    private func invite(_ link: String, into name: String = "club") async throws -> ConnectionID {
        let invitation = try await alice.core.invite()
        let own = try host.information(.information(ContactProfile(displayName: "hans")))
        let contact = try await host.agent.join(link: invitation.link, information: own, confirmation: own)
        try await send(link, into: name, over: contact)
        return contact
    }

    private func send(_ link: String, into name: String, over contact: ConnectionID) async throws {
        let invitation = GroupInvitation(
            host: host.id, invited: host.member, link: link, profile: GroupProfile(displayName: name))
        try await host.say(.group(.invitation(invitation)), over: contact)
    }

    /// Lets alice join and returns the host's connection to her.
    private func joined() async throws -> ConnectionID {
        let group = try await host.invitation()
        _ = try await invite(group.link)
        let request = try #require(try await alice.requests(1).first)
        let number = try await alice.core.acceptRequest(request.number)
        _ = try await wait(for: "the group") { try await alice.core.contact(of: number) }
        return group.connection
    }

    private func group(_ name: String = "club") async throws -> Chat {
        try await wait(for: "the group \(name)") {
            try await alice.core.chats().first { $0.displayName == name }
        }
    }

    @Test("invitation is listed and joined once on acceptance")
    func invitation() async throws {
        let first = try await host.invitation()
        let contact = try await invite(first.link)
        let listed = try #require(try await alice.requests(1).first)
        #expect(listed.name == "hans" && listed.group == "club")
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes", "hans"])
        // A repeated invitation replaces the first one.
        let group = try await host.invitation()
        try await send(group.link, into: "club", over: contact)
        try await send(group.link, into: "another", over: contact)
        let requests = try await alice.requests(2)
        #expect(requests.map(\.group) == ["club", "another"] && requests[0].number == listed.number)
        try await alice.core.rejectRequest(requests[1].number)
        let number = try await alice.core.acceptRequest(listed.number)
        #expect(try await alice.core.acceptRequest(listed.number) == number)
        let said = try await host.hears("alice", over: group.connection) {
            if case .group(.acceptance) = $0 { true } else { false }
        }
        #expect(said == .group(.acceptance(host.member.id)))
        let chat = try await wait(for: "the group") { try await alice.core.contact(of: number) }
        #expect(chat.displayName == "club" && chat.sendingRefused == nil)
        guard case .group = chat.reference else { throw WaitedInVain("\(chat.reference) is no group") }
        #expect(try await alice.core.requests().isEmpty)
        try await end()
    }

    @Test("members' messages arrive once under their names")
    func receiving() async throws {
        let connection = try await joined()
        let carol = MemberInformation(host.carol, profile: ContactProfile(displayName: "carol"))
        try await host.say(.group(.introduction(carol)), over: connection)
        let id = SharedMessageID(from: SystemRandomSource())
        let file = NewMessage(
            ChatContent(.file, text: "minutes"), file: FileInvitation(name: "a.txt", size: 3))
        for _ in 0..<2 { try await host.say(.message(file), over: connection, as: id) }
        try await alice.reopen()
        let other = NewMessage(ChatContent(.file, text: ""), file: FileInvitation(name: "b.txt", size: 3))
        try await host.pass(.message(other), over: connection)
        let chat = try await group()
        let items = try await wait(for: "both files") {
            let items = try await alice.core.items(of: chat.reference, before: nil, count: 9)
            return items.contains { $0.file?.name == "b.txt" } ? items : nil
        }
        #expect(
            items.reversed().map { "\($0.sender) \($0.file?.name ?? "")" } == ["hans a.txt", "carol b.txt"])
        try await end()
    }

    @Test("unknown member gets forwarded name, blocked is hidden")
    func strangers() async throws {
        let connection = try await joined()
        let file = NewMessage(ChatContent(.file, text: ""), file: FileInvitation(name: "a.txt", size: 3))
        try await host.pass(.message(file), named: "eve", over: connection)
        try await host.say(.group(.restriction(host.carol.id, isBlocked: true)), over: connection)
        try await host.pass(.message(file), over: connection)
        try await host.say(.message(file), over: connection)
        let chat = try await group()
        let items = try await wait(for: "the host's file") {
            let items = try await alice.core.items(of: chat.reference, before: nil, count: 9)
            return items.contains { $0.sender == "hans" } ? items : nil
        }
        #expect(items.reversed().map(\.sender) == ["eve", "hans"])
        try await end()
    }

    @Test("file goes to the host with its description")
    func sending() async throws {
        let connection = try await joined()
        let chat = try await group()
        let sent = try await alice.core.send(alice.core.compose(pattern(5000)), to: chat.reference)
        #expect(sent.file?.transport == .xftp)
        let message = try await host.hears("the file", over: connection) {
            if case .message = $0 { true } else { false }
        }
        guard case .message(let new) = message else { return }
        #expect(new.file?.name == "report.pdf" && new.file?.size == 5000)
        _ = try await host.hears("its description", over: connection) {
            if case .description(_, let part) = $0 { part.isLast } else { false }
        }
        try await end()
    }

    @Test("renaming, observer role and removal take effect")
    func changes() async throws {
        let connection = try await joined()
        try await host.say(.group(.profile(GroupProfile(displayName: "book club"))), over: connection)
        let reader = MemberReference(id: host.member.id, role: .observer)
        try await host.say(.group(.role(reader)), over: connection)
        _ = try await wait(for: "a refusal") { try await group("book club").sendingRefused }
        let refused = await refusal {
            try await alice.core.send(alice.core.compose(pattern(3)), to: group("book club").reference)
        }
        #expect(refused?.sentence == "Your role in this group only lets you read.")
        try await host.say(.group(.role(host.member)), over: connection)
        try await wait(until: "alice may write again") { try await group("book club").sendingRefused == nil }
        try await host.say(.group(.removal(host.member.id, withMessages: false)), over: connection)
        try await wait(until: "alice is told") {
            try await group("book club").sendingRefused == "You were removed from this group."
        }
        try await end()
    }

    @Test("owners set retention for the group")
    func disappearing() async throws {
        let connection = try await joined()
        let chat = try await group().reference
        let directory = alice.world.directory
        let own = try directory.profile(named: "alice")
        var profile = GroupProfile(displayName: "short club")
        profile.preferences[.timedMessages] = GroupPreferences.Setting(isOn: true)
        profile.preferences.timeToLive = 60
        try await host.say(.group(.profile(profile)), over: connection)
        _ = try await group("short club")
        #expect(try directory.timeToLive(in: chat, of: own) == .seconds(60))
        let refused = await refusal { try directory.setTimeToLive(nil, in: chat, of: own) }
        #expect(refused?.sentence.contains("owners") == true)
        try await alice.core.send(ComposedText(id: UUIDText.fresh(), text: "soon gone"), to: chat)
        let said = try await host.hears("the text", over: connection) {
            if case .message = $0 { true } else { false }
        }
        guard case .message(let new) = said else { return }
        #expect(new.timeToLive == 60)
        let text = NewMessage(ChatContent(.text, text: "hello"), timeToLive: 30)
        try await host.say(.message(text), over: connection)
        try await host.pass(.message(NewMessage(ChatContent(.text, text: "for good"))), over: connection)
        _ = try await alice.lines(of: "short club", count: 4)
        alice.world.clock.advance(by: .seconds(61))
        await (try alice.core).disappearing.look()
        let lines = try await alice.lines(of: "short club", count: 4).filter { $0.event != "state" }
        #expect(lines.map(\.event) == ["retention", "disappeared", "disappeared", "message"])
        #expect(lines[0].timeToLive == 60)
        try await end()
    }

    @Test("leaving tells the host and keeps the chat")
    func leaving() async throws {
        let connection = try await joined()
        let chat = try await group()
        try await alice.core.leaveChat(chat.reference)
        _ = try await host.hears("that alice leaves", over: connection) { $0 == .group(.left) }
        #expect(try await group().sendingRefused == "You have left this chat.")
        try await alice.core.deleteChat(chat.reference)
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes", "hans"])
        try await end()
    }

    @Test("group link waits for the host's admission")
    func link() async throws {
        let made = try await host.agent.invite(
            Invitation(kind: .address, server: internet.server, linkData: nil))
        var link = made.links.full
        link.data = #"{"groupLinkId":"Zm9v","type":"group"}"#
        let number = try await alice.core.accept(link.link)
        let request = try await host.request()
        let invitation = GroupLinkInvitation(
            host: host.id, hostName: "hans", invited: host.member,
            profile: GroupProfile(displayName: "open club"))
        let connection = try await host.agent.accept(
            request, information: host.information(.group(.linkInvitation(invitation))))
        let chat = try await wait(for: "the group") { try await alice.core.contact(of: number) }
        #expect(chat.displayName == "open club")
        _ = try await host.hears("who alice is", over: connection) {
            $0 == .information(ContactProfile(displayName: "alice"))
        }
        try await end()
    }

    @Test("early host messages are kept")
    func early() async throws {
        let made = try await host.invitation()
        _ = try await invite(made.link)
        let request = try #require(try await alice.requests(1).first)
        let file = NewMessage(ChatContent(.file, text: ""), file: FileInvitation(name: "a.txt", size: 3))
        let message = ChatMessage(.message(file), id: SharedMessageID(from: SystemRandomSource()))
        let id = ConnectionID(77)
        try alice.core.store.commit { change in
            try change.tables.requests.setState(.accepted, of: request.number)
            try change.tables.people.insert(id)
            let body = try ChatBody.write(message, capacity: .message, compression: nil)
            try change.tables.groups.hold(body, at: change.time, over: id)
            #expect(try change.tables.groups.takeHeld().isEmpty)
            try change.join(
                GroupConversation(
                    own: host.member, host: host.id.id, profile: GroupProfile(displayName: "club")),
                over: id, host: GroupMember(host: host.id, profile: ContactProfile(displayName: "hans")),
                of: alice.core.profile.id, at: change.time)
            #expect(try change.tables.requests.setJoined(request.number, by: id))
        }
        try await alice.reopen()
        let chat = try await group("club")
        let items = try await wait(for: "the file") {
            let items = try await alice.core.items(of: chat.reference, before: nil, count: 9)
            return items.isEmpty ? nil : items
        }
        #expect(items.map { "\($0.sender) \($0.file?.name ?? "")" } == ["hans a.txt"])
        try await end()
    }

    @Test("invitation with a used link is dropped")
    func usedUp() async throws {
        let group = try await host.invitation()
        _ = try await invite("simplex:/nonsense", into: "bad")
        let request = try #require(try await alice.requests(1).first)
        let refused = await refusal { try await alice.core.acceptRequest(request.number) }
        #expect(refused?.code == .invalidCommand)
        #expect(try await alice.core.requests().isEmpty)
        #expect(try await alice.core.chats().map(\.displayName) == ["Saved notes", "hans"])
        _ = group
        try await end()
    }

    @Test("accepted invitation that fails is listed again")
    func uselessLater() async throws {
        _ = try await invite("simplex:/nonsense", into: "bad")
        let request = try #require(try await alice.requests(1).first)
        #expect(request.problem == nil)
        // The program ends before the first attempt.
        try alice.core.store.commit { try $0.tables.requests.setState(.accepted, of: request.number) }
        try await alice.reopen()
        let listed = try await wait(for: "the reason") {
            try await alice.core.requests().first { $0.problem != nil }
        }
        #expect(listed.group == "bad" && listed.problem?.isEmpty == false)
        try await alice.core.rejectRequest(request.number)
        try await wait(until: "it is forgotten") { try await alice.core.requests().isEmpty }
        try await end()
    }

    @Test(
        "unreachable invitation is listed and retried"
    )
    func unreachable() async throws {
        let group = try await host.invitation(isShort: true)
        _ = try await invite(group.link)
        let request = try #require(try await alice.requests(1).first)
        await internet.stop()
        let refused = await refusal { try await alice.core.acceptRequest(request.number) }
        #expect(refused?.code == .file(.unreachable))
        let listed = try #require(try await alice.core.requests().first)
        #expect(listed.number == request.number && listed.problem == refused?.sentence)
        try internet.start()
        let number = try await wait(for: "the group is joined") {
            try? await alice.core.acceptRequest(request.number)
        }
        _ = try await wait(for: "the group") { try await alice.core.contact(of: number) }
        #expect(try await alice.core.requests().isEmpty)
        try await end()
    }
}

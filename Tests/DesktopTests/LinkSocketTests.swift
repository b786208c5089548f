import Base
import ChatCore
import Posix
import TestSupport
import Testing

@testable import Desktop

/// `chatfs link` with a mounted profile, over a real socket, from a core with links of every kind.
@Suite("Requests about links")
struct LinkSocketTests {
    let folder: TemporaryFolder
    let core = AnsweringCore()

    init() throws { folder = try TemporaryFolder() }

    /// An entry; a received status makes it another person's.
    static func item(
        _ number: Int64, _ name: String, _ status: FileStatus, link: String? = nil, expires: Int64? = nil,
        transport: ChatFile.Transport = .xftp
    ) -> ChatItem {
        let isReceived =
            switch status {
            case .rcvInvitation, .rcvAccepted, .rcvTransfer, .rcvAborted, .rcvComplete, .rcvCancelled,
                .rcvError,
                .rcvWarning:
                true
            default: false
            }
        return ChatItem(
            id: ItemID(number), chat: .links, direction: isReceived ? .received : .sent, sender: "",
            time: Timestamp(seconds: number), content: MessageContent(kind: .file),
            file: ChatFile(
                id: FileID(number), name: name, size: UInt64(number), status: status, transport: transport,
                expires: expires.map { Timestamp(seconds: $0) }, link: link))
    }

    private func ask(_ request: LinkRequest) async throws -> [LinkDescription] {
        let server = try ControlServer(core, in: folder.path)
        defer { server.stop() }
        return try await ThreadPool.shared.run { [folder] in
            let client = try #require(try ControlClient.connect(profileFolder: folder.path))
            return try client.link(request)
        }
    }

    static let problem = FileProblem(.unreachable, "The relay cannot be reached.")

    @Test(
        "each state is reported",
        arguments: [
            (.sndStored, .uploading, nil), (.sndTransfer(sent: 1, total: 2), .uploading, nil),
            (.sndWarning(problem), .uploading, problem.sentence), (.sndComplete, .uploaded, nil),
            (.sndError(problem), .failed, problem.sentence), (.sndCancelled, .cancelled, "Taken back."),
            (.rcvInvitation(described: true), .added, nil), (.rcvComplete, .added, nil),
            (.rcvTransfer(received: 1, total: 2), .added, nil),
            (.rcvWarning(problem), .added, problem.sentence), (.rcvError(problem), .lost, problem.sentence),
        ] as [(FileStatus, LinkDescription.State, String?)])
    func states(status: FileStatus, state: LinkDescription.State, problem: String?) async throws {
        core.links.withLock { $0 = [Self.item(5, "a", status, expires: 77)] }
        let found = try await ask(LinkRequest(.list))
        let link = try #require(found.first)
        #expect(found.count == 1 && link.state == state && link.problem == problem)
        #expect(link.isAdded == (state == .added || state == .lost))
        #expect(link.number == 5 && link.size == 5 && link.created == 5 && link.expires == 77)
    }

    @Test("lists are complete and newest first")
    func pages() async throws {
        // More consecutive shortcuts than entries per reply.
        let shortcuts = 2 * LinkRequest.maxCount + 50
        var items = (1...Int64(shortcuts)).map {
            Self.item(100 + $0, "s\($0).url", .sndStored, transport: .local)
        }
        items += (1...Int64(250)).map {
            Self.item(10_000 + $0, "new\($0)", .sndComplete, link: "https://x#\($0)")
        }
        items += [Self.item(1, "first", .sndComplete), Self.item(2, "second", .sndComplete)]
        core.links.withLock { $0 = items }
        let found = try await ask(LinkRequest(.list))
        #expect(found.count == 252 && found.map(\.number) == found.map(\.number).sorted(by: >))
        #expect(found.last?.name == "first" && found.first?.name == "new250")
        #expect(found.allSatisfy { $0.link == nil }, "a list tells no secrets")
        #expect(found.filter(\.hasLink).count == 250)
    }

    @Test("lists without links are empty")
    func empty() async throws {
        #expect(try await ask(LinkRequest(.list)).isEmpty)
        core.links.withLock { links in
            links = (1...Int64(300)).map { Self.item($0, "s", .sndStored, transport: .local) }
        }
        #expect(try await ask(LinkRequest(.list)).isEmpty)
    }

    @Test("a link is found by its unique name")
    func find() async throws {
        core.links.withLock { links in
            links = [
                Self.item(1, "one", .sndComplete, link: "https://secret"), Self.item(2, "two", .sndComplete),
                Self.item(3, "two", .sndComplete), Self.item(4, "one", .sndStored, transport: .local),
            ]
        }
        let one = try await ask(LinkRequest(.find, name: "one"))
        #expect(one.map(\.number) == [1] && one.first?.link == "https://secret")
        for (name, reason) in [("three", "no link of this name"), ("two", "Several links"), ("", "no link")] {
            let refused = await #expect(throws: DesktopError.self) {
                try await ask(LinkRequest(.find, name: name))
            }
            #expect(refused?.code == .refused && refused?.sentence.contains(reason) == true)
        }
    }

    @Test("a link behind a thousand others is found")
    func deep() async throws {
        core.links.withLock { links in
            links = (1...Int64(1200)).map { Self.item($0, "n\($0)", .sndComplete, link: "l\($0)") }
        }
        #expect(try await ask(LinkRequest(.find, name: "n1")).first?.link == "l1")
    }

    @Test("removal names the link without its secret")
    func remove() async throws {
        core.links.withLock { $0 = [Self.item(1, "one", .sndComplete, link: "https://secret")] }
        let removed = try await ask(LinkRequest(.remove, name: "one"))
        #expect(removed.map(\.name) == ["one"] && removed.first?.link == nil)
        #expect(core.deeds.withLock { $0 } == ["delete [1]"])
        await #expect(throws: DesktopError.self) { try await ask(LinkRequest(.remove, name: "one")) }
    }

    @Test("links are added with a name or refused")
    func add() async throws {
        let added = try await ask(LinkRequest(.add, link: "https://a", name: "mine", approves: true))
        #expect(added.map(\.name) == ["mine"] && added.first?.isAdded == true)
        #expect(try await ask(LinkRequest(.add, link: "https://b")).map(\.name) == ["theirs"])
        await #expect(throws: DesktopError.self) { try await ask(LinkRequest(.add, link: "no link")) }
        await #expect(throws: DesktopError.self) { try await ask(LinkRequest(.add)) }
        #expect(
            core.deeds.withLock { $0 } == [
                "add https://a mine true", "add https://b - false", "add no link - false", "add  - false",
            ])
    }

    @Test("older daemons' replies without state are valid")
    func older() throws {
        let line = #"{"number":1,"name":"a","size":2,"isAdded":false,"created":3,"hasLink":true}"#
        let link = try #require(ControlChannel.decoded(LinkDescription.self, from: Array(line.utf8)))
        #expect(link.state == nil && link.hasLink && link.expires == nil)
    }
}

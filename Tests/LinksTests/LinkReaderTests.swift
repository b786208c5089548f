import Base
import ChatCore
import TestSupport
import Testing
import XFTP

@testable import Links

/// Facts about a link before it becomes an entry. Its relay is unreachable, so contacting it fails.
@Suite("Plausibility of a link's facts")
struct LinkReaderTests {
    private let stage: LinkStage
    private let asked = Lock<[RelayAddress]>([])

    init() throws { stage = try LinkStage() }

    private var reader: LinkReader {
        LinkReader(
            core: stage.core, client: XFTPClient(settings: .init(policy: .everything)),
            approve: { [asked] relays in asked.withLock { $0 += relays } })
    }

    private func link(_ facts: LinkFacts, _ change: (inout FileDescription) -> Void = { _ in }) throws
        -> FileLink
    {
        var description = try LinkStage.description()
        change(&description)
        return FileLink(description, data: facts.text)
    }

    private func refusal(_ link: FileLink, approving: Bool = false) async -> ChatError? {
        do throws(ChatError) {
            _ = try await reader.read(link, named: nil, approving: approving)
            return nil
        } catch {
            return error
        }
    }

    @Test("facts in the link need no connection")
    func facts() async throws {
        let end = Timestamp(seconds: 1_900_000_000)
        let link = try link(LinkFacts(name: "a b.txt", size: 5, expires: end))
        let addition = try await reader.read(link, named: nil, approving: false)
        #expect(addition.name == "a b.txt" && addition.size == 5 && addition.expires == end)
        #expect(addition.link == link.text && addition.description == link.fileDescription.text)
        #expect(asked.withLock { $0.isEmpty })
    }

    @Test(
        "the user's name replaces the sender's",
        arguments: [
            ("mine.txt", "mine.txt"), ("../x/mine.txt", "mine.txt"), ("..", "a.txt"), ("", "a.txt"),
            ("-x", "_x"),
        ])
    func names(given: String, shown: String) async throws {
        let link = try link(LinkFacts(name: "a.txt", size: 5, expires: nil))
        #expect(try await reader.read(link, named: given, approving: false).name == shown)
    }

    @Test(
        "the size cannot exceed the chunks",
        arguments: [
            (UInt64(0), true), (65_536 - 26, true), (65_536 - 25, false), (65_536, false), (65_537, false),
            (5 << 30, false),
        ] as [(UInt64, Bool)])
    func sizes(size: UInt64, fits: Bool) async throws {
        let error = await refusal(try link(LinkFacts(name: "a", size: size, expires: nil)))
        #expect(error?.code == (fits ? nil : .file(.damaged)))
        if let error { #expect(error.sentence.contains("The size in the link is impossible")) }
    }

    @Test("an impossible size counts as missing")
    func impossibleSizes() async throws {
        stage.core.state.withLock { $0.unapproved = true }
        for size in [UInt64((5 << 30) + 1), .max] {
            let error = await refusal(try link(LinkFacts(name: "a", size: size, expires: nil)))
            #expect(error?.code == .file(.notApproved))
        }
        #expect(asked.withLock { $0.isEmpty })
    }

    @Test("the sender's own description is refused")
    func senders() async throws {
        let link = try link(LinkFacts(name: "a", size: 5, expires: nil)) { $0.party = .sender }
        for approving in [true, false] {
            #expect(await refusal(link, approving: approving)?.code == .file(.damaged))
        }
        #expect(asked.withLock { $0.isEmpty }, "nothing is approved for it")
    }

    @Test("approval covers the file's relays before any connection")
    func approval() async throws {
        let link = try link(LinkFacts(name: "a", size: 5, expires: nil))
        _ = try await reader.read(link, named: nil, approving: true)
        let relays = asked.withLock { $0 }
        #expect(relays == link.fileDescription.relays.map(\.withoutPassword) && relays.count == 1)
    }

    @Test("relays in the own network need approval by address")
    func inward() async throws {
        let inside = try #require(
            RelayAddress("xftp://\(Base64URL.encode([UInt8](repeating: 6, count: 32)))@192.168.1.1:22"))
        let link = try link(LinkFacts(name: "a", size: 5, expires: nil)) { description in
            var replica = description.chunks[0].replicas[0]
            replica.relay = inside
            description.chunks[0].replicas.append(replica)
        }
        _ = try await reader.read(link, named: nil, approving: true)
        #expect(asked.withLock { $0 }.map(\.hosts) == [["203.0.113.1"]])
    }

    @Test("failed approvals leave nothing behind")
    func approvalFails() async throws {
        let reader = LinkReader(
            core: stage.core, client: XFTPClient(settings: .init(policy: .everything)),
            approve: { _ in throw ChatError(.storage, "The disk is full.") })
        let link = try link(LinkFacts(name: "a", size: 5, expires: nil))
        await #expect {
            _ = try await reader.read(link, named: nil, approving: true)
        } throws: { ($0 as? ChatError)?.code == .storage }
    }

    @Test("equality ignores spelling but not file and key")
    func digests() async throws {
        let text = try LinkStage.link()
        let first = try await LinkReader.parse(text)
        var other = first
        other.data = LinkFacts(name: "b", size: 9, expires: nil).text
        #expect(
            LinkReader.digest(of: first) == LinkReader.digest(of: other),
            "what it says beside it does not count")
        #expect(try await LinkReader.digest(of: LinkReader.parse(other.text)) == LinkReader.digest(of: first))
        let another = try await LinkReader.parse(LinkStage.link(2))
        #expect(LinkReader.digest(of: first) != LinkReader.digest(of: another))
        var key = try LinkStage.description()
        key.key = [UInt8](repeating: 9, count: 32)
        #expect(LinkReader.digest(of: first) != LinkReader.digest(of: FileLink(key)))
    }

    @Test(
        "malformed links are damaged",
        arguments: [
            "", " ", "hello", "https://example.org", "simplex:/file", "simplex:/file#",
            "simplex:/file#/?desc=",
            "simplex:/contact#/?v=2", "https://simplex.chat/file#/?desc=x",
        ])
    func nonsense(text: String) async {
        await #expect {
            _ = try await LinkReader.parse(text)
        } throws: { error in
            guard case .file? = (error as? ChatError)?.code else { return false }
            return true
        }
    }

    @Test("truncated links never trap")
    func cut() async throws {
        let text = try link(LinkFacts(name: "a", size: 5, expires: nil)).text
        for end in stride(from: 0, to: text.count, by: 37) {
            let part = String(text.prefix(end))
            let outcome: FileLink?
            do throws(ChatError) { outcome = try await LinkReader.parse(part) } catch {
                guard case .file = error.code else {
                    Issue.record("\(end): \(error.code)")
                    continue
                }
                outcome = nil
            }
            if let outcome { #expect(LinkFacts(outcome.data) != LinkFacts(name: "a", size: 5, expires: nil)) }
        }
    }
}

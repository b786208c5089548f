import Base
import ChatCore
import Posix
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite struct StoreDamageTests {
    /// Unknown words in any column are reported as damage with a remedy, and never become another value.
    @Test(arguments: [
        "UPDATE file SET status = 'rcv_lost'", "UPDATE file SET transport = 'pigeon'",
        "UPDATE file SET problem = 'sunspots'", "UPDATE item SET kind = 'sticker'",
        "UPDATE file SET status = ''", "UPDATE file SET status = 'RCV_COMPLETE'",
    ])
    func unknownWordInFileIsDamage(statement: String) async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        _ = try await alice.send(try alice.compose([1, 2, 3]), to: alice.chat(named: "bob"))
        let chat = try await alice.chat(named: "bob")
        #expect(try await alice.items(of: chat, before: nil, count: 9).count == 1)
        try world.database().transaction { _ = try $0.execute(statement) }
        let error = await refusal { _ = try await alice.items(of: chat, before: nil, count: 9) }
        #expect(error?.code == .storage)
        #expect(error?.sentence.contains("corrupt") == true)
        #expect(error?.sentence.contains("backup") == true)
        await alice.shutDown()
        // Opening the profile reports it too if it reads the row; no trap occurs.
        if let again = try? await world.open("bob") { await again.shutDown() }
    }

    @Test func unknownChatEndingIsDamage() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let profile = try world.directory.profile(named: "alice")
        try world.database().transaction { _ = try $0.execute("UPDATE chat SET ended = 'eloped'") }
        let error = #expect(throws: ChatError.self) { try world.directory.chats(of: profile) }
        #expect(error?.code == .storage)
        #expect(error?.sentence.contains("'ended'") == true)
    }

    /// In particular, no relay is permitted.
    @Test func unknownRelayPolicyIsDamage() async throws {
        let world = try World()
        let profile = try world.directory.profile(named: "alice")
        try world.database().transaction { connection in
            _ = try connection.execute("UPDATE profile SET relay_policy = 'whatever'")
        }
        let error = #expect(throws: ChatError.self) { try world.directory.relayPolicy(of: profile) }
        #expect(error?.code == .storage)
        #expect(await refusal { _ = try await world.open("alice") }?.code == .storage)
    }

    @Test func unknownInboxEntryIsDamageAndKept() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        try world.database().transaction { _ = try $0.execute("UPDATE news SET kind = 'rumour'") }
        let profile = try world.directory.profile(named: "bob")
        let error = #expect(throws: StoreError.self) {
            try world.directory.store.read { try $0.inbox.waiting(for: profile.id, limit: 9) }
        }
        #expect(error?.code == .damaged)
        let left = try world.database().read {
            try $0.first("SELECT count(*) AS count FROM news") { $0.integer("count") }
        }
        #expect(left == 2)
    }

    /// Every value round-trips, so that a new case cannot be forgotten.
    @Test func everyStatusRoundTrips() async throws {
        let world = try World()
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let sent = try await alice.send(try alice.compose([1]), to: alice.chat(named: "bob"))
        let file = try #require(sent.file).id
        let problem = FileProblem(.blocked, "It is blocked.")
        for status in StoredFileStatus.allCases {
            let isChanged = try alice.store.commit { change in
                try change.setStatus(status, of: file, from: StoredFileStatus.allCases, problem: problem)
            }
            #expect(isChanged)
            let found = try alice.store.read { try $0.items.item(of: file)?.file?.status }
            let progress = TransferProgress(done: 0, total: 0)
            #expect(found == status.status(progress, problem, isDescribed: true))
            #expect(status.isSent == status.rawValue.hasPrefix("snd"))
        }
        #expect(Set(StoredFileStatus.allCases.map(\.rawValue)).count == StoredFileStatus.allCases.count)
        await alice.shutDown()
    }
}

@Suite struct OldSchemaTests {
    /// The database of the last development build, with a message in every state, opens with all its data.
    @Test func developmentDatabaseOpens() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.makeFolder("data")
        _ = try PrivateFolder(path, purpose: DataDirectory.purpose)
        let received: [StoredFileStatus] = [
            .rcvInvitation, .rcvComplete, .rcvCancelled, .rcvError, .rcvWarning,
        ]
        try DevelopmentDatabase.make("chatfs", at: path + "/chatfs.db", rows: Self.rows(received))
        let directory = try DataDirectory(path)
        #expect(try directory.profiles().map(\.displayName) == ["alice", "bob"])
        let alice = try directory.profile(named: "alice")
        #expect(try directory.relayPolicy(of: alice) == .ask)
        let core = try await EmbeddedCore.open(directory, profile: "alice")
        let chats = try await core.chats()
        #expect(chats.map(\.displayName) == ["Saved notes", "bob", "Club"])
        #expect(chats.allSatisfy { $0.sendingRefused == nil && !$0.isNamedByUser })
        let items = try await core.items(of: .direct(3), before: nil, count: 99)
        #expect(items.count == received.count + 1)
        #expect(items.last?.file?.status == .sndComplete)
        #expect(items.dropLast().allSatisfy { $0.sender == "bob" && $0.content.text == "caption" })
        let errors = items.compactMap { item -> FileProblem? in
            if case .rcvError(let problem)? = item.file?.status { problem } else { nil }
        }
        #expect(errors == [FileProblem(.expired, "It has expired.")])
        // It remains usable.
        let sent = try await core.send(try core.compose([7]), to: .direct(3))
        #expect(try sent.content() == [7])
        try directory.rename(.direct(3), of: alice, to: "Robert")
        #expect(try await core.chat(named: "Robert") == .direct(3))
        await core.shutDown()
        // It has the current schema afterwards.
        let migrated = try Database(path: path + "/chatfs.db", migrations: Schema.migrations)
        let new = try Database(path: folder.path("new.db"), migrations: Schema.migrations)
        #expect(
            try DevelopmentDatabase.schema(of: migrated) == DevelopmentDatabase.schema(of: new))
    }

    private static func rows(_ received: [StoredFileStatus]) -> String {
        let items = received.enumerated().map { number, status in
            let (id, hasFailed) = (number + 2, status == .rcvError)
            return """
                INSERT INTO item (id, profile, chat, origin, direction, sender, time, created, kind, preview,
                    seconds, text) VALUES (\(id), 1, 3, \(100 + id), 'received', 'bob', 5, 5, 'file', '', 0, 'caption');
                INSERT INTO file (id, profile, item, name, size, transport, status, problem, problem_sentence, created)
                    VALUES (\(id), 1, \(id), 'b.pdf', 9, 'inline', '\(status.rawValue)',
                    \(hasFailed ? "'expired', 'It has expired.'" : "NULL, NULL"), 5);
                """
        }
        return """
            INSERT INTO profile (id, name, created) VALUES (1, 'alice', 1), (2, 'bob', 1);
            INSERT INTO chat_group (id, name, created) VALUES (1, 'Club', 1);
            INSERT INTO member (chat_group, profile, role) VALUES (1, 1, 'owner'), (1, 2, 'member');
            INSERT INTO chat (id, profile, kind, contact, chat_group, updated) VALUES
                (1, 1, 'notes', NULL, NULL, 1), (2, 2, 'notes', NULL, NULL, 1),
                (3, 1, 'direct', 2, NULL, 1), (4, 2, 'direct', 1, NULL, 1),
                (5, 1, 'group', NULL, 1, 1), (6, 2, 'group', NULL, 1, 1);
            INSERT INTO item (id, profile, chat, message_id, direction, sender, time, created, kind, preview,
                seconds, text) VALUES (1, 1, 3, 'm', 'sent', 'alice', 5, 5, 'image', 'data:', 0, 'mine');
            INSERT INTO file (id, profile, item, name, size, transport, status, stored_name, key, nonce, created)
                VALUES (1, 1, 1, 'a.jpg', 5, 'inline', 'snd_complete', 'x', x'01', x'02', 5);
            INSERT INTO news (profile, kind, chat, item) VALUES (1, 'new', 3, 2), (1, 'chat', 3, NULL);
            INSERT INTO relay (profile, address) VALUES (1, 'not an address');
            """ + items.joined(separator: "\n")
    }
}

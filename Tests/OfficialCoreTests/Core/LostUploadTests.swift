import ChatCore
import ScriptedCore
import Store
import TestSupport
import Testing

@testable import OfficialCore

@Suite("Lost upload result")
struct LostUploadTests {
    @Test func forgottenUploadFails() async throws {
        let stage = try Stage { state in
            for id in 1...2 {
                var message = ScriptedMessage(id: Int64(id), chat: "@1", isSent: true, name: "\(id).bin")
                message.status = #"{"type":"sndTransfer","sndProgress":65536,"sndTotal":65536}"#
                state.history.append(message)
                if id == 1 { state.forgotten = [message.fileID] }
            }
        }
        let core = try await stage.open()
        let isFailed = { (id: Int64) async throws -> Bool in
            guard case .sndError = try await core.item(ItemID(id), in: .direct(1)).file?.status else {
                return false
            }
            return true
        }
        #expect(try await eventually { try await isFailed(1) })
        #expect(try await !isFailed(2))
        await core.shutDown()
    }

    @Test(
        "an upload known to recipients is sent")
    func described() async throws {
        let stage = try Stage { state in
            for id in 1...2 {
                var message = ScriptedMessage(id: Int64(id), chat: "@1", isSent: true, name: "\(id).bin")
                message.status = #"{"type":"sndTransfer","sndProgress":1,"sndTotal":1}"#
                state.history.append(message)
                state.described.insert(message.fileID)
                if id == 2 { state.undescribed = [message.fileID] }
            }
        }
        for _ in 1...2 {
            let core = try await stage.open()
            #expect(
                try await eventually {
                    try await core.item(ItemID(1), in: .direct(1)).file?.status == .sndComplete
                })
            guard case .sndTransfer = try await core.item(ItemID(2), in: .direct(1)).file?.status else {
                Issue.record("a file whose description has not left the core is not sent")
                return await core.shutDown()
            }
            await core.shutDown()
            stage.restart()
        }
    }

    /// The states of the agent database after which the core can be killed.
    @Test(
        "a complete upload has every chunk on relays",
        arguments: [
            ("encrypting", [], false),
            ("encrypted", [["created"], []], false),
            ("uploading", [["created"], ["created"]], false),
            ("uploading", [["uploaded"], ["created"]], false),
            ("uploading", [["uploaded"], []], false),
            ("uploading", [["uploaded"], ["uploaded"]], true),
            ("uploading", [["uploaded", "created"], ["created", "uploaded"]], true),
            ("complete", [["uploaded"], ["uploaded"]], true),
            ("error", [["uploaded"], ["created"]], false),
        ] as [(String, [[String]], Bool)])
    func done(status: String, chunks: [[String]], isDone: Bool) throws {
        let folder = try TemporaryFolder()
        let database = try Database(path: folder.path("agent.sqlite"), migrations: [Self.agentTables])
        let found = try database.transaction { connection in
            for deleted in 0...1 {
                try connection.execute(
                    "INSERT INTO snd_files VALUES (?, ?, ?, ?)", deleted + 1, [0xAB, UInt8(deleted)], status,
                    deleted)
                for (number, replicas) in chunks.enumerated() {
                    let chunk = (deleted + 1) * 10 + number
                    try connection.execute("INSERT INTO snd_file_chunks VALUES (?, ?)", chunk, deleted + 1)
                    for replica in replicas {
                        try connection.execute(
                            "INSERT INTO snd_file_chunk_replicas VALUES (?, ?)", chunk, replica)
                    }
                }
            }
            return try connection.query(LostUploads.done) { $0.text("hex(f.snd_file_entity_id)") }
        }
        #expect(found == (isDone ? ["AB00"] : []))
    }

    /// As many answers as the query requests.
    private static let agentTables = Migration(
        "agent",
        """
        CREATE TABLE snd_files (
            snd_file_id INTEGER PRIMARY KEY, snd_file_entity_id BLOB, status TEXT, deleted INTEGER
        ) STRICT;
        CREATE TABLE snd_file_chunks (snd_file_chunk_id INTEGER PRIMARY KEY, snd_file_id INTEGER) STRICT;
        CREATE TABLE snd_file_chunk_replicas (snd_file_chunk_id INTEGER, replica_status TEXT) STRICT;
        """)
}

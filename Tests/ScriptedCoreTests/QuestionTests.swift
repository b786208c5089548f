import Base
import JSON
import Testing

@testable import ScriptedCore

/// Answers to the queries of `OfficialCore`, identified by their text.
@Suite("Queries about the core's database")
struct QuestionTests {
    private func core(_ prepare: (inout ScriptedState) -> Void = { _ in }) -> ScriptedSimpleX {
        let core = ScriptedSimpleX()
        core.change(prepare)
        return core
    }

    @Test("queries can be refused")
    func refused() throws {
        let core = core { $0.answersQuestions = false }
        #expect(try core.outcome("/sql chat SELECT total_changes()") == "error")
        #expect(try core.outcome("/sql agent SELECT 1") == "error")
        #expect(try core.outcome("/user") == "activeUser")
    }

    @Test("an unknown query has only a header")
    func unknown() throws {
        #expect(try core().rows("chat SELECT 1") == [])
        #expect(try core().response("/sql chat SELECT 1")["rows"]?.elements.count == 1)
    }

    @Test("creation time, database path and number of changes")
    func single() throws {
        let core = core { state in
            state.created = "2027-01-01"
            state.databasePath = "/a/b.db"
        }
        #expect(try core.rows("chat SELECT created_at FROM users WHERE user_id = 1") == ["2027-01-01"])
        #expect(
            try core.rows("chat SELECT file FROM pragma_database_list WHERE name = 'main'") == ["/a/b.db"])
        #expect(try core.rows("chat SELECT total_changes()") == ["0"])
        core.change { $0.history.append(ScriptedMessage(id: 1, contact: 1, name: "a")) }
        #expect(try core.rows("chat SELECT total_changes()") == ["1"])
        #expect(try core.response("/fcancel 1001").type == "rcvFileCancelled")
        #expect(try core.rows("chat SELECT total_changes()") == ["2"])
        #expect(try core.response("/fcancel 1009").type == "chatCmdError")
        #expect(try core.rows("chat SELECT total_changes()") == ["2"], "nothing happened")
    }

    @Test("a file's description is hexadecimal")
    func descriptions() throws {
        let core = core { $0.descriptions = [7: "name: ä\n"] }
        let question = "chat SELECT hex(d.file_descr_text) FROM rcv_files r WHERE r.file_id = "
        #expect(try core.rows(question + "7 AND 1") == ["6E616D653A20C3A40A"])
        #expect(try core.rows(question + "77 AND 1") == [])
        #expect(try core.rows(question + "x") == [])
    }

    @Test("uploads known to one database, and their descriptions")
    func uploads() throws {
        let core = core { state in
            state.forgotten = [9, 5]
            (state.described, state.undescribed) = ([5, 6], [6])
            (state.deliveries, state.undelivered) = (4, 2)
        }
        #expect(try core.rows("chat SELECT hex(agent_snd_file_id) FROM files") == ["AB5|5", "AB9|9"])
        #expect(
            try core.rows("agent SELECT hex(snd_file_entity_id), 1 FROM snd_files") == ["AB5|1", "AB9|1"])
        #expect(try core.rows("chat SELECT last_inline_msg_delivery_id") == ["CD/5|5", "CD/6|6"])
        #expect(
            try core.rows("agent SELECT hex(conn_id), internal_id, 1 FROM snd_message_deliveries") == [
                "CD/6|1"
            ])
        #expect(try core.rows("agent SELECT count(*) FROM snd_message_deliveries") == ["2"])
        #expect(try core.rows("agent SELECT max(x) FROM snd_message_deliveries") == ["4"])
        core.change { ($0.forgotten, $0.described, $0.undescribed) = ([], [], []) }
        #expect(try core.rows("chat SELECT hex(agent_snd_file_id) FROM snd_files") == [])
    }

    @Test("the newest item of a folder, and messages without one")
    func staged() throws {
        let core = core { state in
            for (id, path) in [
                (1, "/out/message-a/x.txt"), (3, "/out/message-a/x.txt"), (5, "/out/message-b/x.txt"),
            ] {
                var message = ScriptedMessage(id: Int64(id), contact: 1, name: "x.txt")
                message.path = path
                state.history.append(message)
            }
            state.orphans = 2
        }
        let question = "chat SELECT coalesce(max(chat_item_id), 0) FROM files WHERE instr(file_path, "
        #expect(try core.rows(question + "'/message-a/') > 0") == ["3"])
        #expect(try core.rows(question + "'/message-c/') > 0") == ["0"])
        #expect(try core.rows("chat SELECT 'orphans', count(*) FROM messages m") == ["orphans|2"])
    }

    @Test("the number of files of each chat")
    func counts() throws {
        let core = core { state in
            for (id, chat) in [(1, "@1"), (2, "@1"), (3, "#3"), (4, "#3(_support:9)"), (5, "*1")] {
                state.history.append(ScriptedMessage(id: Int64(id), chat: chat, name: "f"))
            }
            var text = ScriptedMessage(id: 6, chat: "@1", name: "")
            text.text = "hello"
            state.history.append(text)
        }
        func counts(from id: Int) throws -> [String] {
            try core.rows("chat SELECT 1, count(*) FROM files f WHERE f.chat_item_id >= \(id)").sorted()
        }
        #expect(try counts(from: 0) == ["0|0|1|1", "0|3|0|2", "1|0|0|2"])
        #expect(try counts(from: 2) == ["0|0|1|1", "0|3|0|2", "1|0|0|1"])
        #expect(try counts(from: 6) == [])
    }

    @Test("group scopes with messages")
    func parts() throws {
        let core = core { state in
            for (id, chat) in [(1, "#3"), (2, "#3(_support:9)"), (3, "#4(_support)"), (4, "@1")] {
                state.history.append(ScriptedMessage(id: Int64(id), chat: chat, name: "f"))
            }
        }
        #expect(try core.rows("chat SELECT coalesce(group_scope_group_member_id, 0)") == ["3|9", "4|0"])
    }

    @Test("requests, invitations and finished connections")
    func people() throws {
        let core = core { state in
            state.requests = [4: "eve ä", 3: "dan"]
            state.groups = [5: "club"]
            state.invitedInto = [5]
            state.connections = [7: 1]
        }
        #expect(
            try core.rows("chat SELECT 1 FROM contact_requests r")
                == ["3|1800000000|64616E", "4|1800000000|65766520C3A4"])
        #expect(
            try core.rows("chat SELECT 1 FROM x m WHERE m.member_status = 'invited'")
                == ["5|1800000000|636C7562|626F62"])
        #expect(try core.rows("chat SELECT 1 FROM connections c WHERE c.connection_id = 7") == ["1|0"])
        #expect(try core.rows("chat SELECT 1 FROM connections c WHERE c.connection_id = 8") == ["0|0"])
    }
}

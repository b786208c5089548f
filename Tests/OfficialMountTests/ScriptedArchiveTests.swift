import Glibc
import TestSupport
import Testing

@Suite("'chatfs export' and 'import' of a SimpleX archive")
struct ScriptedArchiveTests {
    private func export(_ stage: ScriptedMount, to name: String = "chats.zip") async throws -> Shell.Outcome {
        try await ChatFSProcess.run(
            ["export", stage.folder.path(name)] + core(stage), environment: ["HOME": stage.folder.path])
    }

    private func core(_ stage: ScriptedMount) -> [String] {
        [
            "--core", "ws://127.0.0.1:\(stage.server.port)", "--files-folder", stage.folder.path("files"),
            "--data", stage.folder.path("data"),
        ]
    }

    /// Whether no temporary file remains.
    private func isClean(_ stage: ScriptedMount) throws -> Bool {
        try stage.folder.names().allSatisfy { !$0.contains("exporting") && !$0.contains("importing") }
    }

    @Test("a stopped program writes a private, new archive")
    func written() async throws {
        let stage = try await ScriptedMount.start()
        let first = try await export(stage)
        #expect(first.succeeded, "\(first.errors)")
        #expect(try stage.folder.read("chats.zip") == Array("archive".utf8))
        var status = stat()
        #expect(stat(stage.folder.path("chats.zip"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        let commands = stage.simplex.commands
        #expect(commands.contains("/_stop") && commands.last == "/_start", "\(commands)")

        let second = try await export(stage)
        #expect(!second.succeeded && second.errors.contains("File exists"), "\(second.errors)")
        #expect(stage.simplex.count("/_stop") == 1)
        #expect(try isClean(stage))
    }

    @Test("missing files are named")
    func problems() async throws {
        let stage = try await ScriptedMount.start()
        stage.simplex.change {
            $0.archiveErrors = [#"{"type":"fileError","file":"x.bin","fileError":"gone"}"#]
        }
        let partly = try await export(stage)
        #expect(partly.ending == .code(1) && partly.errors.contains("x.bin: gone"), "\(partly.errors)")
        #expect(access(stage.folder.path("chats.zip"), F_OK) == 0)

        stage.simplex.change { state in
            state.refusals["/_db export"] = #"{"type":"error","errorType":{"type":"exception"}}"#
        }
        let refused = try await export(stage, to: "other.zip")
        #expect(!refused.succeeded && refused.errors.contains("internal failure"), "\(refused.errors)")
        #expect(access(stage.folder.path("other.zip"), F_OK) != 0)
        #expect(stage.simplex.commands.last == "/_start")
        #expect(try isClean(stage))
    }

    @Test(
        "a program's end during an export is reported",
        arguments: ["/_stop", "/_db export"])
    func ending(at command: String) async throws {
        let stage = try await ScriptedMount.start()
        stage.simplex.change { $0.breaking = [command] }
        let outcome = try await export(stage)
        #expect(outcome.ending == .code(1), "\(outcome.errors)")
        #expect(outcome.errors.contains("let ChatFS start it: --core simplex-chat:"), "\(outcome.errors)")
        #expect(access(stage.folder.path("chats.zip"), F_OK) != 0)
        #expect(try isClean(stage))
    }

    @Test("a mounted program is not stopped")
    func mounted() async throws {
        let stage = try await ScriptedMount.start()
        try await stage.mount()
        let outcome = try await export(stage)
        #expect(!outcome.succeeded && outcome.errors.contains("in use"), "\(outcome.errors)")
        #expect(stage.simplex.count("/_stop") == 0)
        #expect(try isClean(stage))
        try await stage.leave()
    }

    /// A program that creates world-readable databases and files and otherwise acts as the scripted core.
    private func carelessProgram(_ stage: ScriptedMount) throws -> String {
        let text = """
            #!/usr/bin/env python3
            import os, socket, sys, threading

            os.umask(0)
            words = sys.argv
            open("\(stage.folder.path("arguments"))", "a").write(" ".join(words) + "\\n")
            database, files = (words[words.index(name) + 1] for name in ("-d", "--files-folder"))
            for path in (database + "_chat.db", database + "_agent.db", files + "/photo.jpg"):
                with open(path, "wb") as file:
                    file.write(b"SQLite format 3\\0")
                os.chmod(path, 0o666)
            if "-e" in words:
                sys.exit(0)
            listener = socket.create_server(("127.0.0.1", int(words[words.index("-p") + 1])))

            def carry(source, target):
                while data := source.recv(65536):
                    target.sendall(data)
                target.shutdown(socket.SHUT_WR)

            while True:
                here, _ = listener.accept()
                there = socket.create_connection(("127.0.0.1", \(stage.server.port)))
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=carry, args=ends, daemon=True).start()
            """
        let path = try stage.folder.write(Array(text.utf8), to: "simplex-chat")
        chmod(path, 0o700)
        return path
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test("an imported archive is private")
    func closed() async throws {
        let stage = try await ScriptedMount.start()
        let archive = try stage.folder.write(Array("archive".utf8), to: "chats.zip")
        let outcome = try await ChatFSProcess.run(
            [
                "import", archive, "--core", "simplex-chat:\(try carelessProgram(stage))",
                "--database", stage.folder.path("db"), "--files-folder", stage.folder.path("imported files"),
                "--data", stage.folder.path("data"),
            ], environment: ["HOME": stage.folder.path])
        #expect(outcome.succeeded, "\(outcome.errors)")
        for name in ["db_chat.db", "db_agent.db", "imported files/photo.jpg"] {
            #expect(mode(stage.folder.path(name)) == 0o600, "\(name)")
        }
        #expect(mode(stage.folder.path("imported files")) == 0o700)
        let starts = String(decoding: try stage.folder.read("arguments"), as: UTF8.self)
            .split(separator: "\n")
        #expect(starts.count == 2, "one makes the profile, the other one reads the archive")
        #expect(starts.map { $0.contains("--maintenance") } == [false, true])
        #expect(try isClean(stage))
    }

    @Test("an import does not replace existing chats")
    func imported() async throws {
        let stage = try await ScriptedMount.start()
        let archive = try stage.folder.write(Array("archive".utf8), to: "chats.zip")
        let running = try await ChatFSProcess.run(["import", archive] + core(stage))
        #expect(!running.succeeded && running.errors.contains("has its database open"), "\(running.errors)")
        #expect(stage.simplex.commands.isEmpty)

        try stage.folder.write(Array("SQLite format 3\0".utf8), to: "db_chat.db")
        let present = try await ChatFSProcess.run([
            "import", archive, "--core", "simplex-chat:/bin/true", "--database", stage.folder.path("db"),
            "--data", stage.folder.path("data"),
        ])
        #expect(!present.succeeded && present.errors.contains("already"), "\(present.errors)")
        #expect(try stage.folder.read("db_chat.db") == Array("SQLite format 3\0".utf8))
        let option = try await ChatFSProcess.run(["import", archive, "--no-encryption"] + core(stage))
        #expect(option.ending == .code(64), "\(option.errors)")
        #expect(try isClean(stage))
    }

    @Test(
        "an import does not remove existing database files",
        arguments: [
            ["db_chat.db"], ["db_agent.db"], ["db_agent.db", "db_chat.db.bak", "db_agent.db.bak"],
        ])
    func present(names: [String]) async throws {
        let stage = try await ScriptedMount.start()
        let archive = try stage.folder.write(Array("archive".utf8), to: "chats.zip")
        let bytes = Array((names.count == 1 ? "" : "a database").utf8)
        for name in names { try stage.folder.write(bytes, to: name) }
        let outcome = try await ChatFSProcess.run([
            "import", archive, "--core", "simplex-chat:/bin/true", "--database", stage.folder.path("db"),
            "--data", stage.folder.path("data"),
        ])
        #expect(!outcome.succeeded && outcome.errors.contains("already"), "\(outcome.errors)")
        for name in names { #expect(try stage.folder.read(name) == bytes) }
        #expect(try isClean(stage))
    }

    @Test(
        "an interrupted export starts the chats again",
        arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) async throws {
        let stage = try await ScriptedMount.start()
        stage.simplex.change { $0.silent = ["/_db export"] }
        let exporting = try await ChatFSProcess.start(
            ["export", stage.folder.path("chats.zip")] + core(stage), environment: ["HOME": stage.folder.path]
        )
        try await wait(until: "it rests") { stage.simplex.count("/_db export") == 1 }
        exporting.send(signal)
        #expect(try await exporting.ending() == .code(128 + signal))
        #expect(stage.simplex.commands.last == "/_start", "\(stage.simplex.commands)")
        #expect(access(stage.folder.path("chats.zip"), F_OK) != 0)
        #expect(try isClean(stage))
    }

    @Test("an interrupted import leaves no database")
    func interruptedImport() async throws {
        let stage = try await ScriptedMount.start()
        stage.simplex.change { $0.silent = ["/_db import"] }
        let archive = try stage.folder.write(Array("archive".utf8), to: "chats.zip")
        let importing = try await ChatFSProcess.start(
            [
                "import", archive, "--core", "simplex-chat:\(try carelessProgram(stage))",
                "--database", stage.folder.path("db"), "--files-folder", stage.folder.path("imported files"),
                "--data", stage.folder.path("data"),
            ], environment: ["HOME": stage.folder.path])
        try await wait(until: "it is read") { stage.simplex.count("/_db import") == 1 }
        importing.send(SIGINT)
        #expect(try await importing.ending() == .code(130))
        #expect(try stage.folder.names().allSatisfy { !$0.hasPrefix("db_") })
        #expect(try isClean(stage))
    }
}

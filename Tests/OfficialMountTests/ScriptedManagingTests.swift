import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("Chat commands on an official core", .serialized)
struct ScriptedManagingTests {
    private func core(_ stage: ScriptedMount) -> [String] {
        ["--core", "ws://127.0.0.1:\(stage.server.port)", "--data", stage.folder.path("data")]
    }

    private func run(_ stage: ScriptedMount, _ words: [String]) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(words + core(stage), environment: ["HOME": stage.folder.path])
    }

    @Test("folders follow renames, leaves and deletions")
    func mounted() async throws {
        let stage = try await ScriptedMount.start()
        stage.simplex.change { state in
            state.contacts[2] = "carol"
            state.groups[5] = "club"
            state.history.append(ScriptedMessage(id: 1, contact: 1, name: "a.jpg", size: 10))
        }
        try await stage.mount()
        let chats = { try stage.folder.names(in: "Chats").sorted() }
        try await wait(until: "all chats are there") {
            try chats() == [".chatfs", "Links", "bob", "carol", "club"]
                && access(stage.folder.path("Chats/bob/a.jpg"), F_OK) == 0
        }
        #expect(try await run(stage, ["contact", "list"]).output == "bob\ncarol\n")
        let renamed = try await run(stage, ["contact", "rename", "bob", "Bob from work"])
        #expect(renamed.succeeded, "\(renamed.errors)")
        try await wait(until: "the folder has the name") {
            try chats() == [".chatfs", "Bob from work", "Links", "carol", "club"]
        }
        for (kind, chat) in [("group", "club"), ("contact", "carol"), ("contact", "Bob from work")] {
            let left = try await run(stage, [kind, "leave", chat])
            #expect(left.succeeded, "\(left.errors)")
            try await wait(until: "nothing can be written there") {
                let copy = try await Shell.run("cp", ["/etc/hostname", stage.folder.path("Chats/\(chat)/x")])
                return copy.errors.contains("Permission denied")
            }
        }
        for words in [["contact", "delete", "Bob from work"], ["group", "delete", "club"]] {
            let deleted = try await run(stage, words + ["--yes"])
            #expect(deleted.succeeded, "\(deleted.errors)")
        }
        try await wait(until: "the folders are gone") { try chats() == [".chatfs", "Links", "carol"] }
        let unknown = try await run(stage, ["contact", "leave", "bob"])
        #expect(unknown.ending == .code(1) && unknown.errors.contains("no chat bob"), "\(unknown.errors)")
        try await stage.leave()
    }

    @Test("an unmounted command needs the files folder")
    func unmounted() async throws {
        let stage = try await ScriptedMount.start()
        let refused = try await run(stage, ["contact", "list"])
        #expect(refused.ending == .code(64) && refused.errors.contains("--files-folder"), "\(refused.errors)")
        let files = ["--files-folder", stage.folder.path("files")]
        let listed = try await run(stage, ["contact", "list"] + files)
        #expect(listed.output == "bob\n", "\(listed.errors)")
        let deleted = try await run(stage, ["contact", "delete", "bob", "--yes"] + files)
        #expect(deleted.succeeded, "\(deleted.errors)")
        #expect(stage.simplex.change { $0.contacts }.isEmpty)
    }

    @Test(
        "a link's upload reports the core's result",
        arguments: [true, false])
    func upload(succeeds: Bool) async throws {
        let stage = try await ScriptedMount.start()
        try await stage.mount()
        let source = try stage.folder.write([1, 2, 3], to: "film.mp4")
        let (words, home) = (["file", "send", source] + core(stage), ["HOME": stage.folder.path])
        async let outcome = ChatFSProcess.run(words, environment: home)
        try await wait(until: "the core uploads it") { stage.simplex.count("/_upload 1 \(source)") == 1 }
        let file = try #require(stage.simplex.change { $0.standalone.first })
        let meta = #""user":{"userId":1},"fileTransferMeta":{"fileId":\#(file)}"#
        stage.simplex.tell(#"{"type":"sndFileProgressXFTP",\#(meta),"sentSize":1,"totalSize":3}"#)
        stage.simplex.tell(
            succeeds
                ? #"{"type":"sndStandaloneFileComplete",\#(meta),"rcvURIs":["simplex:/file#x"]}"#
                : #"{"type":"sndFileError",\#(meta),"errorMessage":"no relay"}"#)
        let done = try await outcome
        #expect(done.ending == .code(succeeds ? 0 : 1), "\(done.errors)")
        #expect(done.output == (succeeds ? "simplex:/file#x\n" : ""))
        if succeeds {
            let deleted = try await run(stage, ["file", "delete", "\(file)"])
            #expect(deleted.succeeded, "\(deleted.errors)")
            #expect(stage.simplex.count("/fcancel \(file)") == 1)
        }
        try await stage.leave()
    }

    @Test("an interrupt cancels the upload at the core")
    func interrupted() async throws {
        let stage = try await ScriptedMount.start()
        try await stage.mount()
        let source = try stage.folder.write([1, 2, 3], to: "film.mp4")
        let command = try await ChatFSProcess.start(
            ["file", "send", source] + core(stage), environment: ["HOME": stage.folder.path])
        try await wait(until: "the core uploads it") { stage.simplex.count("/_upload ") == 1 }
        command.send(SIGINT)
        #expect(try await command.ending(within: .seconds(30)) == .code(130))
        try await wait(until: "it is cancelled") { stage.simplex.change { $0.standalone }.isEmpty }
        try await stage.leave()
    }
}

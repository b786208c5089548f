import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@Suite("Link folder of an official core", .serialized)
struct ScriptedLinkTests {
    @Test(
        "an upload leaves no plain copy"
    )
    func upload() async throws {
        let stage = try await ScriptedMount.start()
        let bytes = [UInt8](repeating: 7, count: 1000)
        let source = try stage.folder.write(bytes, to: "elsewhere.bin")
        let sent = try await ChatFSProcess.run(
            ["file", "send", source, "--relay", stage.relayAddress, "--out", stage.folder.path("out")],
            environment: ["HOME": stage.folder.path])
        // In the core's form of the link, which has no file name and size.
        let link = String(sent.output.filter { !$0.isWhitespace }.prefix { $0 != "&" })
        #expect(link.hasPrefix("simplex:/file#"))
        try await stage.mount()
        let place = stage.folder.path("Chats/Links/a b.bin")
        try OpenFile(place, flags: O_WRONLY | O_CREAT | O_EXCL).write(bytes, at: 0)
        try await wait(until: "the core uploads it") { stage.simplex.count("/_upload ") == 1 }
        let copies = try stage.folder.names(in: "files/outbox/links-1")
        let plain = try #require(copies.first { $0.hasPrefix("plain-") })
        #expect(try stage.folder.read("files/outbox/links-1/\(plain)/a b.bin") == bytes)
        let file = try #require(stage.simplex.change { $0.standalone.first })
        let meta = #""user":{"userId":1},"fileTransferMeta":{"fileId":\#(file)}"#
        stage.simplex.tell(#"{"type":"sndStandaloneFileComplete",\#(meta),"rcvURIs":["\#(link)"]}"#)
        try await wait(until: "it has a link") {
            try ExtendedAttribute.text("user.chatfs.link", of: place)?.hasPrefix(link) == true
        }
        try await wait(until: "its shortcut is there") { access(place + ".url", F_OK) == 0 }
        try await wait(until: "no plain copy is left") {
            try !stage.folder.names(in: "files/outbox/links-1").contains(plain)
        }
        // The mount itself downloads the file of a foreign link, from one of the core's relays.
        let added = try await ChatFSProcess.run(
            [
                "link", "add", link, "--core", "ws://127.0.0.1:\(stage.server.port)", "--data",
                stage.folder.path("data"), "--name", "other.bin",
            ], environment: ["HOME": stage.folder.path])
        #expect(added.output == "other.bin\n", "\(added.errors)")
        try await wait(until: "it is shown") {
            access(stage.folder.path("Chats/Links/other.bin"), F_OK) == 0
        }
        #expect(try stage.folder.read("Chats/Links/other.bin") == bytes)
        #expect(unlink(place) == 0)
        try await wait(until: "the core takes it back") { stage.simplex.count("/fcancel \(file)") == 1 }
        #expect(try stage.folder.names(in: "Chats/Links") == ["other.bin"])
        try await stage.leave()
    }
}

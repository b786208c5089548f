import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Relay approval on a mounted official core", .serialized)
struct ScriptedApprovalTests {
    @Test("an approval permits reads at once")
    func approval() async throws {
        let stage = try await ScriptedMount.start()
        let bytes = SystemRandomSource().bytes(300_000)
        let message = stage.offer(1, size: bytes.count, description: try await stage.upload(bytes))
        stage.simplex.change { state in
            state.relays = []
            state.refusals["/freceive \(message.fileID) encrypt"] =
                #"{"type":"error","errorType":{"type":"fileNotApproved","fileId":\#(message.fileID),"#
                + #""unknownServers":["\#(stage.relayAddress)"]}}"#
        }
        try await stage.mount()
        try await stage.waitUntilShown(message)
        let path = stage.path(of: message)
        #expect(try await Shell.run("cat", [path]).errors.contains("Permission denied"))
        #expect(try stage.error(of: message)?.contains(stage.relayAddress.prefix(60)) == true)
        let core = ["--core", "ws://127.0.0.1:\(stage.server.port)", "--data", stage.folder.path("data")]
        let approved = try await ChatFSProcess.run(
            ["approve", stage.relayAddress] + core, environment: ["HOME": stage.folder.path])
        #expect(approved.succeeded && approved.errors.isEmpty, "\(approved.errors)")
        let read = try await Shell.run("cmp", [path, stage.folder.path("source.bin")])
        #expect(read.succeeded, "\(read.output)\(read.errors)")
        try await stage.leave()
    }
}

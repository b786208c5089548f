import Base
import Glibc
import Posix
import ScriptedCore

/// A scripted official core in this process behind a socket, with a files folder for its mounts.
final class ScriptedChats: Sendable {
    let simplex = ScriptedSimpleX()
    let filesFolder: String
    private let stage: Stage
    private let server: ScriptedServer

    init(on stage: Stage) throws {
        self.stage = stage
        filesFolder = try stage.makeFolder("simplex-files")
        server = try ScriptedServer(simplex)
    }

    deinit { server.close() }

    /// `chatfs mount` attached to the core. Its index stays for the next mount.
    func mount() async throws -> Mounted {
        try await stage.mount(
            "simplex",
            [
                "--core", "ws://127.0.0.1:\(server.port)", "--files-folder", filesFolder, "--data",
                stage.path("simplex-data"),
            ])
    }

    /// Writes a file of the core and reports its reception.
    func deliver(_ message: ScriptedMessage) throws {
        let name = "received-\(message.id)"
        let file = try OpenFile(filesFolder + "/" + name, flags: O_WRONLY | O_CREAT | O_TRUNC)
        try file.write([UInt8](repeating: 1, count: Int(message.size)), at: 0)
        simplex.complete(message.id, path: name, cryptoArguments: nil)
    }
}

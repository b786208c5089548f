import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import EmbeddedCore

/// Opening a pipe blocks until there is a writer; a few such opens would block all threads of the core.
@Suite("Pipes, devices and folders in the place of files", .timeLimit(.minutes(10)))
struct NoFileTests {
    private let world: World
    private let pipe: String

    init() throws {
        world = try World()
        pipe = world.folder.path("pipe")
        try check("make a pipe") { mkfifo(world.folder.path("pipe"), 0o600) }
    }

    private static func error(of body: () async throws -> Void) async -> ChatError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? ChatError
        }
    }

    @Test("uploads are rejected without blocking the core")
    func uploads() async throws {
        let alice = try await world.open("alice")
        let folder = try world.folder.makeFolder("folder")
        let errors = await withTaskGroup(of: [ChatError?].self) { group in
            for path in Array(repeating: pipe, count: 12) + [folder, "/dev/zero"] {
                group.addTask {
                    let location = FileSourceLocation(path: path, arguments: CryptoFile.freshArguments())
                    return [
                        await Self.error { _ = try await alice.uploadStandaloneFile(path) },
                        await Self.error { _ = try await alice.uploadStandaloneFile(location, named: "a") },
                    ]
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(errors.count == 28)
        for error in errors {
            #expect(error?.code == .invalidCommand)
            #expect(error?.sentence == "Only a regular file can be uploaded.")
        }
        _ = try await alice.uploadStandaloneFile(try world.folder.write([1, 2, 3], to: "file"))
        await alice.shutDown()
    }

    /// A short file travels in its message, a long one is stored for relays.
    @Test(
        "message files are rejected and later messages pass",
        arguments: [(5, .invalidCommand), (300_000, .file(.damaged))] as [(UInt64, ChatErrorCode)])
    func messages(size: UInt64, code: ChatErrorCode) async throws {
        try world.directory.connect("alice", "bob")
        let alice = try await world.open("alice")
        let chat = try await alice.chat(named: "bob")
        let good = try alice.compose(pattern(5))
        for path in Array(repeating: pipe, count: 6) + ["/dev/zero", world.folder.path] {
            let message = ComposedMessage(
                id: UUIDText.fresh(), fileName: "a", size: size,
                source: FileSourceLocation(path: path, arguments: CryptoFile.freshArguments()),
                content: MessageContent(kind: .file, text: ""))
            let error = await Self.error { _ = try await alice.send(message, to: chat) }
            #expect(error?.code == code)
        }
        let sent = try await alice.send(good, to: chat)
        #expect(sent.file?.size == 5)
        await alice.shutDown()
    }
}

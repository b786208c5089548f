import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Posix
import TestSupport

@testable import Verification

/// A data directory with alice and bob, and files in alice's notes.
struct Household {
    let folder: TemporaryFolder
    let directory: DataDirectory
    let alice: Profile

    var own: String { "\(directory.path)/profiles/\(alice.id)" }

    /// - Parameter notes: Files of alice's notes by name.
    init(notes: [String: [UInt8]]) async throws {
        folder = try TemporaryFolder()
        directory = try DataDirectory(folder.path("data"))
        alice = try directory.createProfile("alice")
        _ = try directory.createProfile("bob")
        try directory.connect("alice", "bob")
        let core = try await EmbeddedCore.open(directory, profile: "alice")
        guard let place = try await core.chats().first(where: { $0.displayName == "Saved notes" }) else {
            return
        }
        for (name, bytes) in notes.sorted(by: { $0.key < $1.key }) {
            _ = try await core.send(
                try Self.message(bytes, name, in: core.stagingFolder), to: place.reference)
        }
        await core.shutDown()
    }

    static func message(_ bytes: [UInt8], _ name: String, in stagingFolder: String) throws -> ComposedMessage
    {
        let path = stagingFolder + "/" + Hexadecimal.encode(SystemRandomSource().bytes(8))
        let arguments = CryptoFile.freshArguments()
        let writer = try CryptoFileWriter(
            file: OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL), arguments: arguments)
        try writer.append(bytes)
        try writer.finish()
        return ComposedMessage(
            id: Hexadecimal.encode(SystemRandomSource().bytes(16)), fileName: name, size: UInt64(bytes.count),
            source: FileSourceLocation(path: path, arguments: arguments), content: MessageContent(kind: .file)
        )
    }

    func verification(isAlone: Bool = true) throws -> ProfileVerification {
        try ProfileVerification(of: alice, in: directory, isAlone: isAlone)
    }

    func found(isAlone: Bool = true) throws -> ProfileVerification.Result {
        try verification(isAlone: isAlone).run { _, _ in }
    }

    /// The CryptoFile of a note.
    func stored(_ name: String) throws -> String {
        let notes = try directory.chats(of: alice).filter { $0.displayName == "Saved notes" }
        let items = try notes.flatMap {
            try directory.items(of: $0.reference, of: alice, before: nil, count: 99)
        }
        guard let source = items.first(where: { $0.file?.name == name })?.file?.source else {
            throw WaitedInVain("there is no note \(name)")
        }
        return source.path
    }

    /// Flips a bit of a file in place.
    func flip(_ path: String, at offset: UInt64) throws {
        let file = try OpenFile(path, flags: O_RDWR)
        try file.write(try file.read(count: 1, at: offset).map { $0 ^ 4 }, at: offset)
    }

    func names(in folder: String) throws -> [String] {
        try PrivateFolder.names(in: OpenFile(own + "/" + folder, flags: O_RDONLY))
    }
}

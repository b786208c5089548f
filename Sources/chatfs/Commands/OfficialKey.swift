import Base
import CommandLineKit
import Cryptography
import Glibc
import KeySlots
import OfficialCore
import Posix
import Unlocking

/// `chatfs key` with an official core: the passphrase of its databases.
struct OfficialKey: Sendable {
    static let forgotten = Option.flag(
        "forgotten", "Ask for the recovery code on the terminal instead of the old passphrase.")

    private let choice: OfficialCoreChoice
    private let database: DatabaseFiles

    /// Returns nil without `--core`.
    init?(_ invocation: Invocation) throws {
        guard let choice = try OfficialCoreChoice(invocation) else { return nil }
        let others: [any OptionDeclaration] =
            [KeyTarget.relayFolder, CommonOptions.data] + CommonOptions.unlocking
        if let other = others.first(where: invocation.isGiven) {
            throw UsageError(
                "--\(other.name) applies to ChatFS's own data, --core to the database of SimpleX")
        }
        if invocation.isGiven(Self.forgotten) {
            throw UsageError(
                "the database of SimpleX has no recovery code: without its passphrase it is lost")
        }
        self.choice = choice
        database = try choice.database()
    }

    func status(isForPrograms: Bool) async throws {
        let condition = try await condition()
        if isForPrograms {
            let description = KeyStatus.Description(
                path: database.prefix, encrypted: condition == .encrypted, ways: [])
            return Terminal.print(try JSONLine.encoded(description))
        }
        Terminal.print(
            condition == .encrypted
                ? "\(database.prefix): encrypted with a passphrase"
                : "\(database.prefix): not encrypted; 'chatfs key set' with --core lib: encrypts it")
    }

    func test() async throws {
        let library = try library()
        let condition = try await condition()
        let secret = try await present(condition)
        guard try await LibraryTransport.opens(database, library: library, passphrase: secret) else {
            throw OfficialCoreError(
                .database, "The passphrase does not open the SimpleX database." + interrupted)
        }
        Terminal.print(
            condition == .encrypted
                ? "The passphrase opens the SimpleX database."
                : "The SimpleX database is not encrypted: it opens without a passphrase.")
    }

    /// - Parameter isChange: True to change the passphrase of an encrypted database, false to encrypt a plain one.
    func set(_ given: UnlockingSecret?, isChange: Bool) async throws {
        let library = try library()
        let condition = try await condition()
        guard (condition == .encrypted) == isChange else {
            throw UsageError(
                isChange
                    ? "the SimpleX database is not encrypted: 'chatfs key set' encrypts it"
                    : "the SimpleX database has a passphrase already, and only one: 'chatfs key change' changes it"
            )
        }
        let before = try await present(condition)
        let after = try await ThreadPool.shared.run { try Self.new(given) }
        guard LibraryTransport.isPossible(after) else {
            throw UsageError(
                "SimpleX takes passphrases of printable ASCII characters only, without spaces")
        }
        guard try await LibraryTransport.opens(database, library: library, passphrase: before) else {
            throw OfficialCoreError(
                .database, "The passphrase does not open the SimpleX database." + interrupted)
        }
        let transport = try await LibraryTransport.open(
            library: library, database: database, passphrase: before)
        do throws(OfficialCoreError) {
            try await transport.changePassphrase(from: before, to: after)
        } catch {
            await transport.close()
            throw error
        }
        await transport.close()
        try await finish(library, after)
        Terminal.note("chatfs: the SimpleX database is encrypted with the new passphrase")
    }

    /// Deletes the core's copies with the old passphrase or in plain text, after the new passphrase has opened both
    /// databases.
    private func finish(_ library: String, _ passphrase: SecretBytes) async throws {
        guard try await LibraryTransport.opens(database, library: library, passphrase: passphrase) else {
            throw OfficialCoreError(
                .database, "The SimpleX database does not open with its new passphrase." + interrupted)
        }
        let copies = database.copies
        try await ThreadPool.shared.run { for copy in copies { try FolderEncryption.wipe(copy) } }
    }

    /// The remedy after an interrupted change, which may have affected only one of the databases.
    private var interrupted: String {
        guard database.copies.allSatisfy({ access($0, F_OK) == 0 }) else { return "" }
        return
            " If a change of it was interrupted, \(database.copies.joined(separator: " and ")) are the old "
            + "databases: move both back to their names without '.bak'."
    }

    // MARK: - Given values

    private func library() throws -> String {
        guard case .library(let path) = choice.address else {
            throw UsageError(
                "the program would expose the passphrase on its command line: use the library, "
                    + "--core lib:/path/libsimplex.so")
        }
        return path
    }

    private func condition() async throws -> DatabaseFiles.Condition {
        let database = database
        let condition = try await ThreadPool.shared.run { () throws(SystemError) in try database.condition() }
        guard condition != .missing else {
            throw OfficialCoreError(.database, "There is no SimpleX database at \(database.prefix).")
        }
        return condition
    }

    /// Returns nil for a plain database.
    private func present(_ condition: DatabaseFiles.Condition) async throws -> SecretBytes? {
        guard condition == .encrypted else { return nil }
        if let given = choice.passphrase?.take() { return given }
        let typed = await ThreadPool.shared.run { Question.secret("Passphrase of the SimpleX database: ") }
        guard let typed else {
            throw UsageError("there is no terminal to ask for the passphrase: give --database-passphrase-fd")
        }
        return typed
    }

    private static func new(_ given: UnlockingSecret?) throws -> SecretBytes {
        if case .passphrase(let secret) = given { return secret }
        guard Question.isPossible else {
            throw UsageError("there is no terminal to ask for the new passphrase: give --new-passphrase-fd")
        }
        return try KeyedFolder.newPassphrase { question in
            Question.secret(
                question == .again ? "Repeat passphrase: " : "New passphrase for the SimpleX database: ")
        }
    }
}

import Base
import Cryptography
import Posix

/// Changes the passphrase of a core's databases. Only the library can do that; a program would show it in its
/// arguments or its log of commands.
extension LibraryTransport {
    /// Returns true if the passphrase opens the databases; nil means none. Does not change them.
    /// - Throws: `.inUse`, `.notInstalled`, `.notUnderstood`; `.database` for other errors of opening.
    public static func opens(
        _ database: DatabaseFiles, library path: String, passphrase: SecretBytes?
    ) async throws(OfficialCoreError) -> Bool {
        guard let front = lanes[.foreground] else { preconditionFailure("every lane has its thread") }
        return try await front.run { () throws(OfficialCoreError) in
            try database.checkUnused()
            return try SimplexLibrary.load(path).opens(prefix: database.prefix, passphrase: passphrase)
        }
    }

    /// Encrypts both databases with a new passphrase. The core first copies them to `.bak` files, which the
    /// caller deletes after the new databases have been opened.
    ///
    /// - Parameters:
    ///   - present: Current passphrase; nil if not encrypted.
    ///   - new: Printable ASCII characters without spaces, the only ones that the core accepts.
    /// - Throws: `.invalidCommand` for other characters, `.refused`, `.notUnderstood`, `.closed`.
    public func changePassphrase(
        from present: SecretBytes?, to new: SecretBytes
    ) async throws(OfficialCoreError) {
        let command = try Self.command(from: present, to: new)
        let answer = try await perform { [library, controller] in library.command(command, controller) }
        guard let frame = APIFrame(answer), case .done = try frame.answer() else {
            throw OfficialCoreError(
                .notUnderstood, "The SimpleX library did not report the result of the encryption.")
        }
    }

    /// Returns true if the core accepts the passphrase. Other characters would end the command.
    public static func isPossible(_ passphrase: SecretBytes) -> Bool {
        passphrase.withUnsafeBytes { bytes in
            !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) }
        }
    }

    /// Builds the command in locked memory.
    static func command(from present: SecretBytes?, to new: SecretBytes) throws(OfficialCoreError)
        -> SecretBytes
    {
        guard isPossible(new), present.map(isPossible) ?? true else {
            throw OfficialCoreError(
                .invalidCommand,
                "The SimpleX core accepts only passphrases of printable ASCII characters without spaces."
            )
        }
        let limit = 2 * ((present?.count ?? 0) + new.count) + 64
        return SecretBytes(upTo: limit) { buffer in
            var count = 0
            func add(_ byte: UInt8) {
                buffer[count] = byte
                count += 1
            }
            func add(_ text: String) { for byte in text.utf8 { add(byte) } }
            func add(_ secret: SecretBytes?) {
                secret?.withUnsafeBytes { bytes in
                    for byte in bytes {
                        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                            add(UInt8(ascii: "\\"))
                        }
                        add(byte)
                    }
                }
            }
            add(#"/_db encryption {"currentKey":""#)
            add(present)
            add(#"","newKey":""#)
            add(new)
            add(#""}"#)
            return count
        }
    }
}

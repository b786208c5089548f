import Base
import Cryptography
import Posix

/// The passphrase of a core's databases, which the library alone can change: a program would have it on its command line
/// or in the commands that it shows.
extension LibraryTransport {
    /// Whether this passphrase opens the databases, nil standing for none. Changes nothing in them.
    /// - Throws: `.inUse`, `.notInstalled`, `.notUnderstood`; `.database` for what keeps them from being
    ///   opened besides.
    public static func opens(
        _ database: DatabaseFiles, library path: String, passphrase: SecretBytes?
    ) async throws(OfficialCoreError) -> Bool {
        guard let front = lanes[.foreground] else { preconditionFailure("every lane has its thread") }
        return try await front.run { () throws(OfficialCoreError) in
            try database.checkUnused()
            return try SimplexLibrary.load(path).opens(prefix: database.prefix, passphrase: passphrase)
        }
    }

    /// Encrypts both databases with a new passphrase. The core copies them first, under their names with `.bak` behind;
    /// who calls this removes those copies when the new ones have been opened.
    ///
    /// - Parameters:
    ///   - present: nil: they are not encrypted.
    ///   - new: of printable characters of ASCII without spaces, which is all that the core takes.
    /// - Throws: `.invalidCommand` for characters that it does not take, `.refused`, `.notUnderstood`, `.closed`.
    public func changePassphrase(
        from present: SecretBytes?, to new: SecretBytes
    ) async throws(OfficialCoreError) {
        let command = try Self.command(from: present, to: new)
        let answer = try await perform { [library, controller] in library.command(command, controller) }
        guard let frame = APIFrame(answer), case .done = try frame.answer() else {
            throw OfficialCoreError(
                .notUnderstood, "The SimpleX library did not say what became of its databases.")
        }
    }

    /// Whether the core takes such a passphrase: others it takes for the end of a command.
    public static func isPossible(_ passphrase: SecretBytes) -> Bool {
        passphrase.withUnsafeBytes { bytes in
            !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) }
        }
    }

    /// In locked memory all the way.
    static func command(from present: SecretBytes?, to new: SecretBytes) throws(OfficialCoreError)
        -> SecretBytes
    {
        guard isPossible(new), present.map(isPossible) ?? true else {
            throw OfficialCoreError(
                .invalidCommand,
                "The SimpleX core takes passphrases of letters, digits and signs of ASCII only, without spaces."
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

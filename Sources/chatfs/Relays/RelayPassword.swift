import CommandLineKit
import Glibc
import KeySlots
import Posix

/// The password of an own relay, never taken from the command line, which every user of the machine can read.
enum RelayPassword {
    private static let path = Option(
        "password-file", named: "FILE", .file,
        "Require the password in this file from clients that create chunks or queues: "
            + "xftp://FINGERPRINT:PASSWORD@HOST:PORT.")
    private static let descriptor = Option(
        "password-fd", named: "N", .text, "Read the password from this file descriptor.")
    static let options: [any OptionDeclaration] = [path, descriptor]

    /// Returns nil if no password is given. Blocks.
    static func read(_ invocation: Invocation) throws -> String? {
        guard let path = invocation[path] else {
            return try invocation.file(descriptor).map { try password(in: $0, "--password-fd") }
        }
        guard !invocation.isGiven(descriptor) else {
            throw UsageError("only one of --password-file and --password-fd can be given")
        }
        let file = try naming("--password-file") { () throws(SystemError) in
            try OpenFile(AbsolutePath.of(path), flags: O_RDONLY)
        }
        return try password(in: file, "--password-file")
    }

    private static func password(in file: OpenFile, _ option: String) throws -> String {
        let given = try naming(option) { try UnlockingSecret.passphrase(from: file) }
        guard case .passphrase(let secret) = given else { preconditionFailure("a passphrase was read") }
        let password = secret.withUnsafeBytes { Array($0) }
        // The alphabet of passwords in addresses.
        guard (1...255).contains(password.count),
            password.allSatisfy({ $0 > 32 && $0 < 127 && !"@:/".utf8.contains($0) })
        else {
            throw UsageError(
                "a relay's password must have 1 to 255 ASCII characters without spaces, @, : and /")
        }
        return String(decoding: password, as: UTF8.self)
    }
}
